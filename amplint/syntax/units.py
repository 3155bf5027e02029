"""A text cut into its outermost definitions by Python's own parser, of which only those that matter are kept.

What is left out leaves empty rows, so that everything kept stands at its row and column.
"""

from __future__ import annotations

import ast
import functools
import io
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator

NEVER_LOCAL = frozenset({"torch", "numpy", *sys.stdlib_module_names})
"""What no project has modules of its own in the name of."""
_INDENTED_IMPORT = re.compile(r"^[ \t]+(?:from|import)\b|[:;][ \t]*(?:from|import)\b", re.MULTILINE)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


LONGEST_TO_PASS_ON = 6_000
"""Characters of a file with nothing of interest in it beyond which nobody looks whether it passes names on."""


def units_of(text: str, matters: Callable[[str], bool]) -> Units | None:
    """The units of a text that ``matters``, or may pass on names that do; None for any other, and for no Python."""
    return _cut(text) if len(text) <= LONGEST_TO_PASS_ON or matters(text) else None


@functools.lru_cache(maxsize=128)
def _cut(text: str) -> Units | None:
    """The units of a text, which the documents of a project often share."""
    try:
        return Units(text)
    except SyntaxError:
        return None


class Units:
    """The outermost definitions, assignments and imports of one text; raises :class:`SyntaxError` where it has none."""

    def __init__(self, text: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                tree = ast.parse(text)
                bound = _Bound(tree)
            except (ValueError, RecursionError, MemoryError) as error:
                raise SyntaxError(str(error)) from None
        self._lines = io.StringIO(text, newline="").readlines()  # rows as Python's parser counts them
        self._may_import_inside = _INDENTED_IMPORT.search(text) is not None
        self.tree = tree
        self._used: dict[int, frozenset[str]] = {}
        self.definitions: dict[str, ast.stmt] = {}
        """The definition or assignment that each name stands for; without those that may stand for something else."""
        self.imports: dict[str, str] = {}
        """The dotted name that each name imported at the top stands for; a relative one begins with its dots."""
        self.import_statements: list[ast.Import | ast.ImportFrom] = []
        """The imports at the top, be it under a condition or in a ``try``."""
        self._bound = bound.names
        for statement in _run_at_import(tree.body):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self.imports.update(imported_names(statement))
                self.import_statements.append(statement)
        for statement in _outermost(tree.body):
            if isinstance(statement, _Definition):
                self.definitions[statement.name] = statement
            elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                self.definitions.update((t.id, statement) for t in targets if isinstance(t, ast.Name))
        for name in bound.unsure & self.definitions.keys():
            del self.definitions[name]
        for name in bound.unsure & self.imports.keys():
            del self.imports[name]
        self._alternatives = bound.alternatives()
        self.unsure = frozenset(bound.unsure)
        """The names at the top of the text that may stand for more than one thing."""

    @functools.cached_property
    def inner_imports(self) -> dict[str, str]:
        """Names that functions import, and that stand for nothing else anywhere in the text."""
        return {name: next(iter(dotted)) for name, dotted in self._inner.items() if len(dotted) == 1}

    @functools.cached_property
    def alternatives(self) -> dict[str, frozenset[str]]:
        """The dotted names of each name that imports alone bind, and not all to the same."""
        inner = {name: dotted for name, dotted in self._inner.items() if len(dotted) > 1}
        return {**inner, **self._alternatives}

    @functools.cached_property
    def _inner(self) -> dict[str, frozenset[str]]:
        """What the names that nothing but imports in functions bind stand for."""
        meanings: dict[str, set[str]] = {}
        if not self._may_import_inside:
            return {}
        otherwise = set(self._bound)
        for node in ast.walk(self.tree):
            for name, dotted in _bindings(node):
                meanings.setdefault(name, set()).add(dotted or name)
                if dotted is None:
                    otherwise.add(name)
        return {name: frozenset(dotted) for name, dotted in meanings.items() if name not in otherwise}

    @functools.cached_property
    def inner_import_statements(self) -> list[ast.Import | ast.ImportFrom]:
        """The imports within functions and classes."""
        if not self._may_import_inside:
            return []
        return [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.Import, ast.ImportFrom)) and node not in self.import_statements
        ]

    def all_imports(self) -> dict[str, str]:
        """What names stand for by imports, wherever those stand."""
        return {**self.inner_imports, **self.imports}

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

    def used_in(self, unit: ast.stmt) -> frozenset[str]:
        """The names that a definition reads."""
        known = self._used.get(id(unit))
        if known is None:
            known = frozenset(node.id for node in ast.walk(unit) if isinstance(node, ast.Name))
            self._used[id(unit)] = known
        return known

    def source(self, unit: ast.stmt) -> str:
        """The rows of a definition, with its decorators."""
        start, end = _rows(unit)
        return "".join(self._lines[start:end])

    def first_row(self, unit: ast.stmt) -> int:
        """The row at which the source of a definition begins."""
        return _rows(unit)[0] + 1

    def offset(self, row: int, column: int) -> int:
        """The character at a row and a column that counts the bytes of UTF-8, as Python's parser gives them."""
        line = self._lines[row - 1]
        return self._starts[row - 1] + len(line.encode()[:column].decode(errors="replace"))

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """Every name that the text binds or reads anywhere."""
        found = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        found.update(node.arg for node in ast.walk(self.tree) if isinstance(node, ast.arg))
        return frozenset(found | self._bound)

    @functools.cached_property
    def _starts(self) -> list[int]:
        return [0, *itertools.accumulate(len(line) for line in self._lines)]

    def only(self, units: Iterable[ast.stmt]) -> str:
        """The text with nothing in it but ``units`` and the imports whose names stand for nothing else."""
        kept: set[int] = set()
        imports = [s for s in self.import_statements if self.unsure.isdisjoint(name for name, _ in imported_names(s))]
        for unit in (*(each for each in imports if each.col_offset == 0), *units):
            kept.update(range(*_rows(unit)))
        rows = {row: self._lines[row] for row in kept}
        for statement in imports:
            row = statement.lineno - 1
            if row not in kept:  # taken out of what it stands in
                code = ast.unparse(statement)
                rows[row] = f"{rows[row].rstrip()}; {code}\n" if row in rows else f"{code}\n"
        return "".join(rows.get(row, "\n") for row in range(len(self._lines)))


