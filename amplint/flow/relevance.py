"""Cuts a program down to what the protocol depends on, so that exploring costs what the AMP code costs.

Kept are calls of the protocol and of the file's own functions that lead to some, assignments of what those calls and
the conditions around them depend on, and the jumps between them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from amplint.flow import program as ir
from amplint.flow.gradients import changing_nodes, mark_descaled, using_nodes
from amplint.flow.vocabulary import (
    ACCELERATORS,
    AUTOCASTS,
    AUTOGRAD_BACKWARD,
    BOUND_METHODS,
    CLIP_FUNCTIONS,
    GRAD_SCALERS,
    HARMLESS_BUILTINS,
    HARMLESS_OPTIMIZER_METHODS,
    HARMLESS_SCALER_METHODS,
    MUTATORS,
    PROTOCOL_METHODS,
    SCALER_CHECKS,
    is_optimizer_class,
    may_go_backward,
)


def is_concerned(program: ir.Program) -> bool:
    """Whether anything can go wrong in ``program``: without a scaler, or gradients, there is no protocol to break."""
    parameters = [parameter for function in program.everything for parameter in function.parameters]
    if any(parameter.annotation & _MAKERS for parameter in parameters):
        return True
    code: list[Any] = [p.default for p in parameters if p.default is not None]
    code += [base for cls in program.classes for base in cls.bases]
    return any(map(_is_sign, program.walk().nodes)) or any(_is_sign(node) for part in code for node in ir.walk(part))


def _is_sign(node: Any) -> bool:
    kind = type(node)
    if kind is ir.Attribute and node.attr in _SIGNS:
        return True
    return (kind is ir.Name or kind is ir.Attribute) and not node.external.isdisjoint(_MAKERS)


_SIGNS = frozenset({"scale", "unscale_", "backward"})
_MAKERS = GRAD_SCALERS | ACCELERATORS | AUTOGRAD_BACKWARD


def prune(program: ir.Program) -> None:
    """Cut ``program`` down in place, and mark which functions touch the protocol."""
    relevance = _Relevance(program)
    program.called = relevance.called()
    program.descaled = frozenset(
        node.site for node in relevance.all_nodes if isinstance(node, ir.Call) and node.descales
    )
    relevance.mark_choices()
    for function in program.everything:
        function.touches = relevance.touches(function)
        function.returns_object = relevance.returns_object(function)
        # what trains by itself is not called for the gradients that it looks at meanwhile
        function.returns_value = function.returns_value and function.name not in relevance.scaling_names
        function.body = relevance.block(function.body, [], function.touches)
    for cls in program.classes:
        cls.body = relevance.block(cls.body, [], False)
    program.watched = relevance.watched(program.everything)


class _Relevance:
    def __init__(self, program: ir.Program) -> None:
        self.functions = program.everything
        self.aliases = program.aliases
        self.walked = walked = program.walk()
        self.walk, self.nodes, self.all_nodes = walked.inside, walked.of, walked.nodes
        self.calls = [node for node in self.all_nodes if type(node) is ir.Call]
        self.bindings = ir.bindings(self.all_nodes)
        names = {function.name for function in program.functions}
        self.function_names = names.union(*(self.aliases.get(name, ()) for name in names))
        self.objects = self._objects()
        self.changing = changing_nodes(self.all_nodes)
        self.using = {key: kind for nodes in self.nodes.values() for key, kind in using_nodes(nodes).items()}
        self.scheduling = self._scheduling()
        self.owners = self._owners(program)
        self.holders = self._holders()
        self.counts = self._counts()
        self.scaled: set[str] = set()
        for nodes in self.nodes.values():
            mark_descaled(nodes)
        self.acting = {key: [n for n in nodes if self._can_act(n)] for key, nodes in self.nodes.items()}
        self.touching_names: set[str] = set()
        self.scaling_names: set[str] = set()
        self.scales_inside: dict[int, bool] = {}
        self._spread(program)
        self._wrap(program)
        self.scaled = self._scaled()
        self.active = {id(node) for node in self.all_nodes if self._can_act(node) and self._is_active(node)}
        self.relevant = self._relevant()
        self.active |= {id(n) for n in self.all_nodes if isinstance(n, ir.Bind) and n.name in self.relevant}
        self.active |= {id(binding.value) for binding in self.bindings if self._keeps_region(binding)}
        returned = [n.value for n in self.all_nodes if isinstance(n, ir.Return)]
        self.active |= {id(value) for value in returned if _is_region(value)}
        self.active_before = [0, *itertools.accumulate(id(node) in self.active for node in self.all_nodes)]
        """How many active nodes stand before each place among all nodes."""

    def called(self) -> dict[str, frozenset[str]]:
        """The methods that are called on what goes by each identifier."""
        found: dict[str, set[str]] = {}
        for node in self.calls:
            if isinstance(node.func, ir.Attribute) and not node.func.external:
                found.setdefault(_identifier(node.func.base), set()).add(node.func.attr)
        return {name: frozenset(methods) for name, methods in found.items() if name}

    # which functions lead to calls of the protocol

    def touches(self, function: ir.Function) -> bool:
        return function.is_replaced or any(id(node) in self.active for node in self.nodes[id(function)])

    def returns_object(self, function: ir.Function) -> bool:
        """Whether a function may return a scaler or an optimizer that it only looked up."""
        returned = [n.value for n in self.nodes[id(function)] if isinstance(n, ir.Return) and n.value is not None]
        return any(_last(part) in self.objects for value in returned for part in _alternatives(value))

    def _spread(self, program: ir.Program) -> None:
        owners = {id(m): c.name for c in program.classes for m in c.methods.values()}
        assigned = [n for n in self.bindings if _has_closure(self.walk(n.value)) or _refers_to_clip(n.value)]
        self.assigned_functions = {e for n in assigned for t in n.targets if t is not None for e in self._ends(t)} - {
            ""
        }
        waiting: list[tuple[set[str], _Doing]] = []  # the names of what does something
        for function in self.functions:
            own = {function.name}
            if function.name in ("__init__", "__call__", "__enter__", "__exit__") and id(function) in owners:
                own.add(owners[id(function)])
            waiting.append((own.union(*(self.aliases.get(name, ()) for name in own)), self._doing(function)))
        for node in assigned:
            own = set().union(*(self._ends(target) for target in node.targets if target is not None))
            closures = [inner for inner in self.walk(node.value) if isinstance(inner, ir.Closure)]
            waiting += ((own, self._doing(c.function)) for c in closures if id(c.function) in self.acting)
            if _refers_to_clip(node.value):
                waiting.append((own, _Doing(True, False, set(), set())))
        grew = True
        while grew:
            grew = False
            for own, doing in waiting:
                if not own <= self.touching_names and doing.touches(self.touching_names):
                    self.touching_names |= own
                    grew = True
                if not own <= self.scaling_names and doing.scales(self.scaling_names):
                    self.scaling_names |= own
                    grew = True

    def _doing(self, function: ir.Function) -> _Doing:
        nodes = self.acting[id(function)]
        calls = [node for node in nodes if type(node) is ir.Call and not self._is_of_tensor_or_optimizer(node)]
        uses = [n for n in nodes if type(n) in (ir.Attribute, ir.Call) and not _steps_schedule(n)]
        return _Doing(
            any(map(self._is_active, nodes)),
            any(map(self._scales, nodes)),
            {_last(node) if type(node) is ir.Attribute else _called(node) for node in uses},
            {_called(node) for node in calls},
        )

    def _wrap(self, program: ir.Program) -> None:
        """Mark the functions that a decorator of the project replaces by one that deals with scalers itself."""
        decorated = [function for function in self.functions if function.decorators]
        if not decorated:
            return
        wrapping = {cls.name for cls in program.classes if any(self._touched(m) for m in cls.methods.values())}
        for function in self.functions:
            inner = [n.value if isinstance(n, ir.Define) else n for n in self.nodes[id(function)]]
            if any(self._touched(closure.function) for closure in inner if isinstance(closure, ir.Closure)):
                wrapping.add(function.name)
        for function in decorated:
            function.is_replaced = not wrapping.isdisjoint(name.rpartition(".")[2] for name in function.decorators)
        replaced = {function.name for function in decorated if function.is_replaced}
        if not replaced <= self.touching_names:
            self.touching_names |= replaced
            self._spread(program)

    def _touched(self, function: ir.Function) -> bool:
        return any(self._is_active(node) for node in self.acting[id(function)])

    def _can_act(self, node: Any) -> bool:
        """Whether a node is of a kind that can be active, whatever the names in it come to mean."""
        return type(node) in _ACTING or id(node) in self.changing

    def _is_active(self, node: Any) -> bool:
        if id(node) in self.changing:
            return True
        if isinstance(node, ir.Call):
            name = _called(node)
            if _steps_schedule(node):
                return id(node) in self.scheduling
            if name in _READS and self._reads_scaled(node):
                return True
            if name in PROTOCOL_METHODS or name in self.touching_names:
                return True
            if node.func_externals() & _ACTIVE_FUNCTIONS:
                return True
            if may_go_backward(name) and name not in self.function_names:
                return True
            if isinstance(node.func, ir.Attribute):
                # meters and progress bars are updated with something, a scaler with nothing
                if _last(node.func.base) in self.objects and name not in _HARMLESS:
                    return True
                if name == "update" and not node.args:
                    return True
            if _last(node.func.base if isinstance(node.func, ir.Attribute) else node.func) in self.holders:
                return True
            return self._is_handed(node)
        if isinstance(node, ir.Operation):
            return node.tag == "text" and any(_identifier(part) in self.scaled for part in node.parts)
        if isinstance(node, ir.Compare):
            return node.operator == "<" and not {_identifier(node.left), _identifier(node.right)}.isdisjoint(
                self.scaled
            )
        if isinstance(node, ir.Attribute):
            if node.attr == "grad" or node.attr in self.touching_names:
                return True
            # an object's own state, such as the scale that a fused step divides by
            return _last(node.base) in self.objects and (node.attr.startswith("_") or node.attr in _FUSED)
        return False

    def _reads_scaled(self, node: ir.Call) -> bool:
        """Whether a call makes a number or a text of a loss that may be scaled."""
        if isinstance(node.func, ir.Attribute) and not node.func.external:
            return _last(node.func.base) in self.scaled
        return any(isinstance(a.value, (ir.Name, ir.Attribute)) and _last(a.value) in self.scaled for a in node.args)

    def _scheduling(self) -> set[int]:
        """The steps of schedules: they make no difference where nothing is ever given to a scaler's step."""
        steps = [node for node in self.calls if isinstance(node.func, ir.Attribute) and node.func.attr == "step"]
        if not any(node.args for node in steps):
            return set()
        return {id(node) for node in steps if _steps_schedule(node)}

    def _is_handed(self, node: ir.Call, objects: set[str] | None = None) -> bool:
        """Whether a call is given a scaler or an optimizer, or something that can reach one."""
        harmless = isinstance(node.func, ir.Name) and node.func.id in _HARMLESS_WITH_SELF
        for argument in node.args:
            value = argument.value
            parts = value.values if isinstance(value, ir.Mapping) else _alternatives(value)
            for part in parts:
                if _last(part) in (self.objects if objects is None else objects):
                    return True
                if _is_bound_method(part, self.objects):
                    return True
                if isinstance(part, ir.Name) and part.id in self.owners and not harmless:
                    return True
        return False

    def _is_handed_to_stranger(self, node: Any) -> bool:
        if not isinstance(node, ir.Call) or _called(node) in self.touching_names | PROTOCOL_METHODS:
            return False
        base = node.func.base if isinstance(node.func, ir.Attribute) else node.func
        return self._is_handed(node, self.scalers) or _last(base) in self.holders

    def _owners(self, program: ir.Program) -> set[str]:
        """What methods call the object whose attributes are scalers: ``self``."""
        found = set()
        for cls in program.classes:
            for method in cls.methods.values():
                me = method.parameters[0].name if method.parameters else ""
                for node in self.nodes[id(method)]:
                    if isinstance(node, ir.Attribute) and isinstance(node.base, ir.Name) and node.base.id == me:
                        if node.attr in self.scalers:
                            found.add(me)
        return found - {""}

    def _holders(self) -> set[str]:
        """Identifiers of what may call a scaler's methods by itself, since it was given the scaler or its owner."""
        found: set[str] = set()
        for node in self.calls:
            if isinstance(node.func, ir.Attribute) and not node.func.external:
                if self._is_handed(node, self.scalers):
                    found.add(_last(node.func.base))
        size = -1
        while size != len(found):
            size = len(found)
            for node in self.all_nodes:
                if isinstance(node, ir.Assign):
                    targets, value = node.targets, node.value
                elif isinstance(node, (ir.For, ir.Each)):
                    targets, value = [node.target], node.source
                elif isinstance(node, ir.With):
                    targets, value = [node.target], node.context
                else:
                    continue
                if self._holds(value, found):
                    found.update(*(self._ends(target) for target in targets if target is not None))
        return found - self.objects - self.owners - {""}

    def _holds(self, value: Any, holders: set[str]) -> bool:
        for inner in self.walk(value):
            if isinstance(inner, ir.Call) and not inner.func_externals() & GRAD_SCALERS:
                if self._is_handed(inner, self.scalers):
                    return True
            if isinstance(inner, (ir.Name, ir.Attribute)) and _identifier(inner) in holders:
                return True
            if _is_bound_method(inner, self.objects):
                return True
        return False

    def _counts(self) -> set[str]:
        """Identifiers of what is counted or noted beside a scaler's steps."""
        found: set[str] = set()
        for node in self.all_nodes:
            if type(node) not in _BLOCKS:
                continue
            for block in (node.body, getattr(node, "orelse", ())):
                if any(isinstance(s, ir.Do) and _is_step(s.value) for s in block):
                    for statement in block:
                        if isinstance(statement, ir.Augment) and statement.target is not None:
                            found |= self._ends(statement.target)
                        elif isinstance(statement, ir.Do) and isinstance(statement.value, ir.Call):
                            func = statement.value.func
                            if isinstance(func, ir.Attribute) and func.attr in ("append", "add"):
                                found.add(_last(func.base))
        return found - {""}

    def _calls_what_it_asks_for(self, node: ir.If) -> bool:
        """Whether the body hands a scaler to what the test asks for: a hook that is there or not."""
        asked = self._names(node.test) - self.owners
        for statement in node.body:
            for inner in self.walk(statement):
                if self._is_handed_to_stranger(inner) and self._names(inner.func) & asked:
                    return True
        return False

    def _latches(self, node: ir.If, after: list[ir.Statement]) -> bool:
        """Whether the arm that uses a scaler changes what the test asks for, so that it is entered once a turn."""
        uses = node.body if node.polarity > 0 else [*node.orelse, *after]
        asked = self._names(node.test) - self.owners
        for statement in uses:
            for inner in self.walk(statement):
                if isinstance(inner, ir.Assign) and any(t is not None and self._ends(t) & asked for t in inner.targets):
                    return True
                changes = isinstance(inner, ir.Call) and isinstance(inner.func, ir.Attribute)
                if changes and inner.func.attr in MUTATORS and _last(inner.func.base) in asked:
                    return True
        return False

    def _asks_for_count(self, test: Any) -> bool:
        """Whether a test asks if a count is more than nothing."""
        if isinstance(test, ir.Not):
            return self._asks_for_count(test.part)
        if isinstance(test, ir.Compare):
            parts = (test.left, test.right)
            return any(isinstance(p, ir.Constant) for p in parts) and any(self._asks_for_count(p) for p in parts)
        if isinstance(test, ir.Call) and isinstance(test.func, ir.Name) and test.func.id in ("len", "bool", "any"):
            return any(self._asks_for_count(argument.value) for argument in test.args)
        return _identifier(test) in self.counts

    def _scales(self, node: Any) -> bool:
        """Whether the node is a call that only makes sense with a scaler."""
        if not isinstance(node, ir.Call):
            return False
        name = _called(node)
        if name in SCALER_CHECKS or node.func_externals() & GRAD_SCALERS:
            return True
        if name in self.scaling_names and not self._is_of_tensor_or_optimizer(node):
            return True
        if name == "step" and isinstance(node.func, ir.Attribute):
            return any(a.keyword in (None, "optimizer") for a in node.args)
        return name == "update" and isinstance(node.func, ir.Attribute) and "scaler" in _last(node.func.base).lower()

    def _is_of_tensor_or_optimizer(self, node: ir.Call) -> bool:
        """Whether a call is a loss's own ``backward()`` or an optimizer's own method, not a function of the file."""
        if not isinstance(node.func, ir.Attribute):
            return False
        base = node.func.base
        if node.func.attr == "backward":
            return not (isinstance(base, ir.Name) and base.id in self.owners) and all(a.keyword for a in node.args)
        return _last(base) in self.objects - self.scalers

    # which variables matter

    def _objects(self) -> set[str]:
        """Identifiers that are used as a scaler or an optimizer anywhere in the file."""
        methods = [(n.func, n) for n in self.calls if isinstance(n.func, ir.Attribute)]
        used: dict[str, set[str]] = {}
        for method, _ in methods:
            used.setdefault(_last(method.base), set()).add(method.attr)
        found = {name for name, calls in used.items() if calls & SCALER_CHECKS or {"zero_grad", "step"} <= calls}
        scalers = {name for name, calls in used.items() if calls & SCALER_CHECKS}
        for method, call in methods:
            if method.attr in ("step", "unscale_") and _last(method.base) in found:
                found.update(_last(argument.value) for argument in call.args[:1])
        for node in self.bindings:
            if _builds(self.walk(node.value)):
                ends = set().union(*(self._ends(target) for target in node.targets if target is not None))
                found |= ends
                if any(isinstance(n, ir.Call) and n.func_externals() & GRAD_SCALERS for n in self.walk(node.value)):
                    scalers |= ends
        assigned = self.bindings
        handed_on = [pair for node in self.all_nodes for pair in self._hands_on(node)]
        grew = True
        while grew:
            grew = False
            for one, other in handed_on:  # a collection and what is in it
                if (one in found) != (other in found):
                    found |= {one, other}
                    grew = True
            for node in assigned:
                for target in node.targets:
                    # `a = b` and `[a, b]`: what one holds the other does
                    ends = {_last(target)} - found if target is not None else set()
                    sources = {_last(part) for part in _alternatives(node.value)}
                    if ends and sources & found:
                        found |= ends
                        grew = True
                    if target is not None and _last(target) in found and sources - found - {""}:
                        found |= sources - {""}
                        grew = True
        self.scalers = scalers & found - {"", "self", "cls"}
        return found - {"", "self", "cls"}

    def _hands_on(self, node: Any) -> Iterable[tuple[str, str]]:
        """The pairs of names of which one is a collection and the other something in it, where a node says so."""
        if isinstance(node, (ir.For, ir.Each)) and isinstance(node.source, (ir.Name, ir.Attribute)):
            if isinstance(node.target, ir.Name):
                yield node.target.id, _last(node.source)
        elif isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.func.attr in ("append", "add"):
            for argument in node.args:
                if _last(argument.value):
                    yield _last(argument.value), _last(node.func.base)

    def _relevant(self) -> set[str]:
        relevant = self.objects | self.scaled | self.holders | self.assigned_functions
        assigned: list[tuple[set[str], set[str]]] = []  # what depends on what, where it matters
        undecided: list[tuple[set[str], list[ir.Assign]]] = []
        for binding in self.bindings:
            ends = set().union(*(self._ends(target) for target in binding.targets if target is not None))
            assigned.append((ends, self._operands(binding.value)))
        for node in self.all_nodes:
            if isinstance(node, ir.Augment):
                if node.target is not None:
                    assigned.append((self._ends(node.target), self._operands(node.value)))
            elif isinstance(node, (ir.For, ir.Each)):
                if node.target is not None:
                    assigned.append((self._ends(node.target), self._names(node.source)))
            elif isinstance(node, (ir.If, ir.While, ir.Choice)):
                operands = self._operands(node.test)
                inside = [n for arm in _arms(node) for n in self.walk(arm)]
                if any(id(n) in self.active or type(n) in _JUMPS for n in inside):
                    relevant |= operands
                else:
                    undecided.append((operands, [n for n in inside if isinstance(n, ir.Assign)]))
            elif isinstance(node, ir.With):
                if any(id(inner) in self.active for statement in node.body for inner in self.walk(statement)):
                    relevant.add(_identifier(node.context.func if isinstance(node.context, ir.Call) else node.context))
        size = -1
        while size != len(relevant):
            size = len(relevant)
            for ends, operands in assigned:
                if not ends.isdisjoint(relevant):
                    relevant |= operands
            for operands, assigns in undecided:
                if not operands <= relevant and any(self._is_telling(node, relevant) for node in assigns):
                    relevant |= operands
        return relevant

    def _keeps_region(self, binding: ir.Assign) -> bool:
        """Whether a region of autocast is made here that is entered elsewhere, with something of the protocol in it."""
        ends = set().union(*(self._ends(target) for target in binding.targets if target is not None))
        return _is_region(binding.value) and bool(ends & self.relevant)

    def _scaled(self) -> set[str]:
        """Identifiers that may hold a scaled loss, or what came of one."""
        found: set[str] = set()
        assigned: list[ir.Assign | ir.Augment] = [*self.bindings]
        assigned += [node for node in self.all_nodes if isinstance(node, ir.Augment)]
        size = -1
        while size != len(found):
            size = len(found)
            for node in assigned:
                if self._names(node.value) & found or any(self._scales(inner) for inner in self.walk(node.value)):
                    for target in node.targets if isinstance(node, ir.Assign) else [node.target]:
                        found |= self._ends(target) if target is not None else set()
        return found - {""}

    def watched(self, functions: list[ir.Function]) -> frozenset[str]:
        """The identifiers whose values matter beyond their being there: objects, and what the kept tests depend on."""
        nodes = [n for f in functions for s in f.body for n in ir.walk(s)]
        found = self.objects | self.scaled | self.holders | self.assigned_functions
        for node in nodes:
            if isinstance(node, (ir.If, ir.While, ir.Choice)):
                found |= self._names(node.test)
            elif isinstance(node, ir.Match):
                found |= self._names(node.subject)
        assigned = ir.bindings(nodes)
        size = -1
        while size != len(found):
            size = len(found)
            for binding in assigned:
                if any(target is not None and self._ends(target) & found for target in binding.targets):
                    found |= self._names(binding.value)
        return frozenset(found)

    def _is_telling(self, node: ir.Assign, relevant: set[str]) -> bool:
        """Whether it matters on which path an assignment is made: of an object, or of a flag that says so later."""
        ends = set().union(*(self._ends(target) for target in node.targets if target is not None))
        if ends & (self.objects | self.scaled):
            return True
        return bool(ends & relevant) and isinstance(node.value, _FLAGS)

    def _names(self, node: Any) -> set[str]:
        """Every identifier in ``node``."""
        return {name for inner in self.walk(node) if (name := _identifier(inner))}

    def _operands(self, node: Any) -> set[str]:
        """The identifiers that a value depends on, other than through the arguments of a call."""
        if isinstance(node, ir.Call):
            return self._operands(node.func)
        found = {name} if (name := _identifier(node)) else set()
        for child in ir.children(node):
            found |= self._operands(child)
        return found

    def _ends(self, target: Any) -> set[str]:
        if isinstance(target, ir.Sequence):
            return set().union(*(self._ends(part) for part in target.parts))
        return {_last(target)}

    # cutting

    def block(self, statements: list[ir.Statement], after: list[ir.Statement], active: bool) -> list[ir.Statement]:
        kept: list[ir.Statement] = []
        for index, statement in enumerate(statements):
            following = statements[index + 1 :] + after
            kept += self._uses(statement)
            changes = bool(self.changing) and any(id(node) in self.changing for node in self.walk(statement))
            if changes and not isinstance(statement, _HEADS):
                kept.append(ir.Change())
            lowered = self.statement(statement, following, active)
            if lowered is not None:
                kept.append(lowered)
            if changes and isinstance(statement, _HEADS):  # a loop may not run, an arm not be taken
                kept.append(ir.Change())
        return kept

    def _uses(self, statement: ir.Statement) -> list[ir.Use]:
        """The uses of gradients in a statement itself, whatever blocks it has."""
        if not self.using:
            return []
        nodes: list[Any] = []
        if isinstance(statement, _HEADS):
            for name in ("test", "source", "context", "subject"):
                head = getattr(statement, name, None)
                nodes += [] if head is None else self.walk(head)
        else:
            nodes += self.walk(statement)
        kinds = {self.using[id(node)]: node.site for node in nodes if id(node) in self.using}
        return [ir.Use(kind, site) for kind, site in kinds.items()]

    def statement(self, s: ir.Statement, after: list[ir.Statement], active: bool) -> ir.Statement | None:
        if isinstance(s, (ir.Assign, ir.Augment)):
            targets = s.targets if isinstance(s, ir.Assign) else [s.target]
            if any(t is not None and (self._ends(t) & self.relevant or self._active_inside(t)) for t in targets):
                return s
            return ir.Do(s.value) if self._active_inside(s.value) or active and _yields(s.value) else None
        if isinstance(s, ir.Do):
            return s if self._active_inside(s.value) or active and _yields(s.value) else None
        if isinstance(s, ir.If):
            s.polarity = self._polarity(s, after)
            s.counts_steps = s.polarity != 0 and self._asks_for_count(s.test)
            s.latches = s.polarity != 0 and self._latches(s, after)
            s.asks_for_hook = not s.orelse and self._calls_what_it_asks_for(s)
            s.body, s.orelse = self.block(s.body, after, active), self.block(s.orelse, after, active)
            told = self._names(s.test) & (self.objects | self.relevant) or isinstance(s.test, ir.Constant)
            if _only_raises(s.body, s.orelse) and not told:
                s.body = s.orelse = []  # a check of something else
            if not s.body and not s.orelse:
                return ir.Do(s.test) if self._active_inside(s.test) else None
            return s if self._active_inside(s.test) else self._quieted(s, [*s.body, *s.orelse])
        if isinstance(s, ir.For):
            inside = any(self._active_inside(inner) for inner in s.body) or self._active_inside(s.source)
            nodes = [node for inner in s.body for node in self.walk(inner)]
            s.scales = self._uses_scaler(s.body)
            s.runs = (
                any(self._is_handed_to_stranger(node) for node in nodes)
                or _steps_each(s.target, nodes)
                or any(map(_appends_object, nodes))
            )
            s.body, s.orelse = self.block(s.body, [], inside), self.block(s.orelse, after, active)
            s.updates = _step_and_update(s)
            return self._quieted(s, [*s.body, *s.orelse])
        if isinstance(s, ir.While):
            s.scales = self._uses_scaler(s.body)
            inside = any(self._active_inside(inner) for inner in (s.test, *s.body))
            s.body, s.orelse = self.block(s.body, [], inside), self.block(s.orelse, after, active)
            return s if self._active_inside(s.test) else self._quieted(s, [*s.body, *s.orelse])
        if isinstance(s, ir.Try):
            s.body, s.orelse = self.block(s.body, after, active), self.block(s.orelse, after, active)
            s.handlers = [self.block(handler, after, active) for handler in s.handlers]
            s.final = self.block(s.final, after, active)
            inner = [x for block in (s.body, s.orelse, s.final, *s.handlers) for x in block]
            return self._quieted(s, inner)
        if isinstance(s, ir.With):
            s.body = self.block(s.body, after, active)
            return s if self._active_inside(s.context) else self._quieted(s, s.body)
        if isinstance(s, ir.Match):
            scaling = [self._uses_scaler(case.body) for case in s.cases]
            for case, scales in zip(s.cases, scaling, strict=True):
                case.polarity = 0 if all(scaling) or not any(scaling) else 1 if scales else -1
                case.body = self.block(case.body, after, active)
            return self._quieted(s, [statement for case in s.cases for statement in case.body])
        if isinstance(s, (ir.Break, ir.Continue, ir.Raise)):
            return s if active else None
        return s

    def _quieted(self, s: ir.Statement, inside: list[ir.Statement]) -> ir.Statement | None:
        """``s``, or where nothing in it depends on the path, only that its variables are other ones afterwards."""
        forgotten: list[ir.Target] = []
        for statement in inside:
            if isinstance(statement, ir.Forget):
                forgotten += statement.targets
            elif isinstance(statement, ir.Augment) and not self._active_inside(statement.value):
                forgotten.append(statement.target)
            elif (
                isinstance(statement, ir.Assign)
                and not self._is_telling(statement, self.relevant)
                and not self._active_inside(statement.value)
            ):
                forgotten += statement.targets
            else:
                return s
        return ir.Forget(forgotten) if forgotten else None

    def _active_inside(self, node: Any) -> bool:
        place = self.walked.places.get(id(node))
        if place is None:
            return any(id(inner) in self.active for inner in ir.walk(node))
        return self.active_before[place[0]] != self.active_before[place[1]]

    def mark_choices(self) -> None:
        """Note which arms of the conditional expressions use a scaler."""
        for node in self.all_nodes:
            if isinstance(node, ir.Choice):
                node.polarity = int(self._may_scale(node.then)) - int(self._may_scale(node.other))
            elif isinstance(node, (ir.All, ir.Either)):
                node.acts = any(self._active_inside(part) for part in node.parts[1:])
                if node.acts and any(self._may_scale(part) for part in node.parts[1:]):
                    node.polarity = 1 if isinstance(node, ir.All) else -1

    def _may_scale(self, node: Any) -> bool:
        """Whether a value uses a scaler, at once or where it is a function and called."""
        for inner in self.walk(node):
            if self._scales(inner) or (isinstance(inner, ir.Name) and inner.id in self.scaling_names):
                return True
            if isinstance(inner, ir.Closure) and self._uses_scaler(inner.function.body):
                return True
        return False

    def _polarity(self, node: ir.If, after: list[ir.Statement]) -> int:
        """Which arm alone uses a scaler. After an arm that jumps away, the rest of the block is the other arm's."""
        body, orelse = list(node.body), list(node.orelse)
        if _leaves(body):
            orelse += after
        elif _leaves(orelse):
            body += after
        if any(arm and isinstance(arm[-1], ir.Raise) for arm in (node.body, node.orelse)):
            return 0  # the arm that gives up has chosen nothing
        with_scaler, without = self._uses_scaler(body), self._uses_scaler(orelse)
        return int(with_scaler) - int(without)

    def _uses_scaler(self, statements: list[ir.Statement]) -> bool:
        for statement in statements:
            known = self.scales_inside.get(id(statement))
            if known is None:
                known = any(self._scales(node) for node in self.walk(statement))
                self.scales_inside[id(statement)] = known
            if known:
                return True
        return False


