"""Fixes that are kept because they ran: the fault shows before, is gone after, and nothing new came."""

from __future__ import annotations

from collections import Counter

from amplint.documents import Document
from amplint.findings import Finding
from amplint.fixer import COULD_NOT_RUN, WATCHED, WITHHELD
from amplint.harness.standins.extraction import Extract, NothingToRun, Root, extract
from amplint.harness.standins.rehearsal import Rehearsal, run_root


class Prover:
    """Runs code before and after its fixes with stand-ins."""

    def __init__(self) -> None:
        self._last: Extract | None = None
        self._known: dict[Root, Rehearsal] = {}

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
            cut = self._cut(before)
            around = cut.around(row)
            for roots in (around, [root for root in cut.roots if root not in around]):
                tried += [self._rehearsed(cut, root) for root in roots]
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
                fixed = self._fixed(after, run.root.name)
            except NothingToRun as error:
                return f"the fixed code {COULD_NOT_RUN}: {error}"
            objection = _compare(run, fixed, finding.code)
            if objection:
                return objection
        return None

    @staticmethod
    def _fixed(document: Document, name: str) -> Rehearsal:
        cut = extract(document.text, document.filename, name)
        return run_root(cut, cut.roots[0])

    def _cut(self, document: Document) -> Extract:
        if self._last is None or (self._last.text, self._last.filename) != (document.text, document.filename):
            self._last = extract(document.text, document.filename)
            self._known.clear()
        return self._last

    def _rehearsed(self, cut: Extract, root: Root) -> Rehearsal:
        if root not in self._known:
            self._known[root] = run_root(cut, root)
        return self._known[root]


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
