"""How deep code is nested: what goes too deep must not reach a parser that would end the process, or take for ever."""

from __future__ import annotations

import ast
import io
import warnings
from collections.abc import Iterator

DEEPEST = 3000
"""Expressions within each other: a sum of that many terms takes LibCST seconds, one of three times as many minutes."""


def row_nested_too_deeply(text: str) -> int | None:
    """The row of what is nested too deeply to be parsed; None where nothing is, be the code valid or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except (RecursionError, MemoryError):
            return 1
        except SyntaxError as error:
            return (error.lineno or 1) if error.msg == "too many nested parentheses" else None
        except ValueError:
            return None
    if len(text) < DEEPEST:
        return None
    rows = [len(row) for row in io.StringIO(text, newline="")]
    for part in _parts(tree):
        first, last = part.lineno - 1, part.end_lineno or part.lineno
        if sum(rows[first:last]) >= DEEPEST and _is_deeper(part, DEEPEST):
            return part.lineno
    return None


def _parts(tree: ast.Module) -> Iterator[ast.stmt | ast.expr]:
    """The statements that hold no others, and the expressions of those that do.

    Python itself allows only a hundred blocks within each other.
    """
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
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
