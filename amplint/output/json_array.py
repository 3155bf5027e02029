"""An array of findings with the fields that Ruff gives its own, and amplint's further ones after them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from amplint.documents import Document
from amplint.findings import Finding, Fix, Location
from amplint.output.json_text import dumps
from amplint.output.places import absolute_path, related_places
from amplint.output.style import Style
from amplint.project import Report
from amplint.registry import installed
from amplint.suppressions import Suppressions


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports`` as one JSON array."""
    return dumps(list(records(reports)))


def records(reports: Sequence[Report]) -> Iterator[dict[str, Any]]:
    """The findings of ``reports``, a JSON object each."""
    for report in reports:
        if report.findings:
            suppressions = {program: Suppressions(program) for program in report.document.programs}
            for finding in report.findings:
                yield _finding(finding, report.document, suppressions)


def _finding(finding: Finding, document: Document, suppressions: Mapping[Document, Suppressions]) -> dict[str, Any]:
    rule = installed().get(finding.code)
    noqa_row = suppressions[document.program_at(finding.start)].row_for(finding)
    return {
        "cell": document.place(finding.start).cell,
        "code": finding.code,
        "end_location": _location(document, finding.end),
        "filename": absolute_path(document),
        "fix": _fix(document, finding.fix) if finding.fix else None,
        "location": _location(document, finding.start),
        "message": finding.message,
        "name": rule and rule.name,
        "noqa_row": document.place(document.at(noqa_row, 1)).row,
        "severity": finding.severity.value,
        "url": rule.page_url() if rule else None,
        "help": finding.help,
        "no_fix_reason": finding.no_fix_reason,
        "related": [
            {
                "cell": home.place(related.start).cell,
                "filename": absolute_path(home),
                "message": related.message,
                "location": _location(home, related.start),
                "end_location": _location(home, related.end),
            }
            for home, related in related_places(finding, document)
        ],
    }


def _fix(document: Document, fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "edits": [
            {
                "cell": document.place(edit.start).cell,
                "content": edit.content,
                "end_location": _location(document, edit.end),
                "location": _location(document, edit.start),
            }
            for edit in fix.edits
        ],
        "message": fix.message,
    }


def _location(document: Document, location: Location) -> dict[str, int]:
    found = document.place(location)
    return {"column": found.column, "row": found.row}
