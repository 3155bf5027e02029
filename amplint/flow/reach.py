"""Which modules a loss is made of, and whose parameters an optimizer was given, by the text of one function.

Before a program is cut down, an abstract run of each function says of every loss that goes backward, and of what every
optimizer is made from, which modules it surely has to do with and which it may. What cannot be told is left open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from amplint.flow import program as ir
from amplint.flow.vocabulary import AUTOGRAD_BACKWARD, GRAD_SCALERS, is_optimizer_class, is_schedule_maker

Text = tuple[str, ...]
"""A variable or an attribute of one, by its identifiers: ``("self", "net")``. ``("", "x")`` is what ``x`` was given."""

MAX_ROUNDS = 6
"""Walks of one loop before its function is left."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a value is made of: ``must`` and ``may`` name modules."""

    must: frozenset[Text] = frozenset()
    may: frozenset[Text] = frozenset()
    open: bool = False
    """Whether it may be made of anything else as well."""
    same: frozenset[Text] = frozenset()
    """The names of the one module that it is, or is a wrapper of."""
    passes: bool = False
    """Whether it is a function whose result is made of all that it is given."""
    inert: bool = False
    """Whether no module ever becomes a part of it."""


NOTHING = Made()
INERT = Made(inert=True)
"""A scaler, an optimizer or a schedule: who is given one together with a module does not join the two."""
Environment = dict[Text, Made]


@dataclass
class Reach:
    """What was found out about one program, by the sites of its calls."""

    made: dict[int, Made] = field(default_factory=dict)
    """Of a backward the loss, of the making of an optimizer its parameters."""
    given: dict[int, tuple[list[Made], dict[str, Made]]] = field(default_factory=dict)
    """Of other calls the arguments, by position and by keyword."""
    unstable: frozenset[tuple[str, str]] = frozenset()
    """Variables, by function, and attributes that stand for one module first and then for another."""


def find_reach(program: ir.Program) -> Reach:
    """Run every function of ``program``, if it has several optimizers to tell apart."""
    functions = program.everything
    nodes = program.walk().of
    everything = [node for function in functions for node in nodes[id(function)]]
    reach = Reach()
    if not _has_several_optimizers(program, functions, nodes, everything):
        return reach
    file = _File(program, everything, reach)
    for function in sorted(functions, key=lambda function: function.name != "__init__"):
        run = _Run(function, file)
        try:
            run.block(function.body)
        except _TooLong:
            continue
        if function.name == "__init__":
            file.note_attributes(function, run.now or {})
    if any(map(_freezes, everything)):
        reach.made = {site: replace(made, must=frozenset()) for site, made in reach.made.items()}
    if any(isinstance(node, ir.Attribute) and node.attr == "add_param_group" for node in everything):
        reach.made = {site: replace(made, open=True) for site, made in reach.made.items()}
    reach.unstable = frozenset(found for f in functions for found in _unstable(f.name, nodes[id(f)]))
    return reach


def _has_several_optimizers(
    program: ir.Program, functions: list[ir.Function], nodes: dict[int, list[Any]], everything: list[Any]
) -> bool:
    made = 0
    called = Counter(text[-1] for node in everything if isinstance(node, ir.Call) and (text := _text(node.func)))
    own = set(map(id, program.functions))
    for function in functions:
        here = sum(_makes_optimizer(node, program) for node in nodes[id(function)])
        if here and id(function) in own:
            here *= max(1, called[function.name])
        made += here
    return made > 1


def _makes_optimizer(node: Any, program: ir.Program) -> bool:
    if not isinstance(node, ir.Call):
        return False
    if any(is_optimizer_class(name) for name in node.func_externals()):
        return True
    return isinstance(node.func, ir.Name) and any(
        cls.name == node.func.id and any(_is_optimizer_base(base) for base in cls.bases) for cls in program.classes
    )


def _is_optimizer_base(base: ir.Expression) -> bool:
    return isinstance(base, (ir.Name, ir.Attribute)) and any(is_optimizer_class(name) for name in base.external)


