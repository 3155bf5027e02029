"""One line a finding: ``path:row:column: CODE [*] message``."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.findings import Finding
from amplint.output.style import Style, harmless, shown_path
from amplint.project import Report


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports``, a line each."""
    lines = []
    for report in reports:
        path = style("bold", shown_path(report.document.filename))
        for finding in report.findings:
            lines.append(f"{path}:{report.document.place(finding.start)}: {what(finding, report, style)}\n")
    return "".join(lines)


def what(finding: Finding, report: Report, style: Style) -> str:
    """``CODE [*] message``."""
    marker = style("cyan", "[*]") + " " if report.fixable(finding) else ""
    return f"{style('red', finding.code)} {marker}{harmless(finding.message)}"
