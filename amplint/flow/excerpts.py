"""A document without the functions and classes that nothing connects with a place in it.

Whether a fix heals is asked of such an excerpt: in a file of many functions each would cost as much as all of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from amplint.findings import Edit
from amplint.syntax.enclosing import whole_lines
from amplint.syntax.tree import SyntaxTree

_WORD = re.compile(r"[^\W\d]\w*")
_WORTH = 0.5  # of the document that must go: an excerpt is looked at once more, as it was before the fix


@dataclass(frozen=True)
class Excerpt:
    """What is left of a text without the spans in ``cuts``, which are in their order."""

    whole: str
    cuts: tuple[tuple[int, int], ...]

    @cached_property
    def text(self) -> str:
        """The text that is left."""
        return self.edited(())

    def offset(self, offset: int) -> int | None:
        """Where the character at ``offset`` of the whole text is here; None if it was cut."""
        removed = 0
        for start, end in self.cuts:
            if offset < start:
                break
            if offset < end:
                return None
            removed += end - start
        return offset - removed

    def edited(self, edits: Iterable[Edit]) -> str:
        """The text with ``edits`` of the whole one made, which are apart from the cuts."""
        changes = [(edit.start.offset, edit.end.offset, edit.content) for edit in edits]
        changes += ((start, end, "") for start, end in self.cuts)
        text = self.whole
        for start, end, content in sorted(changes, key=lambda change: change[0], reverse=True):
            text = text[:start] + content + text[end:]
        return text


class Excerpts:
    """Makes the excerpts of one document."""

    def __init__(self, tree: SyntaxTree) -> None:
        self._tree = tree

    def around(self, offsets: Iterable[int]) -> Excerpt | None:
        """The excerpt with all that matters to the code at ``offsets``; None where not much could be left out."""
        kept = list(offsets)
        cuts = tuple(
            (start, end) for start, end in self._separate if not any(start <= offset <= end for offset in kept)
        )
        gone = sum(end - start for start, end in cuts)
        return Excerpt(self._tree.text, cuts) if gone > _WORTH * len(self._tree.text) else None

    @cached_property
    def _separate(self) -> list[tuple[int, int]]:
        """The functions and classes whose names stand nowhere else, and that speak of no other: where each is."""
        text = self._tree.text
        units: list[tuple[str, int, int]] = []
        for node in self._tree.module.body:
            if isinstance(node, (cst.FunctionDef, cst.ClassDef)) and not node.decorators:
                units.append((node.name.value, *whole_lines(self._tree, node)))
        words = [frozenset(_WORD.findall(text, start, end)) for _, start, end in units]
        mentioned = Counter(word for each in words for word in each)
        position, between = 0, set()
        for _, start, end in units:
            between.update(_WORD.findall(text, position, start))
            position = end
        between.update(_WORD.findall(text, position))
        names = {name for name, _, _ in units}
        return [
            (start, end)
            for (name, start, end), own in zip(units, words, strict=True)
            if mentioned[name] == 1 and name not in between and own & names == {name}
        ]
