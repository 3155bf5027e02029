"""Undecided conditions: each is tried both ways, within a bound."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator

MAX_RUNS = 120
"""Runs of one function; each differs from an earlier one in one decision more."""
MAX_DECISIONS = 400
"""Decisions of one run that may be turned around."""


class Decisions:
    """What one run decides: first as it is told to, then as it decided before, then as is likely."""

    def __init__(self, told: tuple[bool, ...] = ()) -> None:
        self.taken: list[bool] = []
        self.failed = False
        """Whether the run did not get to its end."""
        self._told = told
        self._known: dict[Hashable, bool] = {}
        self._last: dict[Hashable, bool] = {}

    def again(self) -> None:
        """Begin the same run once more."""
        self._told = tuple(self.taken)
        self.taken.clear()
        self._known.clear()
        self._last.clear()
        self.failed = False

    def decide(self, condition: Hashable, place: Hashable, likely: bool = True) -> bool:
        """Whether ``condition`` holds: the same answer each time; asked anew at a ``place``, the last one there."""
        known = self._known.get(condition)
        if known is not None:
            return known
        number = len(self.taken)
        answer = self._told[number] if number < len(self._told) else self._last.get(place, likely)
        self._known[condition] = self._last[place] = answer
        self.taken.append(answer)
        return answer


class Exploration:
    """Yields :class:`Decisions` for one run after another: fewest deviations first, at most ``limit`` of them.

    What a run decided last before it failed is turned around at once: it is the likeliest reason.
    """

    def __init__(self, limit: int = MAX_RUNS) -> None:
        self._limit = limit
        self.complete = True
        """Whether every combination has been tried."""

    def __iter__(self) -> Iterator[Decisions]:
        waiting: deque[tuple[bool, ...]] = deque([()])
        for _ in range(self._limit):
            if not waiting:
                return
            told = waiting.popleft()
            decisions = Decisions(told)
            yield decisions
            taken = decisions.taken
            self.complete &= len(taken) <= MAX_DECISIONS
            for turned in range(len(told), min(len(taken), MAX_DECISIONS)):
                other = (*taken[:turned], not taken[turned])
                if decisions.failed and turned == len(taken) - 1:
                    waiting.appendleft(other)
                else:
                    waiting.append(other)
        self.complete &= not waiting
