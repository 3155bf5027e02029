"""Findings to fixes that heal, and fixes to new text, again until nothing changes.

A fix is offered only if the document that it makes was linted again: its finding must be gone and nothing new may
have appeared, of any rule, whatever is selected; only what is worth knowing, and no fault, may come along. Findings
are compared by how many of each code there are, since a fix moves everything after it.
"""

from __future__ import annotations

import bisect
import warnings
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from amplint.analysis import Analyses
from amplint.documents import Document
from amplint.findings import Applicability, Edit, Finding, Fix, Severity
from amplint.linter import Result, order, run_rules, unsuppressed
from amplint.modules import Modules
from amplint.rule import Context, Rule, TargetTorch

WATCHED = frozenset(f"AMP{number}" for number in (*range(101, 112), 116, 301, 302))
"""The faults that running the code can show."""
WITHHELD = "the fix was withheld"
COULD_NOT_RUN = "could not be run with stand-ins"

Objector = Callable[[Document, Document, Finding], "str | None"]


@dataclass(frozen=True, slots=True)
class Fixed:
    """A document after its fixes, the findings that they healed, and what remains to be said about it."""

    document: Document
    healed: tuple[Finding, ...]
    remaining: Result


@dataclass(frozen=True, slots=True)
class _Proposal:
    finding: Finding
    fix: Fix


class Fixer:
    """Lints and fixes documents with the ``selected`` ones of all ``registered`` rules."""

    def __init__(
        self,
        selected: Sequence[type[Rule]],
        registered: Sequence[type[Rule]],
        target_torch: TargetTorch | None = None,
        *,
        fixable: Container[str] | None = None,
        object_to: Objector | None = None,
    ) -> None:
        """``fixable`` are the codes of the rules whose fixes may be offered: of all, where it is None.

        ``object_to`` is asked before a fix is applied, and may say why it must not be.
        """
        self._fixable = fixable
        self._object_to = object_to
        self._selected = tuple(selected)
        self._others = tuple(rule for rule in registered if rule not in self._selected)
        self._target_torch = target_torch
        self.informative = frozenset(rule.code for rule in registered if rule.severity is Severity.INFO)

    def lint(self, document: Document) -> Result:
        """What is found in ``document``; each finding has the fix that heals it, or the reason why it has none."""
        return _together([self._lint(self._trials(program)) for program in document.programs])

    def _trials(self, program: Document) -> _Trials:
        return _Trials(self, program, Analyses(Modules.around(program.filename)))

    def fix(self, document: Document, *, unsafe: bool = False) -> Fixed:
        """Apply fixes until none is left to apply; unsafe ones only if asked for."""
        healed: list[Finding] = []
        for number in range(len(document.programs)):
            fixed = self._fix(document.programs[number], unsafe)
            healed += fixed.healed
            document = fixed.document.programs[0]
        alone = len(document.programs) == 1
        remaining = fixed.remaining if alone else self._heard(document, self.lint(document), unsafe)
        return Fixed(document, tuple(healed), remaining)

    def _fix(self, document: Document, unsafe: bool) -> Fixed:
        """Fix one program. It ends: each round leaves fewer findings than it met."""
        healed: list[Finding] = []
        analyses = Analyses(Modules.around(document.filename))
        while True:
            trials = _Trials(self, document, analyses)
            result = self._heard(document, self._lint(trials), unsafe)
            wanted = [
                _Proposal(finding, finding.fix)
                for finding in result.findings
                if finding.fix and (unsafe or finding.fix.applicability is Applicability.SAFE)
            ]
            chosen = trials.healing_part(_compatible(wanted)[0]) if wanted else []
            if not chosen:
                return Fixed(document, tuple(healed), result)
            healed += (proposal.finding for proposal in chosen)
            document = document.edited(_edits(chosen))

    def _heard(self, document: Document, result: Result, unsafe: bool) -> Result:
        """``result`` without the fixes that somebody objects to."""
        if self._object_to is None:
            return result
        findings = (
            self._without_objection(document.program_at(finding.start), finding, unsafe) for finding in result.findings
        )
        return replace(result, findings=tuple(findings))

    def _without_objection(self, document: Document, finding: Finding, unsafe: bool) -> Finding:
        fix = finding.fix
        if self._object_to is None or fix is None or not (unsafe or fix.applicability is Applicability.SAFE):
            return finding
        objection = self._object_to(document, document.edited(fix.edits), finding)
        return finding if objection is None else finding.without_fix(objection)

    def _lint(self, trials: _Trials) -> Result:
        document = trials.document
        result = trials.before.selected
        findings = unsuppressed(document, result.findings, self._selected)
        findings = _sparing_suppressed(findings, result.findings)
        if self._fixable is not None:
            findings = tuple(_kept(finding, self._fixable) for finding in findings)
        decided: dict[Finding, Finding] = {}
        for applicability in Applicability:
            pending = [
                _Proposal(finding, finding.candidates[0])
                for finding in findings
                if finding.candidates and finding.candidates[0].applicability is applicability
            ]
            while pending:
                batch, pending = _compatible(pending)
                decided |= trials.decide(batch)
        return replace(result, findings=tuple(decided.get(finding, finding) for finding in findings))


def _together(results: Sequence[Result]) -> Result:
    """What was found in the programs of one file, as one result."""
    if len(results) == 1:
        return results[0]
    findings = sorted((finding for result in results for finding in result.findings), key=order)
    return Result(
        tuple(findings),
        tuple(crash for result in results for crash in result.crashes),
        tuple(name for result in results for name in result.left),
        {path: content for result in results for path, content in result.consulted.items()},
    )


