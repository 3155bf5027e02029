"""Workflow commands by which GitHub Actions shows findings beside the code."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.findings import Severity
from amplint.output.places import absolute_path, file_place, shown_place
from amplint.output.style import Style, harmless
from amplint.project import Report

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(reports: Sequence[Report], style: Style) -> str:
    """A command for each finding of ``reports``."""
    lines = []
    for report in reports:
        document = report.document
        for finding in report.findings:
            start, end = file_place(document, finding.start), file_place(document, finding.end)
            properties = {
                "title": f"amplint ({finding.code})",
                "file": harmless(absolute_path(document)),
                "line": start.row,
                "endLine": end.row,
                "col": start.column,
                "endColumn": end.column,
            }
            told = ",".join(f"{key}={_escape_property(str(value))}" for key, value in properties.items())
            message = f"{shown_place(document, finding.start)}: {finding.code} {harmless(finding.message)}"
            if finding.help:
                message += f"\n  help: {harmless(finding.help)}"
            lines.append(f"::{_COMMANDS[finding.severity]} {told}::{_escape(message)}\n")
    return "".join(lines)


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
