"""What must stand in a text for a rule to have anything to say about it, asked of bytes alone."""

from __future__ import annotations

from collections.abc import Iterable

Mention = bytes | tuple[bytes, ...]
"""Bytes, or several of which all must be there: the rarest first."""

OF_TRAINING: tuple[Mention, ...] = (b"GradScaler", (b"state_dict", b"optim"), b"autocast")
"""What stands in definitions that tell something about scalers, regions and checkpoints."""


class Mentions:
    """Alternatives of which a text must hold one."""

    def __init__(self, mentions: Iterable[Mention]) -> None:
        alternatives = [(each,) if isinstance(each, bytes) else each for each in mentions]
        self._first = _shortest(words[0] for words in alternatives)
        self._single = _shortest(words[0] for words in alternatives if len(words) == 1)
        self._several = sorted({words for words in alternatives if len(words) > 1})

    def stand_in(self, content: bytes) -> bool:
        """Whether ``content`` holds one of the alternatives."""
        for word in self._first:  # most files hold none, and are done with here
            if word in content:
                break
        else:
            return False
        if any(word in content for word in self._single):
            return True
        return any(all(word in content for word in words) for words in self._several)


def _shortest(words: Iterable[bytes]) -> tuple[bytes, ...]:
    """The words that hold no other one: where one of those is, so is the one it holds."""
    shortest: list[bytes] = []
    for word in sorted(words, key=len):
        if not any(other in word for other in shortest):
            shortest.append(word)
    return tuple(shortest)