class _Bound(ast.NodeVisitor):
    """The names that a module binds at its top, and those of them that may stand for more than one thing."""

    def __init__(self, tree: ast.Module) -> None:
        self.names: set[str] = set()
        self.unsure: set[str] = set()
        self._imports: dict[str, str] = {}
        self._spellings: dict[str, set[str]] = {}
        self._otherwise: set[str] = set()
        self.generic_visit(tree)

    def alternatives(self) -> dict[str, frozenset[str]]:
        """The dotted names of each name that imports alone bind, and not all to the same."""
        found = {name: frozenset(dotted) for name, dotted in self._spellings.items() if len(dotted) > 1}
        return {name: dotted for name, dotted in found.items() if name not in self._otherwise}

    def bind(self, name: str, dotted: str | None = None) -> None:
        if name in self.names and (dotted is None or self._imports.get(name) != dotted):
            self.unsure.add(name)
        self.names.add(name)
        if dotted is None:
            self._otherwise.add(name)
        else:
            self._imports[name] = dotted
            self._spellings.setdefault(name, set()).add(dotted)

    def visit_Import(self, node: ast.Import) -> None:
        for name, dotted in imported_names(node):
            self.bind(name, dotted)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for name, dotted in imported_names(node):
            if name == "*":  # may bind again what has been bound before, but hardly what comes from elsewhere
                hidden = {n for n in self.names if _is_of_project(self._imports.get(n, "."))}
                self.unsure |= hidden
                self._otherwise |= hidden
            else:
                self.bind(name, dotted)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if not any(_last_name(decorator) == "overload" for decorator in node.decorator_list):
            self.bind(node.name)
        self.visit_globals(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bind(node.name)
        self.visit_globals(node)

    def visit_globals(self, node: ast.AST) -> None:
        """What a function or class binds at the top of the module."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Global):
                self.names.update(inner.names)
                self.unsure.update(inner.names)
                self._otherwise.update(inner.names)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """A scope of its own."""

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_Lambda  # type: ignore[assignment]

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bind(node.id)

    def visit_ExceptHandler(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self.bind(node.name)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = visit_ExceptHandler

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.bind(node.rest)
        self.generic_visit(node)


def _is_of_project(dotted: str) -> bool:
    return dotted.partition(".")[0] not in NEVER_LOCAL


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _outermost(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module that are run once it is imported, one for each row that they share."""
    last = -1
    for statement in body:
        start, end = _rows(statement)
        if start >= last and statement.col_offset == 0:
            yield statement
        last = end


def _run_at_import(body: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """The statements that run, or may, when the module is imported: those of functions and classes do not count."""
    for node in body:
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)) and not isinstance(node, _Definition):
            yield from _run_at_import(ast.iter_child_nodes(node))


def _bindings(node: ast.AST) -> Iterator[tuple[str, str | None]]:
    """The names that a node binds, wherever it stands, with the dotted names of imports."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from imported_names(node)
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id, None
    elif isinstance(node, ast.arg):
        yield node.arg, None
    elif isinstance(node, (*_DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name, None
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest, None
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from ((name, None) for name in node.names)


def _rows(statement: ast.stmt) -> tuple[int, int]:
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
    return first - 1, statement.end_lineno or statement.lineno


def imported_names(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that an import binds, each with the dotted name that it stands for."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            root = alias.name.partition(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (root, root)
        return
    module = "." * statement.level + (statement.module or "")
    for alias in statement.names:
        dot = "" if not module or module.endswith(".") else "."
        yield alias.asname or alias.name, f"{module}{dot}{alias.name}"
