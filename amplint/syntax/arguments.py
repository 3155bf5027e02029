"""Small edits of a call's arguments by offsets: what is around them keeps its comments and its formatting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree


class Change(NamedTuple):
    """Replace the text from offset ``start`` to ``end`` by ``content``."""

    start: int
    end: int
    content: str


def insert_argument(tree: SyntaxTree, call: cst.Call, index: int, code: str) -> Change:
    """Make ``code`` the argument at ``index`` of ``call``; on a line of its own where the others have theirs."""
    text = tree.text
    if index < len(call.args):
        start, _ = tree.span(call.args[index])
        line = text[:start].rpartition("\n")[2]
        own_line = index == 0 and not line.strip() and "\n" in text[tree.span(call)[0] : start]
        return Change(start, start, f"{code},{_newline_before(text, start)}{line}" if own_line else f"{code}, ")
    if call.args:
        _, end = tree.span(call.args[-1])
        return Change(end, end, f", {code}")
    start, _ = tree.span(tree.whole(call).whitespace_before_args)
    return Change(start, start, code)


def insert_keyword(tree: SyntaxTree, call: cst.Call, code: str) -> Change:
    """Add the keyword argument ``code`` to ``call`` after its positional arguments."""
    positional = 0
    while positional < len(call.args) and not call.args[positional].keyword and call.args[positional].star != "**":
        positional += 1
    return insert_argument(tree, call, positional, code)


def remove_argument(tree: SyntaxTree, call: cst.Call, argument: cst.Arg) -> list[Change]:
    """Drop an argument with the comma that parts it from the others."""
    index = call.args.index(argument)
    start, end = tree.span(argument)
    if index + 1 < len(call.args):
        return [Change(start, tree.span(call.args[index + 1])[0], "")]
    if index > 0:
        return [Change(tree.span(call.args[index - 1])[1], end, "")]
    comma = tree.whole(argument).comma
    return [Change(start, tree.span(comma)[1] if isinstance(comma, cst.Comma) else end, "")]


def name_argument(tree: SyntaxTree, argument: cst.Arg, keyword: str) -> Change | None:
    """Turn a positional argument into ``keyword=``; None where the value would need parentheses for it."""
    if isinstance(argument.value, (cst.NamedExpr, cst.GeneratorExp)) and not tree.whole(argument.value).lpar:
        return None
    start, _ = tree.span(argument)
    return Change(start, start, f"{keyword}=")


def outer_span(tree: SyntaxTree, node: cst.BaseExpression) -> tuple[int, int]:
    """The span of ``node`` with the parentheses around it."""
    lpar, rpar = tree.whole(node).lpar, node.rpar
    start = tree.span(lpar[0])[0] if lpar else tree.span(node)[0]
    end = tree.span(rpar[-1])[1] if rpar else tree.span(node)[1]
    return start, end


def quoted(names: Names, near: cst.CSTNode, value: str) -> str:
    """``value`` as a string literal in the quotes that the document uses, right for the place of ``near``."""
    for parent in names.ancestors(near):
        if isinstance(parent, cst.FormattedString):  # before Python 3.12 it may not hold its own quotes
            quote = "'" if '"' in parent.start else '"'
            return f"{quote}{value}{quote}"
    return f"{names.quote}{value}{names.quote}"


def positional(arguments: Sequence[cst.Arg]) -> list[cst.Arg]:
    """The arguments that are given by position, starred ones too."""
    return [argument for argument in arguments if argument.keyword is None and argument.star != "**"]


def keywords(arguments: Sequence[cst.Arg]) -> dict[str, cst.Arg]:
    """The arguments that are given by keyword."""
    return {argument.keyword.value: argument for argument in arguments if argument.keyword is not None}


def _newline_before(text: str, offset: int) -> str:
    """The newline that ends the line before the one of ``offset``."""
    start = text.rfind("\n", 0, offset)
    return "\r\n" if start > 0 and text[start - 1] == "\r" else "\n"