def _freezes(node: Any) -> bool:
    """Whether parameters may cease to require gradients here."""
    if isinstance(node, ir.Assign):
        return any(
            isinstance(target, ir.Attribute) and target.attr == "requires_grad" and not _is_true(node.value)
            for target in node.targets
        )
    if not isinstance(node, ir.Call):
        return False
    name = (_text(node.func) or ("",))[-1] or getattr(node.func, "attr", "")
    if name == "requires_grad_":
        return not all(_is_true(argument.value) for argument in node.args)
    return bool(_FREEZING.search(name))


_FREEZING = re.compile(r"requires_grad|freeze|frozen|toggle|trainable", re.IGNORECASE)


def _is_true(node: Any) -> bool:
    return isinstance(node, ir.Constant) and node.value is True


def _unstable(scope: str, nodes: list[Any]) -> Iterable[tuple[str, str]]:
    """The variables that are assigned another module after one was used, and such attributes under no scope."""
    used: set[Text] = set()
    assigned: set[Text] = set()
    for node in nodes:
        if isinstance(node, (ir.For, ir.Each)):
            for target in _targets(node.target):
                yield _place(scope, target)
        elif isinstance(node, ir.Assign):
            mentioned = {_text(inner) for inner in ir.walk(node.value)}
            for target in (text for each in node.targets for text in _targets(each)):
                if target in assigned and target in used and target not in mentioned:
                    yield _place(scope, target)
                assigned.add(target)
        elif isinstance(node, ir.Call):
            used |= {_text(node.func), _text(node.func)[:-1]}


def _place(scope: str, text: Text) -> tuple[str, str]:
    return (scope, text[0]) if len(text) == 1 else ("", text[-1])


def _targets(target: Any) -> list[Text]:
    if isinstance(target, ir.Sequence):
        return [text for part in target.parts for text in _targets(part)]
    return [text] if (text := _text(target)) else []


def _text(node: Any) -> Text:
    """The identifiers of a variable, or of an attribute of one; nothing for any other expression."""
    names: list[str] = []
    while isinstance(node, ir.Attribute):
        names.append(node.attr)
        node = node.base
    return (node.id, *reversed(names)) if isinstance(node, ir.Name) else ()


class _TooLong(Exception):
    """A loop that does not come to an end."""


class _File:
    """What the whole file says."""

    def __init__(self, program: ir.Program, nodes: list[Any], reach: Reach) -> None:
        self.program, self.reach = program, reach
        self.classes = {cls.name for cls in program.classes}
        self.components = {name for cls in program.classes for name in cls.assigned}
        called = [_text(node.func) for node in nodes if isinstance(node, ir.Call)]
        self.modules = {text[-2] for text in called if text[-1:] == ("parameters",) and len(text) > 1}
        self.whole: dict[tuple[str, str], Made] = {}
        """By class and name, attributes that ``__init__`` alone makes, of nothing that comes from elsewhere."""
        self.assigned: Counter[str] = Counter()
        losses: dict[str, bool] = {}
        for node in nodes:
            if isinstance(node, ir.Assign):
                is_loss = isinstance(node.value, ir.Call) and any(map(_is_loss, node.value.func_externals()))
                for target in (text for each in node.targets for text in _targets(each)):
                    self.assigned[target[-1]] += 1
                    losses[target[-1]] = losses.get(target[-1], True) and is_loss
        self.losses = {name for name, always in losses.items() if always}
        """The identifiers that only loss functions of PyTorch are given."""

    def note_attributes(self, init: ir.Function, end: Environment) -> None:
        """Remember what ``__init__`` leaves in the attributes of its object."""
        if init.owner is None or not init.parameters:
            return
        me = init.parameters[0].name
        for text, made in end.items():
            own = len(text) == 2 and text[0] == me and self.assigned[text[1]] == 1
            if own and not made.open and all(part[0] == me and len(part) == 2 for part in made.may):
                self.whole[init.owner.name, text[1]] = made


