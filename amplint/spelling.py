"""Which known word a misspelled one means: only where it is plain, since a far-fetched guess is worse than none."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one word of ``known`` that differs from ``word`` by a slip or two of the fingers, case and ``_`` aside."""
    plain = _plain(word)
    slips = 0 if len(plain) < 3 else 1 if len(plain) < 6 else 2
    found: dict[int, list[str]] = {}
    for candidate in dict.fromkeys(known):
        distance = _slips(plain, _plain(candidate))
        if distance <= slips:
            found.setdefault(distance, []).append(candidate)
    best = found[min(found)] if found else []
    return best[0] if len(best) == 1 else None


def _plain(word: str) -> str:
    return word.replace("_", "-").lower()


def _slips(left: str, right: str) -> int:
    """How many letters are to be added, left out, replaced or swapped with the next to make one word the other."""
    before, row = list[int](), list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        before, last, row = row, before, [i]
        for j, other in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
