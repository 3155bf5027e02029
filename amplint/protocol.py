"""The protocol of a gradient scaler as one automaton: (state, event) -> (state, violations).

Two drivers feed it. The static explorer sends the events of each feasible path, the run-time watch those of a real
run; what is a violation is decided here and nowhere else. Scalers, optimizers and sites are opaque hashable keys of the
driver's choice: a site names a place in the source and comes back in the violations.

The facts are those of ``torch.amp.GradScaler``: its state is kept per optimizer and cleared by ``update()``; ``step()``
unscales by itself unless ``unscale_()`` did; a plain ``optimizer.step()`` never looks at the scaler.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

Key = Hashable


class EventKind(enum.Enum):
    """What happened."""

    NEW_SCALER = "new-scaler"
    """``scaler`` was made: nothing is recorded in it."""
    NEW_OPTIMIZER = "new-optimizer"
    """``optimizers`` were made: their parameters have no gradients yet."""
    BACKWARD = "backward"
    """Gradients were accumulated into ``optimizers``: scaled by ``scaler``, plain where it is None."""
    UNSCALE = "unscale"
    SCALER_STEP = "scaler-step"
    OPTIMIZER_STEP = "optimizer-step"
    """A step of ``optimizers`` that no scaler made; ``certain`` where all their gradients come from scaled losses."""
    UPDATE = "update"
    CLEAR_GRADS = "clear-grads"
    CLIP = "clip"
    """Gradients were clipped: those of all ``optimizers`` where ``certain``, else of some of them."""
    USE_GRADS = "use-grads"
    """Gradients of ``optimizers`` were read or changed by hand; ``certain`` as for a clip."""
    UNSEEN_BACKWARD = "unseen-backward"
    """Something unseen may have accumulated gradients into some of ``optimizers``."""
    SCALE = "scale"
    """``scaler`` scaled a loss."""
    RESCALE = "rescale"
    """``scaler`` scaled a loss that was scaled before, by itself or by another."""
    USE_LOSS = "use-loss"
    """A loss that ``scaler`` scaled was used as if it were the loss."""
    CLOSURE_STEP = "closure-step"
    """``scaler`` is about to step ``optimizers`` with a closure, or such as cannot do without one."""
    WRONG_ARGUMENT = "wrong-argument"
    """A method of ``scaler`` was given what it cannot work with."""
    SCHEDULE = "schedule"
    """The learning rates of ``optimizers`` were moved on."""
    ENTER_AUTOCAST = "enter-autocast"
    """A region of autocast begins, ``certain`` where it is enabled."""
    EXIT_AUTOCAST = "exit-autocast"
    FORGET = "forget"
    """Something unseen may have happened to ``scaler`` (None: to no scaler) and to the gradients of ``optimizers``."""
    RENEW = "renew"
    """The names ``scaler`` and ``optimizers`` stand for other objects from here on: a collection's next, or new."""
    RETIRE = "retire"
    """``scaler`` is never used again. A driver drops what this rejects where it saw the call settled on another way."""


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a path or of a run.

    ``certain`` is False when the driver knows that gradients were accumulated, but not into which of ``optimizers``.
    """

    kind: EventKind
    site: Key = None
    scaler: Key | None = None
    optimizers: tuple[Key, ...] = ()
    certain: bool = True


class Content(enum.Enum):
    """What a backward, an unscale or a step left in the gradients."""

    PLAIN = "plain"
    SCALED = "scaled"
    UNSCALED = "unscaled"
    SPENT = "spent"
    """Unscaled and stepped by the scaler already."""
    BYPASSED = "bypassed"
    """Scaled, and used so by a plain step already."""
    CLEARED = "cleared"
    """Scaled or unscaled, and cleared at ``site`` before any step used it."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Mark:
    """One contribution to an optimizer's gradients, and the site that made it."""

    content: Content
    scaler: Key | None = None
    site: Key = None
    certain: bool = True
    updated_at: Key | None = None
    """Where the scaler was updated while this gradient was waiting for its step."""
    joined_at: Key | None = None
    """Where, after that update, a backward with the new scale added to this gradient."""
    scheduled_at: Key | None = None
    """Where the learning rate was moved on while this gradient was waiting for its step."""


UNSEEN = frozenset({Mark(Content.UNKNOWN)})

