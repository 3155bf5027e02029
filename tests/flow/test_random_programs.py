"""The explorer against PyTorch: what it says of a random training loop happens in a run, and what happens it says."""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import program

from amplint.flow import explore
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree

torch = pytest.importorskip("torch")

CODES = {"AMP101", "AMP102"}
RUNS = 12
"""Runs of one program, each with its own data; in two of three the flag is set."""


def said(source: str) -> set[tuple[str, int]]:
    """What the explorer finds: code and row."""
    tree = SyntaxTree(source)
    report = explore(tree, Names(tree))
    found = set()
    for violation in (found.violation for found in report.violations):
        row = source.count("\n", 0, tree.span(report.node(violation.site))[0]) + 1
        found.add((violation.code, row))
    return found


def seen(source: str, path: Path) -> tuple[set[tuple[str, int]], bool]:
    """What the watch sees in some runs, and whether any run broke off."""
    from amplint.harness import watch

    path.write_text(source)
    names: dict[str, object] = {}
    exec(compile(source, str(path), "exec"), names)
    found, broke = set(), False
    for run in range(RUNS):
        drawn = random.Random(run)
        data, more = ([drawn.uniform(-1, 1) for _ in range(4)] for _ in range(2))
        model = torch.nn.Linear(2, 1)
        try:
            with watch() as report:
                names["train"](model, run % 3 > 0, data, more)  # type: ignore[operator]
        except (RuntimeError, AssertionError):
            broke = True
        found |= {(each.code, each.row) for each in report.findings}
    return found, broke


def seeds(count: int) -> Iterator[int]:
    first = int(os.environ.get("AMPLINT_SEED", "0"))
    return iter(range(first, first + count))


def disagreements(count: int, path: Path) -> list[str]:
    wrong = []
    for seed in seeds(count):
        source = program(seed)
        static, (real, broke) = said(source), seen(source, path)
        invented = {finding for finding in static if finding[0] in CODES} - real
        missed = {finding for finding in real if finding[0] in CODES} - static
        # where PyTorch refuses to go on, what the explorer says of the rest of the path cannot be seen
        if (invented and not broke) or missed:
            wrong.append(f"seed {seed}: invented {sorted(invented)}, missed {sorted(missed)}\n{source}")
    return wrong


@pytest.fixture(autouse=True)
def _few_objects() -> Iterator[None]:
    """A watch looks at every live object for optimizers: leave it those of the programs."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def test_explorer_and_watch_agree(tmp_path: Path) -> None:
    assert disagreements(25, tmp_path / "program.py") == []


@pytest.mark.slow
def test_explorer_and_watch_agree_at_length(tmp_path: Path) -> None:
    assert disagreements(int(os.environ.get("AMPLINT_PROGRAMS", "2000")), tmp_path / "program.py") == []
