"""One document to its findings: the rules run over it, and what suppression comments silence is left out."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from amplint.documents import Document
from amplint.findings import Finding
from amplint.importing import Importing
from amplint.mentions import Mention
from amplint.rule import Context, Rule, Survey, TargetTorch
from amplint.syntax.invalid import InvalidSyntax
from amplint.syntax.trust import Unlike, whole_trees, whole_trees_only

REPORT_IT = "this is no fault of the file: please report it to those who made the rule"


class RuleCrashed(Exception):
    """A rule raised something unforeseen in a document: a fault of the rule, never of the document."""

    def __init__(self, rule: type[Rule], filename: str, error: Exception) -> None:
        super().__init__(rule.code, filename, error)
        self.rule, self.filename, self.error = rule, filename, error

    def __str__(self) -> str:
        told = f"rule {self.rule.code} ({self.rule.name}) failed: {type(self.error).__name__}: {self.error}"
        return f"{told}; {REPORT_IT}"


DEEPEST = 8000
"""Calls within each other that the stack of a thread surely has room for."""


@dataclass(frozen=True, slots=True)
class Result:
    """What rules say about a document, in the order of the text, and which of them failed on it.

    ``left`` names the functions that have too many paths for all of them to be followed: of these little is said.
    ``consulted`` are the other files that were looked into, each with the digest of its content, None if not there.
    """

    findings: tuple[Finding, ...]
    crashes: tuple[RuleCrashed, ...] = ()
    left: tuple[str, ...] = ()
    consulted: Mapping[str, str | None] = field(default_factory=dict)


def run_rules(context: Context, rules: Iterable[type[Rule]]) -> Result:
    """Everything that ``rules`` find in the context's document, whatever its comments silence."""
    rules = tuple(rules)
    if all(rule.is_own() for rule in rules):  # which know that not every tree is whole
        try:
            return _run_rules(context, rules)
        except Unlike:
            context = context.afresh()
    with whole_trees():
        return _run_rules(context, rules)


def _run_rules(context: Context, rules: Sequence[type[Rule]]) -> Result:
    findings: list[Finding] = []
    crashes: list[RuleCrashed] = []

    def take(rule: type[Rule], found: Callable[[Rule], Iterable[Finding]]) -> None:
        try:
            findings.extend(found(rule()))
        except Unlike:
            raise
        except InvalidSyntax:
            pass  # nothing can be said without a tree; that there is none is a finding of AMP902
        except Exception as error:
            if not whole_trees_only():  # it may have asked for what a tree made by Python's parser does not have
                raise Unlike from error
            crashes.append(RuleCrashed(rule, context.document.filename, error))

    importing: dict[tuple[Mention, ...], Importing] = {}

    def check(rule: Rule) -> Iterable[Finding]:
        if not rule.imported_mentions:
            return rule.check(context)
        if rule.imported_mentions not in importing:
            importing[rule.imported_mentions] = Importing(context, rule.imported_mentions)
        return importing[rule.imported_mentions].check(rule)

    content = context.document.text.encode("utf-8", "surrogatepass")
    with _room_for_deep_code():
        for rule in rules:
            if rule.may_concern(content):
                take(rule, check)
        failed = {crash.rule.code for crash in crashes}
        survey = Survey(tuple(findings), frozenset(rule.code for rule in rules) - failed, bool(context.left))
        for rule in rules:
            take(rule, lambda rule: rule.review(context, survey))
    return Result(tuple(sorted(findings, key=order)), tuple(crashes), context.left, context.consulted)


@contextlib.contextmanager
def _room_for_deep_code() -> Iterator[None]:
    """Let trees be walked that are deeper than Python expects: a sum of hundreds of terms is one."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def lint_document(
    document: Document,
    rules: Sequence[type[Rule]] | None = None,
    target_torch: TargetTorch | None = None,
) -> list[Finding]:
    """The findings of ``rules`` (all that are installed, where none are given) that no comment silences.

    Their fixes are still candidates: :mod:`amplint.fixer` decides which of them heal. Raises
    :class:`RuleCrashed` where a rule fails.
    """
    if rules is None:
        from amplint.registry import installed

        rules = installed().rules
    result = run_rules(Context(document, target_torch), rules)
    if result.crashes:
        raise result.crashes[0] from result.crashes[0].error
    return list(unsuppressed(document, result.findings, rules))


def unsuppressed(document: Document, findings: Iterable[Finding], rules: Iterable[type[Rule]]) -> tuple[Finding, ...]:
    """Those of ``findings``, which are of ``rules``, that no comment in the document silences."""
    findings = tuple(findings)
    if not findings:
        return ()
    from amplint.suppressions import Suppressions

    if not Suppressions.stand_in(document):
        return findings
    by_code = {rule.code: rule for rule in rules}
    suppressions = Suppressions(document)

    def silenced(finding: Finding) -> bool:
        rule = by_code[finding.code]
        return rule.selectable and suppressions.silences(finding, by_name=rule.by_name)

    return tuple(finding for finding in findings if not silenced(finding))


def order(finding: Finding) -> tuple[int, int, str]:
    """By which findings are sorted: where they stand, then their codes."""
    return finding.start.offset, finding.end.offset, finding.code
