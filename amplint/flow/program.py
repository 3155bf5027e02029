"""The small language that the explorer runs: what matters of Python to the order of a training step.

Expressions and statements are lowered from LibCST (:mod:`amplint.flow.lowering`). A call's ``site`` numbers
it in source order; the program maps sites back to syntax nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import libcst as cst

from amplint.modules import Source
from amplint.syntax.tree import SyntaxTree

if TYPE_CHECKING:
    from amplint.flow.reach import Reach


@dataclass(slots=True, eq=False)
class Constant:
    """None, a bool, number or string."""

    value: Any


@dataclass(slots=True, eq=False)
class Name:
    """A variable. ``external`` holds the dotted names it stands for when an import binds it."""

    id: str
    external: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Attribute:
    base: Expression
    attr: str
    site: int
    external: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Item:
    base: Expression
    index: Expression


@dataclass(slots=True, eq=False)
class Argument:
    value: Expression
    keyword: str | None = None
    star: str = ""


@dataclass(slots=True, eq=False)
class Call:
    func: Expression
    args: list[Argument]
    site: int
    descales: int = 0
    """1 where its result is divided by a loss scale at once, 2 where it is only asked whether that is finite."""

    def func_externals(self) -> frozenset[str]:
        """The dotted names that the called function stands for through imports."""
        return self.func.external if isinstance(self.func, (Name, Attribute)) else frozenset()


@dataclass(slots=True, eq=False)
class Operation:
    """An operator or any other expression of which only the operands matter; ``tag`` tells operations apart."""

    tag: str
    parts: list[Expression]
    site: int


@dataclass(slots=True, eq=False)
class Not:
    part: Expression


@dataclass(slots=True, eq=False)
class All:
    """``a and b``. ``acts`` where what comes after the first part has to do with the protocol."""

    parts: list[Expression]
    acts: bool = False
    polarity: int = 0


@dataclass(slots=True, eq=False)
class Either:
    """``a or b``, as in :class:`All`."""

    parts: list[Expression]
    acts: bool = False
    polarity: int = 0


@dataclass(slots=True, eq=False)
class Compare:
    """``left operator right``; the operator is one of ``is``, ``==``, ``<``, ``in``."""

    operator: str
    left: Expression
    right: Expression
    site: int


@dataclass(slots=True, eq=False)
class Choice:
    """``then if test else other``, with a polarity as in :class:`If`."""

    test: Expression
    then: Expression
    other: Expression
    polarity: int = 0


@dataclass(slots=True, eq=False)
class Sequence:
    parts: list[Expression]


@dataclass(slots=True, eq=False)
class Mapping:
    keys: list[Expression | None]
    values: list[Expression]


@dataclass(slots=True, eq=False)
class Each:
    """A comprehension: ``element`` for each item of ``source``."""

    target: Target
    source: Expression
    conditions: list[Expression]
    element: Expression
    site: int


@dataclass(slots=True, eq=False)
class Bind:
    """``name := value``."""

    name: str
    value: Expression


@dataclass(slots=True, eq=False)
class Closure:
    """A lambda or a nested function as a value."""

    function: Function


Expression = (
    Constant | Name | Attribute | Item | Call | Operation | Not | All | Either | Compare | Choice | Sequence | Mapping
    | Each | Bind | Closure
)  # fmt: skip
Target = Name | Attribute | Item | Sequence | None


@dataclass(slots=True, eq=False)
class Assign:
    targets: list[Target]
    value: Expression


@dataclass(slots=True, eq=False)
class Augment:
    """``target op= value``."""

    target: Target
    value: Expression
    site: int
    operator: str = ""


@dataclass(slots=True, eq=False)
class Do:
    value: Expression


@dataclass(slots=True, eq=False)
class If:
    """``polarity`` is 1 where only the body uses a scaler, -1 where only the other arm does, else 0."""

    test: Expression
    body: list[Statement]
    orelse: list[Statement]
    arms: tuple[int, int]
    """The sites at which the two arms begin."""
    site: int
    """The site of the test."""
    polarity: int = 0
    counts_steps: bool = False
    """Whether the test asks if anything was stepped, of something counted beside the steps."""
    latches: bool = False
    """Whether the test asks for what its arm that uses a scaler notes down: that it has been there."""
    asks_for_hook: bool = False
    """Whether the body gives a scaler to what the test asks for, such as a hook that may be there."""


@dataclass(slots=True, eq=False)
class For:
    target: Target
    source: Expression
    body: list[Statement]
    orelse: list[Statement]
    site: int
    runs: bool = False
    """Whether it is meant to run at least once: it makes or steps an optimizer an iteration, or gives a scaler away."""
    scales: bool = False
    """Whether its body uses a scaler."""
    updates: tuple[Call, Call] | None = None
    """Where each iteration steps its own optimizer and then updates the scaler, those two calls."""


@dataclass(slots=True, eq=False)
class While:
    test: Expression
    body: list[Statement]
    orelse: list[Statement]
    scales: bool = False


@dataclass(slots=True, eq=False)
class Try:
    body: list[Statement]
    handlers: list[list[Statement]]
    orelse: list[Statement]
    final: list[Statement]
    fails: bool = False
    """Whether the body is nothing but a call whose failure is caught."""


@dataclass(slots=True, eq=False)
class With:
    context: Expression
    target: Target
    body: list[Statement]
    site: int


@dataclass(slots=True, eq=False)
class Case:
    """``test`` compares with the values that the pattern names; any other ``pattern`` is told by its text alone."""

    test: Expression | None
    pattern: str
    body: list[Statement]
    polarity: int = 0
    """1 where this case uses a scaler and another does not, -1 the other way round."""


@dataclass(slots=True, eq=False)
class Match:
    subject: Expression
    cases: list[Case]


@dataclass(slots=True, eq=False)
class Return:
    value: Expression | None


@dataclass(slots=True, eq=False)
class Raise:
    value: Expression | None


@dataclass(slots=True, eq=False)
class Break:
    pass


@dataclass(slots=True, eq=False)
class Continue:
    pass


@dataclass(slots=True, eq=False)
class Define:
    """A nested function or class bound to a name."""

    name: str
    value: Closure | Class


@dataclass(slots=True, eq=False)
class Change:
    """Gradients are changed by hand somewhere in the next statement."""


@dataclass(slots=True, eq=False)
class Use:
    """The size of gradients matters to the next statement: to ``clip`` them, or to ``use`` them otherwise."""

    kind: str
    site: int


@dataclass(slots=True, eq=False)
class Forget:
    """``del`` of variables."""

    targets: list[Target]


Statement = (
    Assign | Augment | Do | If | For | While | Try | With | Match | Return | Raise | Break | Continue | Define | Change
    | Use | Forget
)  # fmt: skip


@dataclass(slots=True, eq=False)
class Parameter:
    name: str
    default: Expression | None = None
    annotation: frozenset[str] = frozenset()
    star: str = ""


@dataclass(slots=True, eq=False)
class Region:
    """What a decorator wraps a function in."""

    context: Expression
    site: int


@dataclass(slots=True, eq=False)
class Function:
    """One function, method or lambda; the module itself is a function without parameters."""

    name: str
    parameters: list[Parameter]
    body: list[Statement]
    node: cst.CSTNode
    decorators: frozenset[str] = frozenset()
    owner: Class | None = None
    is_generator: bool = False
    shared_names: frozenset[str] = frozenset()
    """Names declared global or nonlocal."""
    locals: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    """Names that are bound once, to a bool: a switch for the user to flip, so both its values are paths."""
    touches: bool = False
    """Whether anything in it has to do with the protocol."""
    returns_object: bool = False
    returns_value: bool = False
    region: Region | None = None
    """The region of autocast that its body is."""
    is_kept: bool = False
    """Whether it may run once only, and all its calls come to what it made then."""
    is_replaced: bool = False
    """Whether a decorator puts another function in its place, one that deals with scalers itself."""
    home: int = 0
    """The number of its module: 0 is the document itself, the others are imported from the same project."""


@dataclass(slots=True, eq=False)
class Class:
    name: str
    bases: list[Expression]
    methods: dict[str, Function] = field(default_factory=dict)
    body: list[Statement] = field(default_factory=list)
    assigned: dict[str, set[str]] = field(default_factory=dict)
    """Which methods assign each attribute of ``self``."""
    is_kept: bool = False
    """Whether all its calls may come to one object."""
    home: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """Where names are looked up: the number of the function (0 is the module), and of a method its class and self."""

    number: int
    owner: str = ""
    me: str = ""


@dataclass(frozen=True, slots=True)
class Borrowed:
    """What a program holds of another file: the file, the tree of the part lowered, and the first of its sites."""

    source: Source
    tree: SyntaxTree
    first_site: int


@dataclass(slots=True, eq=False)
class Program:
    """One document, lowered, with what it imports from its project."""

    modules: dict[int, Function] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    sites: list[cst.CSTNode] = field(default_factory=list)
    watched: frozenset[str] = frozenset()
    """The identifiers whose values the explorer must tell apart; any other's value is just some value."""
    called: dict[str, frozenset[str]] = field(default_factory=dict)
    """By the identifier that an object goes by, the methods that are called on it anywhere."""
    descaled: frozenset[int] = frozenset()
    """The sites of calls whose result is divided by a loss scale, or only asked whether it is finite."""
    reach: Reach | None = None
    """Which modules losses and optimizers are made of."""
    scopes: list[Scope] = field(default_factory=list)
    """For each site, the function it stands in."""
    own_sites: int = 0
    """How many of the sites are the document's own: the first ones."""
    links: dict[tuple[int, str], Function | Class] = field(default_factory=dict)
    """What the dotted names of imports stand for, by the number of the module that imports them."""
    aliases: dict[str, set[str]] = field(default_factory=dict)
    """Other identifiers that a function or class goes by."""
    walked: Walked | None = None
    """All that is in it, before anything is cut away."""

    @property
    def module(self) -> Function:
        """The document's own statements."""
        return self.modules[0]

    def is_own(self, site: object) -> bool:
        """Whether a site stands in the document itself, not in what it imports."""
        return not isinstance(site, int) or site < self.own_sites

    def walk(self) -> Walked:
        """Everything in the functions and in the bodies of the classes, walked once before anything is cut away."""
        if self.walked is None:
            self.walked = Walked()
            for function in self.everything:
                self.walked.of[id(function)] = self.walked.add(function.body)
            for cls in self.classes:
                self.walked.add(cls.body)
        return self.walked

    @property
    def everything(self) -> list[Function]:
        """All functions, and the modules."""
        return [*self.modules.values(), *self.functions]

    def definition(self, number: int, name: str) -> Function | Class | None:
        """The function or class of this name at the top of a module."""
        found = None
        for statement in self.modules[number].body if number in self.modules else ():
            if isinstance(statement, Define) and statement.name == name:
                found = statement.value
        return found.function if isinstance(found, Closure) else found

    def linked(self, number: int, names: frozenset[str]) -> Function | Class | None:
        """What all of these dotted names stand for in a module; None where they do not stand for the same."""
        found = [self.links.get((number, name)) for name in names]
        return found[0] if found and all(each is found[0] for each in found) else None

    def base(self, cls: Class, base: Expression) -> Class | None:
        """The class that one of the bases of ``cls`` is, where it is to be seen."""
        if isinstance(base, (Name, Attribute)) and base.external:
            found = self.linked(cls.home, base.external)
            return found if isinstance(found, Class) else None
        if not isinstance(base, Name):
            return None
        return next((other for other in self.classes if other.name == base.id and other.home == cls.home), None)


