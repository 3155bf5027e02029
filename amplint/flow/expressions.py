"""Evaluating expressions on a path: every way it can turn out, with the value it then has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from amplint.flow import program as ir
from amplint.flow.machine import Frame, Machine, is_each
from amplint.flow.paths import Path, words_of
from amplint.flow.values import (
    UNPACKED,
    Condition,
    Imported,
    Instance,
    Items,
    Key,
    Known,
    Optimizer,
    Routine,
    Scaled,
    Scaler,
    Several,
    Table,
    Type,
    Unknown,
    Value,
    is_made_in,
    key_of,
    spelled_out,
)
from amplint.flow.vocabulary import BOUND_METHODS
from amplint.protocol import Event, EventKind

Outcome = tuple[Path, Value]
Outcomes = list[Outcome]

MODULE: Key = ("module",)
"""The key of the frame of module-level variables."""


def module_frame(number: int) -> Key:
    """The key of the frame of a module's variables; those of the document itself are in :data:`MODULE`."""
    return MODULE if number == 0 else (*MODULE, number)


class Expressions(ABC):
    """Expressions; calls are left to the subclass."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    @abstractmethod
    def call(self, node: ir.Call, path: Path, frame: Frame) -> Outcomes:
        """Every outcome of a call."""

    @abstractmethod
    def call_value(
        self, function: Value, args: list[Value], kwargs: dict[str, Value], site: int, path: Path, frame: Frame
    ) -> Outcomes:
        """Every outcome of calling ``function``."""

    def evaluate(self, node: ir.Expression, path: Path, frame: Frame) -> Outcomes:
        """Every outcome of ``node`` on ``path``; none where the path cannot go on."""
        return _EVALUATE[type(node)](self, node, path, frame)

    def evaluate_all(self, nodes: list[Any], path: Path, frame: Frame) -> list[tuple[Path, list[Value]]]:
        """Every joint outcome of several expressions evaluated one after the other."""
        outcomes: list[tuple[Path, list[Value]]] = [(path, [])]
        for node in nodes:
            outcomes = [
                (after, [*values, value])
                for before, values in outcomes
                for after, value in self.evaluate(node, before, frame)
            ]
        return outcomes

    def branch(self, node: ir.Expression, path: Path, frame: Frame, polarity: int = 0) -> list[tuple[Path, bool]]:
        """The ways a condition can turn out, with what that decides; ``polarity`` as in :class:`ir.If`."""
        return self.decisions(self.evaluate(node, path, frame), polarity)

    def decisions(self, outcomes: Outcomes, polarity: int) -> list[tuple[Path, bool]]:
        """The ways a condition of these values can turn out."""
        decided = []
        for after, value in outcomes:
            chooses = bool(polarity) and (after.decide(value) is None or after.has_only_met(_switch_key(value)))
            for truth in (True, False):
                for chosen in after.assume(value, truth):
                    if chooses:
                        chosen = chosen.with_switch(_switch_key(value), (polarity > 0) == truth)
                    decided.append((chosen, truth))
        return decided

    def recognise(self, value: Value) -> Value:
        """``value``, as the scaler or optimizer that the evidence says it is."""
        if isinstance(value, Unknown):
            evidence = self.machine.evidence
            if value.key in evidence.scalers:
                return Scaler(value.key, None, built=False)
            if value.key in evidence.optimizers and not any(isinstance(held, Scaler) for held in value.holds):
                given = {held.key for held in value.holds if isinstance(held, Optimizer)}
                if given - {value.key}:  # the result of a call may be what the call was given
                    self.machine.given_back.setdefault(value.key, set()).update(given)
                return self.optimizer(Optimizer(value.key, built=False))
        elif isinstance(value, Optimizer):
            return self.optimizer(value)
        return value

    def optimizer(self, optimizer: Optimizer) -> Optimizer:
        """Count ``optimizer`` among those that a backward of this root may reach."""
        if optimizer.networks is not None:
            self.machine.networks[optimizer.key] = optimizer.networks
        self.machine.know_optimizer(optimizer.key, optimizer.many or is_each(optimizer.key))
        if optimizer.holds:
            self.machine.held[optimizer.key] = optimizer.holds
        return optimizer

    # leaves

    def constant(self, node: ir.Constant, path: Path, frame: Frame) -> Outcomes:
        return [(path, Known(node.value))]

    def name(self, node: ir.Name, path: Path, frame: Frame) -> Outcomes:
        return [(path, self.recognise(self.variable(node, path, frame)))]

    def variable(self, node: ir.Name, path: Path, frame: Frame) -> Value:
        name = node.id
        module = module_frame(frame.function.home)
        if name in frame.function.locals or frame.key == module:
            value = path.local(frame.key, name)
            if value is not None:
                return self.flag(frame.function, name, value)
            if name in frame.function.locals and not node.external and frame.key != module:
                return Unknown(("local", frame.function.name, name))
        for key in (*frame.outer, module):
            value = path.local(key, name)
            if value is not None:
                owner = self.machine.program.modules[frame.function.home] if key == module else frame.function
                return self.flag(owner, name, value)
        if node.external:
            return self.imported(node.external, frame)
        if name in _BUILTINS:
            return Imported(frozenset({f"builtins.{name}"}))
        return Unknown(("global", frame.function.home or "", name))

    def imported(self, names: frozenset[str], frame: Frame) -> Value:
        """What an import brings: a definition of the same project where that was found, else its dotted names."""
        found = self.machine.program.linked(frame.function.home, names)
        if isinstance(found, ir.Function):
            return Routine(found)
        if isinstance(found, ir.Class):
            return Type(found)
        return Imported(names)

    def flag(self, function: ir.Function, name: str, value: Value) -> Value:
        """A name bound once to a bool is a switch for the user to flip: both of its values are worth a path."""
        if name in function.flags and isinstance(value, Known) and isinstance(value.value, bool):
            return Unknown(("local", function.name, name))
        return value

    def attribute(self, node: ir.Attribute, path: Path, frame: Frame) -> Outcomes:
        outcomes: Outcomes = []
        if node.external and not _is_shadowed(node, path, frame):
            return [(path, self.imported(node.external, frame))]
        for after, base in self.evaluate(node.base, path, frame):
            outcomes += self.attribute_of(base, node.attr, node.site, after, frame)
        return outcomes

    def attribute_of(self, base: Value, attr: str, site: int, path: Path, frame: Frame) -> Outcomes:
        """Every outcome of ``base.attr``."""
        if isinstance(base, Known) and base.value is None:
            return []
        if isinstance(base, (Unknown, Instance)):
            stored = path.store.get((base.key, attr))
            if stored is not None:
                return [(path, self.recognise(stored))]
        if isinstance(base, (Instance, Type)):
            method = self.method(base.definition, attr)
            if method is not None:
                return self.bind_method(base, method, site, path, frame)
            if isinstance(base, Type):
                return [(path, Unknown(("attribute", ("class", base.definition.name), attr)))]
        if isinstance(base, Imported):
            return [(path, Imported(frozenset(f"{name}.{attr}" for name in base.names)))]
        holds = base.holds if isinstance(base, Unknown) else frozenset()
        if isinstance(base, (Scaler, Optimizer)) and (attr in BOUND_METHODS or attr.startswith("_")):
            holds = frozenset({base})  # what is done with it is done to the object
        return [(path, self.recognise(Unknown(("attribute", key_of(base), attr), holds)))]

    def bind_method(self, base: Instance | Type, method: ir.Function, site: int, path: Path, frame: Frame) -> Outcomes:
        if "staticmethod" in method.decorators:
            return [(path, Routine(method))]
        if "classmethod" in method.decorators:
            return [(path, Routine(method, Type(base.definition)))]
        if isinstance(base, Type):
            return [(path, Routine(method))]
        routine = Routine(method, base)
        if method.decorators & {"property", "functools.cached_property", "cached_property"}:
            return self.call_value(routine, [], {}, site, path, frame)
        return [(path, routine)]

    def method(self, definition: ir.Class, name: str, skip: ir.Class | None = None) -> ir.Function | None:
        """The method ``name`` of a class or of its bases in this file, after ``skip`` in their order."""
        found = None
        for cls in self.lineage(definition):
            if skip is not None:
                skip = None if cls is skip else skip
            elif name in cls.methods:
                found = cls.methods[name]
                break
        return found

    def lineage(self, definition: ir.Class) -> list[ir.Class]:
        """A class and its bases that are to be seen, nearest first."""
        order, queue = [], [definition]
        while queue:
            cls = queue.pop(0)
            if cls in order:
                continue
            order.append(cls)
            bases = (self.machine.program.base(cls, base) for base in cls.bases)
            queue += [base for base in bases if base is not None]
        return order

    def item(self, node: ir.Item, path: Path, frame: Frame) -> Outcomes:
        outcomes: Outcomes = []
        for after, (base, index) in self.evaluate_all([node.base, node.index], path, frame):
            outcomes.append((after, self.recognise(self.item_of(base, index))))
        return outcomes

    def item_of(self, base: Value, index: Value) -> Value:
        """``base[index]``."""
        if isinstance(base, Items) and isinstance(index, Known) and isinstance(index.value, int):
            if -len(base.values) <= index.value < len(base.values):
                return base.values[index.value]
        if isinstance(base, Table):
            found = base.get(index)
            if found is not None:
                return found
        if isinstance(base, Scaled):
            return base
        if isinstance(base, Several):
            return _at(base.element, index)
        holds = base.holds if isinstance(base, Unknown) else self.reachable_holds(base)
        return Unknown(("item", key_of(base), key_of(index)), holds)

    def reachable_holds(self, value: Value) -> frozenset[Value]:
        """The scalers and optimizers directly inside a collection, and the functions that deal with some."""
        if isinstance(value, (Scaler, Optimizer)) or (isinstance(value, Routine) and value.function.touches):
            return frozenset({value})
        if isinstance(value, Unknown):
            return value.holds
        parts: tuple[Value, ...] = ()
        if isinstance(value, Items):
            parts = value.values
        elif isinstance(value, Several):
            parts = (value.element,)
        elif isinstance(value, Table):
            parts = tuple(item for _, item in value.entries)
        return frozenset().union(*(self.reachable_holds(part) for part in parts))

    # operators

    def operation(self, node: ir.Operation, path: Path, frame: Frame) -> Outcomes:
        outcomes: Outcomes = []
        for after, values in self.evaluate_all(node.parts, path, frame):
            if node.tag == "yield":
                after = self.pause(after, frame)
            elif node.tag == "text":
                after = self.used_as_number(values, node.site, after)
            outcomes.append((after, self.combine(node.tag, values, node.site)))
        return outcomes

    def used_as_number(self, values: Iterable[Value], site: int, path: Path) -> Path:
        """The path after these values were printed, logged or made numbers: a scaled loss is the wrong one."""
        for value in values:
            if isinstance(value, Scaled) and isinstance(value.scaler, Scaler):
                path = self.machine.emit(path, Event(EventKind.USE_LOSS, site, value.scaler.key))
        return path

    def pause(self, path: Path, frame: Frame) -> Path:
        """The path after a ``yield``: the caller may have done anything with what it can reach."""
        for scaler in path.protocol.scalers:
            if not is_made_in(scaler, frame.key):
                path = self.machine.emit(path, Event(EventKind.FORGET, scaler=scaler))
        return self.machine.forget_gradients(path)

    def combine(self, tag: str, values: list[Value], site: int) -> Value:
        """The value of an operation: a scaled loss stays scaled through arithmetic."""
        for value in values:
            if isinstance(value, Scaled):
                return value
        if tag == "Add" and all(isinstance(value, Items) for value in values):
            return Items(tuple(v for value in values if isinstance(value, Items) for v in value.values))
        holds = frozenset().union(*(self.reachable_holds(value) for value in values))
        return Unknown(("operation", tag, *(key_of(value) for value in values)), holds)

    def not_(self, node: ir.Not, path: Path, frame: Frame) -> Outcomes:
        return [(after, Condition("not", (value,))) for after, value in self.evaluate(node.part, path, frame)]

    def all_(self, node: ir.All, path: Path, frame: Frame) -> Outcomes:
        return self.logic("and", node, path, frame)

    def either(self, node: ir.Either, path: Path, frame: Frame) -> Outcomes:
        return self.logic("or", node, path, frame)

    def logic(self, tag: str, node: ir.All | ir.Either, path: Path, frame: Frame) -> Outcomes:
        """``a and b`` evaluates ``b`` only where ``a`` holds; ``a or b`` only where it does not."""
        parts = node.parts
        outcomes: Outcomes = []
        pending: list[tuple[Path, tuple[Value, ...]]] = [(path, ())]
        for index, part in enumerate(parts):
            following = []
            for before, values in pending:
                for after, value in self.evaluate(part, before, frame):
                    truth = after.decide(value)
                    if truth == (tag == "or") and truth is not None:
                        outcomes.append((after, _joined(tag, (*values, value))))
                    elif index == len(parts) - 1:
                        outcomes.append((after, _joined(tag, (*values, value))))
                    elif truth is not None:
                        following.append((after, values))
                    elif node.acts:
                        for chosen, holds in self.decisions([(after, value)], 0 if index else node.polarity):
                            if holds == (tag == "or"):
                                outcomes.append((chosen, value))
                            else:
                                following.append((chosen, values))
                    else:
                        following.append((after, (*values, value)))
            pending = following
        return outcomes

    def compare(self, node: ir.Compare, path: Path, frame: Frame) -> Outcomes:
        outcomes: Outcomes = []
        for after, (left, right) in self.evaluate_all([node.left, node.right], path, frame):
            if node.operator == "<" and not (_has_no_size(left) or _has_no_size(right)):
                after = self.used_as_number(_one_scaled(left, right), node.site, after)
            outcomes.append((after, _comparison(node.operator, left, right)))
        return outcomes

    def choice(self, node: ir.Choice, path: Path, frame: Frame) -> Outcomes:
        outcomes: Outcomes = []
        for after, truth in self.branch(node.test, path, frame, node.polarity):
            outcomes += self.evaluate(node.then if truth else node.other, after, frame)
        return outcomes

    # collections

    def sequence(self, node: ir.Sequence, path: Path, frame: Frame) -> Outcomes:
        return [(after, Items(tuple(values))) for after, values in self.evaluate_all(node.parts, path, frame)]

    def mapping(self, node: ir.Mapping, path: Path, frame: Frame) -> Outcomes:
        keys = [key if key is not None else ir.Constant(UNPACKED.value) for key in node.keys]
        outcomes: Outcomes = []
        for after, values in self.evaluate_all([*keys, *node.values], path, frame):
            entries = tuple(zip(values[: len(keys)], values[len(keys) :], strict=True))
            outcomes.append((after, Table(entries)))
        return outcomes

    def each(self, node: ir.Each, path: Path, frame: Frame) -> Outcomes:
        """A comprehension: an element a value where the source's are known, else one that stands for all."""
        outcomes: Outcomes = []
        for after, source in self.evaluate(node.source, path, frame):
            known, elements = self.elements(source)
            collected: list[tuple[Path, list[Value]]] = [(after, [])]
            for element in elements:
                collected = [
                    (done, [*values, value])
                    for before, values in collected
                    for done, value in self.evaluate(
                        node.element, self.bind(node.target, element, before, frame), frame
                    )
                ]
            for done, values in collected:
                values = self.objects_apart(values, done, frame)
                if known and not node.conditions:
                    outcomes.append((done, Items(each_its_own(values))))
                elif values:
                    outcomes.append((done, Several(_as_many(values[0]))))
                else:
                    outcomes.append((done, Items(())))
        return outcomes

    def objects_apart(self, values: list[Value], path: Path, frame: Frame) -> list[Value]:
        """Objects that one expression makes, of a class that is to be seen: which is which is not told."""
        return [
            Unknown(("item", value.key, ("const", "int", index)), frozenset(self.reached([value], path)))
            if isinstance(value, Instance) and is_made_in(value.key, frame.key)
            else value
            for index, value in enumerate(values)
        ]

    @abstractmethod
    def reached(self, given: Iterable[Value], path: Path) -> list[Scaler | Optimizer]:
        """The scalers and optimizers that can be got at from the given values."""

    def elements(self, source: Value) -> tuple[bool, list[Value]]:
        """The elements of a collection, if each is known; else one value that stands for any of them."""
        if isinstance(source, Items):
            return True, list(source.values)
        if isinstance(source, Table) and source.is_whole:
            return True, [key for key, _ in source.entries]
        if isinstance(source, Several):
            return False, [_as_many(source.element)]
        holds = source.holds if isinstance(source, Unknown) else self.reachable_holds(source)
        return False, [self.recognise(Unknown(("element", key_of(source)), holds))]

    def bind_expression(self, node: ir.Bind, path: Path, frame: Frame) -> Outcomes:
        return [
            (self.bind(ir.Name(node.name), value, after, frame), value)
            for after, value in self.evaluate(node.value, path, frame)
        ]

    def closure(self, node: ir.Closure, path: Path, frame: Frame) -> Outcomes:
        outer = () if frame.key == module_frame(node.function.home) else frame.key
        return [(path, Routine(node.function, frame=outer))]

    # binding

    def bind(self, target: ir.Target, value: Value, path: Path, frame: Frame) -> Path:
        """The path after ``target = value``."""
        if isinstance(target, ir.Name):
            value = named(value, frame.function.name, target.id)
            if isinstance(value, Unknown) and not value.holds and target.id not in self.machine.program.watched:
                value = Unknown(("local", frame.function.name, target.id))
                path = self.machine.renew(path, [value.key])
            key = frame.key
            if target.id in frame.function.shared_names:
                around = (k for k in frame.outer if path.local(k, target.id) is not None)
                key = next(around, module_frame(frame.function.home))
            return path.with_local(key, target.id, value)
        if isinstance(target, ir.Sequence):
            parts = value.values if isinstance(value, Items) and len(value.values) == len(target.parts) else None
            for index, part in enumerate(target.parts):
                inner = parts[index] if parts is not None else self.item_of(value, Known(index))
                path = self.bind(part, inner, path, frame)  # type: ignore[arg-type]
            return path
        if isinstance(target, ir.Attribute):
            for after, base in self.evaluate(target.base, path, frame)[:1]:
                if isinstance(base, Optimizer):  # such as the scale that a fused step divides by
                    return self.machine.emit(after, Event(EventKind.FORGET, optimizers=(base.key,)))
                if isinstance(base, Scaler):
                    return self.machine.emit(after, Event(EventKind.FORGET, scaler=base.key))
                if isinstance(base, (Unknown, Instance)):
                    path = self.machine.renew(after, [("attribute", base.key, target.attr)])
                    if (
                        isinstance(value, Unknown)
                        and not value.holds
                        and target.attr not in self.machine.program.watched
                    ):
                        return path
                    return path.with_attribute(base.key, target.attr, named(value, "", target.attr))
        if isinstance(target, ir.Item):
            return self.bind_item(target, value, path, frame)
        return path

    def bind_item(self, target: ir.Item, value: Value, path: Path, frame: Frame) -> Path:
        for after, (base, index) in self.evaluate_all([target.base, target.index], path, frame)[:1]:
            if isinstance(base, Table):
                entries = tuple(entry for entry in base.entries if entry[0] != index)
                value = each_its_own([*(held for _, held in entries), value])[-1]
                return self.bind(target.base, Table((*entries, (index, value))), after, frame)  # type: ignore[arg-type]
            if isinstance(base, Items) and isinstance(value, (Scaler, Optimizer, Scaled)):
                holds = self.reachable_holds(base) | self.reachable_holds(value)
                return self.bind(target.base, Unknown(("item", key_of(base)), holds), after, frame)  # type: ignore[arg-type]
            if isinstance(base, Unknown):  # a part of a scaler's own state, perhaps
                for held in base.holds:
                    if isinstance(held, Scaler):
                        after = self.machine.emit(after, Event(EventKind.FORGET, scaler=held.key))
                return after
        return path


