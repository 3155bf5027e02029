"""Fixes of the protocol: which scaler a place can reach, and where its calls belong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from amplint.analysis import Analyses
from amplint.documents import Document
from amplint.findings import Edit, Fix
from amplint.flow import ProtocolReport
from amplint.flow.excerpts import Excerpt, Excerpts
from amplint.flow.machine import Found
from amplint.protocol import Violation
from amplint.syntax.enclosing import insert_after, insert_line_after, statement_of, whole_lines
from amplint.syntax.names import dotted_name, within
from amplint.syntax.tree import InvalidSyntax, SyntaxTree


@dataclass(frozen=True)
class Intent:
    """One document's report, and what can be written into the document to mend a violation."""

    document: Document
    tree: SyntaxTree
    report: ProtocolReport
    analyses: Analyses
    """Of the document, and of what fixes make of it."""
    offers_fixes: bool = True
    """Whether fixes are wanted at all; where not, none is found to heal."""

    def scaler_text(self, violation: Violation) -> str | None:
        """The expression by which the violation's place can reach its scaler, None where none is sure."""
        calls = self._calls(self.report.uses.get(violation.scaler, ()))
        receivers = ((site, call.func.value) for site, call in calls if isinstance(call.func, cst.Attribute))
        return self._reaching(violation, receivers)

    def optimizer_text(self, violation: Violation) -> str | None:
        """The expression by which the violation's place can reach its optimizer, None where none is sure."""
        calls = self._calls(self.report.given.get(violation.optimizer, ()))
        return self._reaching(violation, ((site, call.args[0].value) for site, call in calls if call.args))

    def _calls(self, sites: Iterable[int]) -> list[tuple[int, cst.Call]]:
        return [(site, node) for site in sorted(sites) if isinstance(node := self.report.sites[site], cst.Call)]

    def _reaching(self, violation: Violation, spelled: Iterable[tuple[int, cst.BaseExpression]]) -> str | None:
        """The first of several expressions for one object that stands for it at the violation's place as well."""
        here = self.report.scope(violation.site)
        for site, expression in spelled:
            there = self.report.scopes[site]
            text = self.tree.code(expression)
            root = text.partition(".")[0]
            same_object = bool(here.me) and here.owner == there.owner and root == here.me == there.me
            if there == here or same_object or (there.number == 0 and root == text):
                return text
        return None

    def conditions(self, found: Found) -> list[tuple[int, bool, str]]:
        """The tests around a violation and its causes that had to turn out one way: site, truth and text."""
        violation = found.violation
        places = [violation.site, *(cause.site for cause in violation.causes)]
        nodes = [self.report.node(site) for site in places if site is not None]
        around = {id(node) for place in nodes for node in self.tree.around(place)}
        tests = {id(node.test): node for node in self._ifs if id(node) in around}
        kept = []
        for site, truth in found.route:
            node = self.report.node(site)
            text = self.tree.code(node)
            if id(node) in tests and "\n" not in text:
                kept.append((site, truth, text))
        return kept

    @cached_property
    def _ifs(self) -> list[cst.If]:
        return [node for node in within(self.tree.module) if isinstance(node, cst.If)]

    def replace_step(self, site: object, scaler: str) -> Edit | None:
        """``optimizer.step()`` as ``scaler.step(optimizer)``; None for any other shape of call."""
        call = self.report.node(site)
        if not isinstance(call, cst.Call) or call.args or not isinstance(call.func, cst.Attribute):
            return None
        start, end = self.tree.span(call.func)
        opening = end + len(self.tree.text[end:]) - len(self.tree.text[end:].lstrip())
        if not self.tree.text.startswith("(", opening):
            return None
        return self.document.edit(start, opening + 1, f"{scaler}.step({self.tree.code(call.func.value)}")

    def add_update(self, site: object, scaler: str) -> Edit | None:
        """``scaler.update()`` after the step at ``site``, or after the loop that steps each optimizer in turn."""
        call = self.report.node(site)
        around = self.tree.around(call)
        statement = statement_of(around)
        if statement is None or isinstance(statement, (cst.Return, cst.Raise)):
            return None
        code = f"{scaler}.update()"
        loop = _loop_over_optimizers(self.tree, call, around)
        insertion = insert_line_after(self.tree, loop, code) if loop else insert_after(self.tree, statement, code)
        assert insertion is not None  # a call stands in no `break`, and what returns or raises is left above
        return self.document.edit(insertion.offset, insertion.offset, insertion.content)

    def guard(self, violation: Violation) -> tuple[str, bool] | None:
        """The tests around the cause of a violation but not around its place: as one test, and the truth it must have.

        None where there is none, or one that cannot be said at that place.
        """
        tests = self._tests_of_cause(violation)
        if not tests or not self._can_say(violation, tests):
            return None
        if len(tests) == 1:
            return tests[0]
        return " and ".join(_part(test, truth) for test, truth in reversed(tests)), True

    def is_unsayable(self, violation: Violation) -> bool:
        """Whether the cause of a violation stands under a condition that cannot be said at its place."""
        tests = self._tests_of_cause(violation)
        return bool(tests) and not self._can_say(violation, tests)

    def _tests_of_cause(self, violation: Violation) -> list[tuple[str, bool]]:
        """The tests that the cause of a violation stands under and its place does not, innermost first."""
        if not violation.causes:
            return []
        cause = self.report.node(violation.causes[0].site)
        here = {id(node) for node in self.tree.around(self.report.node(violation.site))}
        tests: list[tuple[str, bool]] = []
        child: cst.CSTNode = cause
        for node in self.tree.around(cause):
            if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
                break
            if isinstance(node, cst.If) and id(node) not in here:
                tests.append((self.tree.code(node.test), child is node.body))
            child = node
        return tests

    def _can_say(self, violation: Violation, tests: list[tuple[str, bool]]) -> bool:
        """Whether tests mean at the place of a violation what they mean at its cause, and fit in a line."""
        here, there = self.report.scope(violation.site), self.report.scope(violation.causes[0].site)
        if any("\n" in test for test, _ in tests):
            return False
        if here == there:
            return True
        own = bool(here.me) and here.owner == there.owner and here.me == there.me
        words = {word for test, _ in tests for word in re.findall(r"(?<![\w.])[A-Za-z_]\w*", test)}
        return own and words <= {here.me, "not", "and", "or", "is", "None", "True", "False"}

    def guarded_step(self, violation: Violation, scaler: str, update: bool) -> Edit | None:
        """The plain step made the other arm of the condition under which the gradients are scaled."""
        guard = self.guard(violation)
        call = self.report.node(violation.site)
        around = self.tree.around(call)
        line = next((node for node in around if isinstance(node, cst.SimpleStatementLine)), None)
        if guard is None or line is None or len(line.body) != 1 or self.replace_step(violation.site, scaler) is None:
            return None
        test, positive = guard
        start, end = self.tree.span(line)
        statement = line.body[0]
        if not isinstance(statement, cst.Expr) or statement.value is not call or "\n" in test:
            return None
        indent = self.tree.text[self.tree.text.rfind("\n", 0, start) + 1 : start]
        inner = indent + self.tree.whole(self.tree.module).default_indent
        plain = self.tree.text[start:end]
        assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
        scaled = f"{scaler}.step({self.tree.code(call.func.value)})"
        if update:
            scaled += f"\n{inner}{scaler}.update()"
        first, second = (scaled, plain) if positive else (plain, scaled)
        return self.document.edit(start, end, f"if {test}:\n{inner}{first}\n{indent}else:\n{inner}{second}")

    def move_update(self, site: object, scaler: str) -> list[Edit | None]:
        """The ``update()`` on a line of its own behind the loop of the step at ``site``, brought to the step."""
        add, late = self.add_update(site, scaler), self.late_update(site, scaler)
        if add is None or late is None:
            return [None]
        start, end = late
        if add.start.offset == start:  # one edit where they meet
            return [self.document.edit(start, end, add.content)]
        return [add, self.document.edit(start, end, "")]

    def late_update(self, site: object, scaler: str) -> tuple[int, int] | None:
        """The lines of an ``update()`` that follows a loop around the step at ``site``."""
        around = self.tree.around(self.report.node(site))
        for loop, parent in zip(around, around[1:], strict=False):
            if isinstance(loop, (cst.FunctionDef, cst.Lambda)):
                return None
            if not isinstance(loop, (cst.For, cst.While)) or not isinstance(parent, (cst.IndentedBlock, cst.Module)):
                continue
            for line in parent.body[parent.body.index(loop) + 1 :]:
                start, end = whole_lines(self.tree, line)
                if self.tree.text[start:end].strip() == f"{scaler}.update()":
                    return start, end
        return None

    def heals(self, fix: Fix, violation: Violation, scaler: str) -> bool:
        """Whether the automaton has no new complaint about the fixed document, and finds its scaler wherever called.

        No ``update()`` of the scaler in the same function may be left with nothing to do: it would still break.
        """
        if not self.offers_fixes:
            return False
        before, place, text = self._trial(fix, violation)
        fixed = self.analyses.of(text)
        try:
            tree, after = fixed.tree, fixed.protocol
        except InvalidSyntax:
            return False
        here = before.scope(place)
        idle = {
            tree.code(after.node(found.violation.site))
            for found in after.violations
            if found.violation.code == "AMP107" and after.scope(found.violation.site) == here
        }
        if f"{scaler}.update()" in idle:
            return False
        if after.left and self.guard(violation) is not None and not any("if " in edit.content for edit in fix.edits):
            return False  # nobody has seen whether the scaler is always there
        new = _codes(after) - _codes(before)
        return not new and len(after.unbound) <= len(before.unbound)

    def _trial(self, fix: Fix, violation: Violation) -> tuple[ProtocolReport, object, str]:
        """What is to be compared: a report, the violation's site in it, and the text that the fix makes.

        Where an excerpt of the document shows what the document shows there, it is enough.
        """
        sites = [violation.site, *(cause.site for cause in violation.causes if cause.site is not None)]
        offsets = [self._offset(site) for site in sites]
        offsets += (offset for edit in fix.edits for offset in (edit.start.offset, edit.end.offset))
        excerpt = self._excerpts.around(offsets) if not self.report.left else None
        if excerpt is not None:
            analysis = self.analyses.of(excerpt.text)
            report = analysis.protocol
            shown = {
                (found.violation.code, analysis.tree.span(report.node(found.violation.site))[0]): found.violation.site
                for found in report.violations
            }
            expected = Counter(
                (found.violation.code, offset)
                for found in self.report.violations
                if (offset := excerpt.offset(self._offset(found.violation.site))) is not None
            )
            place = shown.get((violation.code, excerpt.offset(offsets[0]) or 0))
            if place is not None and expected == Counter(shown.keys()) and not report.left:
                return report, place, excerpt.edited(fix.edits)
        return self.report, violation.site, Excerpt(self.document.text, ()).edited(fix.edits)

    def _offset(self, site: object) -> int:
        return self.tree.span(self.report.node(site))[0]

    @cached_property
    def _excerpts(self) -> Excerpts:
        return Excerpts(self.tree)


