"""Fixes that are kept because they ran: the fault shows before, is gone after, and nothing new came."""

from __future__ import annotations

from collections import Counter

from amplint.documents import Document
from amplint.findings import Finding
from amplint.fixer import COULD_NOT_RUN, WATCHED, WITHHELD
from amplint.harness.standins.extraction import NothingToRun
from amplint.harness.standins.rehearsal import Rehearsal, rehearse


class Prover:
    """Runs code before and after its fixes with stand-ins."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, range | None], list[Rehearsal]] = {}

    def object_to(self, before: Document, after: Document, finding: Finding) -> str | None:
        """Why the fix that makes ``after`` of ``before`` should not be applied; None where running shows it right.

        What no run can show, such as a deprecated name, is not objected to.
        """
        if finding.code not in WATCHED:
            return None
        objection = self._object(before, after, finding)
        return None if objection is None else f"{WITHHELD}: {objection}"

    def _object(self, before: Document, after: Document, finding: Finding) -> str | None:
        row = finding.start.row
        tried: list[Rehearsal] = []
        try:
            for rows in (range(row, row + 1), None):  # the function itself, or else any that may call it
                tried = self._rehearsed(before, rows)
                if any(_codes(run)[finding.code] for run in tried):
                    break
        except NothingToRun as error:
            return f"it {COULD_NOT_RUN}: {error}"
        faulty = [run for run in tried if _codes(run)[finding.code]]
        if not faulty:
            stuck = next((run for run in tried if not run.reached), None)
            if stuck is not None:
                return f"it {COULD_NOT_RUN}: {stuck.obstacle}"
            return "run with stand-ins, the code did not show the fault"
        for run in faulty:
            try:
                fixed = rehearse(after.text, after.filename, run.root.name)
            except NothingToRun as error:
                return f"the fixed code {COULD_NOT_RUN}: {error}"
            objection = _compare(run, fixed[0], finding.code)
            if objection:
                return objection
        return None

    def _rehearsed(self, document: Document, rows: range | None) -> list[Rehearsal]:
        key = document.text, rows
        if key not in self._known:
            if len(self._known) > 8:
                self._known.clear()
            self._known[key] = rehearse(document.text, document.filename, rows=rows)
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