def _one_scaled(left: Value, right: Value) -> list[Value]:
    """Of two values the scaled one, if the other is not scaled as well."""
    scaled: list[Value] = [value for value in (left, right) if isinstance(value, Scaled)]
    return scaled if len(scaled) == 1 else []


def _has_no_size(value: Value) -> bool:
    """Whether a scale makes no difference to a comparison with a value: zero, infinity, what is made of a scale."""
    if isinstance(value, Known):
        return not value.value
    return any(word == "get_scale" or word.rpartition(".")[2] == "inf" for word in words_of(key_of(value)))


def named(value: Value, scope: str, name: str) -> Value:
    """A value of unseen making, known from now on by the name it is assigned to."""
    if isinstance(value, Unknown) and value.key[0] in ("call", "item"):
        return Unknown(("variable", scope, name, value.key), value.holds)
    return value


def _joined(tag: str, values: tuple[Value, ...]) -> Value:
    return values[0] if len(values) == 1 else Condition(tag, values)


def _as_many(value: Value) -> Value:
    """An element that stands for every element of its collection."""
    if isinstance(value, Optimizer):
        return replace(value, many=True)
    if isinstance(value, Items):
        return Items(tuple(_as_many(part) for part in value.values))
    return value


def each_its_own(values: Iterable[Value]) -> tuple[Value, ...]:
    """Values that one expression made one after the other: optimizers and scalers are as many as they are."""
    found: list[Value] = []
    for value in values:
        again = isinstance(value, (Optimizer, Scaler)) and value.built and value.key in map(key_of, found)
        found.append(_at(value, Known(len(found))) if again else value)
    return tuple(found)


