"""What a text binds at its top: the definitions that a name surely stands for."""

from __future__ import annotations

import pytest

from amplint.syntax.units import Units


@pytest.mark.parametrize(
    "other",
    [
        "import step",
        "def step(): pass",
        "class step: pass",
        "step = None",
        "for step in steps: pass",
        "with open() as step: pass",
        "try: pass\nexcept E as step: pass",
        "match x:\n    case [step]: pass",
        "match x:\n    case [1, *step]: pass",
        "match x:\n    case {1: y, **step}: pass",
        "def reset():\n    global step\n    step = None",
    ],
)
def test_what_is_bound_twice_is_not_sure(other: str) -> None:
    units = Units(f"def step(scaler): scaler.update()\n{other}\n")
    assert "step" not in units.definitions
    assert "step" in units.unsure


@pytest.mark.parametrize(
    "other",
    [
        "match x:\n    case {1: y, **rest}: pass",
        "match x:\n    case {1: y}: pass",
        "match x:\n    case [1, *_]: pass",
        "[step for step in steps]",
        "def train(step): pass",
        "@overload\ndef step(scaler: None): ...",
        "@typing.overload\ndef step(scaler: None): ...",
    ],
)
def test_what_is_bound_once_is_sure(other: str) -> None:
    assert "step" in Units(f"{other}\ndef step(scaler): scaler.update()\n").definitions


def test_imports_in_functions_where_nothing_else_has_their_name() -> None:
    text = "def f():\n    from training import step, loss\n    match x:\n        case {1: y, **%s}: pass\n"
    assert Units(text % "rest").inner_imports == {"step": "training.step", "loss": "training.loss"}
    assert Units(text % "loss").inner_imports == {"step": "training.step"}
