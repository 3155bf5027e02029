"""A finding as a person reads it: the code around it with the offending span underlined, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amplint.findings import Applicability, Edit, Finding
from amplint.output.concise import what
from amplint.output.frame import Mark, change, frame
from amplint.output.places import related_places
from amplint.output.style import Style, harmless
from amplint.project import Report

_AROUND = 2  # rows of context before and after
_FAULT, _ELSEWHERE = Mark("^", "red"), Mark("-", "blue")


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports``, each with an empty line after it."""
    return "".join(f"{line}\n" for report in reports for line in _lines(report, style))


def _lines(report: Report, style: Style) -> Iterator[str]:
    shown: set[tuple[Edit, ...]] = set()
    for finding in report.findings:
        fix = finding.fix
        yield from _finding(finding, report, style, repeated=fix is not None and fix.edits in shown)
        yield ""
        if fix is not None:
            shown.add(fix.edits)


def _finding(finding: Finding, report: Report, style: Style, *, repeated: bool) -> Iterator[str]:
    document = report.document
    yield what(finding, report, style, "bold")
    yield from frame(document, finding.start, finding.end, _FAULT, style, _AROUND)
    for home, related in related_places(finding, document):
        yield f"{style('bold', 'note')}: {harmless(related.message)}"
        yield from frame(home, related.start, related.end, _ELSEWHERE, style)
    if finding.help:
        yield f"{style('cyan', 'help')}: {harmless(finding.help)}"
    if finding.fix:
        yield f"{style('cyan', 'fix')}: {harmless(finding.fix.message)}{' (as shown above)' if repeated else ''}"
        if not repeated:
            yield from change(document, finding.fix, style)
        if finding.fix.applicability is Applicability.UNSAFE:
            yield f"{style('bold', 'note')}: This is an unsafe fix and may change runtime behavior"
    elif finding.no_fix_reason:
        yield f"{style('bold', 'note')}: No fix is offered: {harmless(finding.no_fix_reason)}"
