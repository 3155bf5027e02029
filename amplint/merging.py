"""A document together with the definitions that it imports from its project, as if they stood at its end.

Rules that ask where values come from or what a module computes see one text, in which an imported function, class or
forward is like the document's own. What is imported is cut out of its file by :mod:`amplint.syntax.units`; the document
keeps every character's place, but for the names that it no longer imports. Where a name would come to stand for two
things, the import stays what it was: unknown.
"""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from amplint.definitions import Definitions
from amplint.modules import Modules
from amplint.syntax.units import Units, imported_names, units_of

LONGEST = 60_000
"""Characters of other files that are looked at for one document: what would be too much is left unknown."""
_STEPS = 5
_FROM = re.compile(r"(?:^|[;:])[ \t]*from[ \t]+(\.*\w[.\w]*)[ \t]+import\b", re.MULTILINE)
_ANY = "_"


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of the merged text that stand in another file: the first of them, how many, and the first there.

    ``names`` are the names by which the document imports what needs them.
    """

    row: int
    rows: int
    path: str
    first: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """The merged text; its first ``own`` characters are the document's."""

    text: str
    own: int
    parts: tuple[Part, ...]

    def part(self, row: int) -> Part | None:
        """The part in which a row stands."""
        return next((part for part in self.parts if part.row <= row < part.row + part.rows), None)


def merge(text: str, modules: Modules, matters: Callable[[str], bool]) -> Merged | None:
    """The document with what it imports, as far as that, or what it uses, ``matters``; None where nothing does."""
    if not any(modules.find(f"{module}.{_ANY}") for module in _FROM.findall(text)):
        return None  # nothing is imported from the project: the text need not even be parsed
    units = units_of(text, lambda _: True)
    return None if units is None else _Merger(text, units, modules, matters).merged()


@dataclass
class _Bundle:
    """Definitions that come together: by path and name, each with its source and the row at which that begins."""

    units: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    matters: bool = False


class _Merger:
    def __init__(self, text: str, units: Units, modules: Modules, matters: Callable[[str], bool]) -> None:
        self.text, self.units, self.modules, self.matters = text, units, modules, matters
        self.definitions = Definitions(modules, matters)
        self.imports = units.all_imports()
        self.taken: dict[str, object] = dict.fromkeys(units.names, None)
        """What each name at the top of the merged text stands for; None for what the document itself binds."""

    def merged(self) -> Merged | None:
        characters = list(self.text)
        imports: dict[str, str] = {}
        sources: dict[tuple[str, str], tuple[str, int]] = {}
        needing: dict[tuple[str, str], list[str]] = {}
        standing: set[str] = set()
        length = 0
        for _, _, name, dotted in self.certain:
            bundle = self.bundle(dotted, name)
            if bundle is None:
                continue
            longer = length + sum(len(unit[0]) for place, unit in bundle.units.items() if place not in sources)
            if longer > LONGEST:
                continue
            length = longer
            imports.update((other, where) for other, where in bundle.imports.items() if other not in self.taken)
            sources.update(bundle.units)
            self.taken.update(bundle.imports)
            for place in bundle.units:
                self.taken[place[1]] = place
                needing.setdefault(place, []).append(name)
            standing.update(place[1] for place in bundle.units)
        for statement, alias, name, _ in self.certain:
            if name in standing:
                _blank(characters, self.units, statement, alias)
        if not sources:
            return None
        text = "".join(characters) + "\n\n\n" + "".join(_import(*each) for each in sorted(imports.items()))
        row, parts = _rows(text) + 1, []
        for place, (source, first) in sources.items():
            parts.append(Part(row, _rows(source), place[0], first, tuple(needing[place])))
            text += source
            row += parts[-1].rows
        return Merged(text, len(self.text), tuple(parts))

    @cached_property
    def certain(self) -> list[tuple[ast.ImportFrom, ast.alias, str, str]]:
        """The names that stand for one thing wherever they are read, and where they are imported from."""
        return [
            (statement, alias, name, dotted)
            for statement in (*self.units.import_statements, *self.units.inner_import_statements)
            if isinstance(statement, ast.ImportFrom)
            for alias, (name, dotted) in zip(statement.names, imported_names(statement), strict=True)
            if self.is_certain(name, dotted)
        ]

    @cached_property
    def places(self) -> dict[str, tuple[str, str]]:
        """The file of the definition that a name of the document stands for, and what it is called there."""
        found = ((name, self.definitions.find(dotted)) for _, _, name, dotted in self.certain)
        return {name: (each.source.path, each.name) for name, each in found if each is not None}

    def is_certain(self, name: str, dotted: str) -> bool:
        """Whether a name that is imported as ``dotted`` stands for that definition wherever it is read."""
        if name not in self.units.alternatives:
            return self.imports.get(name) == dotted
        found = [self.definitions.find(each) for each in self.units.alternatives[name]]
        return len({each and (each.source.path, each.name) for each in found}) == 1 and None not in found

    def bundle(self, dotted: str, name: str) -> _Bundle | None:
        """What ``dotted`` needs to stand in the document as ``name``; None where that cannot be, or is of no use."""
        bundle = _Bundle()
        if not self.collect(dotted, None, name, bundle, _STEPS) or not bundle.matters:
            return None
        names = [place[1] for place in bundle.units]
        if len(set(names)) != len(names):
            return None
        for place in bundle.units:
            if place[1] != name and self.places.get(place[1]) != place and not self.is_free(place[1], place):
                return None
        for other, where in bundle.imports.items():
            if other in names or not (self.imports.get(other) == where or self.is_free(other, where)):
                return None
        return bundle

    def is_free(self, name: str, meaning: object) -> bool:
        return name not in self.taken or (self.taken[name] is not None and self.taken[name] == meaning)

    def collect(self, dotted: str, importer: str | None, name: str, bundle: _Bundle, steps: int) -> bool:
        """Add the definition of ``dotted``, as ``name``, and all that it uses; False where something is in the way."""
        found = self.definitions.find(dotted, importer)
        if found is None or not steps:
            return False
        source, units, rest = found.source, found.units, found.name
        if rest != name and name in units.names:
            return False
        for used, unit in units.needed_by([rest]).items():
            place = source.path, name if used == rest else used
            if place in bundle.units:
                continue
            text = units.source(unit)
            bundle.units[place] = (text, units.first_row(unit))
            bundle.matters = bundle.matters or self.matters(text)
            for other in units.used_in(unit) & units.imports.keys():
                self.take_import(other, units.imports[other], source.path, bundle, steps)
            inner = units.used_in(unit) & units.inner_imports.keys() if "import" in text else frozenset()
            for other in inner:
                if self.take_definition(other, units.inner_imports[other], source.path, bundle, steps):
                    text = _without_import(text, units, unit, other)
            text = re.sub(rf"\b{re.escape(rest)}\b", name, text) if rest != name else text
            bundle.units[place] = (text if text.endswith("\n") else text + "\n", units.first_row(unit))
        return True

    def take_import(self, name: str, dotted: str, importer: str, bundle: _Bundle, steps: int) -> None:
        """What a definition imports: from the same project as a definition where that can be, else as it is."""
        if self.modules.find(dotted, importer) is not None:
            self.take_definition(name, dotted, importer, bundle, steps)
        elif not dotted.startswith("."):
            bundle.imports[name] = dotted

    def take_definition(self, name: str, dotted: str, importer: str, bundle: _Bundle, steps: int) -> bool:
        """Add what a definition imports from the same project; False where that cannot be."""
        trial = _Bundle(dict(bundle.units), dict(bundle.imports), bundle.matters)
        if not self.collect(dotted, importer, name, trial, steps - 1):
            return False
        bundle.units, bundle.imports, bundle.matters = trial.units, trial.imports, trial.matters
        return True


