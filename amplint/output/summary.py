"""The last lines of a report, in the words of Ruff that users know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from amplint.findings import Applicability
from amplint.output.style import Style, counted, shown_path
from amplint.project import Report
from amplint.registry import installed


def render(reports: Sequence[Report]) -> str:
    """How many findings there are, how many were fixed, how many can be, and how."""
    remaining = sum(len(report.findings) for report in reports)
    healed = sum(len(report.healed) for report in reports)
    total = remaining + healed
    if not total:
        return f"All checks passed!\n{_left(reports)}"
    if healed:
        lines = [f"Found {counted(total, 'error')} ({healed} fixed, {remaining} remaining)."]
    else:
        lines = [f"Found {counted(total, 'error')}."]
    fixable = sum(report.fixable(finding) for report in reports for finding in report.findings)
    unsafe = _unsafe(reports)
    option = f"{unsafe} unsafe {_fixes(unsafe)} available with `--fix --unsafe-fixes`"
    if fixable:
        lines.append(f"[*] {fixable} fixable with `--fix`" + (f" ({option})." if unsafe else "."))
    elif unsafe:
        lines.append(f"{option}.")
    return "\n".join(lines) + f"\n{_left(reports)}"


def _left(reports: Sequence[Report]) -> str:
    """How much nobody has looked at in full: nothing is left out without a word."""
    left = sum(len(set(report.left)) for report in reports)
    what = "1 function is" if left == 1 else f"{left} functions are"
    return (
        f"{what} too complex to be followed in full; `--verbose` names {'it' if left == 1 else 'them'}.\n"
        if left
        else ""
    )


def render_diff(reports: Sequence[Report]) -> str:
    """How many findings the shown changes would fix."""
    return _fixed(reports, "Would fix", "No errors would be fixed", always=True)


def render_fix_only(reports: Sequence[Report]) -> str:
    """How many findings were fixed, where nothing else is to be said."""
    return _fixed(reports, "Fixed", "No errors fixed", always=False)


def render_fixes(reports: Sequence[Report], style: Style) -> str:
    """The rules whose findings were fixed, and how often, below each file's name."""
    healed = sum(len(report.healed) for report in reports)
    if not healed:
        return ""
    head = f"Fixed {counted(healed, 'error')}:"
    lines = [f"\n{style('bold', head)}"]
    for report in reports:
        counts = Counter(finding.code for finding in report.healed)
        if counts:
            width = max(len(str(count)) for count in counts.values())
            lines.append(f"- {style('bold', shown_path(report.document.filename))}:")
            for code, count in counts.most_common():
                rule = installed().get(code)
                lines.append(f"    {count:>{width}} × {style('red', code)}" + (f" ({rule.name})" if rule else ""))
    return "\n".join(lines) + "\n\n"


def _fixed(reports: Sequence[Report], some: str, none: str, *, always: bool) -> str:
    fixed = sum(len(report.healed) for report in reports)
    unsafe = _unsafe(reports)
    if fixed:
        more = f" ({unsafe} additional {_fixes(unsafe)} available with `--unsafe-fixes`)" if unsafe else ""
        return f"{some} {counted(fixed, 'error')}{more}.\n"
    more = f" ({unsafe} {_fixes(unsafe)} available with `--unsafe-fixes`)" if unsafe else ""
    return f"{none}{more}.\n" if more or always else ""


def _unsafe(reports: Sequence[Report]) -> int:
    """How many fixes wait for ``--unsafe-fixes``."""
    return sum(
        finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE and not report.unsafe_fixes
        for report in reports
        for finding in report.findings
    )


def _fixes(count: int) -> str:
    return "fix" if count == 1 else "fixes"
