"""One feasible path: what its variables hold, what its conditions have decided, and the protocol's state on it."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from amplint.flow.values import (
    NAMED,
    Condition,
    Imported,
    Items,
    Key,
    Known,
    Optimizer,
    Routine,
    Scaled,
    Scaler,
    Several,
    Table,
    Unknown,
    Value,
    key_of,
    of_one_document,
    parts_of,
    short,
    spelled_out,
)
from amplint.protocol import ProtocolState

if TYPE_CHECKING:
    from typing_extensions import Self


K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class Frozen(dict[K, V]):
    """Never changed once made. Its hash is worked out once, and from that of the mapping it is made of."""

    __slots__ = ("_hash",)

    def __init__(self, *entries: Mapping[K, V]) -> None:
        super().__init__(*entries)
        self._hash: int | None = None

    def __hash__(self) -> int:  # type: ignore[override]
        if self._hash is None:
            self._hash = 0
            for entry in self.items():
                self._hash ^= hash(entry)
        return self._hash

    def but(self, key: K, value: V) -> Self:
        """This mapping with ``value`` under ``key``."""
        made = type(self)(self)
        made[key] = value
        if self._hash is not None:
            made._hash = self._hash ^ hash((key, value))
            if key in self:
                made._hash ^= hash((key, self[key]))
        return made

    def without(self, key: K) -> Self:
        """This mapping without ``key``."""
        made = type(self)(self)
        value = made.pop(key)
        if self._hash is not None:
            made._hash = self._hash ^ hash((key, value))
        return made


class Bindings(Frozen[K, Value]):
    """The values of variables or attributes."""

    __slots__ = ("_objects",)

    def __init__(self, *entries: Mapping[K, Value]) -> None:
        super().__init__(*entries)
        self._objects: Self | None = None

    @property
    def objects(self) -> Self:
        """Without those whose value is merely not known, or a number or a text."""
        if self._objects is None:
            self._objects = type(self)({name: value for name, value in self.items() if not _is_ordinary(value)})
        return self._objects


class Variables(Bindings[str]):
    """The variables of one frame."""

    __slots__ = ()


class Store(Bindings[tuple[Key, str]]):
    """The attributes of objects, under the object's key and the attribute's name."""

    __slots__ = ("_owned",)

    def __init__(self, *entries: Mapping[tuple[Key, str], Value]) -> None:
        super().__init__(*entries)
        self._owned: dict[Key, list[Value]] | None = None

    @property
    def owned(self) -> dict[Key, list[Value]]:
        """The values of each object's attributes."""
        if self._owned is None:
            self._owned = {}
            for (owner, _), value in self.items():
                self._owned.setdefault(owner, []).append(value)
        return self._owned


@dataclass(frozen=True, slots=True)
class Next:
    """A condition as the next iteration of the loop asks it: what is forgotten of this iteration's it outlasts."""

    key: Key


Route = tuple[tuple[int, bool], ...]
"""The sites of tests, in the order in which they were decided, with how they turned out."""
MAX_ROUTE = 24
"""The last decisions of a path that are remembered to be told."""


_NO_VARIABLES = Variables()
_NO_FACTS: Frozen[Key, bool] = Frozen()
_new = object.__new__
_SAME = -1  # no site