def _at(value: Value, index: Value) -> Value:
    """The element of a collection at ``index``, which is another one in the next iteration that sets the index."""
    if isinstance(value, Optimizer):
        one = isinstance(index, Known)  # of which nothing tells whose parameters it has
        networks = None if one else value.networks
        return replace(value, key=("item", value.key, key_of(index)), many=not one, networks=networks)
    if isinstance(value, Scaler) and isinstance(index, Known):
        return replace(value, key=("item", value.key, key_of(index)))
    if isinstance(value, Items):
        return Items(tuple(_at(part, index) for part in value.values))
    return value


def _comparison(operator: str, left: Value, right: Value) -> Value:
    """A comparison in one spelling: ``x == 0`` of a remainder is ``not x``, ``x is True`` is ``x``."""
    if isinstance(left, Known) and not isinstance(right, Known) and operator in ("is", "=="):
        left, right = right, left
    if operator in ("is", "==") and isinstance(right, Known):
        if right.value is None:
            return Condition("none", (left,))
        if right.value is True and not isinstance(left, Known):
            return left
        if right.value is False and not isinstance(left, Known):
            return Condition("not", (left,))
        if isinstance(left, Unknown) and left.key[:2] == ("operation", "Modulo"):
            if right.value == 0:
                return Condition("not", (left,))
            if right.value == 1 and left.key[3:] == (("const", "int", 2),):
                return left
    if operator in ("<", "==", "is"):
        left, right = _shifted(left, right)
    if operator == "<":
        return Condition("lt", (left, right))
    if operator == "in" and isinstance(right, Items) and right.values:
        return _joined("or", tuple(_comparison("==", left, choice) for choice in right.values))
    if operator in ("is", "=="):
        if repr(key_of(right)) < repr(key_of(left)):
            left, right = right, left
        return Condition("eq", (left, right))
    return Condition(operator, (left, right))


