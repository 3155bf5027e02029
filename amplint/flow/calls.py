"""Calls: the protocol's own, functions that are to be seen followed with their arguments bound, and all others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace

from amplint.flow import program as ir
from amplint.flow.evidence import name_of
from amplint.flow.expressions import Expressions, Outcomes, each_its_own
from amplint.flow.machine import MAX_DEPTH, Frame, is_each
from amplint.flow.paths import Path
from amplint.flow.reach import Made
from amplint.flow.values import (
    NONE,
    Accelerator,
    Autocast,
    Condition,
    Imported,
    Instance,
    Items,
    Key,
    Known,
    Networks,
    Optimizer,
    Partial,
    Routine,
    Scaled,
    Scaler,
    Schedule,
    Several,
    Table,
    Type,
    Unknown,
    Value,
    is_accelerators,
    key_of,
    named_parts,
    parts_of,
    place_of,
    spelled_out,
)
from amplint.flow.vocabulary import (
    ACCELERATORS,
    ARITHMETIC,
    AUTOCASTS,
    AUTOGRAD_BACKWARD,
    BOUND_METHODS,
    CLIP_FUNCTIONS,
    FINITENESS,
    GRAD_SCALERS,
    HARMLESS_BUILTINS,
    HARMLESS_DECORATORS,
    HARMLESS_FUNCTIONS,
    HARMLESS_OPTIMIZER_METHODS,
    HARMLESS_SCALER_METHODS,
    MODULE_METHODS,
    MUTATORS,
    is_optimizer_class,
    is_schedule_maker,
    is_schedule_name,
    may_go_backward,
)
from amplint.protocol import Content, Event, EventKind

Kwargs = dict[str, Value]

GENERATOR = "generator"
"""Marks what a call of a generator function of this file returns."""
HELD = "<held>"
"""The attribute under which a path keeps what an object of unknown making was given."""
RESULT = "<result>"
"""The attribute under which it keeps what came of a function that runs once."""


class Calls(Expressions):
    """Calls; running a function's body is left to the subclass."""

    @abstractmethod
    def run_function(self, function: ir.Function, path: Path, frame: Frame) -> Outcomes:
        """Every way the body ends, with what it returns."""

    def call(self, node: ir.Call, path: Path, frame: Frame) -> Outcomes:
        if isinstance(node.func, ir.Attribute) and (base := _super(node.func.base)) is not None:
            return self.call_super(node, base, node.func.attr, path, frame)
        outcomes: Outcomes = []
        if isinstance(node.func, ir.Attribute) and not node.func.external:
            for after, receiver in self.evaluate(node.func.base, path, frame):
                meant = _stepped_in_argument(node) if isinstance(receiver, Scaler) else None
                if meant is not None:
                    after = self.machine.emit(after, Event(EventKind.WRONG_ARGUMENT, node.site, receiver.key))
                for before, args, kwargs in self.arguments(meant or node, after, frame):
                    outcomes += self.call_method(receiver, node, args, kwargs, before, frame)
            return outcomes
        for after, function in self.evaluate(node.func, path, frame):
            for before, args, kwargs in self.arguments(node, after, frame):
                outcomes += self.call_value(function, args, kwargs, node.site, before, frame)
        return outcomes

    def arguments(self, node: ir.Call, path: Path, frame: Frame) -> list[tuple[Path, list[Value], Kwargs]]:
        """The positional and keyword arguments; those behind stars come under the keyword ``*``."""
        outcomes = []
        for after, values in self.evaluate_all([argument.value for argument in node.args], path, frame):
            args: list[Value] = []
            kwargs: Kwargs = {}
            for argument, value in zip(node.args, values, strict=True):
                if argument.star == "*" and isinstance(value, Items):
                    args += value.values
                elif argument.star:
                    kwargs["*"] = value
                elif argument.keyword is not None:
                    kwargs[argument.keyword] = value
                else:
                    args.append(value)
            outcomes.append((after, args, kwargs))
        return outcomes

    # methods

    def call_method(
        self, receiver: Value, node: ir.Call, args: list[Value], kwargs: Kwargs, path: Path, frame: Frame
    ) -> Outcomes:
        """Every outcome of ``receiver.attr(...)``."""
        assert isinstance(node.func, ir.Attribute)
        attr, site = node.func.attr, node.site
        if isinstance(receiver, Known) and receiver.value is None or _is_unbound(receiver):
            if attr in ("scale", "unscale_", "update") or (attr == "step" and args):
                self.machine.unbound.add(site)
                if isinstance(node.func.base, ir.Name):
                    self.note_undefined(node.func.base.id, site, path, frame)
        if isinstance(receiver, Known) and receiver.value is None:
            return []
        if isinstance(receiver, (Scaler, Optimizer)) and not receiver.built:
            # a call on what was found to be None is a path that no run takes
            paths = path.assume(Condition("none", (receiver,)), False)
            if not paths and isinstance(receiver, Scaler):
                self.machine.unbound.add(site)
        else:
            paths = [path]
        outcomes: Outcomes = []
        for alive in paths:
            if isinstance(receiver, Scaler):
                outcomes += self.scaler_method(receiver, attr, args, kwargs, site, alive)
            elif isinstance(receiver, Optimizer):
                outcomes += self.optimizer_method(receiver, attr, args, kwargs, site, alive, frame)
            elif isinstance(receiver, Accelerator):
                outcomes += self.accelerator_method(receiver, attr, args, kwargs, site, alive, frame)
            elif isinstance(receiver, Scaled):
                outcomes += self.scaled_method(receiver, node, alive, frame)
            elif isinstance(receiver, Schedule) and attr == "step":
                event = Event(EventKind.SCHEDULE, site, optimizers=receiver.optimizers)
                outcomes.append((self.machine.emit(alive, event), NONE))
            elif isinstance(receiver, (Items, Several, Table)):
                outcomes += self.collection_method(receiver, node, args, kwargs, alive, frame)
            elif isinstance(receiver, (Instance, Type)):
                outcomes += self.instance_method(receiver, attr, args, kwargs, site, alive, frame)
            elif isinstance(receiver, Imported):
                function = Imported(frozenset(f"{name}.{attr}" for name in receiver.names))
                outcomes += self.call_value(function, args, kwargs, site, alive, frame)
            else:
                outcomes += self.unknown_method(receiver, attr, args, kwargs, site, alive, frame)
        return outcomes

    def scaler_method(
        self, scaler: Scaler, attr: str, args: list[Value], kwargs: Kwargs, site: int, path: Path
    ) -> Outcomes:
        self.machine.uses.setdefault(scaler.key, set()).add(site)
        if attr == "is_enabled":
            return [(path, _enabledness(scaler))]
        if attr in HARMLESS_SCALER_METHODS:
            return [(path, Unknown(("attribute", scaler.key, attr)))]
        handler = _SCALER_METHODS.get(attr)
        if handler is None:
            return [(self.forget([scaler, *args, *kwargs.values()], path), Unknown(("call", scaler.key, attr)))]
        outcomes: Outcomes = []
        for after, enabled in self.enabled(scaler, path):
            outcomes += handler(self, scaler, enabled, args, kwargs, site, after)
        return outcomes

    def note_undefined(self, name: str, site: int, path: Path, frame: Frame) -> None:
        """A scaler's method is called on a variable of this function that nothing has bound on this path."""
        if path.local(frame.key, name) is None and name in frame.function.locals & self.machine.program.watched:
            if path.may_have_chosen_no_step() and not path.is_doubtful():
                self.machine.undefined.add(site)

    def enabled(self, scaler: Scaler, path: Path) -> list[tuple[Path, bool]]:
        """Whether the scaler does anything. Where that is open it is taken to be enabled, and remembered so."""
        condition = _enabledness(scaler)
        truth = path.decide(condition)
        key = scaler.enabled.key if isinstance(scaler.enabled, (Unknown, Condition)) else ("enabled", scaler.key)
        if truth is not None:
            # a scaler that is on by the condition itself is used on this path, whatever an arm has left out
            declined = truth and (key, False) in path.switches and (key, True) not in path.switches
            return [(path.with_switch(key, True) if declined else path, truth)]
        return [(after.with_switch(key, True), True) for after in path.assume(condition, True)]

    def scale(
        self, scaler: Scaler, enabled: bool, args: list[Value], kwargs: Kwargs, site: int, path: Path
    ) -> Outcomes:
        loss = (args or [*kwargs.values()] or [NONE])[0]
        if not enabled or _is_constant(loss):
            return [(path, loss)]
        if isinstance(loss, Scaled):
            path = self.machine.emit(path, Event(EventKind.RESCALE, site, scaler.key))
        path = self.machine.emit(path, Event(EventKind.SCALE, site, scaler.key))
        return [(path, _map_loss(loss, lambda part: Scaled(scaler)))]

    def unscale(
        self, scaler: Scaler, enabled: bool, args: list[Value], kwargs: Kwargs, site: int, path: Path
    ) -> Outcomes:
        outcomes: Outcomes = []
        for after, optimizers in self.stepped(scaler, enabled, args, kwargs, site, path):
            if enabled:
                after = self.machine.emit(after, Event(EventKind.UNSCALE, site, scaler.key, optimizers))
            outcomes.append((after, NONE))
        return outcomes

    def scaler_step(
        self, scaler: Scaler, enabled: bool, args: list[Value], kwargs: Kwargs, site: int, path: Path
    ) -> Outcomes:
        given = args[0] if args else kwargs.get("optimizer")
        closure = [value for value in (*args[1:], kwargs.get("closure", NONE)) if value != NONE]
        outcomes: Outcomes = []
        for after, optimizers in self.stepped(scaler, enabled, args, kwargs, site, path):
            kind = EventKind.SCALER_STEP if enabled else EventKind.OPTIMIZER_STEP
            key = scaler.key if enabled else None
            refused = bool(closure) and not self.machine.evidence.has_foreign_scalers
            if enabled and (refused or (isinstance(given, Optimizer) and given.needs_closure)):
                after = self.machine.emit(after, Event(EventKind.CLOSURE_STEP, site, key, optimizers))
            after = self.machine.emit(after, Event(kind, site, key, optimizers, certain=enabled))
            if closure or "*" in kwargs:  # it may run a backward
                after = self.machine.emit(after, Event(EventKind.FORGET, optimizers=optimizers))
            outcomes.append((after, Unknown(("call", scaler.key, "step"))))
        return outcomes

    def stepped(
        self, scaler: Scaler, enabled: bool, args: list[Value], kwargs: Kwargs, site: int, path: Path
    ) -> list[tuple[Path, tuple[Key, ...]]]:
        """The optimizer given to ``step`` or ``unscale_``: being given there makes any value one."""
        given = args[0] if args else kwargs.get("optimizer")
        if isinstance(given, Known) and given.value is None:
            return []
        if isinstance(given, (Schedule, Scaled)) and enabled:
            path = self.machine.emit(path, Event(EventKind.WRONG_ARGUMENT, site, scaler.key))
        if isinstance(given, (Unknown, Optimizer)):
            self.machine.given.setdefault(given.key, set()).add(site)
        if isinstance(given, Unknown):
            self.machine.evidence.used_as_optimizer(given.key, "stepped")
            self.machine.know_optimizer(given.key, is_each(given.key))
            return [(path, (given.key,))]
        if isinstance(given, Optimizer):
            self.machine.evidence.note_stepped(given.key)
            return [(after, (given.key,)) for after in path.assume(Condition("none", (given,)), False)]
        if isinstance(given, Instance):
            self.machine.know_optimizer(given.key)
            return [(path, (given.key,))]
        return [(self.machine.forget_all(path), ())]

    def update(
        self, scaler: Scaler, enabled: bool, args: list[Value], kwargs: Kwargs, site: int, path: Path
    ) -> Outcomes:
        self.machine.evidence.updated.add(scaler.key)
        if not enabled:
            return [(path, NONE)]
        if args or kwargs:  # update(new_scale) only sets the scale, as an extra call beside update()
            if _is_wrong_scale((*args, *kwargs.values())[0], scaler, path):
                path = self.machine.emit(path, Event(EventKind.WRONG_ARGUMENT, site, scaler.key))
            return [(self.forget([scaler], path), NONE)]
        return [(self.machine.emit(path, Event(EventKind.UPDATE, site, scaler.key)), NONE)]

    def optimizer_method(
        self, optimizer: Optimizer, attr: str, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame
    ) -> Outcomes:
        if attr == "step":
            if any(given != NONE for given in (*args, *kwargs.values())):  # a closure runs backward by itself
                return self.unknown_call(optimizer, args, kwargs, site, path)
            marks = path.protocol.marks(optimizer.key)
            if any(is_accelerators(mark.scaler) for mark in marks):
                # an optimizer that an accelerator prepared is stepped by its scaler
                return [(self.machine.emit(path, Event(EventKind.FORGET, optimizers=(optimizer.key,))), NONE)]
            if any(mark.content is Content.UNSCALED for mark in marks) and path.has_checked_gradients():
                # the inf check that scaler.step() would make was made by hand
                path = self.machine.emit(path, Event(EventKind.FORGET, optimizers=(optimizer.key,)))
            certain = self.machine.evidence.is_scaled_only(optimizer.key)
            event = Event(EventKind.OPTIMIZER_STEP, site, optimizers=(optimizer.key,), certain=certain)
            return [(self.machine.emit(path, event), NONE)]
        if attr == "zero_grad":
            event = Event(EventKind.CLEAR_GRADS, site, optimizers=(optimizer.key,))
            return [(self.machine.emit(path, event), NONE)]
        if attr in HARMLESS_OPTIMIZER_METHODS:
            return [(path, Unknown(("attribute", optimizer.key, attr)))]
        # an optimizer's own extra method may step, clear or rescale its gradients
        return self.unknown_call(optimizer, args, kwargs, site, path)

    def accelerator_method(
        self,
        accelerator: Accelerator,
        attr: str,
        args: list[Value],
        kwargs: Kwargs,
        site: int,
        path: Path,
        frame: Frame,
    ) -> Outcomes:
        """A method of an object that has its own scaler."""
        if attr == "backward":
            return [(self.machine.backward(path, site, accelerator.key, self.networks(site, path, frame)), NONE)]
        if attr in ("clip_grad_norm_", "clip_grad_value_", "unscale_gradients"):
            return [(self.machine.forget_gradients(path), Unknown(("call", accelerator.key, attr)))]
        return self.unknown_call(accelerator, args, kwargs, site, path, attr)

    def scaled_method(self, loss: Scaled, node: ir.Call, path: Path, frame: Frame) -> Outcomes:
        assert isinstance(node.func, ir.Attribute)
        attr = node.func.attr
        if attr == "backward":
            return [(self.backward([loss], node.site, path, frame), NONE)]
        if attr in ("item", "tolist", "numpy"):
            up_to_date = path.protocol.scaler(key_of(loss.scaler)).scaled_since
            if node.descales == 0 or (node.descales == 1 and not up_to_date):
                path = self.used_as_number([loss], node.site, path)
            return [(path, Unknown(("attribute", key_of(loss), attr)))]
        if attr in ("size", "dim") or attr in FINITENESS:
            return [(path, Unknown(("attribute", key_of(loss), attr)))]
        return [(path, loss)]

    def backward(self, losses: Iterable[Value], site: int, path: Path, frame: Frame) -> Path:
        """Gradients are accumulated from ``losses``: scaled, plain, or who knows."""
        losses = list(losses)
        scalers = {loss.scaler for loss in losses if isinstance(loss, Scaled)}
        for scaler in scalers:
            if isinstance(scaler, Unknown):  # not known for a scaler, but used as one
                self.machine.evidence.used_as_scaler(scaler.key, "scale")
        if not scalers:
            self.machine.evidence.note_plain_backward()
            if any(self.may_be_scaled(loss) for loss in losses):
                return self.machine.forget_gradients(path)
            return self.machine.backward(path, site, None, self.networks(site, path, frame))
        if len(scalers) > 1 or len(losses) > 1 or not all(isinstance(scaler, Scaler) for scaler in scalers):
            return self.machine.forget_gradients(path)
        return self.machine.backward(path, site, key_of(scalers.pop()), self.networks(site, path, frame))

    def networks(self, site: int, path: Path, frame: Frame) -> Networks | None:
        """The modules that a loss or an optimizer is made of that goes backward, or is made, at ``site``."""
        reach = self.machine.program.reach
        made = None if reach is None else reach.made.get(site)
        return None if made is None else self.made_of(made, path, frame)

    def made_of(self, made: Made, path: Path, frame: Frame) -> Networks:
        """What the names of modules in ``frame`` stand for."""
        surely: set[Key] = set()
        perhaps: set[Key] = set()
        is_open = made.open
        for texts, found in ((made.must, surely), (made.may, perhaps)):
            for text in texts:
                if text[0]:
                    place = self.place(text, path, frame)
                    if found is perhaps or not self.is_unstable(place):
                        found.add(place)
                    continue
                given = self.given_for(text[1], frame)
                if given is None or frame.caller is None:
                    is_open = True
                else:
                    inner = self.made_of(given, path, frame.caller)
                    found |= inner.surely if found is surely else inner.perhaps
                    is_open = is_open or inner.open
        return Networks(frozenset(surely), frozenset(perhaps), is_open)

    def place(self, text: tuple[str, ...], path: Path, frame: Frame) -> Key:
        """The key of a variable or an attribute by its identifiers, whatever it was bound to last."""
        place = place_of(key_of(self.variable(ir.Name(text[0]), path, frame)))
        for attr in text[1:]:
            place = ("attribute", place, attr)
        return place

    def is_unstable(self, place: Key) -> bool:
        """Whether a name has stood for one module first and then for another."""
        unstable = self.machine.program.reach.unstable if self.machine.program.reach is not None else ()
        scope = place[1] or "<module>" if place[0] == "local" else ""
        return place[0] in ("local", "attribute") and (scope, place[2]) in unstable

    def given_for(self, name: str, frame: Frame) -> Made | None:
        """What the call of a function gave for one of its parameters."""
        reach = self.machine.program.reach
        if reach is None or frame.key[0] != "frame" or frame.key[1] not in reach.given:
            return None
        positional, keywords = reach.given[frame.key[1]]
        names = [parameter.name for parameter in frame.function.parameters]
        if name in keywords:
            return keywords[name]
        if name not in names or any(parameter.star for parameter in frame.function.parameters):
            return None
        bound = frame.function.owner is not None and "staticmethod" not in frame.function.decorators
        index = names.index(name) - bound
        return positional[index] if 0 <= index < len(positional) else None

    def may_be_scaled(self, loss: Value) -> bool:
        """Whether an unseen caller or callee may have scaled the loss."""
        if not isinstance(loss, Unknown):
            return not isinstance(loss, Known)
        if loss.key[:2] == ("global", "") and loss.key[2] in self.machine.program.module.locals:
            return False  # the module's own, of which nothing scaled is ever made
        return loss.key[0] in ("param", "attribute", "global") or any(isinstance(h, Scaler) for h in loss.holds)

    def collection_method(
        self,
        receiver: Items | Several | Table,
        node: ir.Call,
        args: list[Value],
        kwargs: Kwargs,
        path: Path,
        frame: Frame,
    ) -> Outcomes:
        assert isinstance(node.func, ir.Attribute)
        attr = node.func.attr
        if isinstance(receiver, Table) and attr in ("values", "keys", "items"):
            if not receiver.is_whole:
                return [(path, self.column(Unknown(receiver.key, self.reachable_holds(receiver)), attr))]
            column = {
                "values": tuple(value for _, value in receiver.entries),
                "keys": tuple(key for key, _ in receiver.entries),
                "items": tuple(Items(entry) for entry in receiver.entries),
            }[attr]
            return [(path, Items(column))]
        if isinstance(receiver, Several) and attr in ("values", "items"):
            if attr == "values":
                return [(path, receiver)]
            return [(path, Several(Items((Unknown(("element", "key", node.site)), receiver.element))))]
        if isinstance(receiver, Table) and attr == "get" and args:
            found = receiver.get(args[0])
            return [(path, found if found is not None else args[1] if len(args) > 1 else NONE)]
        if attr in ("append", "add") and len(args) == 1:
            grown: Value
            if isinstance(receiver, Items) and len(receiver.values) < 6 and not self.machine.loops:
                grown = Items(each_its_own([*receiver.values, args[0]]))
            else:
                grown = Several(_many(args[0]))
            target = node.func.base
            if isinstance(target, (ir.Name, ir.Attribute, ir.Item)):
                path = self.bind(target, grown, path, frame)
            return [(path, NONE)]
        if attr == "copy":
            return [(path, receiver)]
        outcomes = self.unknown_call(receiver, args, kwargs, node.site, path, attr)
        target = node.func.base
        if attr in MUTATORS and isinstance(target, (ir.Name, ir.Attribute, ir.Item)):
            holds = self.reachable_holds(receiver).union(*(self.reachable_holds(value) for value in args))
            changed = Unknown(("item", key_of(receiver), attr), holds)
            return [(self.bind(target, changed, after, frame), value) for after, value in outcomes]
        return outcomes

    def instance_method(
        self,
        receiver: Instance | Type,
        attr: str,
        args: list[Value],
        kwargs: Kwargs,
        site: int,
        path: Path,
        frame: Frame,
    ) -> Outcomes:
        outcomes: Outcomes = []
        for after, function in self.attribute_of(receiver, attr, site, path, frame):
            if isinstance(function, (Routine, Partial, Type, Imported, Instance)):
                outcomes += self.call_value(function, args, kwargs, site, after, frame)
            elif isinstance(function, (Scaler, Optimizer)):
                outcomes += self.unknown_call(function, args, kwargs, site, after)
            elif isinstance(receiver, Instance) and self.is_inherited(receiver, attr):
                outcomes += self.unknown_method(receiver, attr, args, kwargs, site, after, frame)
            else:  # a component such as self.model or self.criterion: it is not given self
                outcomes += self.unknown_call(function, args, kwargs, site, after, attr)
        return outcomes

    def is_inherited(self, receiver: Instance, attr: str) -> bool:
        """Whether ``attr`` can be a method from a base class that is not to be seen."""
        if any(attr in cls.assigned for cls in self.lineage(receiver.definition)):
            return False
        return attr not in MODULE_METHODS and self.has_unseen_base(receiver.definition)

    def has_unseen_base(self, definition: ir.Class) -> bool:
        """Whether a class derives from one that is neither to be seen nor known to leave the protocol alone."""
        for cls in self.lineage(definition):
            for base in cls.bases:
                if isinstance(base, ir.Name) and base.id == "object":
                    continue
                if self.machine.program.base(cls, base) is not None:
                    continue
                external = base.external if isinstance(base, (ir.Name, ir.Attribute)) else frozenset()
                if external & {"torch.nn.Module", "torch.nn.modules.module.Module", "abc.ABC", "typing.Generic"}:
                    continue
                return True
        return False

    def unknown_method(
        self, receiver: Value, attr: str, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame
    ) -> Outcomes:
        """A method of an object of unknown making; its use may tell what the object is."""
        evidence = self.machine.evidence
        if isinstance(receiver, Unknown):
            cls = evidence.class_of(name_of(receiver.key)) if not receiver.holds else None
            if cls is not None and not self.kind_of(cls):
                stand_in = Instance(receiver.key, cls)
                return self.instance_method(stand_in, attr, args, kwargs, site, path, frame)
            path = self.hold(receiver, [*args, *kwargs.values()], path)
            if attr in ("values", "items", "keys") and not args and not kwargs:
                return [(path, self.column(receiver, attr))]
            if attr == "get" and len(args) == 1 and isinstance(args[0], Known) and isinstance(args[0].value, str):
                return [(path, self.recognise(self.item_of(receiver, args[0])))]
            if attr in MUTATORS:
                path = path.forget_facts([receiver.key])
            if attr == "scale" and len(args) == 1 and not kwargs:
                return [(path, _map_loss(args[0], lambda part: Scaled(receiver)))]
            if attr == "unscale_" and len(args) == 1:
                evidence.used_as_scaler(receiver.key, "unscale_")
            elif attr == "step" and args and isinstance(args[0], (Unknown, Optimizer)):
                self.machine.uses.setdefault(receiver.key, set()).add(site)
                evidence.used_as_scaler(receiver.key, "step")
            elif attr in ("zero_grad", "step") and not args:
                evidence.used_as_optimizer(receiver.key, attr)
        if attr == "zero_grad":
            owners, certain = self.owners(receiver, path)
            if certain and _names(self.machine.held.get(owners[0], frozenset())) & _names(
                named_parts(key_of(receiver))
            ):
                return [(self.machine.emit(path, Event(EventKind.CLEAR_GRADS, site, optimizers=owners)), NONE)]
            return [(self.machine.forget_gradients(path), NONE)]
        if attr == "step" and not args and not kwargs and is_schedule_name(name_of(key_of(receiver))):
            optimizers = self.machine.optimizers()
            if self.machine.is_one(optimizers):
                path = self.machine.emit(path, Event(EventKind.SCHEDULE, site, optimizers=optimizers))
            return [(path, NONE)]
        if attr == "backward":
            if args or kwargs.keys() - {"retain_graph", "create_graph", "inputs"}:  # a gradient may carry a scale
                evidence.note_plain_backward()
                return self.unknown_call(receiver, args, kwargs, site, self.machine.forget_gradients(path), attr)
            return [(self.backward([receiver], site, path, frame), NONE)]
        if "backward" in attr:
            evidence.note_plain_backward()
            path = self.machine.forget_gradients(path)
        return self.unknown_call(receiver, args, kwargs, site, path, attr)

    def column(self, table: Unknown, attr: str) -> Value:
        """What goes over a dict of unknown making: its ``items`` are its keys, with what its ``values`` are."""
        if attr != "items":
            return Unknown(("call", table.key, attr), table.holds)
        return Several(Items(tuple(self.elements(self.column(table, part))[1][0] for part in ("keys", "values"))))

    # functions

    def call_value(
        self, function: Value, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame
    ) -> Outcomes:
        """Every outcome of ``function(*args, **kwargs)``."""
        if isinstance(function, Routine):
            return self.call_routine(function, args, kwargs, site, path, frame)
        if isinstance(function, Partial):
            merged = {**dict(function.kwargs), **kwargs}
            return self.call_value(function.function, [*function.args, *args], merged, site, path, frame)
        if isinstance(function, Type):
            return self.instantiate(function, args, kwargs, site, path, frame)
        if isinstance(function, Imported):
            return self.call_imported(function, args, kwargs, site, path, frame)
        if isinstance(function, Instance):
            for name in ("__call__", "forward"):
                method = self.method(function.definition, name)
                if method is not None and method.touches:
                    return self.call_routine(Routine(method, function), args, kwargs, site, path, frame)
            return self.unknown_call(NONE, args, kwargs, site, path, function.definition.name)
        if isinstance(function, Known) and function.value is None:
            return []
        if isinstance(function, Unknown):
            owner = _owner_of_method(function)
            if isinstance(owner, Scaler):
                return self.scaler_method(owner, function.key[2], args, kwargs, site, path)
            if isinstance(owner, Optimizer):
                return self.optimizer_method(owner, function.key[2], args, kwargs, site, path, frame)
        return self.unknown_call(function, args, kwargs, site, path)

    def call_super(self, node: ir.Call, base: ir.Call, attr: str, path: Path, frame: Frame) -> Outcomes:
        """``super().attr(...)``; a function within a method says of which class and object."""
        owner = frame.function.owner
        parameters = frame.function.parameters
        me = (path.local(frame.key, parameters[0].name) if parameters else None) or NONE
        if len(base.args) == 2:
            for _, (cls, given) in self.evaluate_all([argument.value for argument in base.args], path, frame)[:1]:
                owner, me = cls.definition if isinstance(cls, Type) else owner, given
        outcomes: Outcomes = []
        for after, args, kwargs in self.arguments(node, path, frame):
            if owner is not None and isinstance(me, Instance):
                method = self.method(me.definition, attr, skip=owner)
                if method is not None:
                    outcomes += self.call_routine(Routine(method, me), args, kwargs, node.site, after, frame)
                    continue
            if attr == "__init__" or attr in MODULE_METHODS:
                outcomes.append((after, NONE))
            else:
                outcomes += self.unknown_call(me, args, kwargs, node.site, after, attr)
        return outcomes

    def call_routine(
        self, routine: Routine, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame
    ) -> Outcomes:
        """Follow a function with its arguments bound."""
        function = routine.function
        given = [*routine.args, *args]
        if routine.bound is not None:
            given.insert(0, routine.bound)
        keywords = {**dict(routine.kwargs), **kwargs}
        if not function.touches and not function.returns_object:
            return [(path, self.opaque_result(("routine", function.name), given, keywords))]
        if function.is_generator:  # its body runs between what its caller does
            return [(self.machine.forget_all(path), Unknown(("call", GENERATOR, function.name, site)))]
        if frame.depth >= MAX_DEPTH or id(function) in frame.active:
            if id(function) not in frame.active:
                self.machine.left.add(function.name)
            return self.unknown_call(NONE, given, keywords, site, path, function.name)
        if function.is_replaced:
            path = self.machine.forget_all(path)
        kept: Key | None = None
        if function.is_kept:
            kept = ("kept", function.name, *(key_of(value) for value in (*given, *keywords.values())))
            made_before = path.store.get((kept, RESULT))
            if made_before is not None:
                return [(path, self.recognise(made_before))]
        self.machine.entered.add(id(function))
        known = (id(function), site, frame.key, tuple(given), tuple(keywords.items()), path, self.machine.muted > 0)
        followed = self.machine.followed.get(known)
        if followed is None:
            self.machine.remade.append(set())
            outcomes = self.follow(routine, given, keywords, site, path, frame)
            followed = self.machine.followed[known] = (outcomes, self.machine.remade.pop())
        outcomes, made = followed
        if kept is not None:  # what it made lives on, and is not made anew by the loops around this call
            return [(after.with_attribute(kept, RESULT, value), value) for after, value in outcomes]
        for outer in self.machine.remade:
            outer |= made
        if not all(name.startswith(HARMLESS_DECORATORS) for name in function.decorators):
            return [(self.machine.forget_all(after), value) for after, value in outcomes]
        return outcomes

    def follow(
        self, routine: Routine, given: list[Value], keywords: Kwargs, site: int, path: Path, frame: Frame
    ) -> Outcomes:
        """Run the function's body in a frame of its own."""
        function = routine.function
        key = ("frame", site, frame.key)
        around = (*frame.outer, frame.key) if function.home == frame.function.home else ()
        outer = tuple(k for k in (routine.frame, *around) if k)
        asked_at = None if not function.returns_value else site if frame.asked_at is None else frame.asked_at
        owned = function.owner is not None and "staticmethod" not in function.decorators
        as_given = not routine.args and not routine.kwargs and owned == (routine.bound is not None)
        caller = frame if as_given else None
        inner = Frame(function, key, outer, frame.depth + 1, frame.active | {id(function)}, caller, asked_at)
        outcomes: Outcomes = []
        with self.machine.called_from(site):
            for bound in self.bind_parameters(function, given, keywords, path, inner, frame):
                for after, value in self.run_function(function, bound, inner):
                    outcomes.append((after if _closes_over(value, key) else after.without_frame(key), value))
        return list(dict.fromkeys(outcomes))

    def bind_parameters(
        self, function: ir.Function, args: list[Value], kwargs: Kwargs, path: Path, inner: Frame, caller: Frame
    ) -> list[Path]:
        """The paths on which the function's parameters have their values."""
        rest = dict(kwargs)
        behind_star = rest.pop("*", None)
        names: dict[str, Value] = {}
        positional, keyword_only = list(args), False
        for parameter in function.parameters:
            if parameter.star == "*":
                names[parameter.name] = Items(tuple(positional))
                positional, keyword_only = [], True
            elif parameter.star == "**":
                names[parameter.name] = Table(tuple((Known(key), value) for key, value in rest.items()))
            elif positional and not keyword_only:
                names[parameter.name] = positional.pop(0)
            elif parameter.name in rest:
                names[parameter.name] = rest.pop(parameter.name)
            elif behind_star is not None:
                holds = self.reachable_holds(behind_star)
                names[parameter.name] = Unknown(("item", key_of(behind_star), parameter.name), holds)
        names.pop("", None)
        paths = [path.with_frame(inner.key, names)]
        for parameter in function.parameters:
            if parameter.name and parameter.name not in names:
                paths = [bound for before in paths for bound in self.bind_default(parameter, before, inner)]
        return paths

    def bind_default(self, parameter: ir.Parameter, path: Path, inner: Frame) -> list[Path]:
        if parameter.default is None:
            return [path.with_local(inner.key, parameter.name, Unknown(("local", inner.function.name, parameter.name)))]
        return [
            after.with_local(inner.key, parameter.name, value)
            for after, value in self.evaluate(parameter.default, path, inner)
        ]

    def instantiate(
        self, cls: Type, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame
    ) -> Outcomes:
        key: Key = ("new", site, frame.key)
        kind = self.kind_of(cls.definition)
        if kind == "optimizer":
            holds = named_parts(key_of((args or [*kwargs.values()] or [NONE])[0]))
            return [self.new_optimizer(Optimizer(key, holds=holds, networks=self.networks(site, path, frame)), path)]
        if kind == "scaler":  # a subclass keeps its own protocol
            return [(path, Unknown(("foreign", cls.definition.name)))]
        if cls.definition.is_kept:
            return [(path, self.opaque_result(("class", cls.definition.name), args, kwargs))]
        path = self.machine.renew(path, [key])
        instance = Instance(key, cls.definition)
        init = self.method(cls.definition, "__init__")
        if init is None:
            for name, value in kwargs.items():
                path = path.with_attribute(key, name, value)
            return [(path, instance)]
        followed: Outcomes
        touches = any(method.touches for c in self.lineage(cls.definition) for method in c.methods.values())
        if (
            (touches or self.has_unseen_base(cls.definition)) and not init.touches and frame.depth < MAX_DEPTH
        ):  # it may keep what the other methods use
            followed = self.follow(Routine(init, instance), [instance, *args], kwargs, site, path, frame)
        else:
            followed = self.call_routine(Routine(init, instance), args, kwargs, site, path, frame)
        return [(after, instance) for after, _ in followed]

    def kind_of(self, definition: ir.Class) -> str:
        """Whether a class of this file derives from PyTorch's optimizers or scalers."""
        for cls in self.lineage(definition):
            for base in cls.bases:
                external = base.external if isinstance(base, (ir.Name, ir.Attribute)) else frozenset()
                if any(name.startswith("torch.optim.") and "lr_scheduler" not in name for name in external):
                    return "optimizer"
                if external & GRAD_SCALERS:
                    return "scaler"
        return ""

    def call_imported(
        self, function: Imported, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame
    ) -> Outcomes:
        names = function.names
        if names & GRAD_SCALERS:
            return self.new_scaler(names, args, kwargs, site, path, frame)
        if any(is_optimizer_class(name) for name in names):
            holds = named_parts(key_of((args or [*kwargs.values()] or [NONE])[0]))
            lbfgs = any(name.endswith(".LBFGS") for name in names)
            networks = self.networks(site, path, frame)
            made = Optimizer(("new", site, frame.key), holds=holds, needs_closure=lbfgs, networks=networks)
            return [self.new_optimizer(made, path)]
        if names & ACCELERATORS and kwargs.get("mixed_precision") == Known("fp16"):
            return [(path, Accelerator(("new", site, frame.key)))]
        if any(is_schedule_maker(name) for name in names) and args and isinstance(args[0], Optimizer):
            return [(path, Schedule((args[0].key,)))]
        if names & AUTOCASTS.keys():
            return [(path, Autocast(_enabled_region(names, args, kwargs, site)))]
        if names & CLIP_FUNCTIONS and site not in self.machine.program.descaled and not _is_made_of_scale(args, kwargs):
            optimizers, certain = self.owners((args or [*kwargs.values()] or [NONE])[0], path)
            path = self.machine.emit(path, Event(EventKind.CLIP, site, optimizers=optimizers, certain=certain))
            return [self.remade(path, Unknown(("call", function.key, site)))]
        if names & AUTOGRAD_BACKWARD:
            losses = list(args[0].values) if args and isinstance(args[0], Items) else args[:1]
            return [(self.backward(losses, site, path, frame), NONE)]
        if names & {"functools.partial"} and args:
            return [(path, _partial(args[0], args[1:], kwargs))]
        for name in names:
            builtin = _BUILTIN_CALLS.get(name)
            if builtin is not None:
                return builtin(self, args, kwargs, site, path, frame)
        scaled = scaled_within((*args, *kwargs.values()))
        if scaled is not None and names <= ARITHMETIC:
            return [(path, scaled)]
        if any(name.startswith(HARMLESS_FUNCTIONS) for name in names):
            return [(path, self.opaque_result(function.key, [], {}))]
        if any("backward" in name.rpartition(".")[2] for name in names):
            self.machine.evidence.note_plain_backward()
            path = self.machine.forget_gradients(path)
        return self.unknown_call(function, args, kwargs, site, path)

    def new_optimizer(self, made: Optimizer, path: Path) -> tuple[Path, Value]:
        """An optimizer, and the path on which any that was made here before is another."""
        optimizer = self.optimizer(made)
        path = self.machine.renew(path, [made.key])
        return self.machine.emit(path, Event(EventKind.NEW_OPTIMIZER, optimizers=(made.key,))), optimizer

    def new_scaler(
        self, names: frozenset[str], args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame
    ) -> Outcomes:
        position = 4 if all(".cuda." in name or ".cpu." in name for name in names) else 5
        enabled: Value | None = kwargs.get("enabled", args[position] if len(args) > position else Known(True))
        if "*" in kwargs or len(names & GRAD_SCALERS) != len(names):
            enabled = None
        scaler = Scaler(("new", site, frame.key), enabled)
        path = path.forget_facts([("enabled", scaler.key)])
        return [(self.machine.emit(path, Event(EventKind.NEW_SCALER, site, scaler.key)), scaler)]

    # everything else

    def unknown_call(
        self, function: Value, args: list[Value], kwargs: Kwargs, site: int, path: Path, attr: str = ""
    ) -> Outcomes:
        """A call that cannot be followed: what it is given may be anything afterwards."""
        given = [function, *args, *kwargs.values()]
        names = function.names if isinstance(function, Imported) else frozenset({attr})
        if any(may_go_backward(name.rpartition(".")[2]) for name in names):
            path = self.machine.perhaps_backward(path, site)
        path = self.forget(given, path)
        key = ("call", key_of(function), attr, *(key_of(value) for value in args))
        holds: list[Value] = [*self.reached(given, path)]
        scaled = scaled_within((*args, *kwargs.values()))
        if scaled is not None and isinstance(scaled.scaler, Scaler):
            holds.append(scaled.scaler)  # what comes back may be made of the scaled loss
        if not holds:
            return [self.remade(path, Unknown(key))]
        return [self.remade(path, Unknown(("call", key_of(function), attr, site), frozenset(holds)))]

    def hold(self, receiver: Unknown, given: list[Value], path: Path) -> Path:
        """The path on which ``receiver`` can reach what one of its methods was given."""
        kept = [
            v for v in given if self.is_callback(v) or (isinstance(v, (Instance, Unknown)) and self.reached([v], path))
        ]
        kept += [v for v in given if isinstance(v, Scaler)]
        if not kept:
            return path
        before = path.store.get((receiver.key, HELD))
        values = (*(before.values if isinstance(before, Items) else ()), *kept)
        return path.with_attribute(receiver.key, HELD, Items(tuple(dict.fromkeys(values))))

    def is_callback(self, value: Value) -> bool:
        return isinstance(value, Routine) and value.function.touches

    def opaque_result(self, key: Key, args: list[Value], kwargs: Kwargs) -> Unknown:
        """The result of a call that leaves the protocol alone."""
        return Unknown(("call", key, *(key_of(value) for value in (*args, *kwargs.values()))))

    def remade(self, path: Path, value: Unknown) -> tuple[Path, Unknown]:
        """Note that every loop being walked makes ``value`` anew each time."""
        for made in self.machine.remade:
            made.add(value.key)
        return path, value

    def forget(self, given: list[Value], path: Path) -> Path:
        """The path after something unseen was given these values."""
        for value in self.reached(given, path):
            if isinstance(value, Scaler):
                self.machine.evidence.escaped.add(value.key)
                path = self.machine.emit(path, Event(EventKind.FORGET, scaler=value.key))
                path = self.machine.forget_gradients(path)
            else:
                path = self.machine.emit(path, Event(EventKind.FORGET, optimizers=(value.key,)))
        held = [path.store.get((v.key, HELD)) for v in given if isinstance(v, Unknown)]
        called = [*given, *(v for items in held if isinstance(items, Items) for v in items.values)]
        called += [one for value in given if isinstance(value, Unknown) for one in value.holds]
        if any(self.is_callback(value) for value in called):
            path = self.machine.forget_all(path)  # a callback may be called at once
        return path

    def use_gradients(self, node: ir.Use, path: Path, frame: Frame) -> Path:
        """The size of gradients matters here; where a function was asked for it, to whoever asked."""
        optimizers = self.alive(path)
        certain = self.machine.is_one(optimizers)
        if node.kind == "clip":
            return self.machine.emit(path, Event(EventKind.CLIP, node.site, optimizers=optimizers, certain=certain))
        site = node.site if frame.asked_at is None else frame.asked_at
        return self.machine.emit(path, Event(EventKind.USE_GRADS, site, optimizers=optimizers, certain=certain))

    def owners(self, value: Value, path: Path) -> tuple[tuple[Key, ...], bool]:
        """The optimizers that may hold these parameters or modules, and whether it is certain that one does."""
        names, alive = named_parts(key_of(value)), self.alive(path)
        owners = [key for key in alive if not self.machine.held.get(key, frozenset()).isdisjoint(names)]
        found = tuple(owners) or alive
        return found, self.machine.is_one(found)

    def alive(self, path: Path) -> tuple[Key, ...]:
        """The optimizers that there are on this path: those made elsewhere, and those made here that it can reach."""
        stored = [*path.store.values(), *(value for names in path.frames.values() for value in names.values())]
        reached = {value.key for value in self.reached(map(self.recognise, stored), path)}
        there = (key for key in self.machine.optimizers() if not path.facts.get(("none", key)))
        return tuple(key for key in there if key in reached or _is_made_elsewhere(key, path))

    def reached(self, given: Iterable[Value], path: Path) -> list[Scaler | Optimizer]:
        """The scalers and optimizers that can be got at from the given values."""
        found: dict[Scaler | Optimizer, None] = {}
        seen: set[Key] = set()
        queue = list(given)
        owned = path.store.owned
        while queue:
            value = queue.pop()
            if isinstance(value, (Scaler, Optimizer)):
                found[value] = None
            elif isinstance(value, Items):
                queue += value.values
            elif isinstance(value, Table):
                queue += [item for _, item in value.entries]
            elif isinstance(value, Several):
                queue.append(value.element)
            elif isinstance(value, Routine):
                queue += [*value.args, *(item for _, item in value.kwargs)]
                if value.bound is not None:
                    queue.append(value.bound)
            elif isinstance(value, (Instance, Unknown)) and value.key not in seen:
                seen.add(value.key)
                queue += owned.get(value.key, ())
                queue += value.holds if isinstance(value, Unknown) else ()
                queue += self.recognised_attributes(value.key)
        return list(found)

    def recognised_attributes(self, owner: Key) -> list[Value]:
        """The attributes of an object that were never seen assigned but are known for a scaler or an optimizer."""
        keys = [*self.machine.evidence.scalers, *self.machine.evidence.optimizers]
        found = [Unknown(key) for key in keys if key[0] == "attribute" and key[1] == owner]
        return [self.recognise(value) for value in found]

    # builtins

    def number(
        self, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame, name: str = ""
    ) -> Outcomes:
        """``print``, ``float`` and the like."""
        if site not in self.machine.program.descaled:
            path = self.used_as_number(args, site, path)
        return self.harmless(args, kwargs, site, path, frame, name)

    def harmless(
        self, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame, name: str = ""
    ) -> Outcomes:
        return [(path, self.opaque_result(("builtin", name), args, kwargs))]

    def zip_(self, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame) -> Outcomes:
        if args and all(isinstance(value, Items) for value in args):
            rows = zip(*(value.values for value in args if isinstance(value, Items)), strict=False)
            return [(path, Items(tuple(Items(row) for row in rows)))]
        return [(path, Several(Items(tuple(self.elements(value)[1][0] for value in args if _some(value)))))]

    def enumerate_(self, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame) -> Outcomes:
        source = (args or [*kwargs.values()] or [NONE])[0]
        if isinstance(source, Items):
            pairs = (Items((Known(index), value)) for index, value in enumerate(source.values))
            return [(path, Items(tuple(pairs)))]
        index = Unknown(("element", "index", site))
        return [(path, Several(Items((index, self.elements(source)[1][0])))) if _some(source) else (path, NONE)]

    def same(self, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame) -> Outcomes:
        """A copy, an iterator or another order of the same elements."""
        if not args:
            return [(path, Items(()))]
        return [(path, args[0])]

    def sum_(self, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame) -> Outcomes:
        parts: list[Value] = []
        for value in args:
            parts += (
                value.values if isinstance(value, Items) else [value.element] if isinstance(value, Several) else [value]
            )
        return [(path, self.combine("sum", parts, site))]

    def isinstance_(self, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame) -> Outcomes:
        if len(args) == 2 and isinstance(args[1], Imported) and args[1].names & GRAD_SCALERS:
            if isinstance(args[0], Scaler):
                return [(path, Condition("not", (Condition("none", (args[0],)),)))]
        return [(path, Condition("isinstance", tuple(args)))]

    def hasattr_(self, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame) -> Outcomes:
        if len(args) == 2 and isinstance(args[1], Known) and (key_of(args[0]), args[1].value) in path.store:
            return [(path, Known(True))]
        return [(path, Condition("hasattr", tuple(args)))]

    def getattr_(self, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame) -> Outcomes:
        if len(args) >= 2 and isinstance(args[1], Known) and isinstance(args[1].value, str):
            return self.attribute_of(args[0], args[1].value, site, path, frame)
        return self.unknown_call(Imported(frozenset({"builtins.getattr"})), args, kwargs, site, path)

    def setattr_(self, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame) -> Outcomes:
        if len(args) == 3 and isinstance(args[1], Known) and isinstance(args[0], (Instance, Unknown)):
            return [(path.with_attribute(args[0].key, str(args[1].value), args[2]), NONE)]
        given: list[Value] = [value for value in args if not isinstance(value, (Instance, Unknown))]
        return [(self.forget(given, path), NONE)]

    def next_(self, args: list[Value], kwargs: Kwargs, site: int, path: Path, frame: Frame) -> Outcomes:
        return [self.remade(path, Unknown(("call", "next", site)))]