class Path:
    """Immutable: every change makes another path. Paths that agree in everything are equal, so that they merge."""

    __slots__ = ("_essence", "_hash", "detour", "facts", "frames", "protocol", "route", "store", "switches")

    def __init__(
        self,
        frames: Frozen[Key, Variables],
        store: Store,
        facts: Frozen[Key, bool],
        switches: frozenset[tuple[Key, bool]],
        protocol: ProtocolState,
        detour: int | None = None,
        route: Route = (),
    ) -> None:
        self.frames, self.store, self.facts = frames, store, facts
        self.switches, self.protocol = switches, protocol
        self.detour = detour
        """Where the path first turned away from the scaler since it last used one."""
        self.route = route
        """The decisions by which some run comes here: of paths that are equal otherwise, those of one."""
        self._hash: int | None = None
        self._essence: Path | None = None

    @staticmethod
    def start() -> Path:
        """A path on which nothing has happened."""
        return Path(Frozen(), Store(), Frozen(), frozenset(), ProtocolState())

    def but(
        self,
        *,
        frames: Frozen[Key, Variables] | None = None,
        store: Store | None = None,
        facts: Frozen[Key, bool] | None = None,
        switches: frozenset[tuple[Key, bool]] | None = None,
        protocol: ProtocolState | None = None,
        detour: int | None = _SAME,
        route: Route | None = None,
    ) -> Path:
        """This path with some of its parts replaced."""
        changed = _new(Path)
        changed._hash = changed._essence = None
        changed.frames = self.frames if frames is None else frames
        changed.store = self.store if store is None else store
        changed.facts = self.facts if facts is None else facts
        changed.switches = self.switches if switches is None else switches
        changed.protocol = self.protocol if protocol is None else protocol
        changed.detour = self.detour if detour is _SAME else detour
        changed.route = self.route if route is None else route
        return changed

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._parts())
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Path) or hash(self) != hash(other):
            return False
        return self._parts() == other._parts()

    def _parts(self) -> tuple[object, ...]:
        return self.frames, self.store, self.facts, self.switches, self.protocol, self.detour

    # variables and attributes

    def local(self, frame: Key, name: str) -> Value | None:
        """The value of a variable in a frame, None if it has none there."""
        names = self.frames.get(frame)
        return None if names is None else names.get(name)

    def with_local(self, frame: Key, name: str, value: Value | None) -> Path:
        """This path after an assignment; None unbinds the name."""
        names = self.frames.get(frame, _NO_VARIABLES)
        if value is None:
            names = names.without(name) if name in names else names
        elif names.get(name) == value:
            return self
        else:
            names = names.but(name, value)
        return self.but(frames=self.frames.but(frame, names))

    def with_frame(self, frame: Key, names: Mapping[str, Value]) -> Path:
        """This path with a frame of these variables."""
        return self.but(frames=self.frames.but(frame, Variables(names)))

    def without_frame(self, frame: Key) -> Path:
        """This path after the end of a frame."""
        return self.but(frames=self.frames.without(frame)) if frame in self.frames else self

    def with_attribute(self, owner: Key, name: str, value: Value) -> Path:
        """This path after ``owner.name = value``; what was decided of the old value is no longer known of the new."""
        if self.store.get((owner, name)) == value:
            return self
        return self.but(store=self.store.but((owner, name), value))

    def by_way_of(self, site: int, truth: bool) -> Path:
        """This path, and that a test on its way was decided so."""
        kept = tuple(decision for decision in self.route if decision[0] != site)
        return self.but(route=(*kept, (site, truth))[-MAX_ROUTE:])

    # what conditions have decided

    def decide(self, value: Value) -> bool | None:
        """The truth of ``value`` on this path, None if either is possible."""
        if isinstance(value, Known):
            return bool(value.value)
        if isinstance(value, Condition):
            return _DECIDE.get(value.tag, Path._decide_atom)(self, value)
        if isinstance(value, Unknown):
            known = False if self.facts.get(("none", value.key)) else self.facts.get(value.key)
            return self._decide_first(value, Known(0), operator.ne) if known is None else known
        if isinstance(value, (Scaler, Optimizer)):
            is_none = self.decide(Condition("none", (value,)))
            return None if is_none is None else not is_none
        if isinstance(value, Items):
            return bool(value.values)
        if isinstance(value, (Scaled, Routine)):
            return True
        return self.facts.get(key_of(value))

    def _decide_not(self, value: Condition) -> bool | None:
        inner = self.decide(value.parts[0])
        return None if inner is None else not inner

    def _decide_and(self, value: Condition) -> bool | None:
        truths = [self.decide(part) for part in value.parts]
        return False if False in truths else None if None in truths else True

    def _decide_or(self, value: Condition) -> bool | None:
        truths = [self.decide(part) for part in value.parts]
        return True if True in truths else None if None in truths else False

    def _decide_none(self, value: Condition) -> bool | None:
        subject = value.parts[0]
        if isinstance(subject, Known):
            return subject.value is None
        if isinstance(subject, (Scaler, Optimizer)) and subject.built:
            return False
        if isinstance(subject, (Unknown, Scaler, Optimizer)) or (
            isinstance(subject, Condition) and subject.tag in ("and", "or")  # one of its parts
        ):
            return False if self.facts.get(key_of(subject)) else self.facts.get(("none", key_of(subject)))
        return False

    def _decide_equal(self, value: Condition) -> bool | None:
        left, right = value.parts
        if isinstance(left, Known) and isinstance(right, Known):
            return bool(left.value == right.value)
        if key_of(left) == key_of(right):
            return True
        known = self.facts.get(value.key)
        if known is None:
            known = self._decide_first(left, right, operator.eq)
        return self._decide_other_constant(value) if known is None and value.constant is not None else known

    def _with_first(self, value: Value, truth: bool) -> Path:
        """This path, with what the first iteration decides by itself told to the next."""
        if isinstance(value, Condition) and value.tag == "not":
            return self._with_first(value.parts[0], not truth)
        parts = (value.key, *(spelled_out(part) for part in value.key[1:2] if isinstance(part, tuple)))
        is_remainder = any(part[:2] == ("operation", "Modulo") for part in parts)
        if not is_remainder or value.key in self.facts or not any(key[0] == FIRST for key in self.facts):
            return self
        return self.but(facts=self.facts.but(value.key, truth))

    def _decide_first(self, left: Value, right: Value, compare: Callable[[Any, Any], Any]) -> bool | None:
        """How two numbers compare in the first iteration of a loop over counts that begin at zero."""
        zeros = {key[1].key for key in self.facts if key[0] == FIRST}
        if not zeros:
            return None
        first, second = (_number(key_of(value), zeros) for value in (left, right))
        return None if first is None or second is None else bool(compare(first, second))

    def _decide_other_constant(self, value: Condition) -> bool | None:
        """What equals one constant does not equal another."""
        key = value.key
        others = (fact for fact, truth in self.facts.items() if truth and fact[:2] == key[:2] and fact != key)
        return False if any(others) else None

    def _decide_less(self, value: Condition) -> bool | None:
        left, right = value.parts
        if isinstance(left, Known) and isinstance(right, Known):
            try:
                return bool(left.value < right.value)
            except TypeError:
                return None
        known = self.facts.get(value.key)
        return self._decide_first(left, right, operator.lt) if known is None else known

    def _decide_atom(self, value: Condition) -> bool | None:
        return self.facts.get(value.key)

    def assume(self, value: Value, truth: bool) -> list[Path]:
        """The paths on which ``value`` turns out as ``truth``; none if that cannot be."""
        known = self.decide(value)
        if known is not None:
            return [self._with_first(value, truth)] if known == truth else []
        if isinstance(value, Condition) and value.tag == "not":
            return self.assume(value.parts[0], not truth)
        if isinstance(value, Condition) and value.tag in ("and", "or"):
            return self._assume_parts(value, truth)
        if isinstance(value, (Scaler, Optimizer)):
            return self.assume(Condition("none", (value,)), not truth)
        key = value.key if isinstance(value, Condition) and value.tag != "none" else None
        if isinstance(value, Condition) and value.tag == "none":
            key = ("none", key_of(value.parts[0]))
        return [self.but(facts=self.facts.but(key or key_of(value), truth))]

    def _assume_parts(self, value: Condition, truth: bool) -> list[Path]:
        """``a and b`` is false where a is, or where a is true and b is not: one path for each."""
        settled = truth == (value.tag == "or")
        paths, done = [self], []
        for part in value.parts:
            if settled:
                done += [after for path in paths for after in path.assume(part, truth)]
                paths = [after for path in paths for after in path.assume(part, not truth)]
            else:
                paths = [after for path in paths for after in path.assume(part, truth)]
        return done if settled else paths

    def forget_facts(self, about: Iterable[Key]) -> Path:
        """This path without what was decided of values built from ``about``, which are made anew."""
        keys = frozenset(about)
        if not keys or not self.facts:
            return self
        kept = {key: truth for key, truth in self.facts.items() if parts_of(key).isdisjoint(keys)}
        return self if len(kept) == len(self.facts) else self.but(facts=Frozen(kept))

    def counted_on(self, old: Key, step: Key, new: Key, made: Key) -> Path:
        """This path after a number went up by a constant: what was asked of the sum before is known of it now.

        ``old`` and ``new`` name the number before and after, ``made`` is what every sum made there is called.
        """
        told = {moved: truth for key, truth in self.facts.items() if (moved := _counted_on(key, old, step, new)) != key}
        path = self.forget_facts([made])
        return path.but(facts=Frozen({**path.facts, **told})) if told else path

    def undecided(self, key: Key) -> Path:
        """This path without its decision of ``key``."""
        subject = key[1] if key[0] == "none" else key
        switches = frozenset(switch for switch in self.switches if switch[0] != subject)
        return self.but(facts=self.facts.without(key) if key in self.facts else self.facts, switches=switches)

    def has_only_met(self, key: Key) -> bool:
        """Whether a condition was decided, but not by choosing an arm that uses a scaler or the one that does not."""
        met = key in self.facts or ("none", key) in self.facts
        return met and (key, True) not in self.switches and (key, False) not in self.switches

    def with_switch(self, key: Key, with_scaler: bool) -> Path:
        """This path after a condition chose an arm that uses a scaler, or the one that does not."""
        if (key, with_scaler) in self.switches and (key, not with_scaler) not in self.switches:
            return self
        # a path that no run takes stays one when its conditions are asked anew
        kept = self.doubted().switches if self.is_doubtful() else self.switches
        others = frozenset(switch for switch in kept if switch[0] != key)
        return self.but(switches=others | {(key, with_scaler)})

    def after_iteration(self, made: Iterable[Key], counts: frozenset[Key]) -> Path:
        """This path at the end of an iteration that made these values: there is none after the last.

        Of ``counts``, which go up by one from iteration to iteration, it says what their remainders tell of the next.
        """
        if counts:
            self = self._without_facts_of(FIRST)
        keys = frozenset(made)
        asked = {truth for key, truth in self.facts.items() if _asks_for_last(key, keys)}
        path = self.but(facts=self.facts.but((LAST,), True in asked)) if asked else self
        turned = {key: truth for key, truth in path.facts.items() if counts and _turns(key, truth, counts)}
        if not turned:
            return path
        return path.but(facts=Frozen({**path.facts, **{(NEXT, Next(key)): not t for key, t in turned.items()}}))

    def past_the_last(self, made: Iterable[Key]) -> Path:
        """This path after a loop that was walked once for all: what one of its values was not, the last one was."""
        keys = frozenset(made)
        missed = any(not truth and _asks_for_last(key, keys) for key, truth in self.facts.items())
        return self.doubted() if missed else self

    def begun_again(self) -> Path:
        """This path in the body of a loop, behind an iteration: perhaps no run comes there if that was the last."""
        return self._told_of_last(doubtful=True)

    def _told_of_last(self, *, doubtful: bool) -> Path:
        was_last = self.facts.get((LAST,))
        path = self._without_facts_of(LAST)
        return path.doubted() if was_last is doubtful else path

    def next_iteration(self) -> Path:
        """This path at the beginning of another iteration, of which the one before has told something."""
        told = {key[1].key: truth for key, truth in self.facts.items() if key[0] == NEXT}
        if not told:
            return self
        kept = {key: truth for key, truth in self.facts.items() if key[0] != NEXT}
        switches = frozenset((key, arm != (key in told)) for key, arm in self.switches)
        return self.but(facts=Frozen({**kept, **told}), switches=switches)

    def first_iteration(self, counts: Iterable[Key]) -> Path:
        """This path before a loop, in whose first iteration these counts are zero."""
        return self.but(facts=Frozen({**self.facts, **{(FIRST, Next(key)): True for key in counts}}))

    def after_loop(self) -> Path:
        """This path after a loop, whose next iteration never comes: perhaps no run if there should be another."""
        return self._without_facts_of(NEXT)._without_facts_of(FIRST)._told_of_last(doubtful=False)

    def latched(self, site: int, entered: bool) -> Path:
        """This path after a guard that lets a scaler be used once a turn: none passes by first, or enters twice."""
        key: Key = (LATCH, site)
        if not entered:
            return self if self.facts.get(key) else self.doubted()
        path = self.doubted() if self.facts.get(key) else self
        return path.but(facts=path.facts.but(key, True))

    def unlatched(self) -> Path:
        """This path at the beginning of another turn."""
        return self._without_facts_of(LATCH)

    def _without_facts_of(self, tag: str) -> Path:
        if not any(key[0] == tag for key in self.facts):
            return self
        return self.but(facts=Frozen({key: truth for key, truth in self.facts.items() if key[0] != tag}))

    def doubted(self) -> Path:
        """This path as one that perhaps no run takes."""
        return self.but(switches=self.switches | {(_DOUBT, True), (_DOUBT, False)})

    def has_checked_gradients(self) -> bool:
        """Whether the path has decided that its gradients are finite, or not too large."""
        return any(is_about_gradients(key) for key in self.facts)

    def may_have_chosen_no_step(self) -> bool:
        """Whether a choice that holds for a whole run kept this path from a scaler: nobody makes all such choices."""
        declined = (key for key, with_scaler in self.switches if not with_scaler)
        return any(not _varies(key) and not is_about_values(key) for key in declined)

    def is_doubtful(self) -> bool:
        """Whether two different conditions chose opposite ways about using a scaler.

        Programs often test one decision in several spellings (``args.amp`` here, ``scaler_needed`` there). A path on
        which two such conditions disagree may be one that no run takes.
        """
        chosen = [key for key, with_scaler in self.switches if with_scaler]
        declined = [key for key, with_scaler in self.switches if not with_scaler]
        for yes in chosen:
            for no in declined:
                if yes == no:
                    return True
                if is_about_values(yes) or is_about_values(no) or {_varies(yes), _varies(no)} == {True, False}:
                    continue
                if _varies(yes) and _varies(no) and _operands(yes).isdisjoint(_operands(no)):
                    continue
                if yes[0] != "enabled" or is_about_precision(no):
                    return True
        return False