def children(node: Any) -> list[Any]:
    """The expressions and statements directly inside ``node``; functions and classes are not entered."""
    found: list[Any] = []
    _add_children(node, found)
    return found


def _add_children(node: Any, found: list[Any]) -> None:
    for name in _FIELDS[type(node)]:
        value = getattr(node, name)
        kind = type(value)
        if kind in _FIELDS:
            found.append(value)
        elif (kind is list or kind is tuple) and value:
            _add_nodes(value, found)


def _add_nodes(values: list[Any] | tuple[Any, ...], found: list[Any]) -> None:
    for value in values:
        kind = type(value)
        if kind in _FIELDS:
            found.append(value)
        elif kind is list or kind is tuple:
            _add_nodes(value, found)


def bindings(nodes: Iterable[Any]) -> list[Assign]:
    """The assignments among ``nodes``, those that stand within expressions too: ``(name := value)``."""
    found = []
    for node in nodes:
        if isinstance(node, Assign):
            found.append(node)
        elif isinstance(node, Bind):
            found.append(Assign([Name(node.name)], node.value))
    return found


_FIELDS: dict[type, tuple[str, ...]] = {
    Constant: (),
    Name: (),
    Attribute: ("base",),
    Item: ("base", "index"),
    Argument: ("value",),
    Call: ("func", "args"),
    Operation: ("parts",),
    Not: ("part",),
    All: ("parts",),
    Either: ("parts",),
    Compare: ("left", "right"),
    Choice: ("test", "then", "other"),
    Sequence: ("parts",),
    Mapping: ("keys", "values"),
    Each: ("target", "source", "conditions", "element"),
    Bind: ("value",),
    Closure: (),
    Assign: ("targets", "value"),
    Augment: ("target", "value"),
    Do: ("value",),
    If: ("test", "body", "orelse"),
    For: ("target", "source", "body", "orelse"),
    While: ("test", "body", "orelse"),
    Try: ("body", "handlers", "orelse", "final"),
    With: ("context", "target", "body"),
    Match: ("subject", "cases"),
    Case: ("test", "body"),
    Return: ("value",),
    Raise: ("value",),
    Break: (),
    Continue: (),
    Define: (),
    Change: (),
    Use: (),
    Forget: ("targets",),
}
"""The parts of each kind of node that hold other nodes."""


