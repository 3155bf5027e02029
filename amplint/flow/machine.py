"""What the parts of the explorer share while they run one root: evidence, violations, budget."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from amplint.findings import Related
from amplint.flow import program as ir
from amplint.flow.evidence import Evidence
from amplint.flow.paths import Path, Route
from amplint.flow.values import Key, LearntMore, Networks, Value, parts_of, spelled_out
from amplint.protocol import UNSEEN, Event, EventKind, Stage, Violation, advance

MAX_STEPS = 6_000
"""Statements run for one root before the explorer leaves it."""
MAX_PATHS = 8
"""Paths carried side by side before those that differ only in decisions are merged."""
MAX_DEPTH = 12
"""Calls followed into each other."""


_USES_OF_A_SCALER = frozenset({EventKind.UNSCALE, EventKind.SCALER_STEP, EventKind.UPDATE})

_CHANGES_OF_GRADIENTS = frozenset({EventKind.UNSCALE, EventKind.SCALER_STEP, EventKind.CLEAR_GRADS, EventKind.FORGET})
"""Events after which gradients are no longer what a backward left: nor are they under the object's other names."""


@dataclass(frozen=True, slots=True)
class Found:
    """A violation, and where its path had turned away from the scaler before, if it had."""

    violation: Violation
    detour: int | None
    route: Route = ()
    """The decisions that led there."""
    call: int | None = None
    """Where the document called the function of another file in which it happened."""
    elsewhere: tuple[Related, ...] = ()
    """The places in other files that explain it."""

    @property
    def is_idle_update(self) -> bool:
        """Whether an update is said to have nothing to update from."""
        return self.violation.code == "AMP107" and self.violation.optimizer is None

    @property
    def is_step(self) -> bool:
        """Whether the call that owes an update is a step."""
        return self.violation.stage is Stage.STEPPED

    @property
    def skips_step(self) -> bool:
        """Whether an update is owed because the path turned away between ``unscale_`` and ``step``."""
        return self.violation.stage is Stage.UNSCALED and self.detour is not None


def is_each(key: Key) -> bool:
    """Whether a key stands for each element of a collection in turn, or for the same part of each."""
    while key[0] in ("item", "variable"):
        key = spelled_out(key[1] if key[0] == "item" else key[3])
    return bool(key[0] == "element")


def may_be_the_same(one: Any, other: Any) -> bool:
    """Whether two keys may stand for one object: one for each element of a collection, the other for some element."""
    (base, index), (other_base, other_index) = _place(one), _place(other)
    return one != other and base == other_base and (index is None or other_index is None)


def _place(key: Any) -> tuple[Any, Any]:
    """The collection that a key is an element of, and which element: None for each."""
    spelled = spelled_out(key)
    if spelled[0] == "element":
        return _collection(spelled[1]), None
    if spelled[0] == "item":
        return _collection(spelled[1]), None if is_each(spelled[2]) else spelled[2]
    return key, None


def _collection(key: Any) -> Any:
    """A collection by what it was made as: the values of a dict are in the dict."""
    spelled = spelled_out(key) if isinstance(key, tuple) else (key,)
    if spelled[0] == "variable":
        return _collection(spelled[3])
    if spelled[0] == "call" and spelled[2:] == ("values",):
        return _collection(spelled[1])
    return spelled if spelled[0] == "call" else key


class TooComplex(Exception):
    """The root has more paths than the explorer is willing to walk."""


@dataclass
class Frame:
    """One activation of a function: the function, the key of its variables, and the frames around it."""

    function: ir.Function
    key: Key
    outer: tuple[Key, ...] = ()
    depth: int = 0
    active: frozenset[int] = frozenset()
    caller: Frame | None = None
    """Where the function was called, if its arguments are those of the call."""
    asked_at: int | None = None
    """Where the function was called for its value, outside all functions that were called for theirs."""


