"""Findings silenced as they are: by comments in the source, one for each row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from amplint.documents import Document
from amplint.findings import Edit, Finding
from amplint.registry import installed
from amplint.suppressions import Suppressions


@dataclass(frozen=True, slots=True)
class Silenced:
    """A document with comments added: how many rows got one, and the findings that no comment reaches."""

    document: Document
    rows: int
    left: tuple[Finding, ...]


def with_noqa(document: Document, findings: Sequence[Finding]) -> Silenced:
    """``document`` with a ``# noqa`` for each of ``findings``, or their codes added to one that is there."""
    done = Silenced(document, 0, ())
    for number, program in enumerate(document.programs):
        own = [finding for finding in findings if document.program_at(finding.start) is program]
        silenced = _with_noqa(done.document.programs[number], own)  # rows stay where they are
        done = Silenced(silenced.document.programs[0], done.rows + silenced.rows, (*done.left, *silenced.left))
    return done


def _with_noqa(document: Document, findings: Sequence[Finding]) -> Silenced:
    by_code = {rule.code: rule for rule in installed().rules}
    wanted = [finding for finding in findings if by_code[finding.code].selectable and not by_code[finding.code].by_name]
    suppressions = Suppressions(document)
    rows: dict[int, list[str]] = {}
    for finding in wanted:
        codes = rows.setdefault(suppressions.row_for(finding), [])
        if finding.code not in codes:
            codes.append(finding.code)
    edits = [_edit(document, suppressions, row, codes) for row, codes in rows.items()]
    try:
        made = document.edited(edits)
    except ValueError:
        return Silenced(document, 0, tuple(wanted))
    now = Suppressions(made)
    left = tuple(finding for finding in wanted if not now.silences(finding))  # only ends of rows have changed
    if left:
        done = _with_noqa(document, [finding for finding in wanted if finding not in left])
        return Silenced(done.document, done.rows, (*left, *done.left))
    return Silenced(made, len(rows), ())


def _edit(document: Document, suppressions: Suppressions, row: int, codes: Iterable[str]) -> Edit:
    listed = ", ".join(sorted(codes))
    for directive in reversed(suppressions.on_row(row)):
        if directive.codes and not directive.ours:
            place = directive.end.offset
            return document.edit(place, place, f", {listed}")
    text = document.row(row)
    start, end = (document.at(row, length + 1).offset for length in (len(text.rstrip()), len(text)))
    return document.edit(start, end, f"  # noqa: {listed}")
