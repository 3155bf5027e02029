"""One line a finding: ``path:row:column: CODE [*] message``."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.output.style import Style, harmless, shown_path
from amplint.project import Report


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports``, a line each."""
    lines = []
    for report in reports:
        path = style("bold", shown_path(report.document.filename))
        for finding in report.findings:
            marker = style("cyan", "[*]") + " " if report.fixable(finding) else ""
            place = f"{path}:{report.document.place(finding.start)}"
            lines.append(f"{place}: {style('red', finding.code)} {marker}{harmless(finding.message)}\n")
    return "".join(lines)