FORMER: Key = ("former",)
"""Stands for all optimizers that a scaler has recorded and that no name reaches any more."""


class Stage(enum.Enum):
    """How far a scaler has gone with an optimizer since the last update; ready is the absence of a record."""

    UNSCALED = "unscaled"
    STEPPED = "stepped"


@dataclass(frozen=True, slots=True)
class Record:
    """What a scaler remembers of one optimizer until ``update()``."""

    optimizer: Key
    stage: Stage
    site: Key
    backward_since: bool = False
    cleared_since: bool = False


@dataclass(frozen=True, slots=True)
class ScalerState:
    """A scaler's records, in the order in which they were made."""

    records: tuple[Record, ...] = ()
    complete: bool = False
    """Whether the records are all there is: False when an unseen caller may have unscaled or stepped before."""
    scaled_since: bool = False
    """Whether a loss was scaled since the last update: if not, none carries the present scale."""

    def of(self, optimizer: Key) -> Record | None:
        """The record of ``optimizer``, or None if the scaler is ready for it (or was never seen with it)."""
        return next((record for record in self.records if record.optimizer == optimizer), None)

    def record(self, optimizer: Key, stage: Stage, site: Key) -> ScalerState:
        """This state after ``optimizer`` came to ``stage`` at ``site``."""
        kept = tuple(record for record in self.records if record.optimizer != optimizer)
        return replace(self, records=(*kept, Record(optimizer, stage, site)))

    @property
    def sites(self) -> frozenset[Key]:
        """The calls that an ``update()`` now settles."""
        return frozenset(record.site for record in self.records)

    def owing_update(self) -> Record | None:
        """The last step, or else the last unscale, that no update has followed."""
        steps = [record for record in self.records if record.stage is Stage.STEPPED]
        owing = steps or self.records
        return owing[-1] if owing else None


@dataclass(frozen=True, slots=True)
class Region:
    """An autocast region that the program is in, and where each optimizer changed weights inside it first."""

    site: Key
    enabled: bool = True
    stepped: frozenset[tuple[Key, Key]] = frozenset()


@dataclass(frozen=True, slots=True)
class Cause:
    """A place that explains a violation."""

    message: str
    site: Key


@dataclass(frozen=True, slots=True)
class Violation:
    """A transition that PyTorch rejects or that does silent damage; ``code`` is the rule's."""

    code: str
    site: Key
    message: str
    scaler: Key | None = None
    optimizer: Key | None = None
    causes: tuple[Cause, ...] = ()
    stage: Stage | None = None
    """Of an update that is missing: what it is missing after."""


@dataclass(frozen=True)
class ProtocolState:
    """All scalers, all optimizers' gradients and the regions at one moment. Treat both mappings as read-only."""

    scalers: dict[Key, ScalerState] = field(default_factory=dict)
    gradients: dict[Key, frozenset[Mark]] = field(default_factory=dict)
    regions: tuple[Region, ...] = ()
    """The autocast regions that the program is in, the innermost last."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((frozenset(self.scalers.items()), frozenset(self.gradients.items()), self.regions))

    def scaler(self, scaler: Key) -> ScalerState:
        """The state of ``scaler``; one never heard of has an unseen past."""
        return self.scalers.get(scaler, ScalerState())

    def marks(self, optimizer: Key) -> frozenset[Mark]:
        """What the gradients of ``optimizer`` hold; those of one never heard of are unknown."""
        return self.gradients.get(optimizer, UNSEEN)

    def with_scaler(self, scaler: Key, state: ScalerState) -> ProtocolState:
        """This state with the scaler's replaced."""
        return replace(self, scalers={**self.scalers, scaler: state})

    def with_marks(self, optimizers: Iterable[Key], marks: frozenset[Mark]) -> ProtocolState:
        """This state with the gradients of ``optimizers`` replaced."""
        gradients = {**self.gradients, **dict.fromkeys(optimizers, marks)}
        if marks == UNSEEN:  # as if never heard of, so that equal states are equal
            gradients = {optimizer: known for optimizer, known in gradients.items() if known != UNSEEN}
        return replace(self, gradients=gradients)


Step = tuple[ProtocolState, tuple[Violation, ...]]


