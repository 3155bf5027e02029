"""The findings of each file below its name, in columns."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.output.concise import what
from amplint.output.style import Style, shown_path
from amplint.project import Report


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports``, those of one file in one block."""
    return "".join(_block(report, style) for report in reports if report.findings)


def _block(report: Report, style: Style) -> str:
    places = [str(report.document.place(finding.start)).rpartition(":") for finding in report.findings]
    left, right = (max(len(found[part]) for found in places) for part in (0, 2))
    lines = [
        f"  {row:>{left}}:{column:<{right}} {what(finding, report, style)}\n"
        for (row, _, column), finding in zip(places, report.findings, strict=True)
    ]
    return f"{style('bold', shown_path(report.document.filename))}:\n{''.join(lines)}\n"