class _Run:
    """An abstract run of one function, in which every name is made of modules."""

    def __init__(self, function: ir.Function, file: _File) -> None:
        self.function, self.file = function, file
        self.parameters = {parameter.name for parameter in function.parameters}
        given = {name: frozenset({("", name)}) for name in self.parameters}
        self.now: Environment | None = {(name,): Made(value, value) for name, value in given.items()}
        """What the variables are made of; None where no path comes."""
        self.jumps: list[tuple[list[Environment], list[Environment]]] = []
        """For each loop around, what a ``break`` and a ``continue`` leave."""
        self.raised: list[list[Environment]] = []
        """For each ``try`` around, what the statements in it leave."""
        self.quiet = 0
        """How many contexts without gradients this is in."""

    @property
    def here(self) -> Environment:
        """What the variables are made of at a statement that is run: some path comes there."""
        assert self.now is not None
        return self.now

    # statements

    def block(self, statements: list[ir.Statement]) -> None:
        for statement in statements:
            if self.now is None:
                return
            _STATEMENTS[type(statement)](self, statement)
            if self.now is not None:
                for raised in self.raised:
                    raised.append(dict(self.now))

    def assign(self, node: ir.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value, node.value)

    def bind(self, target: Any, value: Made, source: Any = None) -> None:
        if isinstance(target, ir.Sequence):
            parts = source.parts if isinstance(source, ir.Sequence) and len(source.parts) == len(target.parts) else None
            for index, part in enumerate(target.parts):
                if parts is None:
                    self.bind(part, _part_of(value))
                else:
                    self.bind(part, self.value(parts[index]), parts[index])
            return
        text = _text(target)
        if text:
            for other in [known for known in self.here if known[: len(text)] == text]:
                del self.here[other]
            self.here[text] = value
        base = getattr(target, "base", None)
        if base is not None and (owner := _text(base)):  # a part of it is now made of this
            self.link([owner], value)

    def augment(self, node: ir.Augment) -> None:
        value, text = self.value(node.value), _text(node.target)
        if text:
            self.here[text] = _combined([self.value(node.target), value])

    def do(self, node: ir.Do) -> None:
        self.value(node.value)

    def if_(self, node: ir.If) -> None:
        self.value(node.test)
        self.arms([node.body, node.orelse])

    def arms(self, arms: list[list[ir.Statement]]) -> None:
        before, ends = self.here, []
        for arm in arms:
            self.now = dict(before)
            self.block(arm)
            ends.append(self.now)
        self.now = _joined(ends)

    def match(self, node: ir.Match) -> None:
        self.value(node.subject)
        self.arms([*(case.body for case in node.cases), []])

    def for_(self, node: ir.For) -> None:
        source = self.value(node.source)
        self.loop(node, lambda: self.bind(node.target, _part_of(source)))

    def while_(self, node: ir.While) -> None:
        self.loop(node, lambda: self.value(node.test))

    def loop(self, node: ir.For | ir.While, enter: Any) -> None:
        head = self.here
        for _ in range(MAX_ROUNDS):
            broken: list[Environment] = []
            continued: list[Environment] = []
            self.jumps.append((broken, continued))
            self.now = dict(head)
            enter()
            self.block(node.body)
            self.jumps.pop()
            again = _joined([head, self.now, *continued])
            assert again is not None
            if again == head:
                break
            head = again
        else:
            raise _TooLong
        self.now = dict(head)
        self.block(node.orelse)
        self.now = _joined([self.now, *broken])

    def break_(self, node: ir.Break) -> None:
        self.jump(0)

    def continue_(self, node: ir.Continue) -> None:
        self.jump(1)

    def jump(self, where: int) -> None:
        if self.jumps:
            self.jumps[-1][where].append(self.here)
        self.now = None

    def try_(self, node: ir.Try) -> None:
        before = dict(self.here)
        raised: list[Environment] = [before]
        self.raised.append(raised)
        self.block(node.body)
        self.raised.pop()
        self.block(node.orelse)
        ends = [self.now]
        for handler in node.handlers:
            self.now = _joined([dict(each) for each in raised])
            self.block(handler)
            ends.append(self.now)
        self.now = _joined(ends)
        if node.final:
            dead = self.now is None
            self.now = _joined([self.now, *raised])
            self.block(node.final)
            self.now = None if dead else self.now

    def with_(self, node: ir.With) -> None:
        value = self.value(node.context)
        if node.target is not None:
            self.bind(node.target, replace(_part_of(value), open=True))
        quiet = isinstance(node.context, ir.Call) and bool(node.context.func_externals() & _WITHOUT_GRADIENTS)
        self.quiet += quiet
        self.block(node.body)
        self.quiet -= quiet

    def leave(self, node: ir.Return | ir.Raise) -> None:
        if node.value is not None:
            self.value(node.value)
        self.now = None

    def define(self, node: ir.Define) -> None:
        self.here[(node.name,)] = Made(open=True)

    def forget(self, node: ir.Forget) -> None:
        for target in node.targets:
            for text in _targets(target):
                self.here.pop(text, None)

    # expressions

    def value(self, node: Any) -> Made:
        """What the value of an expression is made of."""
        method = _EXPRESSIONS.get(type(node))
        return NOTHING if method is None else method(self, node)

    def name(self, node: ir.Name) -> Made:
        text = (node.id,)
        known = None if node.id in self.function.shared_names else self.here.get(text)
        if known is not None:
            return _called(text, known)
        if node.external:
            return NOTHING
        passes = node.id in self.file.losses and node.id not in self.function.locals
        return Made(may=frozenset({text}), open=not passes, same=frozenset({text}), passes=passes)

    def attribute(self, node: ir.Attribute) -> Made:
        text = _text(node)
        if node.external or node.attr in _NO_GRAPH:
            return NOTHING
        known = self.here.get(text)
        if known is not None:
            return _called(text, known)
        base = self.value(node.base)
        if node.attr == "module":  # what a wrapper wraps
            return base
        if node.attr in _OUTPUTS and base.must:
            return replace(base, same=frozenset())
        if not text:
            return _part_of(base)
        passes = node.attr in self.file.losses
        is_data = len(text) == 2 and bool(_SETTINGS.search(text[0]))
        if passes or is_data:
            return Made(passes=passes)
        mine = frozenset({text})
        owner = self.function.owner
        if owner is not None and len(text) == 2 and self.function.parameters[:1]:
            whole = self.file.whole.get((owner.name, text[1]))
            if whole is not None and text[0] == self.function.parameters[0].name:
                return Made(may=mine | {(text[0], part[1]) for part in whole.may}, same=mine)
        return Made(may=base.may | mine, open=base.open or text[0] in self.parameters, same=mine)

    def item(self, node: ir.Item) -> Made:
        self.value(node.index)
        return _part_of(self.value(node.base))

    def operation(self, node: ir.Operation) -> Made:
        parts = [self.value(part) for part in node.parts]
        if node.tag == "text":
            return NOTHING
        combined = _combined(parts)
        if node.tag in _ARITHMETIC:
            return NOTHING if self.quiet else combined
        return replace(combined, must=frozenset(), open=combined.open or node.tag == "yield")

    def alternatives(self, node: ir.All | ir.Either) -> Made:
        return _either([self.value(part) for part in node.parts])

    def choice(self, node: ir.Choice) -> Made:
        self.value(node.test)
        return _either([self.value(node.then), self.value(node.other)])

    def condition(self, node: ir.Not | ir.Compare) -> Made:
        for part in ir.children(node):
            self.value(part)
        return NOTHING

    def sequence(self, node: ir.Sequence | ir.Mapping) -> Made:
        parts = node.parts if isinstance(node, ir.Sequence) else node.values
        return _combined([self.value(part) for part in parts])

    def each(self, node: ir.Each) -> Made:
        source = self.value(node.source)
        self.bind(node.target, _part_of(source))
        element = self.value(node.element)
        for condition in node.conditions:
            self.value(condition)
        is_target = isinstance(node.element, ir.Name) and _text(node.target) == (node.element.id,)
        if is_target and all(getattr(condition, "attr", "") == "requires_grad" for condition in node.conditions):
            return replace(source, same=frozenset())
        return _part_of(element)

    def bind_expression(self, node: ir.Bind) -> Made:
        value = self.value(node.value)
        self.bind(ir.Name(node.name), value)
        return value

    def closure(self, node: ir.Closure) -> Made:
        return Made(open=True)

    # calls

    def call(self, node: ir.Call) -> Made:
        args = [self.value(argument.value) for argument in node.args]
        result = self.result(node, args)
        return NOTHING if self.quiet and not result.same else result

    def result(self, node: ir.Call, args: list[Made]) -> Made:
        names = node.func_externals()
        if _makes_optimizer(node, self.file.program):
            first = [
                a for a, g in zip(args, node.args, strict=True) if g.keyword in (None, "params") and g.star != "**"
            ]
            self.note(node.site, first[0] if first else Made(open=True))
            return INERT
        if names:
            return self.call_imported(node, names, args)
        if isinstance(node.func, ir.Attribute):
            return self.call_method(node, node.func, args)
        if isinstance(node.func, ir.Name) and (node.func.id,) not in self.here:
            name = node.func.id
            if name in self.file.classes:
                return _fresh(args)
            if name in _COPIES or name == "sum":
                return replace(_combined(args), same=frozenset())
            if name in _NUMBERS:
                return NOTHING
        return self.call_value(node, self.value(node.func), args)

    def call_imported(self, node: ir.Call, names: frozenset[str], args: list[Made]) -> Made:
        combined = _combined(args)
        if names & AUTOGRAD_BACKWARD:
            self.note(node.site, args[0] if args and len(node.args) == 1 else Made(open=True))
            return NOTHING
        if names <= GRAD_SCALERS or all(map(is_schedule_maker, names)):
            return INERT
        if names <= _WRAPPERS and args:
            return args[0]
        if all(map(_is_loss, names)):
            return Made(passes=True)
        if all(name in _PASSING or name.startswith("torch.nn.functional.") for name in names):
            return combined
        if all(name.startswith("torch.") for name in names):
            if all(name.rpartition(".")[2] in _MAKERS for name in names):
                return NOTHING
            return _fresh(args)
        if all(name.rpartition(".")[2][:1].isupper() for name in names):
            return _fresh(args)
        self.link([], *args)
        self.file.reach.given[node.site] = _arguments(node, args)
        return Made(may=combined.may, open=not all(name.startswith(_CLOSED) for name in names) or combined.open)

    def call_method(self, node: ir.Call, func: ir.Attribute, args: list[Made]) -> Made:
        receiver, attr = self.value(func.base), func.attr
        if attr == "backward":
            whole = not any(argument.keyword == "inputs" for argument in node.args)
            lost = args[0] if args and node.args[0].keyword is None else receiver
            self.note(node.site, lost if whole else Made(may=lost.may, open=True))
            return NOTHING
        if attr == "scale" and len(args) == 1:
            return args[0]
        if receiver.inert:
            return NOTHING
        if attr == "parameters" and not args:
            return Made(receiver.same, receiver.may, receiver.open)
        if attr in _NO_GRAPH:
            return NOTHING
        if attr in _SAME:
            return receiver
        if attr in _PASSING_METHODS:
            return _combined([receiver, *args])
        if attr in _GROWING and (text := _text(func.base)):
            self.here[text] = _combined([receiver, *args])
            return NOTHING
        if attr == "forward":
            return self.call_value(node, receiver, args)
        if attr == "detach_" and (text := _text(func.base)):
            self.here[text] = replace(receiver, must=frozenset())
            return NOTHING
        text = _text(func)
        if len(text) > 1 and attr in (self.file.components | self.file.modules) or text in self.here:
            return self.call_value(node, self.value(func), args)
        if attr == "parse_args":
            return NOTHING
        if attr in _HARMLESS:
            return _part_of(receiver)
        self.forget_attributes(func.base)
        self.link([_text(func.base)], *args)
        self.file.reach.given[node.site] = _arguments(node, args)
        return Made(may=_combined([receiver, *args]).may, open=True)

    def call_value(self, node: ir.Call, callee: Made, args: list[Made]) -> Made:
        """The result of calling what a name stands for: a module, or who knows."""
        given = _combined(args)
        if callee.passes:
            return given
        self.file.reach.given[node.site] = _arguments(node, args)
        text = _text(node.func)
        if not callee.same or text[-1:] and text[-1] not in self.file.modules and not _names_of(callee, self.file):
            self.link([], *args)
            return Made(callee.same, callee.may | given.may, True)
        detaches = any("detach" in (argument.keyword or "") for argument in node.args)
        through = [a for a, g in zip(args, node.args, strict=True) if g.keyword is None and not g.star]
        must = callee.same if detaches else callee.same | _combined(through).must
        return Made(must, callee.may | given.may, callee.open or given.open)

    def note(self, site: int, made: Made) -> None:
        known = self.file.reach.made.get(site)
        self.file.reach.made[site] = made if known is None else _either([known, made])

    def link(self, owners: list[Text], *values: Made) -> None:
        """Something may have made these parts of each other."""
        values = tuple(value for value in values if not value.must - value.may)  # a loss is no part of a module
        texts = [*(owner for owner in owners if owner), *(text for value in values for text in value.same)]
        may = frozenset().union(*(value.may for value in values))
        if len(texts) < 2 and not (owners and may):
            return
        for text in texts:
            known = self.here.get(text)
            if known is not None:
                self.here[text] = replace(known, may=known.may | may)

    def forget_attributes(self, base: Any) -> None:
        """A method may have assigned any attribute of its object."""
        root = _text(base)
        for text in [known for known in self.here if root and len(known) > len(root)]:
            if text[: len(root)] == root:
                del self.here[text]


