"""What ``--verbose`` tells: which settings held, how long each file took, and what was left unexplored."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from amplint.discovery import Problem
from amplint.output.style import harmless, shown_path
from amplint.project import Project, Report


def narrate(project: Project, results: Sequence[Report | Problem], seconds: float) -> None:
    """Tell on standard error how ``results`` came about in ``seconds``."""
    reports = [result for result in results if isinstance(result, Report)]
    for source in project.configuration.sources:
        _tell(f"settings of {shown_path(source)}")
    for report in reports:
        path = shown_path(report.document.filename)
        if report.seconds:
            _tell(f"{path}: {report.seconds:.3f} s")
        for name in dict.fromkeys(report.left):
            _tell(f"{path}: {_named(name)} is too complex to be followed in full, so faults in it may go unseen")
    searched = f"{project.searched} files searched, " if project.searched else ""
    recalled = sum(report.recalled for report in reports)
    linted = f"{len(reports) - recalled} linted" + (f", {recalled} recalled from the cache" if recalled else "")
    _tell(f"{searched}{linted}: {seconds:.3f} s")


def _named(name: str) -> str:
    return "the module's own code" if name == "<module>" else f"`{harmless(name)}`"


def _tell(line: str) -> None:
    print(f"amplint: {line}", file=sys.stderr)