def in_source_order(site: Key) -> tuple[int, int, str]:
    """Sorts sites as they stand in the source, so that both drivers take the same of several marks."""
    if isinstance(site, int):
        return site, 0, ""
    return getattr(site, "row", 0), getattr(site, "column", 0), repr(site)


def surely(marks: frozenset[Mark], fits: Callable[[Mark], bool]) -> list[Mark]:
    """The marks that fit, if gradients of such a kind are surely there: one is certain, or there are no others."""
    fitting = sorted((mark for mark in marks if fits(mark)), key=lambda mark: in_source_order(mark.site))
    certain = [mark for mark in fitting if mark.certain]
    return certain or (fitting if len(fitting) == len(marks) else [])


def advance(state: ProtocolState, event: Event) -> Step:
    """The state after ``event``, and what was wrong about it.

    After a violation the state goes on as if the intended call had been made, so that one fault is said once.
    """
    return _TRANSITIONS[event.kind](state, event)


def _new_scaler(state: ProtocolState, event: Event) -> Step:
    return state.with_scaler(event.scaler, ScalerState(complete=True)), ()


def _new_optimizer(state: ProtocolState, event: Event) -> Step:
    return state.with_marks(event.optimizers, frozenset()), ()


def _scale(state: ProtocolState, event: Event) -> Step:
    scaler = state.scaler(event.scaler)
    return state if scaler.scaled_since else state.with_scaler(event.scaler, replace(scaler, scaled_since=True)), ()


def _backward(state: ProtocolState, event: Event) -> Step:
    content = Content.PLAIN if event.scaler is None else Content.SCALED
    mark = Mark(content, event.scaler, event.site, event.certain)
    violations: list[Violation] = []
    violations += _runs_in_region(state, event)
    for optimizer in event.optimizers:
        # where the learning rate was moved on before this backward, it was so for an earlier step
        marks = frozenset(replace(mark, scheduled_at=None) for mark in state.marks(optimizer))
        wrong = (
            tuple(_accumulates_wrongly(marks, event, optimizer)) if event.certain and event.scaler is not None else ()
        )
        violations += wrong
        if wrong:
            state = state.with_marks([optimizer], marks)  # as if it had come before the unscale_()
            continue
        kept = frozenset(_joined(m, event) for m in marks if m.content not in _GONE)
        state = state.with_marks([optimizer], kept | {mark})
    for key, scaler in state.scalers.items():
        if any(not record.backward_since for record in scaler.records):
            records = tuple(replace(record, backward_since=True) for record in scaler.records)
            state = state.with_scaler(key, replace(scaler, records=records))
    return state, tuple(violations)


def _joined(mark: Mark, event: Event) -> Mark:
    """``mark``, if its gradient is of an old scale with that of this backward added: wrong, once anything uses it."""
    if mark.updated_at is None or mark.joined_at is not None or not (mark.certain and event.certain):
        return mark
    return replace(mark, joined_at=event.site) if mark.scaler == event.scaler is not None else mark


_ACCUMULATED = (Content.PLAIN, Content.SCALED, Content.UNKNOWN)
"""What only backwards have made."""
_GONE = (Content.SPENT, Content.CLEARED, Content.BYPASSED)
"""What a gradient held that the next backward begins anew."""


def _runs_in_region(state: ProtocolState, event: Event) -> Iterable[Violation]:
    if not state.regions or not state.regions[-1].enabled:
        return
    region = state.regions[-1]
    yield Violation(
        "AMP302",
        event.site,
        "backward() inside the autocast region: only the forward pass and the loss belong there",
        event.scaler,
        causes=(Cause("the region begins here", region.site),),
    )
    if event.certain:
        yield from _uses_stale_weights(state, event)


def _uses_stale_weights(state: ProtocolState, event: Event) -> Iterable[Violation]:
    """Weights that an optimizer changed in an enabled region have been used in it again."""
    for region in state.regions:
        for optimizer, site in sorted(region.stepped, key=repr):
            if region.enabled and optimizer in event.optimizers:
                yield Violation(
                    "AMP301",
                    site,
                    "weights change inside an autocast region that goes on with its half-precision copies of them",
                    event.scaler,
                    causes=(
                        Cause("the region begins here", region.site),
                        Cause("the stale weights were used for this", event.site),
                    ),
                )


