"""Fixes that are kept because they ran: the fault shows before, is gone after, and nothing new came."""

from __future__ import annotations

from collections import Counter

from amplint.documents import Document
from amplint.findings import Finding
from amplint.harness.standins.extraction import NothingToRun
from amplint.harness.standins.rehearsal import Rehearsal, rehearse

WATCHED = frozenset(f"AMP{number}" for number in (101, 102, 103, 104, 105, 106, 107, 109, 110))
"""The faults that a run shows."""

WITHHELD = "the fix was withheld"
COULD_NOT_RUN = "could not be run with stand-ins"


class Prover:
    """Runs code before and after its fixes with stand-ins."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], list[Rehearsal]] = {}

    def object_to(self, before: Document, after: Document, finding: Finding) -> str | None:
        """Why the fix that makes ``after`` of ``before`` should not be applied; None where running shows it right.

        What no run can show, such as a deprecated name, is not objected to.
        """
        if finding.code not in WATCHED:
            return None
        objection = self._object(before, after, finding)
        return None if objection is None else f"{WITHHELD}: {objection}"

    def _object(self, before: Document, after: Document, finding: Finding) -> str | None:
        try:
            earlier = self._rehearsed(before)
        except NothingToRun as error:
            return f"it {COULD_NOT_RUN}: {error}"
        row = finding.start.row
        there = [run for run in earlier if row in run.root.rows]
        names = [run.root.name for run in there if _codes(run)[finding.code]]
        names = names or [run.root.name for run in earlier if _codes(run)[finding.code]]
        if not names:
            stuck = next((run for run in there or earlier if not run.reached), None)
            if stuck is not None:
                return f"it {COULD_NOT_RUN}: {stuck.obstacle}"
            return "run with stand-ins, the code did not show the fault"
        try:
            later = {run.root.name: run for run in self._rehearsed(after)}
        except NothingToRun as error:
            return f"the fixed code {COULD_NOT_RUN}: {error}"
        for run in earlier:
            if run.root.name in names:
                fixed = later.get(run.root.name)
                objection = _compare(run, fixed, finding.code) if fixed else "the fixed function is gone"
                if objection:
                    return objection
        return None

    def _rehearsed(self, document: Document) -> list[Rehearsal]:
        key = document.filename, document.text
        if key not in self._known:
            if len(self._known) > 8:
                self._known.clear()
            self._known[key] = rehearse(document.text, document.filename)
        return self._known[key]


def _codes(run: Rehearsal) -> Counter[str]:
    return Counter(code for code, _, _ in run.seen)


def _compare(before: Rehearsal, after: Rehearsal, healed: str) -> str | None:
    if not after.reached:
        return f"the fixed code {COULD_NOT_RUN}: {after.obstacle}"
    earlier, later = _codes(before), _codes(after)
    if later[healed] >= earlier[healed]:
        return f"run with stand-ins, the fixed code still shows {healed}"
    new = sorted(code for code in later if code != healed and later[code] > earlier[code])
    return f"run with stand-ins, the fixed code shows {new[0]}" if new else None