def _stepped_in_argument(node: ir.Call) -> ir.Call | None:
    """``scaler.step(optimizer.step())`` as the ``scaler.step(optimizer)`` that was meant."""
    given = node.args[0].value if len(node.args) == 1 else None
    if isinstance(node.func, ir.Attribute) and node.func.attr in ("step", "unscale_") and isinstance(given, ir.Call):
        if isinstance(given.func, ir.Attribute) and given.func.attr == "step" and not given.args:
            return replace(node, args=[ir.Argument(given.func.base)])
    return None


def _owner_of_method(function: Unknown) -> Value | None:
    """The scaler or optimizer of which a value is a method of the protocol."""
    if function.key[0] != "attribute" or function.key[2] not in BOUND_METHODS or len(function.holds) != 1:
        return None
    (owner,) = function.holds
    return owner if spelled_out(key_of(owner)) == spelled_out(function.key[1]) else None


def _is_made_of_scale(args: list[Value], kwargs: Kwargs) -> bool:
    """Whether an argument, such as the threshold of a clip, is made of a loss scale itself."""
    parts = (spelled_out(part) for value in (*args, *kwargs.values()) for part in parts_of(key_of(value)))
    return any(part[:1] == ("attribute",) and part[-1] == "get_scale" for part in parts)


def _names(parts: frozenset[Key]) -> set[str]:
    """What variables and an object's own attributes are called: an attribute is given what goes by its name."""
    return {part[2] for part in parts if part[0] != "attribute" or part[1][:1] != ("attribute",)}


