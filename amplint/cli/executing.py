"""What ``--verify`` has to say: which fixes were executed with stand-ins, and which were withheld."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from amplint.discovery import Problem
from amplint.output.style import harmless, shown_path
from amplint.project import Report


def narrate(results: Sequence[Report | Problem]) -> None:
    """Print on standard error how many fixes were executed, and the reason for each that was withheld."""
    from amplint.fixer import COULD_NOT_RUN, WATCHED, WITHHELD

    applied = executed = withheld = 0
    for report in results:
        if not isinstance(report, Report):
            continue
        kept = sum(finding.code in WATCHED for finding in report.healed)
        applied += kept
        executed += kept
        for finding in report.findings:
            reason = finding.no_fix_reason or ""
            if reason.startswith(WITHHELD):
                withheld += 1
                executed += COULD_NOT_RUN not in reason
                place = f"{shown_path(report.document.filename)}:{finding.start.row}:{finding.start.column}"
                print(f"amplint: {place}: {finding.code} {harmless(reason)}", file=sys.stderr)
    if not applied + withheld:
        print("amplint: there was no fix that a run with stand-ins could have shown to heal", file=sys.stderr)
        return
    print(
        f"amplint: {executed} of {applied + withheld} fixes of the scaler's protocol were executed with stand-ins: "
        f"{applied} kept, {withheld} withheld",
        file=sys.stderr,
    )
