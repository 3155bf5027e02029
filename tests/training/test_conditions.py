"""Whether conditions can hold together, by what they ask and no more."""

from __future__ import annotations

import pytest

from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree
from amplint.training.conditions import can_hold, conjunction
from amplint.training.origins import callee_name
from amplint.training.training import Training


def together(*tests: str, before: str = "") -> bool:
    """Whether all of these conditions can be true at once."""
    calls = "".join(f"ask({test})\n" for test in tests)
    training = Training(
        Names(SyntaxTree(f"{before}\ndef f(a, b, c, name):\n    {calls.replace(chr(10), chr(10) + '    ')}pass\n"))
    )
    asked = [call.args[0].value for call in training.places.every_call() if callee_name(call) == "ask"]
    return can_hold(conjunction(training.conditions.of(test) for test in asked))


@pytest.mark.parametrize(
    "tests",
    [
        ("a", "b"),
        ("a or b", "not a"),
        ("a == 1", "b == 2"),
        ("a is True", "a"),
        ("bool(a)", "a"),
        ("name == 'x'", "name != 'y'"),
        ("name not in b", "name in c"),
        ("a < b", "b < a"),
        ("bool()", "a"),
        ("len(a)", "not len(b)"),
        tuple(f"not x{n}" for n in range(12)) + ("x3",),  # too many to try
    ],
)
def test_can_hold_together(tests: tuple[str, ...]) -> None:
    assert together(*tests)


@pytest.mark.parametrize(
    "tests",
    [
        ("a", "not a"),
        ("a and b", "not b"),
        ("a or b", "not a", "not b"),
        ("a is None", "a"),
        ("a is not None", "a is None"),
        ("a == True", "not a"),
        ("a is False", "a"),
        ("bool(a)", "not a"),
        ("name == 'x'", "name == 'y'"),
        ("name == 'x'", "name != 'x'"),
        ("name in b", "name not in b"),
        ("False", "a"),
        ("None", "a"),
    ],
)
def test_cannot_hold_together(tests: tuple[str, ...]) -> None:
    assert not together(*tests)


def test_a_name_for_a_condition_is_the_condition() -> None:
    assert not together("amp", "level == 0", before="level = load()\namp = level != 0")
    assert not together("amp", before="amp = False")
    assert together("amp", before="amp = load().enabled")
