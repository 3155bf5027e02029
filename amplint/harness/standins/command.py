"""``amplint verify --stand-in FILE[::FUNCTION]``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from amplint.documents import Document, DocumentError
from amplint.harness.standins.extraction import NothingToRun
from amplint.harness.standins.rehearsal import Rehearsal, rehearse
from amplint.harness.watch import Observation
from amplint.output.style import Style, counted, harmless, shown_path
from amplint.rule import Context


def main(targets: Sequence[str]) -> int:
    """Run the training loops of each target with stand-ins and print what both the run and the linter see.

    Returns 0 where nothing is wrong, 1 where something is, 2 where a target cannot be run at all.
    """
    code = 0
    for target in targets:
        filename, _, function = target.partition("::")
        code = max(code, _one(filename, function or None))
    return code


def _one(filename: str, function: str | None) -> int:
    try:
        document = Document.read(filename)
        rehearsals = rehearse(document.text, filename, function)
    except (DocumentError, NothingToRun) as error:
        reason = error.message if isinstance(error, DocumentError) else error
        print(f"amplint: {shown_path(filename)}: {harmless(str(reason))}", file=sys.stderr)
        return 2
    if not rehearsals:
        print(f"amplint: {shown_path(filename)}: no function here trains, so there was nothing to run", file=sys.stderr)
        return 2
    expected = places(document)
    confirmed = {(seen.code, seen.row): seen for r in rehearsals for seen in r.seen.values() if _agrees(seen, expected)}
    style = Style.of(sys.stdout)
    for _, seen in sorted(confirmed.items(), key=lambda item: (item[1].row, item[1].column, item[0][0])):
        where = document.place(document.at(seen.row, seen.column))
        print(f"{style('bold', shown_path(filename))}:{where}: {style('red', seen.code)} {harmless(seen.message)}")
    for rehearsal in rehearsals:
        if not rehearsal.reached:
            print(f"{shown_path(filename)}: {rehearsal.root.name} could not be run: {harmless(rehearsal.obstacle)}")
    run = [rehearsal for rehearsal in rehearsals if rehearsal.reached]
    paths, steps = sum(r.paths for r in run), sum(r.steps for r in run)
    much = f"{counted(paths, 'path')}, {counted(steps, 'optimizer step')}"
    found = counted(len(confirmed), "error") if confirmed else "no misuse of mixed precision"
    print(f"Ran {len(run)} of {len(rehearsals)} training functions with stand-ins ({much}): {found}.")
    return int(bool(confirmed))


def places(document: Document) -> dict[str, set[int]]:
    """The rows at which the linter's own automaton sees each code, on some path through ``document``."""
    from amplint.syntax.tree import InvalidSyntax

    found: dict[str, set[int]] = {}
    context = Context(document)
    try:
        report = context.protocol
    except InvalidSyntax:
        return found
    for violation in (each.violation for each in report.violations):
        start, _ = context.tree.span(report.node(violation.site))
        found.setdefault(violation.code, set()).add(document.location(start).row)
    return found


def _agrees(seen: Observation, expected: dict[str, set[int]]) -> bool:
    """Whether the linter sees it, too: it knows which conditions go together, and running tries them all."""
    return seen.row in expected.get(seen.code, ())


def seen_codes(rehearsals: Iterable[Rehearsal]) -> set[tuple[str, int]]:
    """What was seen, by code and row."""
    return {(seen.code, seen.row) for rehearsal in rehearsals for seen in rehearsal.seen.values()}
