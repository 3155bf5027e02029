"""What the explorer knows of a value. All values are immutable and compare by what they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from amplint.flow import program as ir

Key = tuple[Any, ...]
"""Names a value by how it came about: two values with equal keys are the same value, as far as can be told."""


ACCELERATOR = "accelerator"
"""Begins the keys of the scalers that accelerators have."""


class LearntMore(Exception):
    """Something came to be known that changes what was explored so far: start the root again."""


def is_accelerators(scaler: object) -> bool:
    """Whether a key stands for the scaler that an accelerator has."""
    return isinstance(scaler, tuple) and scaler[:1] == (ACCELERATOR,)


@dataclass(frozen=True, slots=True)
class Known:
    """None, a bool, number or string."""

    value: Any

    @property
    def key(self) -> Key:
        return ("const", type(self.value).__name__, self.value)


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything else. ``holds`` are the scalers and optimizers that it may reach."""

    key: Key
    holds: frozenset[Value] = frozenset()
    _hash: int = field(default=0, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", short(self.key))
        object.__setattr__(self, "_hash", hash((self.key, self.holds)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Scaler:
    """A gradient scaler. ``enabled`` is what was given for it; ``built`` tells whether its making was seen."""

    key: Key
    enabled: Value | None = None
    built: bool = True


@dataclass(frozen=True, slots=True)
class Networks:
    """The modules that a loss, or the parameters of an optimizer, are made of."""

    surely: frozenset[Key] = frozenset()
    perhaps: frozenset[Key] = frozenset()
    open: bool = True
    """Whether there may be others."""

    def may_share(self, other: Networks) -> bool:
        """Whether both may be made of one module."""
        return not self.perhaps.isdisjoint(other.perhaps)


@dataclass(frozen=True, slots=True)
class Optimizer:
    """An optimizer, ``built`` where its making was seen; ``many`` where it stands for each of a collection in turn."""

    key: Key
    many: bool = False
    built: bool = True
    holds: frozenset[Key] = frozenset()
    """What its parameters were got from: the module, or a list of them."""
    needs_closure: bool = False
    networks: Networks | None = None
    """The modules whose parameters it was given."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A learning-rate schedule of the optimizers with these keys."""

    optimizers: tuple[Key, ...]

    @property
    def key(self) -> Key:
        return ("schedule", *self.optimizers)


@dataclass(frozen=True, slots=True)
class Accelerator:
    """An object that scales losses in float16 with a scaler of its own, and steps the optimizers that it prepared."""

    made: Key

    @property
    def key(self) -> Key:
        return (ACCELERATOR, self.made)


@dataclass(frozen=True, slots=True)
class Autocast:
    """A context manager of autocast; ``enabled`` is what was given for it."""

    enabled: Value

    @property
    def key(self) -> Key:
        return ("autocast", key_of(self.enabled))


@dataclass(frozen=True, slots=True)
class Scaled:
    """A loss multiplied by the scale of ``scaler``, or what was computed from it."""

    scaler: Value

    @property
    def key(self) -> Key:
        return ("scaled", key_of(self.scaler))


@dataclass(frozen=True, slots=True)
class Items:
    """A list or tuple of known length."""

    values: tuple[Value, ...]

    @property
    def key(self) -> Key:
        return ("items", *(key_of(value) for value in self.values))


UNPACKED = Known("**")
"""The key under which a table has another that was unpacked into it."""


@dataclass(frozen=True, slots=True)
class Table:
    """A dict with known keys."""

    entries: tuple[tuple[Value, Value], ...]

    @property
    def is_whole(self) -> bool:
        """Whether all its keys are known."""
        return all(key != UNPACKED for key, _ in self.entries)

    def get(self, key: Value) -> Value | None:
        return next((value for known, value in reversed(self.entries) if known == key), None)

    @property
    def key(self) -> Key:
        return ("table", *(key_of(part) for entry in self.entries for part in entry))


@dataclass(frozen=True, slots=True)
class Several:
    """A collection of unknown length, of which every element looks like ``element``."""

    element: Value

    @property
    def key(self) -> Key:
        return ("several", key_of(self.element))


@dataclass(frozen=True, slots=True)
class Routine:
    """A function of this file, with the object it is bound to and arguments already given."""

    function: ir.Function
    bound: Value | None = None
    frame: Key = ()
    args: tuple[Value, ...] = ()
    kwargs: tuple[tuple[str, Value], ...] = ()

    @property
    def key(self) -> Key:
        return ("routine", self.function.name, id(self.function), *(key_of(value) for value in self.args))


@dataclass(frozen=True, slots=True)
class Type:
    """A class of this file."""

    definition: ir.Class

    @property
    def key(self) -> Key:
        return ("class", self.definition.name)


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class of this file; its attributes live in the path's store under its key."""

    key: Key
    definition: ir.Class


@dataclass(frozen=True, slots=True)
class Imported:
    """Something that an import brings, by its dotted names."""

    names: frozenset[str]

    @property
    def key(self) -> Key:
        return ("import", tuple(sorted(self.names)))


@dataclass(frozen=True, slots=True)
class Partial:
    """An imported function with arguments already given."""

    function: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]

    @property
    def key(self) -> Key:
        return ("partial", key_of(self.function), *(key_of(value) for value in self.args))


@dataclass(frozen=True, slots=True)
class Condition:
    """A truth value made of others: ``not``, ``and``, ``or``, or an atom such as a comparison."""

    tag: str
    parts: tuple[Any, ...]

    @property
    def key(self) -> Key:
        constant = self.constant
        if constant is not None:
            return short(("equals", key_of(constant[0]), constant[1]))
        return short(("condition", self.tag, *(part if isinstance(part, str) else key_of(part) for part in self.parts)))

    @property
    def constant(self) -> tuple[Value, Any] | None:
        """Of ``subject == constant`` the subject and the constant."""
        if self.tag != "eq":
            return None
        left, right = self.parts
        if isinstance(left, Known):
            left, right = right, left
        return (left, right.value) if isinstance(right, Known) and not isinstance(left, Known) else None


Value = (
    Known | Unknown | Scaler | Optimizer | Schedule | Accelerator | Autocast | Scaled | Items | Table | Several
    | Routine | Type | Instance | Imported | Partial | Condition
)  # fmt: skip

NONE = Known(None)


def key_of(value: Value) -> Key:
    """The key of any value."""
    return value.key


NAMED = frozenset({"local", "param", "global", "attribute", "variable"})


def place_of(key: Key) -> Key:
    """A variable or an attribute, whatever it was bound to last."""
    key = spelled_out(key)
    if key[:1] in (("variable",), ("param",), ("local",), ("global",)):
        return ("local", "" if key[1] == "<module>" else key[1], key[2])
    if key[:1] == ("attribute",):
        return ("attribute", place_of(key[1]), key[2])
    return key


def named_parts(key: Key) -> frozenset[Key]:
    """The variables and attributes that a value was made from, such as the module in ``model.parameters()``."""
    key = spelled_out(key)
    if key and key[0] in NAMED:
        return frozenset({key})
    return frozenset().union(*(named_parts(part) for part in key if isinstance(part, tuple)))


def is_count(key: Key) -> bool:
    """Whether an element of what a loop goes through is one more each time: of ``range``, an index of ``enumerate``."""
    key = spelled_out(key)
    if key[:1] != ("element",):
        return False
    source = spelled_out(key[1]) if isinstance(key[1], tuple) else key[1:2]
    while source[:1] == ("variable",):
        source = spelled_out(source[3])
    if source == ("index",):
        return True
    given = source[3:]
    by_one = len(given) < 3 or given[2:] == (("const", "int", 1),)
    return source[:3] == ("call", ("import", ("builtins.range",)), "") and by_one


def begins_at_zero(key: Key) -> bool:
    """Whether a count is 0 in the first iteration: of ``range`` with an end alone."""
    source = spelled_out(spelled_out(key)[1])
    while source[:1] == ("variable",):
        source = spelled_out(source[3])
    return source[:1] == ("call",) and len(source) == 4


def is_made_in(key: Any, frame: Key) -> bool:
    """Whether the value of ``key`` was constructed in ``frame``, or in a call that it made."""
    if not isinstance(key, tuple) or key[0] != "new":
        return False
    made = key[2]
    while made != frame:
        if made[0] != "frame":
            return False
        made = made[2]
    return True


@lru_cache(maxsize=4096)
def parts_of(key: Key) -> frozenset[Key]:
    """``key`` and every key that it is built from."""
    parts = {key}
    for inner in spelled_out(key):
        if isinstance(inner, tuple):
            parts |= parts_of(inner)
    return frozenset(parts)


LARGE = 12
"""Words of a key beyond which it is abbreviated where it is a part of another."""
DEEP = 4
"""Abbreviations within each other beyond which a value is just one that came of many others."""

_abbreviations: dict[Key, Key] = {}
_spelled_out: dict[Key, Key] = {}
_depths: dict[Key, int] = {}
_caches: list[Callable[[], None]] = []


@lru_cache(maxsize=16384)
def short(key: Key) -> Key:
    """``key`` with its large parts abbreviated: a value computed from many others must not cost their sum each time."""
    return tuple(_abbreviated(part) if isinstance(part, tuple) and _size(part) > LARGE else part for part in key)


def spelled_out(key: Key) -> Key:
    """What an abbreviation stands for; any other key itself."""
    return _spelled_out.get(key, key)


def of_one_document(function: Callable[[Key], bool]) -> Callable[[Key], bool]:
    """Remember what ``function`` says of a key while the abbreviations in keys keep their meaning."""
    cached = lru_cache(maxsize=16384)(function)
    _caches.append(cached.cache_clear)
    return cached


def forget_abbreviations() -> None:
    """Start another document."""
    for clear in _caches:
        clear()
    _abbreviations.clear()
    _spelled_out.clear()
    _depths.clear()
    parts_of.cache_clear()
    short.cache_clear()


def _abbreviated(key: Key) -> Key:
    known = _abbreviations.get(key)
    if known is None:
        depth = 1 + _depth(key)
        if depth > DEEP:  # a value that a loop computes from itself would otherwise never come to an end
            return ("abbreviated", "deep", str(key[0]))
        known = _abbreviations[key] = ("abbreviated", len(_abbreviations))
        _spelled_out[known] = key
        _depths[known] = depth
    return known


def _depth(key: Key) -> int:
    return max((_depths.get(part, 0) or _depth(part) for part in key if isinstance(part, tuple)), default=0)


def _size(key: Key) -> int:
    return sum(_size(part) if isinstance(part, tuple) else 1 for part in key)
