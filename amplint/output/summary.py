"""The last lines of a report, in the words of Ruff that users know."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.findings import Applicability
from amplint.project import Report


def render(reports: Sequence[Report]) -> str:
    """How many findings there are, how many were fixed, and how many can be."""
    remaining = [(report, finding) for report in reports for finding in report.findings]
    healed = sum(len(report.healed) for report in reports)
    total = len(remaining) + healed
    if not total:
        return "All checks passed!\n"
    if healed:
        lines = [f"Found {_errors(total)} ({healed} fixed, {len(remaining)} remaining)."]
    else:
        lines = [f"Found {_errors(total)}."]
    fixable = sum(report.fixable(finding) for report, finding in remaining)
    hidden = sum(
        finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE and not report.unsafe_fixes
        for report, finding in remaining
    )
    option = f"{hidden} hidden {_fixes(hidden)} can be enabled with the `--unsafe-fixes` option"
    if fixable:
        lines.append(f"[*] {fixable} fixable with the `--fix` option" + (f" ({option})." if hidden else "."))
    elif hidden:
        lines.append(f"No fixes available ({option}).")
    return "\n".join(lines) + "\n"


def render_diff(reports: Sequence[Report]) -> str:
    """How many findings the diff would fix, and how many more there would be with unsafe fixes."""
    healed = sum(len(report.healed) for report in reports)
    hidden = sum(finding.fix is not None for report in reports for finding in report.findings)
    more = f" ({hidden} additional {_fixes(hidden)} available with `--unsafe-fixes`)" if hidden else ""
    return f"Would fix {_errors(healed)}{more}.\n" if healed else f"No errors would be fixed{more}.\n"


def _errors(count: int) -> str:
    return f"{count} error" if count == 1 else f"{count} errors"


def _fixes(count: int) -> str:
    return "fix" if count == 1 else "fixes"
