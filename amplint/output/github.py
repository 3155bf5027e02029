"""Workflow commands by which GitHub Actions shows findings beside the code."""

from __future__ import annotations

import os
from collections.abc import Sequence

from amplint.findings import Severity
from amplint.output.style import Style, shown_path
from amplint.project import Report

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(reports: Sequence[Report], style: Style) -> str:
    """A command for each finding of ``reports``."""
    lines = []
    for report in reports:
        filename = report.document.filename
        for finding in report.findings:
            properties = {
                "title": f"amplint ({finding.code})",
                "file": filename if filename == "-" else os.path.abspath(filename),
                "line": finding.start.row,
                "col": finding.start.column,
                "endLine": finding.end.row,
                "endColumn": finding.end.column,
            }
            told = ",".join(f"{key}={_escape_property(str(value))}" for key, value in properties.items())
            place = f"{shown_path(filename)}:{report.document.place(finding.start)}"
            message = f"{place}: {finding.code} {finding.message}"
            if finding.help:
                message += f"\n  help: {finding.help}"
            lines.append(f"::{_COMMANDS[finding.severity]} {told}::{_escape(message)}\n")
    return "".join(lines)


def _escape(text: str) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