def walk(node: Any) -> Iterator[Any]:
    """``node`` and everything inside it, in source order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if _FIELDS[type(node)]:
            inner: list[Any] = []
            _add_children(node, inner)
            inner.reverse()
            waiting += inner


class Walked:
    """Nodes that were walked once, in source order: what is inside each of them, as it was then, is a slice of all."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.places: dict[int, tuple[int, int]] = {}
        """By the id of each node, where it stands among all, and where what is behind it begins."""
        self.of: dict[int, list[Any]] = {}
        """By the id of a function, the nodes in it."""

    def add(self, statements: Iterable[Any]) -> list[Any]:
        """Walk ``statements``; everything inside them."""
        nodes, places, first = self.nodes, self.places, len(self.nodes)
        waiting: list[Any] = [*statements]
        waiting.reverse()
        while waiting:
            node = waiting.pop()
            if type(node) is int:  # where a node stands that is left now
                places[id(nodes[node])] = node, len(nodes)
                continue
            here = len(nodes)
            nodes.append(node)
            inner: list[Any] = []
            _add_children(node, inner)
            if inner:
                waiting.append(here)
                inner.reverse()
                waiting += inner
            else:
                places[id(node)] = here, here + 1
        return nodes[first:]

    def inside(self, node: Any) -> Iterable[Any]:
        """``node`` and everything inside it, in source order."""
        place = self.places.get(id(node))
        return walk(node) if place is None else self.nodes[place[0] : place[1]]