def _without_import(text: str, units: Units, unit: ast.stmt, name: str) -> str:
    """The rows of a definition, in which ``name`` is not imported any more."""
    characters = list(text)
    for statement in ast.walk(unit):
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    _blank(characters, units, statement, alias, units.offset(units.first_row(unit), 0))
    return "".join(characters)


def _blank(
    characters: list[str],
    units: Units,
    statement: ast.Import | ast.ImportFrom,
    alias: ast.alias,
    begin: int = 0,
) -> None:
    """Take one name out of an import, every other character staying at its place.

    ``characters`` are those of the text from ``begin`` on.
    """

    def span(node: ast.stmt | ast.alias) -> tuple[int, int]:
        start = units.offset(node.lineno, node.col_offset) - begin
        return start, units.offset(node.end_lineno or node.lineno, node.end_col_offset or 0) - begin

    start, end = span(alias)
    _clear(characters, start, end)
    first, last = span(statement)
    left = [each for each in statement.names if characters[span(each)[0]] != " "]
    if not left:
        _clear(characters, first, last)
        characters[first : first + 4] = "pass"
        return
    # one comma goes with the name: the one behind it, or else the one before
    rest = "".join(characters[end:last])
    behind = re.match(r"\s*(?:\\\r?\n\s*)?,", rest)
    if behind:
        characters[end + behind.end() - 1] = " "
    else:
        before = "".join(characters[first:start]).rfind(",")
        if before >= 0:
            characters[first + before] = " "


def _clear(characters: list[str], start: int, end: int) -> None:
    for place in range(start, end):
        if characters[place] not in "\r\n":
            characters[place] = " "


def _import(name: str, dotted: str) -> str:
    module, _, last = dotted.rpartition(".")
    if dotted == name:
        return f"import {name}\n"
    if not module or last != name:
        return f"import {dotted} as {name}\n"
    return f"from {module} import {name}\n"


def _rows(text: str) -> int:
    return sum(1 for _ in io.StringIO(text, newline=""))