_FLAGS = (ir.Constant, ir.Name, ir.Attribute, ir.Compare, ir.Not, ir.All, ir.Either, ir.Choice, ir.Sequence, ir.Mapping)
"""Expressions whose value can tell later which way a path went."""

_ACTING = frozenset({ir.Call, ir.Attribute, ir.Operation, ir.Compare})
_JUMPS = frozenset({ir.Return, ir.Break, ir.Continue})
_BLOCKS = frozenset({ir.If, ir.For, ir.While, ir.Try, ir.With, ir.Case})
_HEADS = (ir.If, ir.For, ir.While, ir.Try, ir.With, ir.Match)
"""Statements with blocks in them."""
_READS = frozenset({"item", "tolist", "numpy", "float", "print", "str", "format"})
"""What makes numbers or texts of a tensor."""

_HARMLESS = HARMLESS_SCALER_METHODS | HARMLESS_OPTIMIZER_METHODS
_ACTIVE_FUNCTIONS = GRAD_SCALERS | CLIP_FUNCTIONS


@dataclass(frozen=True, slots=True)
class _Doing:
    """What a function does by itself, and whom it calls."""

    acts: bool
    is_scaling: bool
    uses: set[str]
    calls: set[str]

    def touches(self, names: set[str]) -> bool:
        """Whether it has to do with the protocol, if what goes by ``names`` does."""
        return self.acts or not names.isdisjoint(self.uses)

    def scales(self, names: set[str]) -> bool:
        """Whether it uses a scaler, if what goes by ``names`` does."""
        return self.is_scaling or not names.isdisjoint(self.calls)


