"""Running statements: each path through a block, to where it leaves it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from amplint.flow import program as ir
from amplint.flow.calls import GENERATOR, Calls
from amplint.flow.expressions import MODULE, Outcomes, named
from amplint.flow.machine import MAX_DEPTH, MAX_PATHS, Frame, TooComplex, is_each
from amplint.flow.paths import MOST_APART, Path, essence, excludes, join, merge, widest
from amplint.flow.values import (
    NONE,
    Autocast,
    Condition,
    Imported,
    Instance,
    Items,
    Key,
    Known,
    Optimizer,
    Routine,
    Scaler,
    Type,
    Unknown,
    Value,
    begins_at_zero,
    is_count,
    is_made_in,
    key_of,
)
from amplint.flow.vocabulary import ERRORS_OF_MISUSE, EXPECTED_FAILURES
from amplint.protocol import UNSEEN, Content, Event, EventKind, Stage, surely

WAITING = (Content.SCALED, Content.UNSCALED)
"""What a step is still to come for."""


class Exit(enum.Enum):
    """How a path leaves a block."""

    NEXT = 0
    BREAK = 1
    CONTINUE = 2
    RETURN = 3
    RAISE = 4


_VARIABLES = (ir.Name, ir.Attribute)

Ends = list[tuple[Exit, Path, Value]]


class Statements(Calls):
    """The whole interpreter."""

    def run_function(self, function: ir.Function, path: Path, frame: Frame) -> Outcomes:
        outcomes: Outcomes = []
        for exit, after, value in self.body(function, path, frame):
            if exit is not Exit.RAISE:
                outcomes.append((self.retire(after, frame, value), value))
        return outcomes

    def body(self, function: ir.Function, path: Path, frame: Frame) -> Ends:
        """Every way through a function's body, which is a region of autocast where a decorator says so."""
        if function.region is None:
            return self.block(function.body, path, frame)
        ends: Ends = []
        for before, context in self.evaluate(function.region.context, path, frame):
            if isinstance(context, Autocast):
                ends += self.region(context, function.region.site, function.body, before, frame)
            else:
                ends += self.block(function.body, before, frame)
        return ends

    def retire(self, path: Path, frame: Frame, returned: Value) -> Path:
        """The end of the scalers that were made in ``frame`` and that nothing outside it can reach."""
        own = [key for key in path.protocol.scalers if is_made_in(key, frame.key)]
        if not own:
            return path
        outer = [value for key, names in path.frames.items() if key != frame.key for value in names.values()]
        kept = {value.key for value in self.reached([returned, *outer, *path.store.values()], path)}
        for key in own:
            if key not in kept and not self.machine.evidence.has_escaped(key):
                path = self.machine.emit(path, Event(EventKind.RETIRE, scaler=key))
        return path

    def block(self, statements: list[ir.Statement], path: Path, frame: Frame) -> Ends:
        """Every way from ``path`` through ``statements``."""
        ends: Ends = []
        current = [path]
        for statement in statements:
            following = []
            for before in current:
                self.machine.spend()
                for exit, after, value in _RUN[type(statement)](self, statement, before, frame):
                    if exit is Exit.NEXT:
                        following.append(after)
                    else:
                        ends.append((exit, after, value))
            current = merge(following, MAX_PATHS)
            if len(current) > 4 * MAX_PATHS:
                raise TooComplex
            if not current:
                break
        return [*dict.fromkeys(ends), *((Exit.NEXT, after, NONE) for after in current)]

    def assign(self, node: ir.Assign, path: Path, frame: Frame) -> Ends:
        ends: Ends = []
        for after, value in self.evaluate(node.value, path, frame):
            for target in node.targets:
                after = self.bind(target, value, after, frame)
            ends.append((Exit.NEXT, after, NONE))
        return ends

    def augment(self, node: ir.Augment, path: Path, frame: Frame) -> Ends:
        """``total += scaled`` is scaled; any other target becomes a value made here."""
        ends: Ends = []
        old: ir.Expression = (
            node.target if isinstance(node.target, (ir.Name, ir.Attribute, ir.Item)) else ir.Constant(None)
        )
        for after, (before, value) in self.evaluate_all([old, node.value], path, frame):
            key: Key = ("call", "augmented", node.site)
            self.remade(after, Unknown(key))
            combined = self.combine("augmented", [before, value], node.site)
            if isinstance(combined, Unknown):
                combined = Unknown(key, combined.holds)
                if node.operator == "AddAssign" and isinstance(value, Known) and isinstance(node.target, _VARIABLES):
                    is_local = isinstance(node.target, ir.Name)
                    name = node.target.id if isinstance(node.target, ir.Name) else node.target.attr
                    new = named(combined, frame.function.name if is_local else "", name)
                    after = after.counted_on(key_of(before), value.key, key_of(new), key)
                else:
                    after = after.forget_facts([key])
            ends.append((Exit.NEXT, self.bind(node.target, combined, after, frame), NONE))
        return ends

    def do(self, node: ir.Do, path: Path, frame: Frame) -> Ends:
        return [(Exit.NEXT, after, NONE) for after, _ in self.evaluate(node.value, path, frame)]

    def if_(self, node: ir.If, path: Path, frame: Frame) -> Ends:
        ends: Ends = []
        joined: list[Path] = []
        for after, truth in self.branch(node.test, path, frame, node.polarity):
            if after.facts is not path.facts or (node.site, not truth) in path.route:
                after = after.by_way_of(node.site, truth)
            if node.polarity and truth != (node.polarity > 0) and after.detour is None and _owes_step(after):
                after = after.but(detour=node.arms[0 if truth else 1])
            if node.latches:
                after = after.latched(node.site, truth == (node.polarity > 0))
            if node.counts_steps and truth != (node.polarity > 0):
                after = after.doubted()
            if node.asks_for_hook and not truth:
                after = self.machine.forget_all(after)
            for exit, last, value in self.block(node.body if truth else node.orelse, after, frame):
                if exit is Exit.NEXT:
                    joined.append(last)
                else:
                    ends.append((exit, last, value))
        decided = {key: None for last in joined for key in last.facts if key not in path.facts}
        return [*ends, *((Exit.NEXT, last, NONE) for last in join(joined, decided))]

    def for_(self, node: ir.For, path: Path, frame: Frame) -> Ends:
        ends: Ends = []
        for after, source in self.evaluate(node.source, path, frame):
            known, elements = self.elements(source)
            if known:
                if not elements and node.scales:  # filled under conditions, and for some run not in vain
                    after = self.machine.pass_by(after)
                ends += self.unrolled(node, elements, after, frame)
            elif self.is_over_objects(elements[0], node.target, frame):
                # a loop over optimizers does the same to each of them: once for all, and there are some
                after = (after.assume(source, True) or [after])[0]
                ends += self.each_in_turn(node, elements, after, frame)
            else:
                ends += self.repeated(node, source, elements[0], after, frame)
        return ends

    def is_over_objects(self, element: Value, target: ir.Target, frame: Frame) -> bool:
        values = self.parts(element)
        if isinstance(element, Unknown) and isinstance(target, ir.Sequence):
            names = [part.id if isinstance(part, ir.Name) else "" for part in target.parts]
            items = [self.item_of(element, Known(index)) for index in range(len(names))]
            values = tuple(
                self.recognise(named(item, frame.function.name, name)) for item, name in zip(items, names, strict=True)
            )
        return any(isinstance(value, (Optimizer, Scaler)) for value in values)

    def parts(self, value: Value) -> tuple[Value, ...]:
        """What a value is made of, through any number of tuples within each other."""
        return tuple(p for part in value.values for p in self.parts(part)) if isinstance(value, Items) else (value,)

    def each_in_turn(self, node: ir.For, elements: list[Value], path: Path, frame: Frame) -> Ends:
        """A loop whose body is run for one optimizer: what it has then done to the scaler meets all others."""
        made = [key_of(part) for element in elements for part in self.parts(element)]
        ends = [
            (exit, after.past_the_last(made) if exit is Exit.NEXT else after, value)
            for exit, after, value in self.unrolled(node, elements, path, frame)
        ]
        if node.updates is None:
            return ends
        step, update = node.updates
        assert isinstance(update.func, ir.Attribute)
        for after in [after for exit, after, _ in ends if exit is Exit.NEXT]:
            parts: list[ir.Expression] = [update.func.base, step.args[0].value]
            for last, (scaler, optimizer) in self.evaluate_all(parts, after, frame):
                if not isinstance(scaler, Scaler) or is_each(scaler.key) or not isinstance(optimizer, Optimizer):
                    continue
                marks = path.protocol.marks(optimizer.key)
                waiting = surely(marks - UNSEEN, lambda mark: mark.content in WAITING and mark.scaler == scaler.key)  # noqa: B023
                if waiting:
                    others = frozenset(replace(mark, updated_at=update.site) for mark in waiting)
                    last = last.but(protocol=last.protocol.with_marks([optimizer.key], others))
                    self.machine.emit(last, Event(EventKind.SCALER_STEP, step.site, scaler.key, (optimizer.key,)))
        return ends

    def unrolled(self, node: ir.For, elements: list[Value], path: Path, frame: Frame) -> Ends:
        ends: Ends = []
        current, broken = [path], []
        for element in elements:
            following = []
            for before in current:
                for exit, after, value in self.block(node.body, self.bind(node.target, element, before, frame), frame):
                    if exit in (Exit.NEXT, Exit.CONTINUE):
                        following.append(after)
                    elif exit is Exit.BREAK:
                        broken.append((Exit.NEXT, after, NONE))
                    else:
                        ends.append((exit, after, value))
            current = merge(following, MAX_PATHS)
        for after in current:
            ends += self.block(node.orelse, after, frame)
        return ends + broken

    def repeated(self, node: ir.For, source: Value, element: Value, path: Path, frame: Frame) -> Ends:
        made = {key_of(value) for value in self.parts(element)}

        def enter(before: Path) -> list[tuple[Path, bool]]:
            self.machine.remade[-1] |= made
            fresh = self.machine.renew(before, made).next_iteration()
            if _is_generator(source):
                fresh = self.machine.forget_all(fresh)
            entered = fresh
            if node.runs and isinstance(source, Unknown):  # what is iterated over is not empty
                entered = (fresh.assume(source, True) or [fresh])[0]
            return [(self.bind(node.target, element, entered, frame), True), (before, False)]

        counts = frozenset(filter(is_count, made))
        begun = path.first_iteration(filter(begins_at_zero, counts)) if counts else path
        return self.loop(enter, node, begun, frame, node.runs, counts)

    def while_(self, node: ir.While, path: Path, frame: Frame) -> Ends:
        return self.loop(lambda before: self.branch(node.test, before, frame), node, path, frame)

    def loop(
        self,
        enter: Callable[[Path], list[tuple[Path, bool]]],
        node: ir.For | ir.While,
        path: Path,
        frame: Frame,
        runs: bool = False,
        counts: frozenset[Key] = frozenset(),
    ) -> Ends:
        """Walk a loop until no iteration brings anything new. ``enter`` gives the ways into the body and past it.

        ``counts`` are the values that go up by one from iteration to iteration.
        A loop that ``runs`` is left after an iteration only, never at once. Where any other is passed at once, what its
        scalers did not do in it proves nothing.
        """
        ends: Ends = []
        made: set[Key] = set()
        self.machine.remade.append(made)
        self.machine.loops += 1
        begun: dict[Path, list[Path]] = {}
        finished: list[Path] = []
        pending = [path]
        passed = True
        while pending:
            heads = _new_heads(pending, begun)
            pending = []
            for head in heads:
                for start, inside in enter(self.machine.renew(head, made)):
                    if not inside:
                        start = self.machine.pass_by(start) if passed and node.scales else start
                        finished += [] if runs else [start]
                        continue
                    start = start.begun_again()
                    for exit, after, value in self.block(node.body, start, frame):
                        if exit in (Exit.NEXT, Exit.CONTINUE):
                            pending.append(self.machine.renew(after.after_iteration(made, counts), made))
                            finished += pending[-1:] if runs else []
                        else:
                            left = Exit.NEXT if exit is Exit.BREAK else exit
                            ends.append((left, after.after_loop() if counts else after, value))
            passed = False
        self.machine.remade.pop()
        self.machine.loops -= 1
        for outer in self.machine.remade[-1:]:
            outer |= made
        for after in merge([self.machine.renew(path.after_loop(), made) for path in finished], MAX_PATHS):
            ends += self.block(node.orelse, after, frame)
        return ends

    def try_(self, node: ir.Try, path: Path, frame: Frame) -> Ends:
        """A handler may start from anywhere in the body, so what the scaler has then seen is unknown."""
        ends: Ends = []
        body = self.failing(node.body, path, frame) if node.fails else self.block(node.body, path, frame)
        for exit, after, value in body:
            if exit is Exit.NEXT:
                ends += self.block(node.orelse, after, frame)
            elif exit is not Exit.RAISE or not node.handlers:
                ends.append((exit, after, value))
        interrupted = self.machine.forget_all(path)
        for handler in node.handlers:
            ends += self.block(handler, interrupted, frame)
        if not node.final:
            return ends
        finished: Ends = []
        for exit, after, value in dict.fromkeys(ends):
            for final_exit, last, final_value in self.block(node.final, after, frame):
                finished.append((exit, last, value) if final_exit is Exit.NEXT else (final_exit, last, final_value))
        return finished

    def with_(self, node: ir.With, path: Path, frame: Frame) -> Ends:
        ends: Ends = []
        for before, context in self.evaluate(node.context, path, frame):
            if isinstance(context, Autocast):
                ends += self.region(context, node.site, node.body, before, frame)
                continue
            for after, entered in self.enter(context, node.site, before, frame):
                if node.target is not None:
                    after = self.bind(node.target, entered, after, frame)
                if _is_expected_failure(node.context):
                    ends += self.failing(node.body, after, frame)
                    ends.append((Exit.NEXT, self.machine.forget_all(after), NONE))
                    continue
                for exit, last, value in self.block(node.body, after, frame):
                    ends += [(exit, left, value) for left in self.leave(context, entered, node.site, last, frame)]
        return ends

    def failing(self, body: list[ir.Statement], path: Path, frame: Frame) -> Ends:
        """A block in which misuse is on purpose."""
        self.machine.muted += 1
        ends: Ends = [(exit, self.machine.forget_all(path), value) for exit, _, value in self.block(body, path, frame)]
        self.machine.muted -= 1
        return ends

    def region(self, context: Autocast, site: int, body: list[ir.Statement], path: Path, frame: Frame) -> Ends:
        """A region of autocast, enabled or not."""
        ends: Ends = []
        for before, enabled in self.decisions([(path, context.enabled)], 0):
            inside = self.machine.emit(before, Event(EventKind.ENTER_AUTOCAST, site, certain=enabled))
            for exit, after, value in self.block(body, inside, frame):
                ends.append((exit, self.machine.emit(after, Event(EventKind.EXIT_AUTOCAST)), value))
        return ends

    def enter(self, context: Value, site: int, path: Path, frame: Frame) -> Outcomes:
        """What ``with context as ...`` binds."""
        method = self.method(context.definition, "__enter__") if isinstance(context, Instance) else None
        if method is None or id(method) in frame.active or frame.depth >= MAX_DEPTH:
            return [(path, context)]
        return self.follow(Routine(method, context), [context], {}, site, path, frame)

    def leave(self, context: Value, entered: Value, site: int, path: Path, frame: Frame) -> list[Path]:
        """The paths after the context manager's exit."""
        if isinstance(context, Instance):
            method = self.method(context.definition, "__exit__")
            if method is not None:
                arguments: list[Value] = [NONE, NONE, NONE]
                outcomes = self.call_routine(Routine(method, context), arguments, {}, site, path, frame)
                return [after for after, _ in outcomes]
        if _is_generator(context):
            return [self.machine.forget_all(path)]
        if isinstance(context, Unknown) or (isinstance(context, Instance) and self.is_inherited(context, "__exit__")):
            return [self.forget([context, entered], path)]
        return [path]

    def match(self, node: ir.Match, path: Path, frame: Frame) -> Ends:
        ends: Ends = []
        for after, subject in self.evaluate(node.subject, path, frame):
            remaining = [after]
            for case in node.cases:
                following = []
                for before in remaining:
                    for chosen, truth in self.chosen(case, subject, before, frame):
                        if truth:
                            ends += self.block(case.body, chosen, frame)
                        else:
                            following.append(chosen)
                remaining = merge(following, MAX_PATHS)
            ends += [(Exit.NEXT, before, NONE) for before in remaining]
        return ends

    def chosen(self, case: ir.Case, subject: Value, path: Path, frame: Frame) -> list[tuple[Path, bool]]:
        """The ways past a case: into its body, or on to the next."""
        if case.pattern == "_":
            return [(path, True)]
        outcomes: Outcomes = [(path, Condition("case", (subject, case.pattern)))]
        if case.test is not None:
            outcomes = self.evaluate(case.test, path, frame)
        return [
            (chosen.with_switch(key_of(value), case.polarity > 0) if truth and case.polarity else chosen, truth)
            for before, value in outcomes
            for chosen, truth in self.decisions([(before, value)], 0)
        ]

    def return_(self, node: ir.Return, path: Path, frame: Frame) -> Ends:
        if node.value is None:
            return [(Exit.RETURN, path, NONE)]
        return [(Exit.RETURN, after, value) for after, value in self.evaluate(node.value, path, frame)]

    def raise_(self, node: ir.Raise, path: Path, frame: Frame) -> Ends:
        return [(Exit.RAISE, path, NONE)]

    def define(self, node: ir.Define, path: Path, frame: Frame) -> Ends:
        if isinstance(node.value, ir.Class):
            value: Value = Type(node.value)
        else:
            value = self.evaluate(node.value, path, frame)[0][1]
        return [(Exit.NEXT, path.with_local(frame.key, node.name, value), NONE)]

    def use(self, node: ir.Use, path: Path, frame: Frame) -> Ends:
        return [(Exit.NEXT, self.use_gradients(node, path, frame), NONE)]

    def change(self, node: ir.Change, path: Path, frame: Frame) -> Ends:
        return [(Exit.NEXT, self.machine.forget_gradients(path), NONE)]

    def delete(self, node: ir.Forget, path: Path, frame: Frame) -> Ends:
        for target in node.targets:
            for name in _targets(target):
                if isinstance(name, ir.Name):
                    path = path.with_local(frame.key, name.id, None)
                else:
                    path = self.bind(name, Unknown(("local", frame.function.name, name.attr)), path, frame)
        return [(Exit.NEXT, path, NONE)]