def _names_of(callee: Made, file: _File) -> bool:
    return any(text[-1] in file.modules for text in callee.same)


def _arguments(node: ir.Call, args: list[Made]) -> tuple[list[Made], dict[str, Made]]:
    positional: list[Made] = []
    keywords: dict[str, Made] = {}
    for argument, value in zip(node.args, args, strict=True):
        if argument.star:
            return [], {}
        if argument.keyword is None:
            positional.append(value)
        else:
            keywords[argument.keyword] = value
    return positional, keywords


def _combined(parts: Iterable[Made]) -> Made:
    """What is made of all of ``parts``."""
    parts = list(parts)
    return Made(
        frozenset().union(*(part.must for part in parts)),
        frozenset().union(*(part.may for part in parts)),
        any(part.open for part in parts),
    )


def _called(text: Text, known: Made) -> Made:
    """What goes by the name ``text``."""
    return known if known.inert else replace(known, may=known.may | {text}, same=known.same | {text})


def _either(parts: list[Made]) -> Made:
    """What is one of ``parts``."""
    return Made(
        frozenset.intersection(*(part.must for part in parts)),
        frozenset().union(*(part.may for part in parts)),
        any(part.open for part in parts),
        frozenset.intersection(*(part.same for part in parts)),
        all(part.passes for part in parts),
        all(part.inert for part in parts),
    )