def _with_step_in_regions(state: ProtocolState, event: Event) -> ProtocolState:
    if not state.regions:
        return state
    regions = []
    for region in state.regions:
        known = {optimizer for optimizer, _ in region.stepped}
        new = frozenset((optimizer, event.site) for optimizer in event.optimizers if optimizer not in known)
        regions.append(replace(region, stepped=region.stepped | new) if new else region)
    return replace(state, regions=tuple(regions))


def _accumulates_wrongly(marks: frozenset[Mark], event: Event, optimizer: Key) -> Iterable[Violation]:
    for mark in marks:
        if not mark.certain or mark.scaler != event.scaler:
            continue
        if mark.updated_at is None and mark.content is Content.UNSCALED:
            yield Violation(
                "AMP109",
                event.site,
                "a scaled backward() adds to gradients that are already unscaled",
                event.scaler,
                optimizer,
                (Cause("unscaled here", mark.site),),
            )


def _unscale(state: ProtocolState, event: Event) -> Step:
    violations: list[Violation] = []
    for optimizer in event.optimizers:
        scaler = state.scaler(event.scaler)
        wrong = tuple(_unscales_wrongly(scaler, event, optimizer))
        violations += wrong
        scaler = _as_intended(scaler, wrong)
        marks = state.marks(optimizer)
        violations += _takes_plain_gradients(marks, event, optimizer)
        violations += _comes_too_late(marks, event, optimizer)
        state = state.with_scaler(event.scaler, scaler.record(optimizer, Stage.UNSCALED, event.site))
        mark = Mark(Content.UNSCALED, event.scaler, event.site)
        state = state.with_marks([optimizer], frozenset({mark}))
    return state, tuple(violations)


def _unscales_wrongly(scaler: ScalerState, event: Event, optimizer: Key) -> Iterable[Violation]:
    before = scaler.of(optimizer)
    if before is None:
        return
    # The same place reached again with fresh gradients is the next iteration: what lacks is the update between.
    # With gradients that are still accumulating, or at another place, it is the unscale_() that is one too many.
    again = before.cleared_since and before.site == event.site
    if before.backward_since and (again or before.stage is Stage.STEPPED):
        yield _missing_update(scaler, event)
        return
    happened = "stepped" if before.stage is Stage.STEPPED else "unscaled"
    yield Violation(
        "AMP106",
        event.site,
        f"unscale_() on gradients that this scaler has already {happened} since the last update()",
        event.scaler,
        optimizer,
        (Cause(f"{happened} here", before.site),),
    )


def _as_intended(scaler: ScalerState, wrong: tuple[Violation, ...]) -> ScalerState:
    """The scaler as if the update that was missing had been called."""
    return ScalerState() if any(violation.code == "AMP102" for violation in wrong) else scaler


def _missing_update(scaler: ScalerState, event: Event) -> Violation:
    owing = scaler.owing_update()
    assert owing is not None
    call = "step" if owing.stage is Stage.STEPPED else "unscale_"
    causes = (Cause("reached again here without an update() between", event.site),)
    return Violation(
        "AMP102",
        owing.site,
        f"scaler.{call}() is not followed by scaler.update() before the scaler is used again",
        event.scaler,
        owing.optimizer,
        causes if event.site != owing.site else (),
        owing.stage,
    )


def _takes_plain_gradients(marks: frozenset[Mark], event: Event, optimizer: Key) -> Iterable[Violation]:
    for mark in surely(marks, lambda mark: mark.content is Content.PLAIN):
        yield Violation(
            "AMP105",
            mark.site,
            "backward() without scaler.scale(): the scaler will divide these gradients by the loss scale",
            event.scaler,
            optimizer,
            (Cause("divided by the scale here", event.site),),
        )


def _comes_too_late(marks: frozenset[Mark], event: Event, optimizer: Key) -> Iterable[Violation]:
    """What stands between a backward and the unscale or step that needs its gradients as they were."""
    for mark in surely(marks, lambda mark: mark.updated_at is not None and mark.scaler == event.scaler):
        message = "scaler.update() before the last of the optimizers has stepped"
        causes: tuple[Cause, ...] = (Cause("this still needs the old scale", event.site),)
        if mark.joined_at is not None:
            message = "scaler.update() between two backward passes that accumulate into the same gradients"
            causes = (
                Cause("gradients accumulated with the old scale here", mark.site),
                Cause("and here", mark.joined_at),
            )
        yield Violation("AMP107", mark.updated_at, message, event.scaler, optimizer, causes)
    yield from _clears_before(marks, event, optimizer)