_FUSED = frozenset({"grad_scale", "found_inf"})
_HARMLESS_WITH_SELF = HARMLESS_BUILTINS | {"super", "isinstance", "getattr", "hasattr", "setattr", "issubclass"}


def _is_bound_method(node: Any, objects: set[str]) -> bool:
    """Whether an expression is a method of a scaler or an optimizer, as a value."""
    return isinstance(node, ir.Attribute) and node.attr in BOUND_METHODS and _last(node.base) in objects


def _steps_each(target: ir.Target, nodes: list[Any]) -> bool:
    """Whether what is stepped or unscaled among ``nodes`` is another optimizer for each value of ``target``."""
    names = {node.id for node in ir.walk(target) if isinstance(node, ir.Name)} if target is not None else set()
    for node in nodes:
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.func.attr in ("step", "unscale_"):
            stepped = node.args[0].value if node.args else node.func.base
            if any(isinstance(inner, ir.Name) and inner.id in names for inner in ir.walk(stepped)):
                return True
    return False


def _step_and_update(loop: ir.For) -> tuple[ir.Call, ir.Call] | None:
    """The step of a loop's own optimizer and the update after it, where its body does nothing else with gradients."""
    step = update = None
    for statement in loop.body:
        call = statement.value if isinstance(statement, ir.Do) else None
        if not isinstance(call, ir.Call) or not isinstance(call.func, ir.Attribute):
            return None
        if call.func.attr == "step" and len(call.args) == 1 and _steps_each(loop.target, [call]):
            step = call
        elif call.func.attr == "update" and not call.args and step is not None:
            update = update or call
        elif call.func.attr not in ("unscale_", "zero_grad") and not call.func_externals() & CLIP_FUNCTIONS:
            return None
    return (step, update) if step is not None and update is not None else None


