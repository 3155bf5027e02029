"""What a run did, put to the automaton."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from amplint.harness.sites import Site
from amplint.protocol import CARRYING, Event, EventKind, Mark, ProtocolState, Region, Violation, advance


@dataclass(frozen=True)
class Observation:
    """A misuse that really happened, and where; ``causes`` are the places that explain it."""

    code: str
    message: str
    site: Site
    causes: tuple[tuple[str, Site], ...] = ()
    norms: tuple[float, float] | None = None
    """Of gradients that carry the scale: their norm as it is, and without the scale."""

    @property
    def filename(self) -> str:
        """The file that it happened in."""
        return self.site.filename

    @property
    def row(self) -> int:
        """The row that it happened in (1-based)."""
        return self.site.row

    @property
    def column(self) -> int:
        """The column that it happened in (1-based)."""
        return self.site.column

    def __str__(self) -> str:
        return f"{self.filename}:{self.row}:{self.column}: {self.code} {self.text}"

    @property
    def text(self) -> str:
        """The message with the numbers."""
        if self.norms is None:
            return self.message
        return f"{self.message} (norm of the gradients {self.norms[0]:.4g}, without the scale {self.norms[1]:.4g})"


@dataclass
class Report:
    """What a watch has seen so far, each misuse once a place."""

    findings: list[Observation] = field(default_factory=list)
    steps: int = 0
    """How many times an optimizer changed its weights."""
    skipped_steps: int = 0
    """How many steps a scaler left out for infinite or NaN gradients."""
    _settled: set[object] = field(default_factory=set, repr=False)
    unfinished: list[Observation] = field(default_factory=list, repr=False)
    """Those of the findings that no update followed before the program ended."""

    def settle(self, sites: Iterable[object]) -> None:
        """An update has followed the calls at ``sites``: where a run ended after one of them, it just ended there."""
        self._settled.update(sites)
        for observation in [each for each in self.unfinished if each.site in self._settled]:
            self.unfinished.remove(observation)
            self.findings.remove(observation)

    def is_settled(self, site: object) -> bool:
        """Whether an update has followed the call at ``site`` in any run so far."""
        return site in self._settled

    def add(self, observation: Observation, unfinished: bool) -> None:
        """Count what was seen; ``unfinished`` where the program ended there, which proves nothing by itself."""
        self.findings.append(observation)
        if unfinished:
            self.unfinished.append(observation)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or "clean"


class _Node:
    """A state, and the steps that were made from it: a training loop goes round, and meets what it has met before."""

    __slots__ = ("scaled", "state", "steps")

    def __init__(self, state: ProtocolState) -> None:
        self.state = state
        self.scaled = frozenset(key for key, marks in state.gradients.items() if any(map(_is_scaled, marks)))
        self.steps: dict[tuple[object, ...], tuple[_Node, tuple[Violation, ...]]] = {}


_MOST_NODES = 4096


class Recorder:
    """Holds the automaton's state and reports what it rejects."""

    def __init__(
        self, report: Report, norms: Callable[[int, int], tuple[float, float] | None] = lambda scaler, optimizer: None
    ) -> None:
        """``norms`` measures the gradients of an optimizer that a scaler scaled."""
        self.report = report
        self._norms = norms
        self._nodes: dict[ProtocolState, _Node] = {}
        self._node = self._known(ProtocolState())
        self.scaled: frozenset[Hashable] = frozenset()
        """The optimizers whose gradients hold scaled contributions."""
        self._lock = threading.RLock()
        self._thread = threading.get_ident()
        self._regions_elsewhere: dict[int, tuple[Region, ...]] = {}
        self._said: set[tuple[str, Site]] = set()

    @property
    def state(self) -> ProtocolState:
        """The automaton's state."""
        return self._node.state

    def send(
        self,
        kind: EventKind,
        site: Site | None = None,
        scaler: int | None = None,
        optimizers: Sequence[int] = (),
        certain: bool = True,
    ) -> None:
        """Advance the automaton by one event."""
        with self._lock:
            if threading.get_ident() != self._thread:
                self._enter_thread()
            node, carrying = self._node, self.scaled
            key = (kind.value, site, scaler, *optimizers, certain)
            step = node.steps.get(key)
            if step is None:
                step = node.steps[key] = self._advance(
                    node.state, Event(kind, site, scaler, tuple(optimizers), certain)
                )
            self._node, violations = step
            self.scaled = self._node.scaled
            for violation in violations:
                ends = kind is EventKind.RETIRE
                if not ends or not self.report.is_settled(violation.site):  # else the program just ended there
                    self._report(violation, carrying, ends)

    def _enter_thread(self) -> None:
        """Autocast regions are each thread's own."""
        thread = threading.get_ident()
        self._regions_elsewhere[self._thread] = self.state.regions
        self._node = self._known(replace(self.state, regions=self._regions_elsewhere.pop(thread, ())))
        self._thread = thread

    def _advance(self, state: ProtocolState, event: Event) -> tuple[_Node, tuple[Violation, ...]]:
        if event.kind is EventKind.UPDATE and event.scaler is not None:
            self.report.settle(state.scaler(event.scaler).sites)
        state, violations = advance(state, event)
        return self._known(state), violations

    def _known(self, state: ProtocolState) -> _Node:
        node = self._nodes.get(state)
        if node is None:
            if len(self._nodes) >= _MOST_NODES:
                self._nodes.clear()
            node = self._nodes[state] = _Node(state)
        return node

    def note(self, code: str, message: str, site: Site, *causes: tuple[str, Site]) -> None:
        """Report what is seen without the automaton."""
        with self._lock:
            if (code, site) not in self._said:
                self._said.add((code, site))
                self.report.add(Observation(code, message, site, causes), unfinished=False)

    def _report(self, violation: Violation, carrying: frozenset[Hashable], unfinished: bool) -> None:
        site = violation.site
        assert isinstance(site, Site)
        if (violation.code, site) in self._said:
            return
        self._said.add((violation.code, site))
        causes = tuple((cause.message, cause.site) for cause in violation.causes if isinstance(cause.site, Site))
        norms = None
        if violation.code in _ABOUT_SCALED and violation.optimizer in carrying:
            assert isinstance(violation.scaler, int) and isinstance(violation.optimizer, int)
            norms = self._norms(violation.scaler, violation.optimizer)
        self.report.add(Observation(violation.code, violation.message, site, causes, norms), unfinished)


_ABOUT_SCALED = ("AMP101", "AMP103", "AMP104")


def _is_scaled(mark: Mark) -> bool:
    return mark.content in CARRYING