LATCH = "latch"
NEXT = "next"
FIRST = "first"
LAST = "last"
_DOUBT: Key = ("doubt",)
_DECIDE: dict[str, Callable[[Path, Condition], bool | None]] = {
    "not": Path._decide_not,
    "and": Path._decide_and,
    "or": Path._decide_or,
    "none": Path._decide_none,
    "eq": Path._decide_equal,
    "lt": Path._decide_less,
}

_VALUES = re.compile(r"finite|nan|isinf|norm|loss|overflow|grad(?!_?scal)", re.IGNORECASE)
_GRADIENTS = re.compile(r"finite|nan|(^|_|is)inf(s|_|$)|norm|overflow|grad(?!_?scal)", re.IGNORECASE)
_PRECISION = re.compile(
    r"amp|fp16|fp_16|float16|half|bf16|precision|scal|dtype|cuda|device|apex|native|autocast|enable|gpu|mixed",
    re.IGNORECASE,
)


def words_of(key: Any) -> Iterable[str]:
    """Every identifier and text in a key."""
    if isinstance(key, str):
        yield key
    elif isinstance(key, tuple):
        for part in spelled_out(key):
            yield from words_of(part)


@of_one_document
def is_about_values(key: Key) -> bool:
    """Whether a condition looks at losses or gradients, which turn out one way or the other in every run."""
    return any(_VALUES.search(word) for word in words_of(key))


