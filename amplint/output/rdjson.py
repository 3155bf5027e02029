"""Reviewdog's diagnostic format, whose suggestions a reviewer takes over by a click."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amplint.documents import Document, apply_edits
from amplint.findings import Finding, Fix, Location, Severity
from amplint.output.json_text import dumps
from amplint.output.places import absolute_path, file_message, file_place, related_places
from amplint.output.style import Style
from amplint.project import Report
from amplint.registry import installed

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports`` as one JSON object."""
    return dumps(
        {
            "diagnostics": [_diagnostic(finding, report.document) for report in reports for finding in report.findings],
            "severity": "WARNING",
            "source": {"name": "amplint"},
        }
    )


def _diagnostic(finding: Finding, document: Document) -> dict[str, Any]:
    rule = installed().get(finding.code)
    url = rule.page_url() if rule else None
    row: dict[str, Any] = {
        "code": {"value": finding.code, **({"url": url} if url else {})},
        "location": _location(document, finding.start, finding.end),
        "message": file_message(document, finding),
        "severity": _SEVERITIES[finding.severity],
    }
    if finding.related:
        row["related_locations"] = [
            {"message": related.message, "location": _location(home, related.start, related.end)}
            for home, related in related_places(finding, document)
        ]
    if finding.fix and document.whole:
        row["suggestions"] = [_suggestion(finding.fix, document)]
    return row


def _suggestion(fix: Fix, document: Document) -> dict[str, Any]:
    """All of the fix as one replacement, since a reviewer may take over one suggestion and leave another."""
    start = min(edit.start for edit in fix.edits)
    end = max(edit.end for edit in fix.edits)
    changed = apply_edits(document.text, fix.edits)
    text = changed[start.offset : len(changed) - (len(document.text) - end.offset)]
    return {"range": _range(document, start, end), "text": text}


def _location(document: Document, start: Location, end: Location) -> dict[str, Any]:
    return {"path": absolute_path(document), "range": _range(document, start, end)}


def _range(document: Document, start: Location, end: Location) -> dict[str, Any]:
    return {"start": _position(document, start), "end": _position(document, end)}


def _position(document: Document, location: Location) -> dict[str, int]:
    """The format counts columns in bytes of UTF-8, those of the file."""
    if not document.whole:
        return {"line": file_place(document, location).row}
    before = document.row(location.row)[: location.column - 1]
    return {"line": location.row, "column": len(before.encode("utf-8", "surrogatepass")) + 1}