def _part_of(whole: Made) -> Made:
    """A part of something, which need not have all that is in the whole."""
    return Made(may=whole.may, open=whole.open)


def _fresh(args: list[Made]) -> Made:
    """A new object, made with ``args``."""
    return replace(_part_of(_combined(args)), same=frozenset())


def _joined(environments: Iterable[Environment | None]) -> Environment | None:
    """What variables may be made of where several paths meet; a name that one does not know is left to be told."""
    there = [each for each in environments if each is not None]
    if not there:
        return None
    joined = dict(there[0])
    for other in there[1:]:
        for text in joined.keys() | other.keys():
            one, two = joined.get(text), other.get(text)
            if one is None or two is None:
                known = one if one is not None else two
                assert known is not None
                joined[text] = known if len(text) == 1 else replace(known, must=frozenset(), open=True)
            elif one is not two:
                joined[text] = _either([one, two])
    return joined


def _is_loss(name: str) -> bool:
    return name.startswith("torch.nn.") and name.endswith("Loss")


_WITHOUT_GRADIENTS = frozenset({"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"})
_ARITHMETIC = frozenset({"Add", "Subtract", "Multiply", "Divide", "Power", "MatrixMultiply", "Minus", "unpacked"})
_NO_GRAPH = frozenset(
    """detach item tolist numpy data argmax argmin long int bool size dim numel shape dtype device grad get_scale
    backward state_dict""".split()
)
_OUTPUTS = frozenset({"loss", "logits", "sample", "T"})
"""Attributes of what a model returns that carry its graph."""
_SETTINGS = re.compile(r"^_?(args?|opts?|cfg|conf|config|hparams?|settings|flags|hp)$", re.IGNORECASE)
"""Names of objects that hold numbers and texts."""
_SAME = frozenset("to cuda cpu float double half bfloat16 train eval contiguous requires_grad_ apply to_empty".split())
"""Methods of modules and tensors that return the same again, as far as gradients go."""
_PASSING_METHODS = frozenset(
    """mean sum clone view view_as reshape flatten squeeze unsqueeze permute transpose t add sub mul div add_ mul_ div_
    true_divide pow exp log log1p sqrt square abs neg norm sigmoid tanh relu softmax log_softmax clamp clamp_min matmul
    mm bmm expand repeat type logsumexp std var""".split()
)
_PASSING = frozenset(
    f"torch.{name}"
    for name in """mean sum add sub subtract mul multiply div divide true_divide cat concat concatenate stack hstack
    vstack abs square sqrt exp log log1p pow norm linalg.norm linalg.vector_norm clamp sigmoid tanh relu softmax
    log_softmax squeeze unsqueeze flatten reshape matmul mm bmm einsum neg negative logsumexp
    autograd.Variable""".split()
) | {"itertools.chain", "itertools.chain.from_iterable"}
_MAKERS = frozenset(
    """ones zeros full empty rand randn randint tensor arange linspace eye ones_like zeros_like full_like empty_like
    rand_like randn_like from_numpy as_tensor Tensor FloatTensor device no_grad manual_seed argmax isfinite isnan
    autocast is_available""".split()
)
_WRAPPERS = frozenset(
    {
        "torch.nn.DataParallel",
        "torch.nn.parallel.DataParallel",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
        "torch.compile",
    }
)
_COPIES = frozenset({"list", "tuple", "iter", "reversed", "sorted", "filter", "set", "dict"})
_NUMBERS = frozenset("range len float int bool str print isinstance type repr format abs round id".split())
_GROWING = frozenset({"append", "extend", "add", "insert", "update"})
_HARMLESS = frozenset(
    """values items keys get zero_grad step unscale_ update state_dict load_state_dict named_parameters modules children
    buffers is_enabled""".split()
)
_CLOSED = ("math.", "os.", "time.", "random.", "numpy.", "logging.", "argparse.", "sys.", "itertools.")

_STATEMENTS: dict[type, Any] = {
    ir.Assign: _Run.assign,
    ir.Augment: _Run.augment,
    ir.Do: _Run.do,
    ir.If: _Run.if_,
    ir.For: _Run.for_,
    ir.While: _Run.while_,
    ir.Try: _Run.try_,
    ir.With: _Run.with_,
    ir.Match: _Run.match,
    ir.Return: _Run.leave,
    ir.Raise: _Run.leave,
    ir.Break: _Run.break_,
    ir.Continue: _Run.continue_,
    ir.Define: _Run.define,
    ir.Forget: _Run.forget,
}
_EXPRESSIONS: dict[type, Any] = {
    ir.Name: _Run.name,
    ir.Attribute: _Run.attribute,
    ir.Item: _Run.item,
    ir.Call: _Run.call,
    ir.Operation: _Run.operation,
    ir.Not: _Run.condition,
    ir.Compare: _Run.condition,
    ir.All: _Run.alternatives,
    ir.Either: _Run.alternatives,
    ir.Choice: _Run.choice,
    ir.Sequence: _Run.sequence,
    ir.Mapping: _Run.sequence,
    ir.Each: _Run.each,
    ir.Bind: _Run.bind_expression,
    ir.Closure: _Run.closure,
}
