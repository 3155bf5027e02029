"""Where the project defines what a document imports: through files that pass a name on, to the one that binds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from amplint.modules import Modules, Source
from amplint.syntax.units import Units, units_of

MOST_STEPS = 5
"""Files that pass a name on before the one that defines it."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A name at the top of a file of the project, and that file cut into its definitions."""

    source: Source
    units: Units
    name: str


class Definitions:
    """The definitions in files that hold something that ``matters``; others are as good as unknown."""

    def __init__(self, modules: Modules, matters: Callable[[str], bool]) -> None:
        self.modules, self.matters = modules, matters

    def find(self, dotted: str, importer: str | None = None, steps: int = MOST_STEPS) -> Definition | None:
        """The definition of what the file ``importer`` (the document, where it is None) calls ``dotted``."""
        found = self.modules.find(dotted, importer)
        if found is None or not steps:
            return None
        source, rest = found
        name, _, inner = rest.partition(".")
        units = units_of(source.text, self.matters) if source.path != self.modules.filename else None
        if units is None or not name:
            return None
        if name in units.definitions:
            return None if inner else Definition(source, units, name)
        passed_on = units.imports.get(name)
        if passed_on is None:
            return None
        return self.find(f"{passed_on}.{inner}" if inner else passed_on, source.path, steps - 1)