@dataclass
class Machine:
    """The state of exploring that is not a path's."""

    program: ir.Program
    evidence: Evidence
    violations: dict[tuple[str, object], Found] = field(default_factory=dict)
    unfinished: dict[tuple[str, object], Found] = field(default_factory=dict)
    """What a scaler still owed at the end: a fault only where no way at all settles it."""
    settled: set[object] = field(default_factory=set)
    """The sites of steps and unscales that an update follows on some way."""
    universe: dict[Key, None] = field(default_factory=dict)
    """The optimizers that the present root has anything to do with, as they were met."""
    many: set[Key] = field(default_factory=set)
    held: dict[Key, frozenset[Key]] = field(default_factory=dict)
    """What the parameters of each optimizer were got from."""
    networks: dict[Key, Networks] = field(default_factory=dict)
    """The modules whose parameters each optimizer was given, where its making was seen."""
    given_back: dict[Key, set[Key]] = field(default_factory=dict)
    """For an optimizer that came out of an unseen call: those that the call was given."""
    given: dict[Key, set[int]] = field(default_factory=dict)
    """The sites at which each optimizer is given to a scaler."""
    entered: set[int] = field(default_factory=set)
    remade: list[set[Key]] = field(default_factory=lambda: [set()])
    """For the root and each loop and call being walked, the keys of the values that it makes anew."""
    loops: int = 0
    """How many loops are being walked."""
    followed: dict[object, tuple[list[tuple[Path, Value]], set[Key]]] = field(default_factory=dict)
    """What came of calls already followed, with the keys of the values that they made anew."""
    uses: dict[Key, set[int]] = field(default_factory=dict)
    """The sites at which each scaler's methods are called."""
    unbound: set[int] = field(default_factory=set)
    """The sites at which a scaler's method is called on None or on a name that is not bound."""
    undefined: set[int] = field(default_factory=set)
    """Those of them where no doubt is left that some run meets a name that is not bound."""
    scaled: set[Key] = field(default_factory=set)
    """The scalers whose scaled losses were backpropagated."""
    call: int | None = None
    """The last site of the document itself at which a call was followed."""
    left: set[str] = field(default_factory=set)
    """The functions that were not followed, because too many calls lead to them."""
    steps: int = 0
    muted: int = 0
    only: str | None = None
    """Where set, the one code that is recorded."""

    def found(self) -> dict[tuple[str, object], Found]:
        """All that was found on the ways walked."""
        if len(self.uses) > 1 and any(key[0] != "new" for key in self.uses):
            # a scaler that came from elsewhere may go by two names: what one has not recorded the other has
            self.violations = {key: found for key, found in self.violations.items() if not found.is_idle_update}
        unsettled = {key: found for key, found in self.unfinished.items() if found.violation.site not in self.settled}
        return {**unsettled, **self.violations}

    def keep_what_stands(self) -> None:
        """Drop what the ways not walked could refute: that all gradients are scaled, or that nothing is settled."""
        self.unfinished.clear()
        self.violations = {key: found for key, found in self.violations.items() if key[0] != "AMP101"}

    @contextmanager
    def called_from(self, site: int) -> Iterator[None]:
        """While a call at ``site`` is followed."""
        before = self.call
        if self.program.is_own(site):
            self.call = site
        try:
            yield
        finally:
            self.call = before

    def spend(self) -> None:
        """Count one statement against the budget."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TooComplex

    def emit(self, path: Path, event: Event) -> Path:
        """Send ``event`` to the automaton and record what it rejects."""
        protocol, violations = advance(path.protocol, event)
        if event.kind is EventKind.UPDATE:
            self.settled |= path.protocol.scaler(event.scaler).sites
            if path.may_have_chosen_no_step():
                violations = ()
        if violations and not self.muted and not path.is_doubtful():
            found = self.unfinished if event.kind is EventKind.RETIRE else self.violations
            for violation in violations:
                if self.only is None or violation.code == self.only:
                    call = None if self.program.is_own(violation.site) else self.call
                    key = violation.code, violation.site if call is None else (violation.site, call)
                    found.setdefault(key, Found(violation, path.detour, path.route, call))
        if event.kind in _CHANGES_OF_GRADIENTS:
            others = [key for key in self.universe if key not in event.optimizers]
            aliases = [key for key in others if any(self.may_share(key, known) for known in event.optimizers)]
            protocol = protocol.with_marks(aliases, UNSEEN)
        if event.kind is EventKind.UPDATE:
            path = path.unlatched()
        if event.kind in _USES_OF_A_SCALER:
            return path.but(protocol=protocol, detour=None)
        return path if protocol == path.protocol else path.but(protocol=protocol)

    def know_optimizer(self, key: Key, many: bool = False) -> None:
        """Count an optimizer among those that a backward of this root may reach."""
        if key not in self.universe or (many and key not in self.many):
            self.universe[key] = None
            if many:
                self.many.add(key)
            raise LearntMore

    def optimizers(self) -> tuple[Key, ...]:
        """All optimizers that a backward may have reached."""
        return tuple(self.universe)

    def is_one(self, optimizers: tuple[Key, ...]) -> bool:
        """Whether it is certain which optimizer is meant: there is one, and it does not stand for several."""
        return len(optimizers) == 1 and optimizers[0] not in self.many

    def may_share(self, one: Key, other: Hashable) -> bool:
        """Whether what happens to the gradients of one optimizer may happen to those of another at the same time."""
        known, others = self.networks.get(one), self.networks.get(other)  # type: ignore[call-overload]
        if known is not None and others is not None and known.may_share(others):
            return True
        if other in self.given_back.get(one, ()) or one in self.given_back.get(other, ()):  # type: ignore[call-overload]
            return True
        return may_be_the_same(one, other)

    def learning(self, loss: Networks | None) -> tuple[tuple[Key, ...], tuple[Key, ...]]:
        """The optimizers that the backward of a loss surely reaches, and those that it may reach."""
        optimizers = self.optimizers()
        # one whose making was not seen may be one of the others under another name
        told_apart = all(key in self.networks for key in optimizers)
        surely: list[Key] = []
        perhaps: list[Key] = []
        for key in optimizers:
            known = self.networks.get(key)
            if loss is None or known is None or key in self.many:
                perhaps.append(key)
            elif told_apart and not known.surely.isdisjoint(loss.surely):
                surely.append(key)
            elif known.open or loss.open or known.may_share(loss):
                perhaps.append(key)
        if perhaps and self.is_one(optimizers):
            return optimizers, ()
        return tuple(surely), tuple(perhaps)

    def backward(self, path: Path, site: int, scaler: Key | None, loss: Networks | None = None) -> Path:
        """Gradients are accumulated into the optimizers that the loss reaches."""
        if scaler is not None:
            self.scaled.add(scaler)
        surely, perhaps = self.learning(loss)
        if surely or not perhaps:
            path = self.emit(path, Event(EventKind.BACKWARD, site, scaler, surely))
        if perhaps:
            path = self.emit(path, Event(EventKind.BACKWARD, site, scaler, perhaps, certain=False))
        return path

    def perhaps_backward(self, path: Path, site: int) -> Path:
        """Some function may have accumulated gradients into some of the optimizers."""
        return self.emit(path, Event(EventKind.UNSEEN_BACKWARD, site, optimizers=self.optimizers()))

    def renew(self, path: Path, keys: Iterable[Key]) -> Path:
        """The path after the values of ``keys`` were made anew: they, and what is reached from them, are others now."""
        made = frozenset(keys)
        if not made:
            return path
        path = path.forget_facts(made)
        known = dict.fromkeys((*self.universe, *path.protocol.gradients))
        known.update((record.optimizer, None) for state in path.protocol.scalers.values() for record in state.records)
        others = tuple(key for key in known if not parts_of(key).isdisjoint(made))
        if others:
            path = self.emit(path, Event(EventKind.RENEW, optimizers=others))
        for scaler in path.protocol.scalers:
            if not parts_of(scaler).isdisjoint(made):
                path = self.emit(path, Event(EventKind.RENEW, scaler=scaler))
        return path

    def pass_by(self, path: Path) -> Path:
        """The path past a loop that it never entered, in which a scaler would have done something."""
        for key, scaler in path.protocol.scalers.items():
            if not scaler.records:
                path = self.emit(path, Event(EventKind.FORGET, scaler=key))
        return self.forget_gradients(path)

    def forget_gradients(self, path: Path) -> Path:
        """Something unseen happened to the gradients of every optimizer."""
        return self.emit(path, Event(EventKind.FORGET, optimizers=self.optimizers()))

    def forget_all(self, path: Path) -> Path:
        """Something unseen happened to everything."""
        for scaler in tuple(path.protocol.scalers):
            path = self.emit(path, Event(EventKind.FORGET, scaler=scaler))
        return self.forget_gradients(path)