def _closes_over(value: Value, frame: Key) -> bool:
    """Whether a value is, or holds, a function that goes on using the variables of a frame."""
    if isinstance(value, Routine):
        return value.frame == frame
    inner: Iterable[Value] = ()
    if isinstance(value, Items):
        inner = value.values
    elif isinstance(value, Table):
        inner = (item for _, item in value.entries)
    return any(_closes_over(part, frame) for part in inner)


def _is_constant(loss: Value) -> bool:
    """Whether what is scaled is no loss but a number, to see the scale by."""
    maker = loss.key[1] if isinstance(loss, Unknown) and loss.key[0] == "call" else None
    makers = [("import", (f"torch.{name}",)) for name in ("tensor", "ones", "full")]
    return isinstance(loss, Known) or maker in makers


def scaled_within(values: Iterable[Value]) -> Scaled | None:
    """A scaled loss among values and what is in them."""
    for value in values:
        inner: Iterable[Value] = ()
        if isinstance(value, Scaled):
            return value
        if isinstance(value, Items):
            inner = value.values
        elif isinstance(value, Several):
            inner = (value.element,)
        elif isinstance(value, Table):
            inner = (item for _, item in value.entries)
        found = scaled_within(inner)
        if found is not None:
            return found
    return None


def _enabled_region(names: frozenset[str], args: list[Value], kwargs: Kwargs, site: int) -> Value:
    """What was given for whether a region of autocast is enabled."""
    positions = {AUTOCASTS.get(name) for name in names}
    position = positions.pop()
    if positions or position is None or "*" in kwargs:  # an import that may bring something else
        return Unknown(("autocast", site))
    return kwargs.get("enabled", args[position] if len(args) > position else Known(True))


