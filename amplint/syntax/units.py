"""A text cut into its outermost definitions by Python's own parser, of which only those that matter are kept.

What is left out leaves empty rows, so that everything kept stands at its row and column.
"""

from __future__ import annotations

import ast
import io
import warnings
from collections.abc import Iterable, Iterator

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Units:
    """The outermost definitions, assignments and imports of one text; raises :class:`SyntaxError` where it has none."""

    def __init__(self, text: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                tree = ast.parse(text)
            except (ValueError, RecursionError, MemoryError) as error:
                raise SyntaxError(str(error)) from None
        self._lines = io.StringIO(text, newline="").readlines()  # rows as Python's parser counts them
        self.definitions: dict[str, ast.stmt] = {}
        """What each name is bound to: a definition, or the last assignment."""
        self.imports: dict[str, str] = {}
        """The dotted name that each imported name stands for; a relative one begins with its dots."""
        self._kept: list[ast.stmt] = []
        for statement in _outermost(tree.body):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self.imports.update(_imported(statement))
                self._kept.append(statement)
            elif isinstance(statement, _Definition):
                self.definitions[statement.name] = statement
            elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                self.definitions.update((t.id, statement) for t in targets if isinstance(t, ast.Name))

    def needed_by(self, names: Iterable[str]) -> dict[str, ast.stmt]:
        """The definitions of ``names``, and of all that they use."""
        needed: dict[str, ast.stmt] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            unit = self.definitions.get(name)
            if unit is not None and name not in needed:
                needed[name] = unit
                waiting += self.used_in(unit)
        return needed

    def used_in(self, unit: ast.stmt) -> set[str]:
        """The names that a definition reads."""
        return {node.id for node in ast.walk(unit) if isinstance(node, ast.Name)}

    def source(self, unit: ast.stmt) -> str:
        """The rows of a definition, with its decorators."""
        start, end = _rows(unit)
        return "".join(self._lines[start:end])

    def only(self, units: Iterable[ast.stmt]) -> str:
        """The text with nothing in it but the imports and ``units``."""
        kept: set[int] = set()
        for unit in (*self._kept, *units):
            kept.update(range(*_rows(unit)))
        return "".join(line if row in kept else "\n" for row, line in enumerate(self._lines))


def _outermost(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module that are run once it is imported, one for each row that they share."""
    last = -1
    for statement in body:
        start, end = _rows(statement)
        if start >= last and statement.col_offset == 0:
            yield statement
        last = end


def _rows(statement: ast.stmt) -> tuple[int, int]:
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
    return first - 1, statement.end_lineno or statement.lineno


def _imported(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            root = alias.name.partition(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (root, root)
        return
    module = "." * statement.level + (statement.module or "")
    for alias in statement.names:
        dot = "" if not module or module.endswith(".") else "."
        yield alias.asname or alias.name, f"{module}{dot}{alias.name}"
