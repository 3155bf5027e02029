"""One line a finding as Pylint's parseable format has it, which many tools read."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.output.places import file_message, file_place
from amplint.output.style import Style, harmless, shown_path
from amplint.project import Report


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports``, a line each."""
    return "".join(
        f"{shown_path(report.document.filename)}:{file_place(report.document, finding.start).row}: "
        f"[{finding.code}] {harmless(file_message(report.document, finding))}\n"
        for report in reports
        for finding in report.findings
    )