def _clears_before(marks: frozenset[Mark], event: Event, optimizer: Key) -> Iterable[Violation]:
    for mark in surely(marks, lambda mark: mark.content is Content.CLEARED and mark.site is not None):
        yield Violation(
            "AMP108",
            mark.site,
            "gradients are cleared between backward() and the step that should use them",
            event.scaler if event.scaler is not None else mark.scaler,
            optimizer,
            (Cause("nothing is left of them here", event.site),),
        )


def _schedules_before(marks: frozenset[Mark], event: Event, optimizer: Key) -> Iterable[Violation]:
    scheduled = {mark.scheduled_at for mark in marks - UNSEEN}
    if len(scheduled) != 1 or None in scheduled:
        return
    yield Violation(
        "AMP116",
        scheduled.pop(),
        "the learning rate is moved on before the step that it is meant to follow",
        event.scaler,
        optimizer,
        (Cause("the step is here", event.site),),
    )


def _scaler_step(state: ProtocolState, event: Event) -> Step:
    violations: list[Violation] = [*_uses_stale_weights(state, event)]
    for optimizer in event.optimizers:
        scaler, marks = state.scaler(event.scaler), state.marks(optimizer)
        before = scaler.of(optimizer)
        if before is not None and before.stage is Stage.STEPPED:
            again = _steps_again(scaler, before, event, optimizer)
            violations.append(again)
            scaler = _as_intended(scaler, (again,))
        if before is None:
            violations += _takes_plain_gradients(marks, event, optimizer)
        violations += _comes_too_late(marks, event, optimizer)
        violations += _schedules_before(marks, event, optimizer)
        state = state.with_scaler(event.scaler, scaler.record(optimizer, Stage.STEPPED, event.site))
        state = state.with_marks([optimizer], frozenset({Mark(Content.SPENT, event.scaler, event.site)}))
    return _with_step_in_regions(state, event), tuple(violations)


def _steps_again(scaler: ScalerState, before: Record, event: Event, optimizer: Key) -> Violation:
    if before.site == event.site or before.backward_since:
        return _missing_update(scaler, event)
    return Violation(
        "AMP110",
        event.site,
        "scaler.step() a second time for this optimizer since the last update()",
        event.scaler,
        optimizer,
        (Cause("stepped here", before.site),),
    )


def _optimizer_step(state: ProtocolState, event: Event) -> Step:
    violations: list[Violation] = [*_uses_stale_weights(state, event)]
    for optimizer in event.optimizers:
        marks = state.marks(optimizer)
        if all(mark.content is Content.CLEARED for mark in marks):
            violations += _clears_before(marks, event, optimizer)
            state = state.with_marks([optimizer], frozenset())
        mark = _bypassed(marks, event.certain)
        if mark is None:
            # what a plain backward made has served: a scaler that comes later is not meant to step with it
            used = frozenset(replace(m, certain=False) if m.content is Content.PLAIN else m for m in marks)
            state = state if used == marks else state.with_marks([optimizer], used)
            continue
        how, why = _BYPASS[mark.content]
        violations.append(
            Violation(
                "AMP101",
                event.site,
                f"optimizer.step() on gradients that {how}: {why}",
                mark.scaler,
                optimizer,
                (Cause(_DONE[mark.content], mark.site),),
            )
        )
        # go on as after the scaler.step() that was meant
        scaler = state.scaler(mark.scaler)
        records = tuple(record for record in scaler.records if record.optimizer != optimizer)
        state = state.with_scaler(mark.scaler, replace(scaler, records=records, complete=False))
        left = {replace(mark, content=Content.BYPASSED)} if mark.content in CARRYING else UNSEEN
        state = state.with_marks([optimizer], frozenset(left))
    return _with_step_in_regions(state, event), tuple(violations)


CARRYING = (Content.SCALED, Content.BYPASSED)
"""What carries the loss scale."""
_SCALED = ("a gradient scaler scaled", "the weights move by the loss scale times too much")
_BYPASS = {
    Content.SCALED: _SCALED,
    Content.BYPASSED: _SCALED,
    Content.UNSCALED: ("a gradient scaler unscaled", "a step with inf or NaN gradients is not skipped"),
    Content.SPENT: (
        "the scaler has already stepped with",
        "the weights move twice, and without its inf check",
    ),
}


