"""Where the nodes of a text are, whatever whitespace is in it, and which texts have no tree."""

from __future__ import annotations

import libcst as cst
import pytest

from amplint.syntax.names import Names
from amplint.syntax.tree import InvalidSyntax, SyntaxTree


@pytest.mark.parametrize(
    "text",
    [
        "call(x)\n",
        "import os\n\x0ccall(x)",
        "import os\n\x0c\x0c\nif x:\n  \x0c  call(x)\n",
        "\x0cimport os\nif x:\n\tpass\n \x0c\tcall(x)\n",
        "\\\ncall(x)\r",
        "class A:\n\tpass\n\\\ncall(x)\n",
        "import os\r\x0ccall(x)\r",
        "class A:\n\x0c    def f():\n        call(x)\n    y = 1\n",
    ],
)
def test_a_node_is_where_it_stands_in_the_text(text: str) -> None:
    tree = SyntaxTree(text)
    (call,) = (node for node in Names(tree).parents if isinstance(node, cst.Call))
    assert tree.code(call) == "call(x)"
    assert tree.code(call.args[0].value) == "x"


@pytest.mark.parametrize("text", ["a\nb\nc", "a\rb\rc", "a\r\nb\rc"])
def test_rows_end_with_any_newline(text: str) -> None:
    assert SyntaxTree(text).row(text.index("c")) == 3


SUM = " - ".join(f"x{n}" for n in range(4000))
DEEP = [f"if a:\n    for b in c:\n        d = {SUM}\n", f"def f(a={SUM}):\n    pass\n", f"with {SUM} as x:\n    pass\n"]


@pytest.mark.parametrize(
    "text", ["(" * 5000 + ")" * 5000, "-" * 50_000 + "1", "-" * 3500 + "1", "+".join(["1"] * 20_000), *DEEP]
)
def test_a_text_nested_too_deeply_is_refused_and_does_not_end_the_process(text: str) -> None:
    with pytest.raises(InvalidSyntax, match="nested too deeply"):
        SyntaxTree(text)


def test_long_is_not_deep() -> None:
    SyntaxTree("x = [\n" + "    f(a, b),\n" * 2000 + "]\n")


def test_a_null_byte_is_refused_where_it_stands() -> None:
    with pytest.raises(InvalidSyntax, match="null") as caught:
        SyntaxTree("a = 1\r\nb = '\0'\n")
    assert (caught.value.row, caught.value.column) == (2, 6)


def test_what_libcst_makes_no_tree_of_is_invalid_syntax() -> None:
    with pytest.raises(InvalidSyntax, match="space after 'in'"):
        SyntaxTree("for x in*y:\n    pass\n")


def test_half_a_character_is_invalid_syntax() -> None:
    with pytest.raises(InvalidSyntax, match="surrogates") as raised:
        SyntaxTree("x\n= '\ud800'\n")
    assert (raised.value.row, raised.value.column) == (2, 4)