def _shifted(left: Value, right: Value) -> tuple[Value, Value]:
    """``x + 1`` compared with ``n`` is ``x`` compared with ``n - 1``, and the other way round."""
    for one, other in ((left, right), (right, left)):
        spelled = spelled_out(one.key) if isinstance(one, Unknown) else ()
        if spelled[:2] == ("operation", "Add") and spelled[3][:2] == ("const", "int") and isinstance(other, Unknown):
            rest = Unknown(spelled[2])
            less = Unknown(("operation", "Subtract", other.key, spelled[3]))
            return (rest, less) if one is left else (less, rest)
    return left, right


def _switch_key(value: Value) -> Key:
    """Names the condition a switch tests, whichever way round it is spelled."""
    while isinstance(value, Condition) and value.tag in ("not", "none"):
        value = value.parts[0]
    return key_of(value)


def _is_shadowed(node: ir.Attribute, path: Path, frame: Frame) -> bool:
    """Whether a variable assigned on this path hides the import at the root of ``node``."""
    root: Any = node
    while isinstance(root, ir.Attribute):
        root = root.base
    return isinstance(root, ir.Name) and path.local(frame.key, root.id) is not None


_BUILTINS = frozenset(
    """print len id repr str bool int float type hash callable vars dir format isinstance hasattr getattr setattr zip
    enumerate sum list tuple dict set frozenset reversed sorted iter next any all map filter range min max super abs
    round open issubclass""".split()
)

_EVALUATE: dict[type, Callable[[Expressions, Any, Path, Frame], Outcomes]] = {
    ir.Constant: Expressions.constant,
    ir.Name: Expressions.name,
    ir.Attribute: Expressions.attribute,
    ir.Item: Expressions.item,
    ir.Call: lambda self, node, path, frame: self.call(node, path, frame),
    ir.Operation: Expressions.operation,
    ir.Not: Expressions.not_,
    ir.All: Expressions.all_,
    ir.Either: Expressions.either,
    ir.Compare: Expressions.compare,
    ir.Choice: Expressions.choice,
    ir.Sequence: Expressions.sequence,
    ir.Mapping: Expressions.mapping,
    ir.Each: Expressions.each,
    ir.Bind: Expressions.bind_expression,
    ir.Closure: Expressions.closure,
}