def _appends_object(node: Any) -> bool:
    """Whether a collection is given a scaler or an optimizer made for it."""
    if isinstance(node, ir.Assign):
        return any(isinstance(target, ir.Item) for target in node.targets) and _builds(ir.walk(node.value))
    appends = isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.func.attr in ("append", "add")
    return appends and any(_builds(ir.walk(argument.value)) for argument in node.args)


def _arms(node: ir.If | ir.While | ir.Choice) -> Iterable[Any]:
    """What is done where a test holds, and where it does not."""
    return (node.then, node.other) if isinstance(node, ir.Choice) else (*node.body, *node.orelse)


def _has_closure(nodes: Iterable[Any]) -> bool:
    return any(type(node) is ir.Closure for node in nodes)


def _is_region(value: Any) -> bool:
    """Whether a value is a region of autocast, made here."""
    return isinstance(value, ir.Call) and not value.func_externals().isdisjoint(AUTOCASTS)


def _refers_to_clip(node: Any) -> bool:
    """Whether a value is a function that clips gradients, or made from one: not what a call of it returns."""
    called = {id(inner.func) for inner in ir.walk(node) if isinstance(inner, ir.Call)}
    return any(
        isinstance(inner, (ir.Name, ir.Attribute)) and inner.external & CLIP_FUNCTIONS and id(inner) not in called
        for inner in ir.walk(node)
    )


