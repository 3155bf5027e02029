"""Statements added beside another and cut out: one on a line of its own, several on a line, the last of a file."""

from __future__ import annotations

import libcst as cst
import pytest

from amplint.syntax.enclosing import Insertion, insert_after, insert_before, removal, statement_of
from amplint.syntax.names import within
from amplint.syntax.tree import SyntaxTree


def marked(text: str) -> tuple[SyntaxTree, cst.BaseSmallStatement]:
    """The statement of a text that says ``marked``."""
    tree = SyntaxTree(text)
    node = next(node for node in within(tree.module) if isinstance(node, cst.Name) and node.value == "marked")
    statement = statement_of(tree.around(node))
    assert statement is not None
    return tree, statement


def put(text: str, insertion: Insertion | None) -> str | None:
    return text[: insertion.offset] + insertion.content + text[insertion.offset :] if insertion else None


@pytest.mark.parametrize(
    "text, after",
    [
        ("marked\nlast\n", "marked\nnew\nlast\n"),
        ("if x:\n    marked\nlast\n", "if x:\n    marked\n    new\nlast\n"),
        ("if x:\n    marked", "if x:\n    marked\n    new"),
        ("if x:\r\n    marked\r\n", "if x:\r\n    marked\r\n    new\n"),
        ("marked; last\n", "marked; new; last\n"),
        ("if x: marked\n", "if x: marked; new\n"),
        ("for x in y: first; return marked\n", None),
    ],
)
def test_insert_after(text: str, after: str | None) -> None:
    assert put(text, insert_after(*marked(text), "new")) == after


@pytest.mark.parametrize(
    "text, after",
    [
        ("if x:\n    marked\n", "if x:\n    new\n    marked\n"),
        ("marked; last\n", "new\nmarked; last\n"),
        ("first; marked\n", None),
        ("if x: marked\n", None),
    ],
)
def test_insert_before(text: str, after: str | None) -> None:
    assert put(text, insert_before(*marked(text), "new")) == after


@pytest.mark.parametrize(
    "text, after",
    [
        ("first\nmarked\nlast\n", "first\nlast\n"),
        ("if x:\n    marked\n", "if x:\n    pass\n"),
        ("marked; last\n", None),
        ("if x: marked\n", None),
    ],
)
def test_removal(text: str, after: str | None) -> None:
    cut = removal(*marked(text))
    assert (text[: cut[0]] + cut[2] + text[cut[1] :] if cut else None) == after