def _codes(report: ProtocolReport) -> Counter[str]:
    return Counter(found.violation.code for found in report.violations)


def _part(test: str, truth: bool) -> str:
    """A test as a part of a conjunction."""
    simple = re.fullmatch(r"[\w.]+(\(\))?", test) or re.fullmatch(r"[\w.]+ (is|is not|==|!=|<|>|<=|>=) [\w.]+", test)
    return (test if simple else f"({test})") if truth else f"not ({test})"


def bundle(message: str, edits: list[Edit | None]) -> Fix | None:
    """The edits as one fix, or None if one of them could not be made."""
    made = [edit for edit in edits if edit is not None]
    return Fix(message, tuple(made)) if len(made) == len(edits) and made else None


def _loop_over_optimizers(tree: SyntaxTree, call: cst.CSTNode, around: list[cst.CSTNode]) -> cst.CSTNode | None:
    """The loop around ``call`` each of whose iterations steps another optimizer."""
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    stepped = call.args[0].value if call.args else call.func.value
    names = _names(stepped)
    taken = any(isinstance(node, cst.Call) for node in within(stepped))  # such as one more from a queue
    for node in around:
        if isinstance(node, (cst.FunctionDef, cst.Lambda)):
            return None
        if isinstance(node, cst.For) and (taken or names & _target_names(node.target)):
            return node
        if isinstance(node, cst.While) and taken:
            return node
    return None


def _names(node: cst.CSTNode) -> set[str]:
    """The variables, and the attributes of variables, in an expression."""
    chains = (dotted_name(inner) for inner in within(node) if isinstance(inner, (cst.Name, cst.Attribute)))
    return {chain for chain in chains if chain is not None}


def _target_names(target: cst.BaseExpression) -> set[str]:
    if isinstance(target, (cst.Tuple, cst.List)):
        return set().union(*(_target_names(element.value) for element in target.elements))
    name = dotted_name(target)
    return set() if name is None else {name}