def _yields(node: Any) -> bool:
    return any(isinstance(inner, ir.Operation) and inner.tag == "yield" for inner in ir.walk(node))


def _is_step(node: Any) -> bool:
    return isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.func.attr == "step"


def _builds(nodes: Iterable[Any]) -> bool:
    """Whether the nodes of an expression make a scaler or an optimizer by a constructor of PyTorch's."""
    for inner in nodes:
        if type(inner) is ir.Call:
            names = inner.func_externals()
            if names & (GRAD_SCALERS | ACCELERATORS) or any(is_optimizer_class(name) for name in names):
                return True
    return False


def _is_schedule(func: Any) -> bool:
    """Whether a ``step`` is that of a learning-rate schedule or a profiler, going by the name."""
    name = _last(func.base).lower() if isinstance(func, ir.Attribute) else ""
    return "sched" in name or "prof" in name


def _steps_schedule(node: Any) -> bool:
    """Whether a node is a call that moves a schedule on, or a profiler."""
    return type(node) is ir.Call and not node.args and _called(node) == "step" and _is_schedule(node.func)


def _only_raises(body: list[ir.Statement], orelse: list[ir.Statement]) -> bool:
    statements = [*body, *orelse]
    return len(statements) == 1 and isinstance(statements[0], ir.Raise)