def _number(key: Key, zeros: set[Key]) -> int | None:
    """The whole number that a value is where ``zeros`` are zero, if that can be worked out."""
    if key in zeros:
        return 0
    key = spelled_out(key)
    if key in zeros:
        return 0
    if key[:1] == ("const",):
        return key[2] if key[1] == "int" else None
    work = _ARITHMETIC.get(key[1]) if key[:1] == ("operation",) and len(key) == 4 else None
    if work is None:
        return None
    first, second = _number(key[2], zeros), _number(key[3], zeros)
    if first is None or second is None or (second == 0 and key[1] in ("Modulo", "FloorDivide")):
        return None
    return work(first, second)


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "Add": operator.add,
    "Subtract": operator.sub,
    "Multiply": operator.mul,
    "Modulo": operator.mod,
    "FloorDivide": operator.floordiv,
}


def _counted_on(key: Key, old: Key, step: Key, new: Key) -> Key:
    """A condition on ``old + step``, or of ``old`` with something less ``step``, as one on ``new``, their sum."""
    if key[0] in ("condition", "equals") and len(key) > 2:
        compared = [key[1], ("const", "int", key[2])] if key[0] == "equals" else list(key[2:])
        for index, part in enumerate(compared):
            spelled = spelled_out(part)
            less = spelled[:2] == ("operation", "Subtract") and spelled[3] == step
            if less and len(compared) == 2 and compared[1 - index] == old:
                sides = [new, spelled[2]] if index else [spelled[2], new]
                if key[1] != "lt":
                    sides.sort(key=repr)
                return short(("condition", key[1] if key[1] in ("eq", "lt") else "eq", *sides))
        if key[0] == "equals" and key[1] == old and isinstance(key[2], int) and step[:2] == ("const", "int"):
            return ("equals", new, key[2] + step[2])
    return _replaced(key, ("operation", "Add", old, step), new)


