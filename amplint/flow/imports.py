"""Definitions of the same project that a document imports, lowered into the document's program.

Only what has to do with the protocol is looked at: a definition in which, or in what it uses, no call of a scaler's,
an optimizer's or a gradient's stands is as good as unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import libcst as cst

from amplint.flow import program as ir
from amplint.flow.lowering import lower_into
from amplint.modules import Modules, Source
from amplint.syntax.names import Names
from amplint.syntax.tree import InvalidSyntax, SyntaxTree
from amplint.syntax.units import Units, units_of

_PROTOCOL = re.compile(r"GradScaler|\bunscale_|\.backward\(|clip_grad_|\.step\(|\.zero_grad\(|[sS]caler\.")
MOST_FILES = 12
"""Files of a project that are looked into for one document."""
MOST_STEPS = 5
"""Files that pass a name on before the one that defines it."""


@dataclass
class _File:
    """One file of the project, and the definitions that are wanted of it."""

    source: Source
    units: Units
    number: int
    wanted: set[str] = field(default_factory=set)


class Linker:
    """Finds what a document imports from its project."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.files: dict[str, _File | None] = {}
        self.links: dict[tuple[int, str], tuple[int, str]] = {}
        """For a module's number and a dotted name in it, the module and the name that it stands for."""

    def link(self, program: ir.Program, names: Names) -> list[ir.Borrowed]:
        """Lower into ``program`` what the document imports; the files that it came from, with their trees."""
        for dotted in sorted(_dotted_names(names)):
            self.want(0, dotted, None)
        borrowed: list[ir.Borrowed] = []
        for file in [file for file in self.files.values() if file is not None and file.wanted]:
            first_site = len(program.sites)
            tree = self.lowered(file, program)
            if tree is not None:
                borrowed.append(ir.Borrowed(file.source.path, file.source.text, tree, first_site))
        for (number, dotted), (target, name) in self.links.items():
            definition = program.definition(target, name)
            if definition is not None:
                program.links[number, dotted] = definition
                program.aliases.setdefault(definition.name, set()).add(dotted.rpartition(".")[2])
        for imported in names.imports:
            found = program.links.get((0, imported.qualified))
            if found is not None:
                program.aliases.setdefault(found.name, set()).add(imported.name)
        return borrowed

    def want(self, number: int, dotted: str, importer: str | None) -> None:
        """Ask for what module ``number`` calls ``dotted``, and for the imports of what is found."""
        if (number, dotted) in self.links:
            return
        place = self.place(dotted, importer, MOST_STEPS)
        if place is None:
            return
        file, name = place
        needed = file.units.needed_by([name])
        if not any(self.matters(file, unit) for unit in needed.values()):
            return
        self.links[number, dotted] = file.number, name
        file.wanted.add(name)
        for unit in needed.values():
            for used in sorted(file.units.used_in(unit) & file.units.imports.keys()):
                self.want(file.number, file.units.imports[used], file.source.path)

    def matters(self, file: _File, unit: object) -> bool:
        """Whether a definition has to do with the protocol."""
        return bool(_PROTOCOL.search(file.units.source(unit)))  # type: ignore[arg-type]

    def place(self, dotted: str, importer: str | None, steps: int) -> tuple[_File, str] | None:
        """The file and the name in it under which it defines what ``importer`` calls ``dotted``."""
        found = self.modules.find(dotted, importer)
        if found is None or not steps:
            return None
        source, rest = found
        name, _, inner = rest.partition(".")
        file = self.file(source)
        if file is None or not name:
            return None
        if name in file.units.definitions:
            return (file, name) if not inner else None
        passed_on = file.units.imports.get(name)
        if passed_on is None:
            return None
        return self.place(f"{passed_on}.{inner}" if inner else passed_on, source.path, steps - 1)

    def file(self, source: Source) -> _File | None:
        """The file, cut into its definitions; None for the document itself, and for what is no Python."""
        if source.path not in self.files:
            known = sum(file is not None for file in self.files.values())
            self.files[source.path] = None
            if source.path != self.modules.filename and known < MOST_FILES:
                units = units_of(source.text, lambda text: bool(_PROTOCOL.search(text)))
                self.files[source.path] = None if units is None else _File(source, units, known + 1)
        return self.files[source.path]

    def lowered(self, file: _File, program: ir.Program) -> SyntaxTree | None:
        """The tree of what is wanted of a file, which is in the program then."""
        parsed = _parsed(file.units.only(file.units.needed_by(file.wanted).values()))
        if parsed is None:
            return None
        lower_into(program, *parsed, file.number)
        return parsed[0]


@lru_cache(maxsize=16)
def _parsed(text: str) -> tuple[SyntaxTree, Names] | None:
    """A tree that the documents of a project often share."""
    try:
        tree = SyntaxTree(text)
    except InvalidSyntax:
        return None
    return tree, Names(tree)


def _dotted_names(names: Names) -> Iterator[str]:
    """Every dotted name that a call of the document, or a base of a class of its, stands for by an import."""
    for reference in names.references():
        binding = names.binding(reference)
        if binding is None or not binding.imports or len(binding.qualified) != 1:
            continue
        node: cst.BaseExpression = reference
        while True:
            yield from names.qualified(node)
            above = names.parent(node)
            if not isinstance(above, cst.Attribute) or above.value is not node:
                break
            node = above