def _leaves(block: list[ir.Statement]) -> bool:
    return bool(block) and isinstance(block[-1], (ir.Return, ir.Break, ir.Continue, ir.Raise))


def _called(node: ir.Call) -> str:
    return _last(node.func)


def _last(node: Any) -> str:
    """The identifier that names an object: ``scaler`` in ``self.scaler`` and in ``scaler[0]``."""
    if isinstance(node, ir.Item):
        return _last(node.base)
    if isinstance(node, ir.Call):
        return _last(node.func.base) if isinstance(node.func, ir.Attribute) else ""
    return _identifier(node)


def _identifier(node: Any) -> str:
    if isinstance(node, ir.Name):
        return node.id
    if isinstance(node, ir.Attribute):
        return node.attr
    if isinstance(node, ir.Bind):
        return node.name
    return ""


def _alternatives(node: Any) -> Iterable[Any]:
    """The expressions one of which, or all of which, an assigned value is made of."""
    if isinstance(node, ir.Choice):
        return (*_alternatives(node.then), *_alternatives(node.other))
    if isinstance(node, (ir.Sequence, ir.Either, ir.All)):
        return tuple(part for inner in node.parts for part in _alternatives(inner))
    if isinstance(node, (ir.Name, ir.Attribute, ir.Item)):
        return (node,)
    return ()
