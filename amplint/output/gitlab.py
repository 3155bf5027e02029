"""A report of code quality as GitLab shows it in merge requests."""

from __future__ import annotations

import os
from collections.abc import Sequence

from amplint.documents import Document
from amplint.findings import Location, Severity
from amplint.output.fingerprints import fingerprinted
from amplint.output.json_text import dumps
from amplint.output.places import file_message, file_place, portable_path
from amplint.output.style import Style
from amplint.project import Report

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports`` as one JSON array."""
    return dumps(
        [
            {
                "check_name": finding.code,
                "description": f"{finding.code}: {file_message(report.document, finding)}",
                "severity": _SEVERITIES[finding.severity],
                "fingerprint": fingerprint,
                "location": {
                    "path": _path(report.document),
                    "positions": {
                        "begin": _position(report.document, finding.start),
                        "end": _position(report.document, finding.end),
                    },
                },
            }
            for report, finding, fingerprint in fingerprinted(reports)
        ]
    )


def _path(document: Document) -> str:
    """The path from the root of the repository, where GitLab's runner says which that is."""
    root = os.environ.get("CI_PROJECT_DIR")
    if root and document.filename != "-":
        inside = os.path.relpath(os.path.abspath(document.filename), root)
        if not inside.startswith(os.pardir):
            return inside.replace(os.sep, "/")
    return portable_path(document)


def _position(document: Document, location: Location) -> dict[str, int]:
    found = file_place(document, location)
    return {"line": found.row, "column": found.column}