def _replaced(key: Key, part: Key, by: Key) -> Key:
    """``key`` with another key in the place of one that it is built from."""
    if part not in parts_of(key):
        return key
    spelled = spelled_out(key)
    if spelled == part:
        return by
    return short(tuple(_replaced(inner, part, by) if isinstance(inner, tuple) else inner for inner in spelled))


def _asks_for_last(key: Key, made: frozenset[Key]) -> bool:
    """Whether a condition compares a loop's index with a number that the program works out: the last index, say."""
    if key[:2] != ("condition", "eq"):
        return False
    of_loop = [not parts_of(part).isdisjoint(made) for part in key[2:]]
    remainders = any(spelled_out(part)[:2] == ("operation", "Modulo") for part in key[2:])
    return sorted(of_loop) == [False, True] and not remainders


def _turns(key: Key, truth: bool, counts: frozenset[Key]) -> bool:
    """Whether a condition on the remainder of a count turns out the other way when that has gone up by one.

    The count gives one remainder of a division by two or more never twice in a row, and one of two every other time.
    """
    remainder, wanted = (key[1], key[2]) if key[0] == "equals" else (key, None)
    spelled = spelled_out(remainder)
    if spelled[:2] != ("operation", "Modulo") or len(spelled) != 4 or not _is_shifted(spelled[2], counts):
        return False
    by = spelled[3]
    if by[:2] != ("const", "int") or by[2] < 2:
        return False
    if by[2] == 2:
        return wanted in (None, 0, 1)
    return truth == (wanted is not None)  # a remainder is true where it is not 0


