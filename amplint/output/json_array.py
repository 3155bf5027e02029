"""An array of findings with the fields that Ruff gives its own, and amplint's further ones after them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from amplint.documents import Document, Place
from amplint.findings import Finding, Fix
from amplint.output.style import Style
from amplint.project import Report
from amplint.registry import UnknownRule, installed
from amplint.suppressions import Suppressions


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports`` as one JSON array."""
    rows = []
    for report in reports:
        if report.findings:
            suppressions = Suppressions(report.document)
            rows += [_finding(finding, report.document, suppressions) for finding in report.findings]
    return json.dumps(rows, indent=2) + "\n"


def _finding(finding: Finding, document: Document, suppressions: Suppressions) -> dict[str, Any]:
    filename = document.filename
    place = document.place
    return {
        "cell": place(finding.start).cell,
        "code": finding.code,
        "end_location": _place(place(finding.end)),
        "filename": filename if filename == "-" else os.path.abspath(filename),
        "fix": _fix(finding.fix, document) if finding.fix else None,
        "location": _place(place(finding.start)),
        "message": finding.message,
        "name": _name(finding.code),
        "noqa_row": place(document.at(suppressions.row_for(finding), 1)).row,
        "severity": finding.severity.value,
        "url": None,
        "help": finding.help,
        "no_fix_reason": finding.no_fix_reason,
        "related": [
            {
                "message": related.message,
                "location": _place(place(related.start)),
                "end_location": _place(place(related.end)),
            }
            for related in finding.related
        ],
    }


def _fix(fix: Fix, document: Document) -> dict[str, Any]:
    place = document.place
    return {
        "applicability": fix.applicability.value,
        "edits": [
            {
                "content": edit.content,
                "end_location": _place(place(edit.end)),
                "location": _place(place(edit.start)),
            }
            for edit in fix.edits
        ],
        "message": fix.message,
    }


def _place(place: Place) -> dict[str, int]:
    return {"column": place.column, "row": place.row}


def _name(code: str) -> str | None:
    try:
        return installed().find(code).name
    except UnknownRule:
        return None
