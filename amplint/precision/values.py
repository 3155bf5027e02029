"""What the interpreter knows of a value. What it does not know is :data:`UNKNOWN`, of which nothing is said."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import libcst as cst


@dataclass(frozen=True)
class Unknown:
    """Anything at all."""


UNKNOWN = Unknown()


@dataclass(frozen=True)
class Constant:
    """A number, a string, a bool or None."""

    value: Any

    @property
    def number(self) -> float | None:
        """The number that it is, if it is one."""
        if not isinstance(self.value, (int, float)) or isinstance(self.value, bool):
            return None
        try:
            return float(self.value)
        except OverflowError:  # an integer beyond every float
            return math.inf if self.value > 0 else -math.inf


@dataclass(frozen=True)
class Number:
    """Some Python number, or a tuple of them: it widens no tensor."""


NUMBER = Number()


@dataclass(frozen=True)
class DType:
    """``torch.float16`` and its like, by the canonical name."""

    name: str


@dataclass(frozen=True)
class Tensor:
    """A tensor of a known dtype.

    It is ``certain`` where its dtype follows from the operation that made it, and presumed where a model whose code is
    not seen returned it in a region. ``origin`` is the node that made it half, ``entered`` the region that did;
    ``doubts`` and ``conditions`` are those in which it was made, ``flags`` the names that decided between this and
    something else where paths met.
    """

    dtype: str
    certain: bool = True
    origin: cst.CSTNode | None = None
    entered: Entered | None = None
    flags: frozenset[str] = frozenset()
    doubts: frozenset[cst.CSTNode] = frozenset()
    conditions: frozenset[str] = frozenset()

    @property
    def is_half(self) -> bool:
        """Whether it is float16."""
        return self.dtype == "float16"


@dataclass(frozen=True)
class Autocast:
    """An autocast object as ``call`` makes it.

    ``device`` is None where it is chosen at run time; ``dtypes`` are those that it may have, None where nothing is
    known; ``enabled`` is None where it is a flag. ``flags`` are the names that decide it. It is not ``known`` where an
    unseen context manager merely sounds like one.
    """

    call: cst.CSTNode
    device: str | None
    dtypes: frozenset[str] | None
    enabled: bool | None
    cached: bool = True
    known: bool = True
    flags: frozenset[str] = frozenset()

    @property
    def may_be_cuda(self) -> bool:
        """Whether it can be a region of CUDA."""
        return self.device in (None, "cuda")


@dataclass(frozen=True)
class Entered:
    """An autocast object that was entered by the ``with`` statement or decorator ``place``, ``depth`` calls deep.

    ``doubts`` are the conditions in which that is.
    """

    autocast: Autocast
    place: cst.CSTNode
    depth: int
    entry: int
    doubts: frozenset[cst.CSTNode] = frozenset()


@dataclass(frozen=True)
class Gradients:
    """A context in which gradients are recorded or not; None where that is decided at run time."""

    enabled: bool | None


@dataclass(frozen=True)
class Expecting:
    """A context in which misuse is on purpose."""


@dataclass(frozen=True)
class Contexts:
    """Several contexts entered as one."""

    inner: tuple[Value, ...]


@dataclass(frozen=True)
class Named:
    """What a dotted name of a library stands for."""

    name: str

    @property
    def last(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True)
class Made:
    """An object that a library's class made."""

    name: str
    half: bool = False
    parts: tuple[Value, ...] = ()

    @property
    def last(self) -> str:
        """The last part of the class's name."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True)
class Class:
    """A class of the document."""

    node: cst.ClassDef


@dataclass(frozen=True)
class Instance:
    """An object of a class of the document, in half where ``half()`` was called on it."""

    node: cst.ClassDef
    half: bool = False


@dataclass(frozen=True)
class Function:
    """A function or lambda of the document, bound to ``owner`` where it is a method, in the names of ``frame``."""

    node: cst.FunctionDef | cst.Lambda
    owner: Value | None = None
    frame: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class Application:
    """The ``apply`` of an autograd function of the document."""

    node: cst.ClassDef


@dataclass(frozen=True)
class Partial:
    """A callable with some of its arguments."""

    function: Value
    call: cst.Call
    arguments: Arguments


@dataclass(frozen=True)
class Items:
    """A tuple or list."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class Mapping:
    """A dictionary as it is written, with the keys that are constants."""

    items: tuple[tuple[Any, Value], ...]

    @property
    def values(self) -> tuple[Value, ...]:
        """What it maps to."""
        return tuple(value for _, value in self.items)


@dataclass(frozen=True)
class Limits:
    """``torch.finfo`` of a dtype."""

    dtype: str


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    options: tuple[Value, ...]


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call; ``complete`` is false where some came by a star."""

    positional: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    complete: bool = True

    def get(self, index: int | None, name: str) -> Value | None:
        """The argument at a position or of a name; None where it is not given."""
        for keyword, value in self.keywords:
            if keyword == name:
                return value
        if index is not None and 0 <= index < len(self.positional):
            return self.positional[index]
        return None

    @property
    def all(self) -> tuple[Value, ...]:
        """Every argument."""
        return (*self.positional, *(value for _, value in self.keywords))


Value: TypeAlias = (
    Unknown
    | Constant
    | Number
    | DType
    | Tensor
    | Autocast
    | Gradients
    | Expecting
    | Contexts
    | Named
    | Made
    | Class
    | Instance
    | Function
    | Application
    | Partial
    | Items
    | Mapping
    | Limits
    | Choice
)

_MOST_OPTIONS = 6


def options(value: Value) -> tuple[Value, ...]:
    """The values that it can be."""
    return value.options if isinstance(value, Choice) else (value,)


def join(first: Value, second: Value, flags: frozenset[str] = frozenset()) -> Value:
    """What a value is that is one or the other, depending on the path, which the names ``flags`` decide.

    A tensor that is half on one path and unknown on the other may be half; one that was cast on one of them is
    unknown, since what decides the cast may be what makes it half.
    """
    if first == second:
        return first
    if isinstance(first, Tensor) or isinstance(second, Tensor):
        return _join_tensors(first, second, flags)
    every = tuple(dict.fromkeys((*options(first), *options(second))))
    if len(every) > _MOST_OPTIONS:
        return UNKNOWN
    return Choice(every)


def _join_tensors(first: Value, second: Value, flags: frozenset[str]) -> Value:
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        if first.dtype != second.dtype:
            return UNKNOWN
        either = second if first.certain else first
        return replace(either, flags=first.flags | second.flags)
    half, other = (first, second) if isinstance(first, Tensor) else (second, first)
    assert isinstance(half, Tensor)
    vague = isinstance(other, (Unknown, Constant))
    return replace(half, flags=half.flags | flags) if half.is_half and vague else UNKNOWN


def promote(values: tuple[Value, ...]) -> Value:
    """The dtype of an operation on tensors, which is the widest of theirs."""
    halves: list[Tensor] = []
    for value in values:
        if isinstance(value, Items):
            value = promote(value.values)
        if isinstance(value, Tensor):
            if value.dtype == "float32":
                return value
            if value.dtype != "other":
                halves.append(value)
        elif not isinstance(value, (Constant, Number, DType, Made, Named)):
            return UNKNOWN
    if not halves:
        return UNKNOWN
    if any(tensor.dtype != halves[0].dtype for tensor in halves):
        return Tensor("float32")
    return next((tensor for tensor in halves if not tensor.certain), halves[0])