def _is_shifted(key: Key, counts: frozenset[Key]) -> bool:
    """Whether a value is one of ``counts``, or one with a constant added or subtracted."""
    if key in counts:
        return True
    tag, *parts = spelled_out(key)
    if tag != "operation" or parts[0] not in ("Add", "Subtract"):
        return False
    others = [part for part in parts[1:] if part[:2] != ("const", "int")]
    falls = parts[0] == "Subtract" and others != parts[1:2]
    return len(others) == 1 and not falls and _is_shifted(others[0], counts)


def _varies(key: Key) -> bool | None:
    """Whether a condition is asked anew in each iteration; None where that cannot be told.

    A switch of the whole run and a count of batches are not one decision under two names.
    """
    words = set(words_of(key))
    if words & {"element", "augmented", "Modulo"}:
        return True
    return None if "call" in words else False


def _operands(key: Key) -> frozenset[Key]:
    """What a condition is made of beside the loop's own value: two with nothing in common are two conditions."""
    key = spelled_out(key)
    if key[:1] == ("element",):
        return frozenset()
    if key[:1] == ("const",):
        return frozenset({key}) if key[-1] not in (0, 1) else frozenset()
    if key and key[0] in NAMED:
        return frozenset({key})
    return frozenset().union(*(_operands(part) for part in key if isinstance(part, tuple)))


@of_one_document
def is_about_gradients(key: Key) -> bool:
    """Whether a condition looks at the size of gradients, or whether they are finite."""
    words = list(words_of(key))
    return any(_GRADIENTS.search(word) for word in words) and not any("loss" in word.lower() for word in words)