def _is_wrong_scale(scale: Value, scaler: Scaler, path: Path) -> bool:
    """Whether ``update(scale)`` raises, or gives the scaler the scale that it has in the place of a real update."""
    if isinstance(scale, (Optimizer, Schedule, Scaled)):
        return True
    if isinstance(scale, Known):
        return type(scale.value) is int
    return key_of(scale) == ("attribute", scaler.key, "get_scale") and bool(path.protocol.scaler(scaler.key).records)


def _is_made_elsewhere(key: Key, path: Path) -> bool:
    """Whether a value, or the collection that it is in, comes from outside of what is being walked."""
    key = spelled_out(key)
    if key[0] == "variable":
        return _is_made_elsewhere(key[3], path)
    if key[0] in ("element", "item"):
        return _is_made_elsewhere(key[1], path)
    return key[0] in ("param", "global") or (key[0] == "attribute" and key[1:] not in path.store)


def _is_unbound(value: Value) -> bool:
    return isinstance(value, (Unknown, Scaler)) and value.key[0] == "local"


def _map_loss(loss: Value, scaled: Callable[[Value], Value]) -> Value:
    """``scale`` of a list of losses is a list of scaled losses."""
    if isinstance(loss, Items):
        return Items(tuple(_map_loss(part, scaled) for part in loss.values))
    if isinstance(loss, Several):
        return Several(_map_loss(loss.element, scaled))
    return scaled(loss)