def _sparing_suppressed(shown: Sequence[Finding], all_found: Sequence[Finding]) -> tuple[Finding, ...]:
    """``shown`` without the candidates that would also rewrite what the user has silenced."""
    heard = set(shown)
    silenced = {edit for finding in all_found if finding not in heard for edit in _first_edits(finding)}
    spared = []
    for finding in shown:
        kept = tuple(fix for fix in finding.candidates if silenced.isdisjoint(fix.edits))
        if kept != finding.candidates:
            finding = replace(finding, candidates=kept)
            if not kept:
                finding = finding.without_fix("its fix would also change a use that is silenced")
        spared.append(finding)
    return tuple(spared)


def _kept(finding: Finding, fixable: Container[str]) -> Finding:
    if finding.code in fixable or not finding.candidates:
        return finding
    return replace(finding, candidates=()).without_fix(f"the settings leave fixes of {finding.code} out")


def _first_edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.candidates[0].edits if finding.candidates else ()


class _Survey:
    """Everything that is found in one text."""

    def __init__(self, fixer: Fixer, document: Document, analyses: Analyses, *, offers_fixes: bool = True) -> None:
        self._context = Context(document, fixer._target_torch, analyses, offers_fixes=offers_fixes)
        self._fixer = fixer
        self.selected = run_rules(self._context, fixer._selected)
        self._others: Result | None = None

    @property
    def counts(self) -> Counter[str]:
        """How many findings of each code there are, of the unselected rules too."""
        return Counter(finding.code for result in self._results() for finding in result.findings)

    @property
    def crashed(self) -> set[type[Rule]]:
        """The rules that failed."""
        return {crash.rule for result in self._results() for crash in result.crashes}

    def _results(self) -> tuple[Result, Result]:
        if self._others is None:
            self._others = run_rules(self._context, self._fixer._others)
        return self.selected, self._others


class _Trials:
    """Tries proposals out on one document, each resulting text once."""

    def __init__(self, fixer: Fixer, document: Document, analyses: Analyses) -> None:
        self._fixer = fixer
        self.document = document
        self._analyses = analyses
        self.before = _Survey(fixer, document, analyses)
        self._objections: dict[tuple[str, tuple[str, ...]], str | None] = {}

    @cached_property
    def _compiled(self) -> bool:
        return _compiles(self.document.text)

    def decide(self, batch: list[_Proposal]) -> dict[Finding, Finding]:
        """Each finding of ``batch`` with the first of its candidates that heals, or with the reason for none."""
        objection = self._objection(batch)
        if objection is None:
            return {proposal.finding: proposal.finding.with_fix(proposal.fix) for proposal in batch}
        if len(batch) > 1:
            middle = len(batch) // 2
            return self.decide(batch[:middle]) | self.decide(batch[middle:])
        finding = batch[0].finding
        for candidate in finding.candidates[1:]:
            if self._objection([_Proposal(finding, candidate)]) is None:
                return {finding: finding.with_fix(candidate)}
        return {finding: finding.without_fix(f"the fix would not heal it: {objection}")}

    def healing_part(self, batch: list[_Proposal]) -> list[_Proposal]:
        """As many of ``batch`` as heal together."""
        if self._objection(batch) is None:
            return batch
        if len(batch) == 1:
            return []
        middle = len(batch) // 2
        return self.healing_part(batch[:middle]) or self.healing_part(batch[middle:])

    def _objection(self, proposals: list[_Proposal]) -> str | None:
        """Why ``proposals`` may not be applied together."""
        try:
            document = self.document.edited(_edits(proposals))
        except ValueError as error:
            return str(error)
        key = document.text, tuple(proposal.finding.code for proposal in proposals)
        if key not in self._objections:
            self._objections[key] = self._object(document, Counter(key[1]))
        return self._objections[key]

    def _object(self, document: Document, healed: Counter[str]) -> str | None:
        if self._compiled and not _compiles(document.text):
            return "the result does not compile"
        after = _Survey(self._fixer, document, self._analyses, offers_fixes=False)
        if after.crashed - self.before.crashed:
            return "a rule fails on the result"
        before, now = self.before.counts, after.counts
        for code in sorted({*before, *now}):
            if code in self._fixer.informative and not healed[code]:
                continue
            if now[code] > before[code] - healed[code]:
                return f"{code} would {'remain' if healed[code] else 'appear'}"
        return None


def _compatible(proposals: Iterable[_Proposal]) -> tuple[list[_Proposal], list[_Proposal]]:
    """The proposals that can be applied at once, and those that wait, each for an earlier one that it overlaps."""
    chosen: list[_Proposal] = []
    waiting: list[_Proposal] = []
    taken: list[tuple[int, int, str]] = []  # the chosen edits, in their order; no two of them overlap
    for proposal in proposals:
        edits = [(edit.start.offset, edit.end.offset, edit.content) for edit in proposal.fix.edits]
        if any(_overlaps(edit, taken) for edit in edits):
            waiting.append(proposal)
        else:
            chosen.append(proposal)
            for edit in edits:
                bisect.insort(taken, edit)
    return chosen, waiting


def _overlaps(edit: tuple[int, int, str], taken: list[tuple[int, int, str]]) -> bool:
    start, end, _ = edit
    place = bisect.bisect_left(taken, edit)
    for others in (reversed(range(place)), range(place, len(taken))):
        for other_start, other_end, content in (taken[index] for index in others):
            if other_end < start or end < other_start:
                break  # what is further off is so, too
            if (other_start, other_end, content) == edit:
                continue  # two fixes that need the same import, say: it is made once
            touching = other_end == start or end == other_start
            if not touching or start == end or other_start == other_end:
                return True
    return False


def _edits(proposals: Iterable[_Proposal]) -> list[Edit]:
    return list(dict.fromkeys(edit for proposal in proposals for edit in proposal.fix.edits))


def _compiles(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<fixed>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            return False
    return True
