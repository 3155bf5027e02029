"""Walks every root of a document: the module, functions that nothing in the file calls, and methods of its classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field

from amplint.flow import program as ir
from amplint.flow.evidence import Evidence
from amplint.flow.expressions import module_frame
from amplint.flow.machine import Found, Frame, Machine, TooComplex
from amplint.flow.paths import Frozen, Path, Store, Variables, merge
from amplint.flow.statements import Exit, Statements
from amplint.flow.values import Instance, Key, Known, LearntMore, Networks, Scaler, Unknown, Value
from amplint.flow.vocabulary import GRAD_SCALERS, is_optimizer_class
from amplint.protocol import ProtocolState

MAX_ROUNDS = 6
MAX_STARTS = 8
"""Final states of ``__init__`` from which the other methods of a class are walked."""


@dataclass
class Exploration:
    """What came of one program: the violations, and the roots that were left because they have too many paths."""

    violations: list[Found] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    uses: dict[Key, set[int]] = field(default_factory=dict)
    given: dict[Key, set[int]] = field(default_factory=dict)
    unbound: set[int] = field(default_factory=set)
    undefined: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Walk:
    """What came of one root, and from what: as long as that is the same, nothing else can come of it."""

    version: tuple[int, ...]
    denied: frozenset[tuple[str, Hashable]]
    starts: list[Path]
    machine: Machine
    ends: list[Path]
    is_left: bool

    def holds(self, evidence: Evidence, starts: list[Path]) -> bool:
        """Whether another walk from ``starts`` would find the same."""
        return (
            self.version == evidence.version
            and evidence.would_deny(self.denied)
            and self.starts == starts
            and all(mine.route == theirs.route for mine, theirs in zip(self.starts, starts, strict=True))
        )


class Explorer:
    """Explores one program."""

    def __init__(self, program: ir.Program, text: str) -> None:
        self.program = program
        self.evidence = Evidence(program, text)
        self.walks: dict[tuple[int, Key], Walk] = {}
        self.closed_over = closed_over(program)

    def run(self) -> Exploration:
        """Explore all roots, again while the evidence grows."""
        exploration = Exploration()
        for _ in range(MAX_ROUNDS):
            size = self.evidence.size
            exploration = self.round()
            if self.evidence.size == size:
                break
        return exploration

    def round(self) -> Exploration:
        self.entered: set[int] = set()
        self.exploration = Exploration()
        self.found: dict[tuple[str, object], Found] = {}
        self.globals: dict[Key, Variables] = {}
        self.ends: dict[int, tuple[list[Path], tuple[Key, ...]]] = {}
        for number in sorted(self.program.modules, reverse=True):  # what is imported comes first
            self.globals[module_frame(number)] = self.module(number)
        for cls in self.program.classes:
            if cls.home == 0 and any(method.touches for method in cls.methods.values()):
                self.cls(cls)
        methods = {id(m) for c in self.program.classes for m in c.methods.values()}
        # outermost first: lowering lists a nested function before the one around it
        for function in reversed(self.program.functions):
            is_root = function.home == 0 and function.touches and function.name != "<lambda>"
            if is_root and id(function) not in self.entered | methods:
                around = self.closed_over.get(id(function))
                starts, outer = self.ends.get(id(around), ([Path.start()], ()))
                if around is not None and outer:
                    starts = [Path.start().but(frames=seen_from_inside(path, outer[0], around)) for path in starts]
                ends = self.root(function, starts, None, outer)
                self.ends[id(function)] = ends, (("root", function.name), *outer)
        self.exploration.violations = list(self.found.values())
        return self.exploration

    def module(self, number: int) -> Variables:
        """Walk a module itself; the names that it surely binds are the functions' globals."""
        module, key = self.program.modules[number], module_frame(number)
        ends = self.walk(module, [Path.start().but(frames=Frozen(self.globals))], Frame(module, key), repeat=False)
        names: dict[str, Value] = {}
        for index, path in enumerate(ends):
            bound = path.frames.get(key, Variables())
            names = dict(bound) if index == 0 else {k: v for k, v in names.items() if bound.get(k) == v}
        return Variables(names)

    def root(
        self, function: ir.Function, starts: list[Path], me: Value | None, outer: tuple[Key, ...] = ()
    ) -> list[Path]:
        """Walk a function that an unseen caller calls, with parameters of which only annotations tell.

        ``outer`` are the frames of the functions that it is defined in, which the paths have.
        """
        key: Key = ("root", function.name)
        names: dict[str, Value] = {}
        for index, parameter in enumerate(function.parameters):
            if me is not None and index == 0 and "staticmethod" not in function.decorators:
                names[parameter.name] = me
                continue
            param_key: Key = ("param", function.name, parameter.name)
            names[parameter.name] = Unknown(param_key)
            if parameter.annotation & GRAD_SCALERS:
                self.evidence.know(self.evidence.scalers, param_key)
            if any(is_optimizer_class(name) for name in parameter.annotation):
                self.evidence.know(self.evidence.optimizers, param_key)
        frame = Frame(function, key, outer, active=frozenset({id(function)}))
        self.entered.add(id(function))
        starts = [
            start.but(frames=Frozen({**start.frames, **self.globals, key: Variables(names)}), protocol=ProtocolState())
            for start in starts
        ]
        return self.walk(function, starts, frame, repeat=True)

    def walk(self, function: ir.Function, starts: list[Path], frame: Frame, repeat: bool) -> list[Path]:
        """The paths at the end of ``function``, unless they are known from an earlier round."""
        place = id(function), frame.key
        walk = self.walks.get(place)
        if walk is None or not walk.holds(self.evidence, starts):
            walk = self.walks[place] = self.afresh(function, starts, frame, repeat)
        if walk.is_left:
            self.exploration.left.append(function.name)
        machine = walk.machine
        self.exploration.left += sorted(machine.left)
        self.entered |= machine.entered
        for key, violation in machine.found().items():
            self.found.setdefault(key, violation)
        for scaler, sites in machine.uses.items():
            self.exploration.uses.setdefault(scaler, set()).update(sites)
        for optimizer, sites in machine.given.items():
            self.exploration.given.setdefault(optimizer, set()).update(sites)
        self.exploration.unbound |= machine.unbound
        self.exploration.undefined |= machine.undefined
        return merge(walk.ends, MAX_STARTS)

    def afresh(self, function: ir.Function, starts: list[Path], frame: Frame, repeat: bool) -> Walk:
        """Walk ``function``, again until the optimizers that it deals with are all known."""
        universe: dict[Key, None] = {}
        many: set[Key] = set()
        networks: dict[Key, Networks] = {}
        evidence = self.evidence
        version, extent, is_left = evidence.version, evidence.extent, False
        evidence.denied.clear()
        while True:
            machine = Machine(self.program, self.evidence, universe=universe, many=many, networks=networks)
            statements = Statements(machine)
            ends: list[Path] = []
            try:
                for start in starts:
                    ends += self.through(statements, function, start, frame)
                if repeat and (self.is_in_charge(ends) or self.owns_scaler(statements, frame, ends)):
                    self.again(statements, function, ends, frame)
            except LearntMore:
                if evidence.extent != extent:  # begin as the next round would
                    universe.clear()
                    many.clear()
                    version, extent = evidence.version, evidence.extent
                    evidence.denied.clear()
                continue
            except TooComplex:
                is_left = True
                machine.keep_what_stands()
                machine.entered.clear()  # what it led to is walked from its own start instead
            machine.followed.clear()
            return Walk(version, frozenset(evidence.denied), starts, machine, ends, is_left)

    def through(self, statements: Statements, function: ir.Function, start: Path, frame: Frame) -> list[Path]:
        paths = []
        for exit, after, value in statements.body(function, start, frame):
            if exit is not Exit.RAISE:
                paths.append(statements.retire(after, frame, value))
        return merge(paths, MAX_STARTS)

    def owns_scaler(self, statements: Statements, frame: Frame, ends: list[Path]) -> bool:
        """Whether a method makes whole training steps with a scaler of its object's that nothing ever updates."""
        parameters = frame.function.parameters
        for path in ends:
            me = path.local(frame.key, parameters[0].name) if parameters else None
            if not isinstance(me, Instance) or statements.has_unseen_base(me.definition):
                continue
            for (owner, name), value in path.store.items():
                scaler = path.protocol.scalers.get(value.key) if isinstance(value, Scaler) else None
                if owner == me.key and isinstance(value, Scaler) and value.built and scaler is not None:
                    owing = scaler.owing_update()
                    seen = (
                        self.evidence.was_updated(value.key)
                        or self.evidence.has_escaped(value.key)
                        or name in self.evidence.updated_names
                    )
                    if owing is not None and value.key in statements.machine.scaled and not seen:
                        return True
        return False

    def is_in_charge(self, ends: list[Path]) -> bool:
        """Whether some path owes an update to a scaler that this very function updates on others."""
        owing = {key for path in ends for key, scaler in path.protocol.scalers.items() if scaler.owing_update()}
        settled = {
            key
            for path in ends
            for key, scaler in path.protocol.scalers.items()
            if scaler.complete and not scaler.records
        }
        return bool(owing & settled)

    def again(self, statements: Statements, function: ir.Function, ends: list[Path], frame: Frame) -> None:
        """A second call, as the next batch makes it: what the first left undone shows here."""
        statements.machine.only = "AMP102"
        keys: list[Key] = [("param", function.name, parameter.name) for parameter in function.parameters]
        for end in ends:
            names = {parameter.name: Unknown(key) for parameter, key in zip(function.parameters, keys, strict=True)}
            kept = {name: end.frames[frame.key][name] for name in names if self.is_me(end, frame, name)}
            facts = end.forget_facts(
                [key for key, p in zip(keys, function.parameters, strict=True) if not self.is_scaler_or_optimizer(key)]
            )
            start = facts.but(frames=Frozen({**self.globals, frame.key: Variables({**names, **kept})}))
            self.through(statements, function, start, frame)

    def is_me(self, path: Path, frame: Frame, name: str) -> bool:
        return isinstance(path.frames.get(frame.key, Variables()).get(name), Instance)

    def is_scaler_or_optimizer(self, key: Key) -> bool:
        return key in self.evidence.scalers or key in self.evidence.optimizers

    def cls(self, cls: ir.Class) -> None:
        """Walk the methods of a class from what ``__init__`` leaves."""
        me = Instance(("self", cls.name), cls)
        statements = Statements(Machine(self.program, self.evidence))
        init = statements.method(cls, "__init__")
        starts = [Path.start()]
        if init is not None and init.touches:
            starts = self.root(init, starts, me) or starts
        if statements.kind_of(cls):
            return  # an optimizer's or a scaler's own methods are not a training step
        called = self.called_on_self(cls)
        for method in cls.methods.values():
            if method.touches and method.name != "__init__" and method.name not in called:
                own = [self.method_start(start, me, cls, method) for start in starts]
                self.root(method, merge(own, MAX_STARTS), me)

    def called_on_self(self, cls: ir.Class) -> set[str]:
        """The methods that other methods of the same class call: they are walked from there."""
        found: set[str] = set()
        for method in cls.methods.values():
            me = method.parameters[0].name if method.parameters else ""
            for statement in method.body:
                for node in ir.walk(statement):
                    func = node.func if isinstance(node, ir.Call) else None
                    if isinstance(func, ir.Attribute) and isinstance(func.base, ir.Name) and func.base.id == me:
                        if func.attr != method.name:
                            found.add(func.attr)
        return found

    def method_start(self, start: Path, me: Instance, cls: ir.Class, method: ir.Function) -> Path:
        """The object as ``method`` may find it: what other methods assign as well may have changed since."""
        store = {}
        for (owner, name), value in start.store.items():
            assigning = cls.assigned.get(name, set()) - {"__init__"}
            if owner == me.key and assigning and not (isinstance(value, Known) and assigning == {method.name}):
                continue
            store[owner, name] = value
        return Path.start().but(store=Store(store), facts=start.facts)


def closed_over(program: ir.Program) -> dict[int, ir.Function]:
    """By the identity of a nested function, the one that it is defined in."""
    return {
        id(node.value.function): function
        for function in program.functions
        for statement in function.body
        for node in ir.walk(statement)
        if isinstance(node, ir.Define) and isinstance(node.value, ir.Closure)
    }


def seen_from_inside(path: Path, frame: Key, around: ir.Function) -> Frozen[Key, Variables]:
    """The frames that a function defined in ``around`` finds: of its variables those that are bound once."""
    bound: Counter[str] = Counter()
    for statement in around.body:
        for node in ir.walk(statement):
            targets = node.targets if isinstance(node, ir.Assign) else [getattr(node, "target", None)]
            bound.update(
                inner.id for t in targets if t is not None for inner in ir.walk(t) if isinstance(inner, ir.Name)
            )
            if isinstance(node, ir.Bind):
                bound[node.name] += 2
            elif isinstance(node, ir.Define) and isinstance(node.value, ir.Closure):
                bound.update({name: 2 for name in node.value.function.shared_names})
    names = {name: value for name, value in path.frames.get(frame, Variables()).items() if bound[name] < 2}
    return Frozen({**path.frames, frame: Variables(names)})
