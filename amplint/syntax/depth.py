"""How deep code is nested: what goes too deep must not reach a parser that would end the process, or take for ever."""

from __future__ import annotations

import ast
import io
import warnings
from collections.abc import Iterator

DEEPEST = 3000
"""Expressions within each other: a sum of that many terms takes LibCST seconds, one of three times as many minutes."""


class TooDeep(Exception):
    """The code is nested too deeply to be parsed, be it valid or not; ``row`` is where."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


def parsed(text: str) -> ast.Module | None:
    """What Python's own parser makes of ``text``, if it is valid; raises :class:`TooDeep`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except (RecursionError, MemoryError):
            raise TooDeep(1) from None
        except SyntaxError as error:
            if error.msg == "too many nested parentheses":
                raise TooDeep(error.lineno or 1) from None
            return None
        except ValueError:
            return None
    if len(text) < DEEPEST:
        return tree
    rows = [len(row) for row in io.StringIO(text, newline="")]
    for part in _parts(tree, rows):
        if _is_deeper(part, DEEPEST):
            raise TooDeep(part.lineno)
    return tree


def _parts(tree: ast.Module, rows: list[int]) -> Iterator[ast.stmt | ast.expr]:
    """The statements that hold no others, and the expressions of those that do, that are long enough to be too deep.

    Python itself allows only a hundred blocks within each other.
    """
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.stmt, ast.expr)):
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
            if sum(rows[first - 1 : node.end_lineno or node.lineno]) < DEEPEST:
                continue
        children = list(ast.iter_child_nodes(node))
        if any(isinstance(child, _BLOCKS) for child in children) or isinstance(node, (ast.withitem, ast.arguments)):
            waiting += children
        elif isinstance(node, (ast.stmt, ast.expr)):
            yield node


def _is_deeper(node: ast.AST, limit: int) -> bool:
    level = [node]
    for _ in range(limit):
        level = [child for each in level for child in ast.iter_child_nodes(each)]
        if not level:
            return False
    return True


_BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)
