"""The explorer against PyTorch: what it says of a random training loop happens in a run, and what happens it says."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pairs import pair
from programs import DESCALED, program, program_of_several

from amplint.documents import Document
from amplint.fixer import Fixer
from amplint.flow import explore
from amplint.registry import installed
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree

torch = pytest.importorskip("torch")

RULES = [rule for rule in installed().rules if rule.code.startswith(("AMP1", "AMP301", "AMP302"))]
UNSEEN = {"AMP112"}
"""What no run can show: whether a number is taken for the loss."""
RUNS = 12
"""Runs of one program, each with its own data; in two of three the flag is set."""
MOST_RUNS = 300
"""Runs of a program of which something was said that the first runs did not show: it may take a rare turn of events."""


def said(source: str) -> set[tuple[str, int]]:
    """What the explorer finds: code and row."""
    tree = SyntaxTree(source)
    report = explore(tree, Names(tree))
    found = set()
    for violation in (found.violation for found in report.violations):
        row = source.count("\n", 0, tree.span(report.node(violation.site))[0]) + 1
        found.add((violation.code, row))
    return found


def seen(source: str, path: Path, runs: range = range(RUNS)) -> tuple[set[tuple[str, int]], bool]:
    """What the watch sees in some runs, and whether any run broke off."""
    from amplint.harness.watch import Report, watch

    path.write_text(source)
    names: dict[str, object] = {}
    exec(compile(source, str(path), "exec"), names)
    report, broke = Report(), False
    for run in runs:
        drawn = random.Random(run)
        data, more = ([drawn.uniform(-1, 1) for _ in range(4)] for _ in range(2))
        model = torch.nn.Linear(2, 1)
        try:
            with watch(report, existing=False):
                names["train"](model, run % 3 > 0, data, more)  # type: ignore[operator]
        except (RuntimeError, AssertionError):
            broke = True
    # where a run broke off, the update may have come after that
    found = [each for each in report.findings if not broke or each not in report.unfinished]
    return {(each.code, each.row) for each in found}, broke


def seeds(count: int) -> Iterator[int]:
    first = int(os.environ.get("AMPLINT_SEED", "0"))
    return iter(range(first, first + count))


def disagreements(count: int, path: Path, write: Callable[[int], str]) -> list[str]:
    wrong = []
    for seed in seeds(count):
        source = write(seed)
        real, broke = seen(source, path)
        static = {finding for finding in said(source) if finding[0] not in UNSEEN}
        if static - real and not broke:
            rare, broke = seen(source, path, range(RUNS, MOST_RUNS))
            real |= rare
        # where PyTorch refuses to go on, what the explorer says of the rest of the path cannot be seen
        invented = set() if broke else static - real
        missed = real - static if DESCALED not in source else set()
        if invented or missed:
            wrong.append(f"seed {seed}: invented {sorted(invented)}, missed {sorted(missed)}\n{source}")
    return wrong


def test_explorer_and_watch_agree(tmp_path: Path) -> None:
    assert disagreements(25, tmp_path / "program.py", program) == []


def test_explorer_and_watch_agree_about_several_optimizers(tmp_path: Path) -> None:
    assert disagreements(15, tmp_path / "program.py", program_of_several) == []


DISAGREED: dict[str, str] = {
    part.partition("\n")[0]: part.partition("\n")[2]
    for part in (Path(__file__).parent / "disagreements.txt").read_text().split("#### ")[1:]
}
"""Random programs about which the explorer and the watch once disagreed, by kind and seed."""


@pytest.mark.parametrize("name", DISAGREED)
def test_explorer_and_watch_agree_where_they_did_not(name: str, tmp_path: Path) -> None:
    assert disagreements(1, tmp_path / "program.py", lambda seed: DISAGREED[name]) == []


def still_wrong(count: int, path: Path) -> list[str]:
    """The faulty programs that ``--fix`` leaves without a finding and that misuse the scaler all the same."""
    wrong = []
    for seed in seeds(count):
        source = program(seed)
        fixed = Fixer(RULES, RULES).fix(Document(str(path), source))
        if fixed.healed and not fixed.remaining.findings:
            real, breaks = seen(fixed.document.text, path)
            if real or (breaks and not seen(source, path)[1]):
                wrong.append(f"seed {seed}: {sorted(real)}\n{fixed.document.text}")
    return wrong


def test_fixed_programs_run_without_misuse(tmp_path: Path) -> None:
    assert still_wrong(25, tmp_path / "program.py") == []


def trained(source: str, path: Path) -> tuple[list[Any], bool]:
    """The weights that a program comes to, and whether it misuses the scaler or breaks off on the way."""
    from amplint.harness.watch import Report, watch

    path.write_text(source)
    names: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), names)
    torch.manual_seed(0)
    data = [(torch.randn(4, 3), torch.randn(4, 2)) for _ in range(4)]
    report = Report()
    try:
        with watch(report, existing=False):
            weights = names["train"](data)
    except Exception:
        return [], True
    return weights, bool(report.findings)


def badly_fixed(count: int, path: Path) -> tuple[list[str], Counter[str], Counter[str]]:
    """The faults whose fixes do not lead to the weights that were meant; how many were fixed, and how many left."""
    wrong: list[str] = []
    fixed: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for seed in seeds(count):
        made = pair(seed)
        meant, misuses = trained(made.intended, path)
        if misuses or said(made.intended):
            wrong.append(f"seed {seed}: the program that was meant is found faulty\n{made.intended}")
            continue
        after = Fixer(RULES, RULES).fix(Document(str(path), made.faulty))
        if not after.healed or after.remaining.findings:
            left[made.fault] += 1
            continue
        weights, misuses = trained(after.document.text, path)
        same = len(weights) == len(meant) and all(map(torch.allclose, weights, meant))
        if misuses or not same:
            how = "misuses the scaler" if misuses else "leads to other weights"
            wrong.append(f"seed {seed}: {made.fault}, fixed, {how}\n{made.faulty}\n{after.document.text}")
        else:
            fixed[made.fault] += 1
    return wrong, fixed, left


def test_fixed_programs_train_as_they_were_meant_to(tmp_path: Path) -> None:
    wrong, fixed, left = badly_fixed(25, tmp_path / "program.py")
    assert wrong == []
    assert fixed.total() > 2 * left.total(), (fixed, left)


@pytest.mark.slow
def test_explorer_and_watch_agree_at_length(tmp_path: Path) -> None:
    count = int(os.environ.get("AMPLINT_PROGRAMS", "2000"))
    path = tmp_path / "program.py"
    assert disagreements(count, path, program) == []
    assert disagreements(count, path, program_of_several) == []
    assert still_wrong(count // 4, path) == []
    assert badly_fixed(count // 4, path)[0] == []
