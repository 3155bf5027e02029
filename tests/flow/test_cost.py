"""What linting costs grows with a file, not with its square. Counted in calls, which no busy machine changes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from amplint.documents import Document
from amplint.fixer import Fixer
from amplint.flow.machine import Machine
from amplint.registry import installed

HEAD = "import torch\nfrom torch.cuda.amp import GradScaler, autocast\n"
RIGHT = """
def train_{0}(loader, model, optimizer, scaler):
    for x in loader:
        with torch.autocast("cuda"):
            loss = model(x)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
FAULTY = """
def train_{0}(loader, model, optimizer):
    scaler = GradScaler()
    for x in loader:
        with autocast():
            loss = model(x)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
HELPED = """
def step(scaler, optimizer):
    scaler.step(optimizer)

def train(loader, model, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        optimizer.zero_grad()
        scaler.scale(model(x).sum()).backward()
        step(scaler, optimizer)
"""


def lint(text: str) -> int:
    """How many findings there are, each with a fix."""
    rules = installed().rules
    findings = Fixer(rules, rules).lint(Document.from_source("a.py", text)).findings
    assert all(finding.fix for finding in findings)
    return len(findings)


def cost(text: str) -> int:
    calls = 0

    def count(*_: Any) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        lint(text)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(("head", "function", "faults"), [("import torch\n", RIGHT, 0), (HEAD, FAULTY, 8)])
def test_twice_as_many_functions_cost_twice_as_much(head: str, function: str, faults: int) -> None:
    few, many = (head + "".join(map(function.format, range(count))) for count in (6, 12))
    assert lint(few) == faults  # and everything is imported then
    assert cost(many) < 2.2 * cost(few)


def test_a_root_is_not_walked_again_for_what_others_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    spend = Machine.spend

    def counting(self: Machine) -> None:
        nonlocal steps
        steps += 1
        spend(self)

    monkeypatch.setattr(Machine, "spend", counting)
    lint("import torch\n" + "".join(map(RIGHT.format, range(1))))
    alone, steps = steps, 0
    lint("import torch\n" + "".join(map(RIGHT.format, range(10))))
    assert steps <= 10 * alone


def test_a_fix_is_tried_with_what_its_place_is_connected_with() -> None:
    """A helper that another function calls is looked at with its caller, however little of the file they are."""
    rules = installed().rules

    def found(text: str) -> list[tuple[str, str | None]]:
        result = Fixer(rules, rules).lint(Document.from_source("a.py", text))
        return [(each.code, each.fix.edits[0].content if each.fix else None) for each in result.findings]

    filler = "".join(map(RIGHT.format, range(6)))
    alone = found("import torch\n" + HELPED)
    assert [code for code, _ in alone] == ["AMP102"]
    assert found("import torch\n" + filler + HELPED) == alone
