"""A finding as a person reads it: the code around it with the offending span underlined, and what to do."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from amplint.documents import Document
from amplint.findings import Applicability, Finding, Location
from amplint.output.style import Style, harmless, harmless_source, shown_path
from amplint.project import Report

_AROUND = 2  # rows of context before and after
_LONGEST = 8  # rows of a span that are shown before its middle is left out
_TAB = "    "


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports``, each with an empty line after it."""
    return "".join(
        "\n".join(_lines(finding, report, style)) + "\n\n" for report in reports for finding in report.findings
    )


def _lines(finding: Finding, report: Report, style: Style) -> Iterator[str]:
    document = report.document
    marker = style("cyan", "[*]") + " " if report.fixable(finding) else ""
    yield f"{style('red', finding.code)} {marker}{style('bold', harmless(finding.message))}"
    yield from _frame(document, finding.start, finding.end, "^", "red", style, _AROUND)
    for related in finding.related:
        yield f"{style('bold', 'note')}: {harmless(related.message)}"
        yield from _frame(document, related.start, related.end, "-", "blue", style, 0)
    if finding.help:
        yield f"{style('cyan', 'help')}: {harmless(finding.help)}"
    if finding.fix:
        yield f"{style('cyan', 'fix')}: {harmless(finding.fix.message)}"
        if finding.fix.applicability is Applicability.UNSAFE:
            yield f"{style('bold', 'note')}: This is an unsafe fix and may change runtime behavior"
    elif finding.no_fix_reason:
        yield f"{style('bold', 'note')}: No fix is offered: {harmless(finding.no_fix_reason)}"


def _frame(
    document: Document, start: Location, end: Location, mark: str, colour: str, style: Style, around: int
) -> Iterator[str]:
    rows = _rows(document, start.row, end.row, around)
    place = document.place(start)
    shift = place.row - start.row
    width = len(str(max(row for row in rows if row) + shift))
    gutter = " " * width + " " + style("blue", "|")
    yield f"{' ' * width}{style('blue', '-->')} {shown_path(document.filename)}:{place}"
    yield gutter
    for row in rows:
        if not row:
            yield style("blue", "." * width)
            continue
        text = document.source_row(row)
        yield f"{style('blue', f'{row + shift:>{width}} |')} {_shown(text)}".rstrip()
        if start.row <= row <= end.row:
            left = start.column - 1 if row == start.row else len(text) - len(text.lstrip())
            right = end.column - 1 if row == end.row else len(text.rstrip())
            if right > left or start == end:
                line = mark * max(_width(_shown(text[left:right])), 1)
                yield f"{gutter} {' ' * _width(_shown(text[:left]))}{style(colour, line)}"
    yield gutter


def _rows(document: Document, first: int, last: int, around: int) -> list[int]:
    """The rows to show; 0 stands for rows left out."""
    beside = document.rows_beside(first)
    before = [row for row in range(first - around, first) if row in beside]
    after = [row for row in range(last + 1, last + around + 1) if row in beside]
    while before and not document.row(before[0]).strip():
        before.pop(0)
    while after and not document.row(after[-1]).strip():
        after.pop()
    span = list(range(first, last + 1))
    if len(span) > _LONGEST:
        span = [*span[: _LONGEST // 2], 0, *span[-_LONGEST // 2 :]]
    return before + span + after


def _shown(text: str) -> str:
    return harmless_source(text.replace("\t", _TAB))


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
