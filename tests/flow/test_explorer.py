"""The explorer's bounds: linear on large functions, and a function past them is left rather than hung on."""

from __future__ import annotations

import time

import pytest

from amplint.flow import ProtocolReport, explore
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree

HEADER = """import torch


def train(model, optimizer, loader, flags):
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        optimizer.zero_grad()
        loss = model(x).mean()
        scaler.scale(loss).backward()
"""


def explored(source: str) -> ProtocolReport:
    tree = SyntaxTree(source)
    return explore(tree, Names(tree))


def codes(report: ProtocolReport) -> list[str]:
    return [found.violation.code for found in report.violations]


def seconds(source: str) -> float:
    started = time.process_time()
    explored(source)
    return time.process_time() - started


INDEPENDENT = {
    "branches that do nothing": "        if flags[{0}]:\n            print({0})\n",
    "branches with a variable each": (
        "        if flags[{0}]:\n            v{0} = {0}\n        else:\n            v{0} = None\n"
    ),
    "branches that clear": "        if flags[{0}]:\n            optimizer.zero_grad()\n",
    "branches that clip": (
        "        if flags[{0}]:\n            torch.nn.utils.clip_grad_norm_(model.parameters(), {0})\n"
    ),
}


@pytest.mark.parametrize("branch", INDEPENDENT.values(), ids=INDEPENDENT.keys())
def test_forty_independent_branches_take_under_a_second(branch: str) -> None:
    source = HEADER + "".join(branch.format(index) for index in range(40)) + "        scaler.step(optimizer)\n"
    assert seconds(source) < 1


def test_two_thousand_statements_take_under_a_second() -> None:
    body = "".join(f"        value{index} = model.part{index}(x, value{index - 1})\n" for index in range(1, 2001))
    source = HEADER + body + "        scaler.step(optimizer)\n        scaler.update()\n"
    explored(HEADER)  # LibCST's own first use
    tree = SyntaxTree(source)
    names = Names(tree)
    started = time.process_time()
    report = explore(tree, names)
    assert time.process_time() - started < 1
    assert codes(report) == []


def test_a_fault_behind_many_branches_is_found() -> None:
    branches = "".join(INDEPENDENT["branches that do nothing"].format(index) for index in range(40))
    assert codes(explored(HEADER + branches + "        optimizer.step()\n        scaler.update()\n")) == ["AMP101"]


def test_recursion_comes_to_an_end() -> None:
    source = """
def ping(scaler, optimizer, loss, n):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    pong(scaler, optimizer, loss, n)


def pong(scaler, optimizer, loss, n):
    scaler.update()
    if n:
        ping(scaler, optimizer, loss, n - 1)
"""
    assert codes(explored(source)) == []


def test_a_value_computed_from_itself_comes_to_an_end() -> None:
    source = HEADER + "        flags['best'] = min(loss, flags['best'])\n        if flags['best'] < loss:\n"
    source += "            scaler.step(optimizer)\n        scaler.update()\n"
    assert seconds(source) < 1
