"""What a run did, put to the automaton."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable
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
        return f"{self.filename}:{self.row}:{self.column}: {self.code} {self.message}"


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


class Recorder:
    """Holds the automaton's state and reports what it rejects."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.state = ProtocolState()
        self.scaled: frozenset[Hashable] = frozenset()
        """The optimizers whose gradients hold scaled contributions."""
        self._lock = threading.RLock()
        self._thread = threading.get_ident()
        self._regions_elsewhere: dict[int, tuple[Region, ...]] = {}
        self._said: set[tuple[str, Site]] = set()

    def send(
        self,
        kind: EventKind,
        site: Site | None = None,
        scaler: int | None = None,
        optimizers: Iterable[int] = (),
        certain: bool = True,
    ) -> None:
        """Advance the automaton by one event."""
        with self._lock:
            self._enter_thread()
            self._advance(Event(kind, site, scaler, tuple(optimizers), certain))

    def _enter_thread(self) -> None:
        """Autocast regions are each thread's own."""
        thread = threading.get_ident()
        if thread != self._thread:
            self._regions_elsewhere[self._thread] = self.state.regions
            self.state = replace(self.state, regions=self._regions_elsewhere.pop(thread, ()))
            self._thread = thread

    def _advance(self, event: Event) -> None:
        kind, scaler = event.kind, event.scaler
        if kind is EventKind.UPDATE and scaler is not None:
            self.report.settle(self.state.scaler(scaler).sites)
        before = self.state.gradients
        self.state, violations = advance(self.state, event)
        if self.state.gradients is not before:
            self.scaled = frozenset(key for key, marks in self.state.gradients.items() if any(map(_is_scaled, marks)))
        for violation in violations:
            ends = kind is EventKind.RETIRE
            if not ends or not self.report.is_settled(violation.site):  # else the program just ended there
                self._report(violation, ends)

    def _report(self, violation: Violation, unfinished: bool) -> None:
        site = violation.site
        assert isinstance(site, Site)
        if (violation.code, site) in self._said:
            return
        self._said.add((violation.code, site))
        causes = tuple((cause.message, cause.site) for cause in violation.causes if isinstance(cause.site, Site))
        self.report.add(Observation(violation.code, violation.message, site, causes), unfinished)


def _is_scaled(mark: Mark) -> bool:
    return mark.content in CARRYING