_DONE = {
    Content.SCALED: "scaled here",
    Content.BYPASSED: "scaled here",
    Content.UNSCALED: "unscaled here",
    Content.SPENT: "stepped here",
}


def _bypassed(marks: frozenset[Mark], all_scaled: bool) -> Mark | None:
    """The contribution that a plain step must not meet, if one is surely there."""
    suspects = [mark for mark in marks if mark.content in _BYPASS]
    others = [mark for mark in marks if mark.content not in _BYPASS and not (all_scaled and mark in UNSEEN)]
    sure = [mark for mark in suspects if mark.certain] or ([] if others else suspects)
    return min(sure, key=lambda mark: (mark.content.value, in_source_order(mark.site))) if sure else None


def _update(state: ProtocolState, event: Event) -> Step:
    scaler = state.scaler(event.scaler)
    violations: tuple[Violation, ...] = ()
    if scaler.complete and not scaler.records:
        message = "scaler.update() with nothing to update from: no step() or unscale_() since the last one"
        violations = (Violation("AMP107", event.site, message, event.scaler),)
    state = state.with_scaler(event.scaler, ScalerState(complete=True))
    gradients = {}
    for optimizer, marks in state.gradients.items():
        gradients[optimizer] = frozenset(
            replace(mark, updated_at=mark.updated_at or event.site)
            if mark.scaler == event.scaler and mark.content in (Content.SCALED, Content.UNSCALED)
            else mark
            for mark in marks
        )
    return replace(state, gradients=gradients), violations


def _clear_grads(state: ProtocolState, event: Event) -> Step:
    state = _note_cleared(state, event)
    for optimizer in event.optimizers:
        state = state.with_marks([optimizer], _cleared(state.marks(optimizer), event) if event.certain else UNSEEN)
    return state, ()


def _cleared(marks: frozenset[Mark], event: Event) -> frozenset[Mark]:
    """What is left of gradients after a clear: that they were there and no step has used them."""
    lost = surely(marks, lambda mark: mark.content in (Content.SCALED, Content.UNSCALED, Content.CLEARED))
    if not lost:
        return frozenset()
    first = lost[0]
    site = first.site if first.content is Content.CLEARED else event.site
    return frozenset({Mark(Content.CLEARED, first.scaler, site)})


def _gradients_used(code: str, how: str) -> Callable[[ProtocolState, Event], Step]:
    def transition(state: ProtocolState, event: Event) -> Step:
        violations = []
        for optimizer in event.optimizers:
            # whatever else they hold from an unseen past, what was added since carries the scale
            scaled = surely(state.marks(optimizer) - UNSEEN, lambda mark: mark.content in CARRYING)
            if scaled:
                causes = (Cause("scaled here", scaled[0].site),)
                message = f"gradients are {how} while they carry the loss scale"
                whose = optimizer if event.certain else None
                violations.append(Violation(code, event.site, message, scaled[0].scaler, whose, causes))
        # of which optimizer they are makes no difference where those of all carry the scale
        return state, tuple(violations) if event.certain or len(violations) == len(event.optimizers) else ()

    return transition


def _unseen_backward(state: ProtocolState, event: Event) -> Step:
    mark = Mark(Content.UNKNOWN, site=event.site, certain=False)
    for optimizer in event.optimizers:
        state = state.with_marks([optimizer], state.marks(optimizer) | {mark})
    return state, ()


def _always(code: str, message: str) -> Callable[[ProtocolState, Event], Step]:
    """A transition that is wrong in any state and changes none."""

    def transition(state: ProtocolState, event: Event) -> Step:
        optimizer = event.optimizers[0] if event.optimizers else None
        return state, (Violation(code, event.site, message, event.scaler, optimizer),)

    return transition


def _schedule(state: ProtocolState, event: Event) -> Step:
    for optimizer in event.optimizers:
        marks = frozenset(
            replace(mark, scheduled_at=mark.scheduled_at or event.site)
            if mark.content in (Content.SCALED, Content.UNSCALED)
            else mark
            for mark in state.marks(optimizer)
        )
        state = state.with_marks([optimizer], marks)
    return state, ()


