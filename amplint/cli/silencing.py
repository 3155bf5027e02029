"""``--add-noqa``, ``--baseline`` and ``--write-baseline``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from amplint.baseline import Baseline, BaselineError
from amplint.discovery import Problem
from amplint.documents import DocumentError
from amplint.output.style import harmless, shown_path
from amplint.project import Report
from amplint.silencing import with_noqa


def add_noqa(results: Sequence[Report | Problem], *, quiet: bool) -> list[Report | Problem]:
    """Write comments for all findings of ``results`` into the files, and return what could not be done."""
    rows = 0
    failed: list[Report | Problem] = []
    for result in results:
        if isinstance(result, Problem):
            failed.append(result)
            continue
        path = result.document.filename
        failed += (Problem(path, problem) for problem in result.problems)
        done = with_noqa(result.document, result.findings)
        for finding in done.left:
            place = result.document.place(finding.start)
            failed.append(Problem(path, f"{place}: no comment can silence {finding.code} there"))
        if done.rows:
            try:
                done.document.write()
                rows += done.rows
            except DocumentError as error:
                failed.append(Problem(path, error.message))
    if not quiet:
        print(f"Added {rows} noqa {'directive' if rows == 1 else 'directives'}.", file=sys.stderr)
    return failed


def write_baseline(path: str, results: Sequence[Report | Problem], *, quiet: bool) -> list[Report | Problem]:
    """Make the findings of ``results`` the known ones, and return what could not be done."""
    failed: list[Report | Problem] = [result for result in results if isinstance(result, Problem)]
    reports = [result for result in results if isinstance(result, Report)]
    failed += (Problem(report.document.filename, problem) for report in reports for problem in report.problems)
    try:
        count = Baseline(path).write(reports)
    except BaselineError as error:
        return [*failed, Problem(path, str(error))]
    if not quiet:
        told = "1 known finding" if count == 1 else f"{count} known findings"
        print(f"Wrote {told} to {shown_path(path)}.", file=sys.stderr)
    return failed


def without_known(
    results: Sequence[Report | Problem], baseline_of: Callable[[str], str | None], *, quiet: bool
) -> list[Report | Problem]:
    """``results`` without the findings that are known by the baselines that ``baseline_of`` names for their files."""
    groups: dict[str, list[Report]] = {}
    for result in results:
        path = baseline_of(result.document.filename) if isinstance(result, Report) else None
        if path is not None and isinstance(result, Report):
            groups.setdefault(path, []).append(result)
    shown: dict[int, Report] = {}
    problems = []
    for path, reports in groups.items():
        try:
            known = Baseline(path).apply(reports)
        except BaselineError as error:
            problems.append(Problem(path, str(error)))
            continue
        shown |= zip(map(id, reports), known.reports, strict=True)
        if known.hidden and not quiet:
            _tell(f"{known.hidden} known by {shown_path(path)} and not shown")
        if known.gone and not quiet:
            _tell(f"{known.gone} in {shown_path(path)} but gone: --write-baseline brings it up to date")
    kept = [result if isinstance(result, Problem) else shown.get(id(result), result) for result in results]
    return [*kept, *problems]


def _tell(line: str) -> None:
    print(f"amplint: {harmless(line)}", file=sys.stderr)
