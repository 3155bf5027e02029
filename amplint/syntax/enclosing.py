"""Where a node stands: the nodes around it, and where a statement can be added beside it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from amplint.syntax.names import Names, dotted_name
from amplint.syntax.tree import SyntaxTree

_EXPECTED_FAILURES = frozenset({"raises", "warns", "assertRaises", "assertRaisesRegex", "assertWarns", "suppress"})
_EXITS = frozenset({"exit", "_exit", "quit", "skip", "skipTest", "fail"})
_FAILING_TESTS = frozenset({"xfail", "expectedFailure"})


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text to insert at ``offset``."""

    offset: int
    content: str


def expects_failure(names: Names, node: cst.CSTNode) -> bool:
    """Whether ``node`` stands in a ``with pytest.raises(...)`` or a test that is meant to fail: misuse on purpose."""
    child = node
    for parent in names.ancestors(node):
        if isinstance(parent, cst.With) and child is parent.body:
            if any(last_name(item.item) in _EXPECTED_FAILURES for item in parent.items):
                return True
        elif isinstance(parent, cst.Call):
            if child is not parent.func and last_name(parent) in _EXPECTED_FAILURES:
                return True  # assertRaises(TypeError, lambda: ...)
        elif isinstance(parent, cst.FunctionDef):
            if any(last_name(decorator.decorator) in _FAILING_TESTS for decorator in parent.decorators):
                return True
        child = parent
    return False


def last_name(node: cst.BaseExpression) -> str:
    """The last part of a chain of names, or of that which a call calls; empty for anything else."""
    if isinstance(node, cst.Call):
        node = node.func
    return (dotted_name(node) or "").rpartition(".")[2]


def leaves(suite: cst.BaseSuite, *, raising: bool = True) -> bool:
    """Whether what follows is not reached from the end of a suite: it returns, or goes on elsewhere.

    ``raising`` says whether raising, and ending the program or the test, count as well.
    """
    last = last_statement(suite)
    if isinstance(last, (cst.Return, cst.Continue, cst.Break)):
        return True
    return raising and raises(suite)


def raises(suite: cst.BaseSuite) -> bool:
    """Whether a suite ends by raising, or by ending the program or the test."""
    last = last_statement(suite)
    if isinstance(last, cst.Expr) and isinstance(last.value, cst.Call):
        return last_name(last.value) in _EXITS
    return isinstance(last, cst.Raise)


def last_statement(suite: cst.BaseSuite) -> cst.CSTNode | None:
    """The statement with which a suite ends, out of its line."""
    last: cst.CSTNode | None = suite.body[-1] if suite.body else None
    return last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last


def statements_before(block: cst.IndentedBlock | cst.Module, statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements of a block that stand before one of its own."""
    return itertools.takewhile(lambda other: other is not statement, block.body)


def statement_of(around: list[cst.CSTNode]) -> cst.BaseSmallStatement | None:
    """The small statement among a node's ancestors."""
    return next((node for node in around if isinstance(node, cst.BaseSmallStatement)), None)


def insert_after(tree: SyntaxTree, statement: cst.BaseSmallStatement, code: str) -> Insertion | None:
    """Add the statement ``code`` after a small statement, on a line of its own where that one has its own."""
    around = tree.around(statement)
    line = around[0]
    if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
        return insert_line_after(tree, line, code)
    if isinstance(statement, (cst.Return, cst.Raise, cst.Break, cst.Continue)):
        return None
    return Insertion(tree.span(statement)[1], f"; {code}")


def insert_line_after(tree: SyntaxTree, statement: cst.CSTNode, code: str) -> Insertion:
    """Add ``code`` on a line after a whole statement, at its indentation."""
    text = tree.text
    start, end = tree.span(statement)
    indent = text[_line_start(text, start) : start]
    line_end = _line_end(text, end)
    if line_end == len(text) and not text.endswith(("\n", "\r")):
        return Insertion(line_end, f"\n{indent}{code}")
    return Insertion(line_end, f"{indent}{code}\n")


def insert_before(tree: SyntaxTree, statement: cst.BaseSmallStatement, code: str) -> Insertion | None:
    """Add ``code``, of one line or more, before a small statement that has a line of its own."""
    line = tree.around(statement)[0]
    if not isinstance(line, cst.SimpleStatementLine) or line.body[0] is not statement:
        return None
    return insert_line_before(tree, line, code)


def insert_line_before(tree: SyntaxTree, statement: cst.CSTNode, code: str) -> Insertion:
    """Add ``code``, of one line or more, before a whole statement, at its indentation."""
    start = tree.span(statement)[0]
    indent = tree.text[_line_start(tree.text, start) : start]
    lines = (f"{indent if index else ''}{part}\n" for index, part in enumerate(code.split("\n")))
    return Insertion(start, "".join(lines) + indent)


def removal(tree: SyntaxTree, statement: cst.BaseSmallStatement) -> tuple[int, int, str] | None:
    """What to cut to remove a small statement, and what to put there: ``pass`` where a block would be left empty."""
    line, *around = tree.around(statement)
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    if around and isinstance(around[0], cst.IndentedBlock) and len(around[0].body) == 1:
        return *tree.span(statement), "pass"
    return *whole_lines(tree, line), ""


def whole_lines(tree: SyntaxTree, statement: cst.CSTNode) -> tuple[int, int]:
    """Where the lines of a statement begin and end, its newline included."""
    start, end = tree.span(statement)
    return _line_start(tree.text, start), _line_end(tree.text, end)


def _line_start(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def _line_end(text: str, offset: int) -> int:
    """The offset just after the newline that ends the line of ``offset``."""
    while offset < len(text) and text[offset] not in "\r\n":
        offset += 1
    if text.startswith("\r\n", offset):
        return offset + 2
    return min(offset + 1, len(text))