def _enter_autocast(state: ProtocolState, event: Event) -> Step:
    return replace(state, regions=(*state.regions, Region(event.site, event.certain))), ()


def _exit_autocast(state: ProtocolState, event: Event) -> Step:
    return replace(state, regions=state.regions[:-1]), ()


def _forget(state: ProtocolState, event: Event) -> Step:
    if event.scaler is not None:
        state = state.with_scaler(event.scaler, ScalerState())
    return _note_cleared(state, event).with_marks(event.optimizers, UNSEEN), ()


def _note_cleared(state: ProtocolState, event: Event) -> ProtocolState:
    """The records of the optimizers whose gradients are no longer those that were unscaled."""
    for key, scaler in state.scalers.items():
        if any(r.optimizer in event.optimizers and not r.cleared_since for r in scaler.records):
            records = (
                replace(r, cleared_since=r.cleared_since or r.optimizer in event.optimizers) for r in scaler.records
            )
            state = state.with_scaler(key, replace(scaler, records=tuple(records)))
    return state


def _renew(state: ProtocolState, event: Event) -> Step:
    """The objects that the names stood for keep their records; of the new ones nothing has been recorded."""
    scalers = {key: known for key, known in state.scalers.items() if event.scaler is None or key != event.scaler}
    for key, scaler in scalers.items():
        gone = [record for record in scaler.records if record.optimizer in (*event.optimizers, FORMER)]
        if gone and event.optimizers:
            kept = tuple(record for record in scaler.records if record not in gone)
            last = max(gone, key=lambda record: (record.stage is Stage.STEPPED, gone.index(record)))
            scalers[key] = replace(scaler, records=(replace(last, optimizer=FORMER), *kept))
    state = replace(state, scalers=scalers)
    for optimizer in event.optimizers:
        # what a backward accumulated it may have accumulated into the next one as well
        kept_marks = frozenset(mark for mark in state.marks(optimizer) if mark.content in _ACCUMULATED)
        state = state.with_marks([optimizer], kept_marks or UNSEEN)
    return state, ()


def _retire(state: ProtocolState, event: Event) -> Step:
    scaler = state.scaler(event.scaler)
    owing = scaler.owing_update()
    state = replace(state, scalers={key: value for key, value in state.scalers.items() if key != event.scaler})
    if owing is None or owing.stage is Stage.UNSCALED:  # unscaled to be looked at: nothing is left to go wrong
        return state, ()
    message = "scaler.step() is never followed by scaler.update()"
    return state, (Violation("AMP102", owing.site, message, event.scaler, owing.optimizer, stage=owing.stage),)


_TRANSITIONS: dict[EventKind, Callable[[ProtocolState, Event], Step]] = {
    EventKind.NEW_SCALER: _new_scaler,
    EventKind.NEW_OPTIMIZER: _new_optimizer,
    EventKind.BACKWARD: _backward,
    EventKind.UNSCALE: _unscale,
    EventKind.SCALER_STEP: _scaler_step,
    EventKind.OPTIMIZER_STEP: _optimizer_step,
    EventKind.UPDATE: _update,
    EventKind.CLEAR_GRADS: _clear_grads,
    EventKind.CLIP: _gradients_used("AMP103", "clipped"),
    EventKind.USE_GRADS: _gradients_used("AMP104", "used"),
    EventKind.UNSEEN_BACKWARD: _unseen_backward,
    EventKind.SCALE: _scale,
    EventKind.RESCALE: _always("AMP111", "a loss is scaled a second time: its gradients are the scale too large"),
    EventKind.USE_LOSS: _always("AMP112", "a scaled loss is used as if it were the loss: it is the scale too large"),
    EventKind.CLOSURE_STEP: _always("AMP113", "a gradient scaler cannot step with a closure"),
    EventKind.WRONG_ARGUMENT: _always("AMP121", "a gradient scaler cannot work with this argument"),
    EventKind.SCHEDULE: _schedule,
    EventKind.ENTER_AUTOCAST: _enter_autocast,
    EventKind.EXIT_AUTOCAST: _exit_autocast,
    EventKind.FORGET: _forget,
    EventKind.RENEW: _renew,
    EventKind.RETIRE: _retire,
}
