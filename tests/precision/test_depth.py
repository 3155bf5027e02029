"""Code that is nested too deep is left, and the rest of the document is not; odd code ends in no error."""

from __future__ import annotations

import pytest

from amplint.precision import interpret
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree

FOUND = """

def found(x, weight, mask):
    with torch.autocast("cuda"):
        return (x @ weight).masked_fill(mask, -1e9)
"""


@pytest.mark.parametrize(
    "deep",
    [
        "deep = " + " + ".join(["1"] * 900),
        "def deep(x):\n    return x" + ".relu()" * 900,
        "\n".join(f"{'elif' if number else 'if'} torch == {number}:\n    pass" for number in range(900)),
    ],
    ids=["sum", "chain", "elif"],
)
def test_the_rest_is_still_read(deep: str) -> None:
    tree = SyntaxTree(f"import torch\n\n{deep}\n{FOUND}")
    assert "masked_fill" in {use.name for use in interpret(tree, Names(tree)).uses}


ODD = """
import torch

BIG = 10**400


class A(A):
    x = A().x


class B(torch.autograd.Function):
    pass


def f(x, weight, mask):
    h = (x @ weight).masked_fill(mask, -BIG) + 1e400 + int(1e400) + float("x") + 1 / 0 + 0**-1 + (-8) ** 0.5 - -"a"
    y = {1: 2, **h}[0], [*h][0], f(*h, **mask), ()[0], [][0], {}["a"], h.max()[0], h[..., 1:2, None]
    return y, torch.where(), torch.full(), h.masked_fill(), torch.finfo(), float(), int(), h.to(), torch.device()


with torch.autocast("cuda"), torch.autocast():
    B.apply(), A()(), torch.nn.Sequential()(1), torch.nn.BCELoss()(), torch.nn.Linear(1, 1)()
    f()
"""


def test_odd_code_ends_in_no_error() -> None:
    tree = SyntaxTree(ODD)
    assert interpret(tree, Names(tree)).uses