def _new_heads(pending: list[Path], begun: dict[Path, list[Path]]) -> list[Path]:
    """The paths with which a loop must begin again: those that bring something that ``begun`` does not cover.

    Where the protocol stands as it stood before, only what every way there has decided alike is kept, but a few ways
    of which each excludes the others stay apart.
    """
    heads: dict[Path, None] = {}
    for path in pending:
        known = begun.setdefault(essence(path), [])
        like = [other for other in known if not excludes(other, path)]
        if not like and len(known) >= MOST_APART:
            like = list(known)
        head = widest([*like, path]) if like and path not in like else path
        if head in known:
            continue
        for other in like:
            known.remove(other)
            heads.pop(other, None)
        known.append(head)
        heads[head] = None
    return list(heads)


def _targets(target: ir.Target) -> list[ir.Name | ir.Attribute]:
    if isinstance(target, ir.Sequence):
        return [name for part in target.parts for name in _targets(part)]  # type: ignore[arg-type]
    return [target] if isinstance(target, (ir.Name, ir.Attribute)) else []


def _owes_step(path: Path) -> bool:
    """Whether some optimizer was unscaled and not stepped yet."""
    return any(record.stage is Stage.UNSCALED for state in path.protocol.scalers.values() for record in state.records)


def _is_generator(value: Value) -> bool:
    """Whether a value is what a generator function of this file returned."""
    return isinstance(value, Unknown) and value.key[:2] == ("call", GENERATOR)