@of_one_document
def is_about_precision(key: Key) -> bool:
    """Whether a condition looks like the switch between mixed precision and none."""
    return any(_PRECISION.search(word) for word in words_of(key))


def join(paths: list[Path], decided: Iterable[Key]) -> list[Path]:
    """Paths that differ only in how one condition turned out are one again: nothing depends on it any more."""
    for key in decided:
        rest: dict[Path, set[bool | None]] = {}
        others = [path.undecided(key) for path in paths]
        for path, undecided in zip(paths, others, strict=True):
            rest.setdefault(undecided, set()).add(path.facts.get(key))
        if len(rest) == len(paths):
            continue
        joined: list[Path] = []
        for path, undecided in zip(paths, others, strict=True):
            joined.append(undecided if rest[undecided] >= {True, False} else path)
        paths = list(dict.fromkeys(joined))
    return paths


def merge(paths: list[Path], limit: int) -> list[Path]:
    """Equal paths made one. Past ``limit``, paths that agree on scalers, optimizers and protocol become one as well."""
    unique = list(dict.fromkeys(paths))
    if len(unique) <= limit:
        return unique
    groups: dict[Path, list[Path]] = {}
    for path in unique:
        groups.setdefault(essence(path), []).append(path)
    apart = [path for group in groups.values() for path in _apart(group)]
    return apart if len(apart) <= 2 * limit else [widest(group) for group in groups.values()]


MOST_APART = 3
"""Ways to the same state of the protocol, under decisions that exclude each other, that are kept apart."""


def _apart(group: list[Path]) -> list[Path]:
    """The widest paths of which each excludes the others; one where they are too many."""
    apart: list[Path] = []
    for path in group:
        like = [other for other in apart if not excludes(other, path)]
        apart = [other for other in apart if other not in like]
        apart.append(widest([*like, path]))
    return apart if len(apart) <= MOST_APART else [widest(group)]


def excludes(path: Path, other: Path) -> bool:
    """Whether no run takes both, by what they have decided about precision: made one, they would have forgotten it."""
    smaller, larger = sorted((path.facts, other.facts), key=len)
    return any(larger.get(key, truth) != truth and is_about_precision(key) for key, truth in smaller.items())


def essence(path: Path) -> Path:
    """What of a path the protocol depends on: its scalers and optimizers and their state."""
    if path._essence is None:
        frames = Frozen({key: names.objects for key, names in path.frames.items()})
        path._essence = path.but(frames=frames, store=path.store.objects, facts=_NO_FACTS, switches=frozenset())
    return path._essence


def _is_ordinary(value: Value) -> bool:
    if isinstance(value, Unknown):
        return True
    if isinstance(value, Known):
        return value.value is not None and not isinstance(value.value, bool)
    if isinstance(value, Items):
        return all(_is_ordinary(part) for part in value.values)
    if isinstance(value, Table):
        return all(_is_ordinary(part) for _, part in value.entries)
    if isinstance(value, Several):
        return _is_ordinary(value.element)
    return isinstance(value, (Condition, Imported))


def widest(group: list[Path]) -> Path:
    """One path for all: it knows what they all know."""
    first = group[0]
    if len(group) == 1:
        return first
    facts: Mapping[Key, bool] = first.facts
    switches, frames = first.switches, dict(first.frames)
    store: Mapping[tuple[Key, str], Value] = first.store
    for other in group[1:]:
        facts = {key: truth for key, truth in facts.items() if other.facts.get(key) == truth}
        switches &= other.switches  # what comes now can come whichever way the others were chosen
        for key, names in frames.items():
            theirs = other.frames.get(key, _NO_VARIABLES)
            if theirs is names:
                continue
            agreed = {
                name: value if theirs.get(name) == value else Unknown(("local", "merged", name))
                for name, value in names.items()
            }
            frames[key] = Variables(agreed)
        store = {place: value for place, value in store.items() if other.store.get(place) == value}
    return first.but(frames=Frozen(frames), store=Store(store), facts=Frozen(facts), switches=switches)
