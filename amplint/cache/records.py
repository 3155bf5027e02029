"""Findings as JSON that is as short as they allow, and back. What is not as it was written raises one error."""

from __future__ import annotations

from typing import Any

from amplint.findings import Applicability, Edit, Finding, Fix, Location, Related, Severity


class Damaged(Exception):
    """What was read is not what amplint wrote."""


def written(finding: Finding) -> list[Any]:
    """``finding`` as JSON; the candidates from which its fix was chosen are left out."""
    return [
        finding.code,
        finding.message,
        finding.severity.value,
        _place(finding.start),
        _place(finding.end),
        finding.help,
        [[each.message, _place(each.start), _place(each.end), each.filename] for each in finding.related],
        finding.fix and _fix(finding.fix),
        finding.no_fix_reason,
    ]


def read(record: Any) -> Finding:
    """The finding that :func:`written` wrote as ``record``; raises :class:`Damaged`."""
    try:
        code, message, severity, start, end, help, related, fix, reason = record
        return Finding(
            _text(code),
            _text(message),
            Severity(severity),
            _location(start),
            _location(end),
            None if help is None else _text(help),
            tuple(map(_related, related)),
            fix=None if fix is None else _read_fix(fix),
            no_fix_reason=None if reason is None else _text(reason),
        )
    except (TypeError, ValueError):
        raise Damaged from None


def _related(record: Any) -> Related:
    message, start, end, filename = record
    return Related(_text(message), _location(start), _location(end), None if filename is None else _text(filename))


def _fix(fix: Fix) -> list[Any]:
    edits = [[_place(edit.start), _place(edit.end), edit.content] for edit in fix.edits]
    return [fix.message, fix.applicability.value, edits]


def _read_fix(record: Any) -> Fix:
    message, applicability, edits = record
    made = tuple(Edit(_location(start), _location(end), _text(content)) for start, end, content in edits)
    return Fix(_text(message), made, Applicability(applicability))


def _place(location: Location) -> list[int]:
    return [location.offset, location.row, location.column]


def _location(record: Any) -> Location:
    offset, row, column = record
    if not (isinstance(offset, int) and isinstance(row, int) and isinstance(column, int)):
        raise TypeError
    return Location(offset, row, column)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