def _is_expected_failure(node: ir.Expression) -> bool:
    """Whether a context manager says that its body is meant to go wrong."""
    if not isinstance(node, ir.Call) or not isinstance(node.func, (ir.Name, ir.Attribute)):
        return False
    name = node.func.id if isinstance(node.func, ir.Name) else node.func.attr
    if "contextlib.suppress" in node.func.external:
        return any(isinstance(given.value, ir.Name) and given.value.id in ERRORS_OF_MISUSE for given in node.args)
    return bool(({name} | node.func.external) & EXPECTED_FAILURES)


_RUN: dict[type, Callable[[Statements, Any, Path, Frame], Ends]] = {
    ir.Assign: Statements.assign,
    ir.Augment: Statements.augment,
    ir.Do: Statements.do,
    ir.If: Statements.if_,
    ir.For: Statements.for_,
    ir.While: Statements.while_,
    ir.Try: Statements.try_,
    ir.With: Statements.with_,
    ir.Match: Statements.match,
    ir.Return: Statements.return_,
    ir.Raise: Statements.raise_,
    ir.Break: lambda self, node, path, frame: [(Exit.BREAK, path, NONE)],
    ir.Continue: lambda self, node, path, frame: [(Exit.CONTINUE, path, NONE)],
    ir.Define: Statements.define,
    ir.Change: Statements.change,
    ir.Use: Statements.use,
    ir.Forget: Statements.delete,
}

__all__ = ["MODULE", "Ends", "Exit", "Imported", "Statements"]
