"""What must stand in a text for a rule to have anything to say about it, asked of bytes alone."""

from __future__ import annotations

from collections.abc import Iterable

Mention = bytes | tuple[bytes, ...]
"""Bytes, or several of which all must be there: the rarest first."""

OF_TRAINING: tuple[Mention, ...] = (b"GradScaler", (b"state_dict", b"optim"), b"autocast")
"""What stands in definitions that tell something about scalers, regions and checkpoints."""

OF_PRECISION: tuple[Mention, ...] = (
    *(b"def forward(", b"autocast", b"float16", b".half(", b"autograd.Function", b"cross_entropy", b"Loss", b"_loss"),
    *(
        b"softmax",
        b"kl_div",
        b"nll",
        b"masked_fill",
        b"finfo",
        b"1e5",
        b"1e6",
        b"1e7",
        b"1e8",
        b"1e9",
        b"1e10",
        b"1e12",
        b"1e20",
        b"1e30",
    ),
    *(b"e-8", b"e-08", b"e-9", b"e-09", b"e-10", b"e-12", b"e-15", b"e-16", b"e-20", b"e-30"),
)
"""What stands in definitions that tell something about half tensors, and of constants that these cannot hold."""


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
