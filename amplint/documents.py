"""A file as it was read, and as it is written back: encoding, newlines and byte-order mark are kept."""

from __future__ import annotations

import bisect
from functools import cached_property

from amplint.findings import Edit, Location


class Document:
    """The text of one file with the place of every character in it.

    ``text`` holds the decoded characters with their newlines as they stand in the file and without a
    byte-order mark.
    """

    def __init__(self, filename: str, text: str) -> None:
        self.filename = filename
        self.text = text

    @cached_property
    def _line_starts(self) -> list[int]:
        starts, offset = [0], 0
        for line in self.text.splitlines(keepends=True):
            offset += len(line)
            starts.append(offset)
        return starts

    def location(self, offset: int) -> Location:
        """The place of the character at ``offset``."""
        row = bisect.bisect_right(self._line_starts, offset)
        return Location(offset, row, offset - self._line_starts[row - 1] + 1)

    def edit(self, start: int, end: int, content: str) -> Edit:
        """The edit that replaces the characters from offset ``start`` up to ``end`` by ``content``."""
        return Edit(self.location(start), self.location(end), content)