def _enabledness(scaler: Scaler) -> Value:
    """Whether the scaler is enabled, as a condition to decide."""
    return scaler.enabled if scaler.enabled is not None else Unknown(("enabled", scaler.key))


def _many(value: Value) -> Value:
    return replace(value, many=True) if isinstance(value, Optimizer) else value


def _some(value: Value) -> bool:
    return not (isinstance(value, Items) and not value.values)


def _super(node: ir.Expression) -> ir.Call | None:
    """The call ``super()`` that an expression is."""
    if isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id == "super":
        return node
    return None


def _partial(function: Value, args: list[Value], kwargs: Kwargs) -> Value:
    if isinstance(function, Routine):
        merged = {**dict(function.kwargs), **kwargs}
        return Routine(
            function.function, function.bound, function.frame, (*function.args, *args), tuple(merged.items())
        )
    return Partial(function, tuple(args), tuple(kwargs.items()))


_ScalerMethod = Callable[[Calls, Scaler, bool, list[Value], Kwargs, int, Path], Outcomes]
_SCALER_METHODS: dict[str, _ScalerMethod] = {
    "scale": Calls.scale,
    "unscale_": Calls.unscale,
    "step": Calls.scaler_step,
    "update": Calls.update,
}
_Builtin = Callable[[Calls, list[Value], Kwargs, int, Path, Frame], Outcomes]
_BUILTIN_CALLS: dict[str, _Builtin] = {
    "builtins.zip": Calls.zip_,
    "builtins.enumerate": Calls.enumerate_,
    "builtins.list": Calls.same,
    "builtins.tuple": Calls.same,
    "builtins.iter": Calls.same,
    "builtins.reversed": Calls.same,
    "builtins.sorted": Calls.same,
    "builtins.sum": Calls.sum_,
    "builtins.isinstance": Calls.isinstance_,
    "builtins.hasattr": Calls.hasattr_,
    "builtins.getattr": Calls.getattr_,
    "builtins.setattr": Calls.setattr_,
    "builtins.next": Calls.next_,
    **{f"builtins.{name}": Calls.harmless for name in HARMLESS_BUILTINS},
    **{f"builtins.{name}": Calls.number for name in ("float", "print", "str", "format")},
}
