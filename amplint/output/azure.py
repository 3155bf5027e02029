"""Logging commands by which Azure Pipelines lists findings as issues of a run."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.findings import Severity
from amplint.output.places import absolute_path, file_message, file_place
from amplint.output.style import Style, harmless
from amplint.project import Report


def render(reports: Sequence[Report], style: Style) -> str:
    """A command for each finding of ``reports``."""
    lines = []
    for report in reports:
        for finding in report.findings:
            start = file_place(report.document, finding.start)
            properties = {
                "type": "error" if finding.severity is Severity.ERROR else "warning",  # it knows no third
                "sourcepath": harmless(absolute_path(report.document)),
                "linenumber": start.row,
                "columnnumber": start.column,
                "code": finding.code,
            }
            told = "".join(f"{key}={_escape_property(str(value))};" for key, value in properties.items())
            message = harmless(file_message(report.document, finding))
            lines.append(f"##vso[task.logissue {told}]{_escape(message)}\n")
    return "".join(lines)


def _escape(text: str) -> str:
    return text.replace("%", "%AZP25")


def _escape_property(text: str) -> str:
    return _escape(text).replace(";", "%3B").replace("]", "%5D")
