"""Code that is nested too deep is left, and the rest of the document is not."""

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
