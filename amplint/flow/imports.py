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

from amplint.definitions import Definition, Definitions
from amplint.flow import program as ir
from amplint.flow.lowering import lower_into
from amplint.modules import Modules, Source
from amplint.syntax.names import Names
from amplint.syntax.tree import InvalidSyntax, SyntaxTree
from amplint.syntax.units import Units, units_of

_PROTOCOL = re.compile(r"GradScaler|\bunscale_|\.backward\(|clip_grad_|\.step\(|\.zero_grad\(|[sS]caler\.")
_STAR = re.compile(r"\bimport\s*\*")
MOST_FILES = 12
"""Files of a project that are looked into for one document."""


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
        self.definitions = Definitions(modules, lambda text: bool(_PROTOCOL.search(text)))
        self.files: dict[str, _File] = {}
        self.links: dict[tuple[int, str], tuple[int, str]] = {}
        """For a module's number and a dotted name in it, the module and the name that it stands for."""
        self.aliases: set[tuple[int, str, str]] = set()
        """For the number of a module of the project and a dotted name in it, a name by which it is called there."""
        self._asked: set[tuple[int, str]] = set()

    def link(self, program: ir.Program, names: Names) -> list[ir.Borrowed]:
        """Lower into ``program`` what the document imports; the files that it came from, with their trees."""
        for dotted in sorted(_dotted_names(names)):
            self.want(0, dotted, None)
        borrowed: list[ir.Borrowed] = []
        for file in [file for file in self.files.values() if file.wanted]:
            first_site = len(program.sites)
            tree = self.lowered(file, program)
            if tree is not None:
                borrowed.append(ir.Borrowed(file.source, tree, first_site))
        for (number, dotted), (target, name) in self.links.items():
            definition = program.definition(target, name)
            if definition is not None:
                program.links[number, dotted] = definition
                program.aliases.setdefault(definition.name, set()).add(dotted.rpartition(".")[2])
        own = {(0, imported.qualified, imported.name) for imported in names.imports}
        for number, dotted, name in sorted(own | self.aliases):
            found = program.links.get((number, dotted))
            if found is not None:
                program.aliases.setdefault(found.name, set()).add(name)
        return borrowed

    def want(self, number: int, dotted: str, importer: str | None) -> bool:
        """Ask for what module ``number`` calls ``dotted``, and for the imports of that; whether it is of use."""
        if (number, dotted) in self._asked:
            return (number, dotted) in self.links
        self._asked.add((number, dotted))
        found = self.definitions.find(dotted, importer)
        file = None if found is None else self.file(found)
        if found is None or file is None:
            return False
        needed = file.units.needed_by([found.name]).values()
        imports = file.units.all_imports()
        used = sorted({name for unit in needed for name in file.units.used_in(unit) & imports.keys()})
        of_use = [name for name in used if self.want(file.number, imports[name], file.source.path)]
        self.aliases |= {(file.number, imports[name], name) for name in of_use}
        if not of_use and not any(self.matters(file, unit) for unit in needed):
            return False
        self.links[number, dotted] = file.number, found.name
        file.wanted.add(found.name)
        return True

    def matters(self, file: _File, unit: object) -> bool:
        """Whether a definition has to do with the protocol."""
        return bool(_PROTOCOL.search(file.units.source(unit)))  # type: ignore[arg-type]

    def file(self, found: Definition) -> _File | None:
        """The file in which a definition stands; None where too many have been looked into already."""
        path = found.source.path
        if path not in self.files and sum(bool(file.wanted) for file in self.files.values()) < MOST_FILES:
            self.files[path] = _File(found.source, found.units, len(self.files) + 1)
        return self.files.get(path)

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
    text = names.tree.text
    units = units_of(text, lambda _: True) if _STAR.search(text) else None
    for reference in names.references():
        if units is not None and reference.value in units.unsure:
            continue  # the star may have brought another
        binding = names.binding(reference)
        if binding is None or not binding.imports or binding.others:
            continue
        node: cst.BaseExpression = reference
        while True:
            yield from names.qualified(node)
            above = names.parent(node)
            if not isinstance(above, cst.Attribute) or above.value is not node:
                break
            node = above
