"""Running statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from amplint.precision.code import leaves
from amplint.precision.dtypes import element_of, join_names
from amplint.precision.functions import Functions
from amplint.precision.state import NO_ARGUMENTS, Frame, State
from amplint.precision.values import (
    UNKNOWN,
    Class,
    Constant,
    Function,
    Items,
    Made,
    Tensor,
    Value,
)
from amplint.precision.vocabulary import (
    AUGMENTED,
    LOSS_NAME,
)
from amplint.syntax.names import dotted_name


class Statements(Functions):
    """Blocks of statements."""

    def block(self, statements: Sequence[cst.CSTNode], frame: Frame, state: State) -> bool:
        """Run statements; whether the path ends in them."""
        nested: list[cst.FunctionDef] = []
        ended = False
        for statement in statements:
            if isinstance(statement, cst.SimpleStatementLine):
                ended = any([self.small(small, frame, state) for small in statement.body])
                while frame.pending:
                    value, place = frame.pending.pop(0)
                    state = self.enter(value, place, place, state)
            elif isinstance(statement, cst.FunctionDef):
                self.define(statement, frame)
                if frame is not self.module:
                    nested.append(statement)
            else:
                ended = self.compound(statement, frame, state)
                if isinstance(statement, cst.If):
                    state = self._doubt_the_rest(statement, state)
            if ended:
                break
        for node in nested:
            if node not in self.called:
                self.call_function(Function(node, None, frame), node, None, State(calls=state.calls))
        return ended

    def body(self, suite: cst.BaseSuite, frame: Frame, state: State) -> bool:
        if isinstance(suite, cst.SimpleStatementSuite):
            return any([self.small(small, frame, state) for small in suite.body])
        return self.block(suite.body, frame, state)

    def define(self, node: cst.FunctionDef, frame: Frame) -> None:
        frame.values[node.name.value] = Function(node, None, frame)
        self.note_decorators(node, frame)

    def small(self, node: cst.CSTNode, frame: Frame, state: State) -> bool:
        if isinstance(node, cst.Assign):
            value = self.value(node.value, frame, state)
            for target in node.targets:
                self.assign(target.target, value, frame, state)
        elif isinstance(node, cst.AnnAssign):
            if node.value is not None:
                self.assign(node.target, self.value(node.value, frame, state), frame, state)
        elif isinstance(node, cst.AugAssign):
            self._augment(node, frame, state)
        elif isinstance(node, cst.Return):
            frame.returned.append(self.value(node.value, frame, state) if node.value is not None else Constant(None))
            return True
        elif isinstance(node, cst.Expr):
            self.value(node.value, frame, state)
        elif isinstance(node, (cst.Raise, cst.Break, cst.Continue)):
            return True
        elif isinstance(node, cst.Assert):
            self.value(node.test, frame, state)
        return False

    def _augment(self, node: cst.AugAssign, frame: Frame, state: State) -> None:
        left, right = self.value(node.target, frame, state), self.value(node.value, frame, state)
        name = AUGMENTED.get(type(node.operator))
        if name is None:
            self.assign(node.target, UNKNOWN, frame, state)
            return
        result = self.binary(node, name, left, right, frame, state)
        if isinstance(left, Tensor):
            result = left  # in place
        self.assign(node.target, result, frame, state, reads=False)

    def compound(self, node: cst.CSTNode, frame: Frame, state: State) -> bool:
        if isinstance(node, cst.If):
            return self._if(node, frame, state)
        if isinstance(node, cst.With):
            return self._with(node, frame, state)
        if isinstance(node, (cst.For, cst.While)):
            return self._loop(node, frame, state)
        if isinstance(node, (cst.Try, cst.TryStar)):
            return self._try(node, frame, state)
        if isinstance(node, cst.ClassDef):
            frame.values[node.name.value] = Class(node)
        else:
            assert isinstance(node, cst.Match)
            self.value(node.subject, frame, state)
            self._branches([case.body for case in node.cases], frame, state, may_pass=True)
        return False

    def _if(self, node: cst.If, frame: Frame, state: State) -> bool:
        test = self.value(node.test, frame, state)
        if isinstance(test, Constant):
            if test.value:
                return self.body(node.body, frame, state)
            return self._orelse(node.orelse, frame, state)
        state = self.doubt(node.test, state)
        before = dict(frame.values)
        ended = self.body(node.body, frame, state)
        after = frame.values
        frame.values = dict(before)
        other_ended = self._orelse(node.orelse, frame, state)
        if other_ended and not ended:
            frame.values = after
        elif not ended:
            frame.values = join_names(after, frame.values, self.names_of(node.test))
        return ended and other_ended

    def _orelse(self, orelse: cst.If | cst.Else | None, frame: Frame, state: State) -> bool:
        if isinstance(orelse, cst.If):
            return self._if(orelse, frame, state)
        return self.body(orelse.body, frame, state) if orelse is not None else False

    def _doubt_the_rest(self, node: cst.If, state: State) -> State:
        """What follows a condition that leaves early is its other branch."""
        branch: cst.If | cst.Else | None = node
        while isinstance(branch, cst.If):
            if leaves(branch.body) or (isinstance(branch.orelse, cst.Else) and leaves(branch.orelse.body)):
                state = self.doubt(branch.test, state)
            branch = branch.orelse
        return state

    def _branches(self, suites: Sequence[cst.BaseSuite], frame: Frame, state: State, may_pass: bool) -> None:
        before = dict(frame.values)
        joined = dict(before) if may_pass else None
        for suite in suites:
            frame.values = dict(before)
            if not self.body(suite, frame, state):
                joined = frame.values if joined is None else join_names(joined, frame.values)
        frame.values = joined if joined is not None else before

    def _with(self, node: cst.With, frame: Frame, state: State) -> bool:
        for item in node.items:
            value = self.value(item.item, frame, state)
            state = self.enter(value, item.item, node, state)
            if item.asname is not None:
                self.assign(item.asname.name, value, frame, state)
        return self.body(node.body, frame, state)

    def _loop(self, node: cst.For | cst.While, frame: Frame, state: State) -> bool:
        before = dict(frame.values)
        inner = replace(state, loops=(*state.loops, (node, len(state.entered))))
        if isinstance(node, cst.For):
            self.assign(node.target, element_of(self.value(node.iter, frame, state)), frame, state)
        else:
            self.value(node.test, frame, state)
        ended = self.body(node.body, frame, inner)
        frame.values = before if ended else join_names(before, frame.values)
        if node.orelse is not None:
            self.body(node.orelse.body, frame, state)
        return False

    def _try(self, node: cst.Try | cst.TryStar, frame: Frame, state: State) -> bool:
        before = dict(frame.values)
        ended = self.body(node.body, frame, state)
        if not ended and node.orelse is not None:
            ended = self.body(node.orelse.body, frame, state)
        after = frame.values
        all_ended = ended
        for handler in node.handlers:
            frame.values = dict(before)
            if not self.body(handler.body, frame, state):
                after = frame.values if all_ended else join_names(after, frame.values)
                all_ended = False
        frame.values = after
        if node.finalbody is not None and self.body(node.finalbody.body, frame, state):
            return True
        return all_ended

    def assign(self, target: cst.CSTNode, value: Value, frame: Frame, state: State, reads: bool = True) -> None:
        """Bind a target."""
        if isinstance(target, (cst.Name, cst.Attribute)):
            name = dotted_name(target)
            if name is not None:
                if isinstance(value, Tensor) and not value.certain and LOSS_NAME.search(name.rpartition(".")[2]):
                    value = UNKNOWN
                stale = f"{name}."
                for known in [known for known in frame.values if known.startswith(stale)]:
                    del frame.values[known]
                frame.values[name] = value
        elif isinstance(target, (cst.Tuple, cst.List)):
            self._unpack(target, value, frame, state)
        elif isinstance(target, cst.Subscript) and reads:
            held = self.value(target.value, frame, state)
            for element in target.slice:
                self._inside(element, frame, state)
            self.use(target, "__setitem__", UNKNOWN, (held, value), NO_ARGUMENTS, frame, state)

    def _unpack(self, target: cst.Tuple | cst.List, value: Value, frame: Frame, state: State) -> None:
        elements = target.elements
        if isinstance(value, Made) and value.parts:
            value = Items(value.parts)
        exact = isinstance(value, Items) and len(value.values) == len(elements)
        for index, element in enumerate(elements):
            part = value.values[index] if exact and isinstance(value, Items) else element_of(value)
            if isinstance(element, cst.StarredElement) and not isinstance(part, Tensor):
                part = UNKNOWN
            self.assign(element.value, part, frame, state)
