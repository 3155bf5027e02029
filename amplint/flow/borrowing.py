"""What happens in another file than the one being looked at, told where the document calls for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from amplint.documents import Document
from amplint.findings import Related
from amplint.flow import program as ir
from amplint.flow.machine import Found
from amplint.flow.values import spelled_out
from amplint.protocol import Cause, Violation


def settle(
    violations: Iterable[Found],
    program: ir.Program,
    borrowed: Sequence[ir.Borrowed],
    alone: Callable[[str], set[tuple[str, int]]],
) -> list[Found]:
    """The violations with sites of the document's own.

    What is wrong in another file by itself, which ``alone`` finds there, is said of that file.
    """
    files = _Files(program, borrowed)
    known: dict[str, set[tuple[str, int]]] = {}
    settled: list[Found] = []
    for found in violations:
        violation = found.violation
        if program.is_own(violation.site):
            settled.append(files.explained(found))
            continue
        if found.call is None or not files.takes_part(violation):
            continue
        file = files.of(violation.site)
        if file.source.path not in known:
            known[file.source.path] = alone(file.source.text)
        place = files.related(violation.site, "it happens here")
        if (violation.code, place.start.row) not in known[file.source.path]:
            here = replace(found, violation=replace(violation, site=found.call), elsewhere=(place,))
            settled.append(files.explained(here))
    return settled


class _Files:
    """The other files of a program by the sites that stand in them."""

    def __init__(self, program: ir.Program, borrowed: Sequence[ir.Borrowed]) -> None:
        self.program = program
        self.borrowed = borrowed

    def takes_part(self, violation: Violation) -> bool:
        """Whether the document has a hand in what goes wrong in another file, by its calls or by one that it lacks.

        A scaler that the other file makes is its own to look after.
        """
        if violation.code != "AMP102" and violation.causes:
            return any(self.program.is_own(cause.site) for cause in violation.causes)
        return self.is_made_here(violation.scaler)

    def is_made_here(self, key: object) -> bool:
        """Whether an object is not made in another file."""
        if not isinstance(key, tuple):
            return True
        if key[:1] == ("new",) and not self.program.is_own(key[1]):
            return False
        return all(self.is_made_here(part) for part in spelled_out(key))

    def of(self, site: object) -> ir.Borrowed:
        """The file in which a site stands: they were lowered one after the other."""
        assert isinstance(site, int)
        return next(file for file in reversed(self.borrowed) if site >= file.first_site)

    def related(self, site: object, message: str) -> Related:
        """A site as a place in its file."""
        assert isinstance(site, int)
        file = self.of(site)
        part = Document.from_source(file.source.path, file.tree.text)
        places = (part.location(offset) for offset in file.tree.span(self.program.sites[site]))
        start, end = ((place.row, place.column) for place in places)
        return file.source.related(message, start, end)

    def explained(self, found: Found) -> Found:
        """The violation with those of its causes and decisions that stand in the document."""
        causes: list[Cause] = []
        elsewhere = list(found.elsewhere)
        for cause in found.violation.causes:
            if self.program.is_own(cause.site):
                causes.append(cause)
            else:
                elsewhere.append(self.related(cause.site, cause.message))
        detour = found.detour if self.program.is_own(found.detour) else None
        route = tuple(decision for decision in found.route if self.program.is_own(decision[0]))
        violation = replace(found.violation, causes=tuple(causes))
        return replace(found, violation=violation, detour=detour, route=route, elsewhere=tuple(elsewhere))
