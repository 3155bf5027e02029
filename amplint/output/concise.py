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


def what(finding: Finding, report: Report, style: Style, weight: str | None = None) -> str:
    """``CODE [*] message``, the message in the style ``weight``."""
    marker = style("cyan", "[*]") + " " if report.fixable(finding) else ""
    code, message = style("red", finding.code), harmless(finding.message)
    if style.links:
        from amplint.output.rules import page_of

        code = style.link(code, page_of(finding.code))
    return f"{code} {marker}{style(weight, message) if weight else message}"
