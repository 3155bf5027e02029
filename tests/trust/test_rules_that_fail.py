"""A rule that raises is named, with a request to report it, and costs nobody else's findings."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Amplint

import amplint as package
from amplint.config import OUTPUT_FORMATS

pytestmark = pytest.mark.usefixtures("demo_rules")
TOLD = "rule DEMO004 (crash) failed: ZeroDivisionError: as asked; this is no fault of the file: please report it"


@pytest.mark.parametrize(
    "args", [("--output-format", each) for each in OUTPUT_FORMATS] + [("--statistics",), ("--diff",)]
)
def test_whatever_is_printed(inside: Amplint, tmp_path: Path, args: tuple[str, ...]) -> None:
    (tmp_path / "a.py").write_text("bad, crash_here\n")
    (tmp_path / "b.py").write_text("bad\n")
    for _ in range(2):  # no cache passes it for clean
        done = inside(*args)
        assert done.returncode == 2
        assert done.stderr.decode().splitlines()[0].startswith(f"amplint: a.py: {TOLD}")
        assert done.stdout.count(b"good" if "--diff" in args else b"DEMO001") >= (1 if "--statistics" in args else 2)


def test_from_python() -> None:
    outcome = package.lint_source("bad, crash_here\n")
    assert [finding.code for finding in outcome.findings] == ["DEMO001"]
    assert outcome.problems[0].startswith(TOLD)
