"""A file of which only some parts are program: the cells of a notebook, the code blocks of a page.

The parts follow each other in the text as one program. A part may differ there from what the file says: its rows lose
what all of them are indented by, and what is not Python is masked by as many characters that say nothing.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from amplint.documents.document import NEWLINE, Document, Place, apply_edits
from amplint.documents.grammar import is_python
from amplint.documents.magics import masked
from amplint.findings import Edit, Location
from amplint.mentions import Mentions


class Change(NamedTuple):
    """Replace a part's source from ``start`` up to ``end`` by ``content``."""

    start: int
    end: int
    content: str


@dataclass(frozen=True)
class Part:
    """A piece of a program: its source as a reader sees it, and where that is.

    ``masked`` has the rows and columns of ``source`` and nothing in it that is not Python. ``first_row`` is the first
    row of the source as the reader counts: in the cell or, where there is none, in the file. ``program`` names the
    program that the part belongs to, where that is not the file's own.
    """

    source: str
    masked: str
    cell: int | None = None
    first_row: int = 1
    indent: str = ""
    parsed: bool = True
    program: str = ""

    @property
    def raw(self) -> str:
        """What the file holds for this part."""
        return self.source

    def raw_offset(self, offset: int) -> int:
        """Where in :attr:`raw` the character of the source at ``offset`` is."""
        return offset

    def changed(self, changes: Sequence[Change]) -> Part:
        """This part with ``changes`` made; raises :class:`ValueError` where it would not be Python any more."""
        source = changed_source(self.source, changes)
        without_magics = self._masked(source)
        if without_magics is None:
            raise ValueError("a cell or code block would not be Python any more")
        return replace(self, source=source, masked=without_magics)

    def _masked(self, source: str) -> str | None:
        """What of ``source``, which is to be this part's, is Python."""
        return masked(source)

    @cached_property
    def rows(self) -> tuple[PartRow, ...]:
        """The rows of the part in the program; the last one stands for what may be added after the source."""
        rows = []
        start = 0
        for end in (*(match.end() for match in NEWLINE.finditer(self.source)), len(self.source)):
            skipped = len(self.indent) if self.source.startswith(self.indent, start, end) else 0
            rows.append(PartRow(start + skipped, skipped, self.masked[start + skipped : end]))
            start = end
        return (*rows, PartRow(len(self.source) + 1, 0, ""))

    @cached_property
    def text(self) -> str:
        """The part's share of the program."""
        return "".join(row.text for row in self.rows)


class PartRow(NamedTuple):
    """A row of a part: where its text begins in the source, how much of the row that skips, and the text."""

    start: int
    skipped: int
    text: str


def changed_source(source: str, changes: Iterable[Change]) -> str:
    """``source`` with ``changes``, which are in their order and apart from each other, made."""
    parts: list[str] = []
    position = 0
    for change in changes:
        parts += (source[position : change.start], change.content)
        position = change.end
    return "".join((*parts, source[position:]))


class PartedDocument(Document):
    """A document that is a sequence of parts with something in between that no rule sees."""

    importable = False
    whole = False

    def __init__(
        self,
        filename: str,
        parts: Sequence[Part],
        between: Sequence[str],
        *,
        encoding: str = "utf-8",
        bom: bytes = b"",
        content: bytes | None = None,
        program: str = "",
    ) -> None:
        """``between`` is what stands before, between and after the ``parts``, in the file's own spelling.

        The text is that of the parts of ``program``; the others' rows are blank in it.
        """
        rows = [row.text if part.program == program else blank(row.text) for part in parts for row in _ended(part)]
        super().__init__(filename, "".join(rows), encoding=encoding, bom=bom, content=content)
        self._program = program
        self._parts = tuple(parts)
        self._between = tuple(between)
        self._rows = [(index, number) for index, part in enumerate(parts) for number in range(len(part.rows))]

    def place(self, location: Location) -> Place:
        part, number = self._row(location.row)
        if part is None:
            return super().place(location)
        row = part.rows[number]
        return Place(part.first_row + number, location.column + row.skipped, part.cell)

    def file_place(self, location: Location) -> Place:
        index, number = self._rows[min(location.row, len(self._rows)) - 1] if self._rows else (0, 0)
        before, offset = [], 0
        if self._parts:
            part = self._parts[index]
            offset = part.raw_offset(min(part.rows[number].start + location.column - 1, len(part.source)))
            before = [part.raw for part in self._parts[:index]]
        start = sum(map(len, (*self._between[: index + 1], *before)))
        row = bisect.bisect_right(self._file_rows, start + offset)
        return Place(row, start + offset - self._file_rows[row - 1] + 1)

    @cached_property
    def _file_rows(self) -> list[int]:
        return [0, *(match.end() for match in NEWLINE.finditer(self._file_text()))]

    def rows_beside(self, row: int) -> range:
        part, number = self._row(row)
        if part is None:
            return range(row, row + 1)
        return range(row - number, row - number + len(part.rows) - 1)

    def source_row(self, number: int) -> str:
        part, index = self._row(number)
        if part is None or index == len(part.rows) - 1:
            return ""
        row = part.rows[index]
        begin = row.start - row.skipped
        return part.source[begin : begin + row.skipped + len(row.text)].rstrip("\r\n")

    def pages(self) -> list[tuple[int | None, str]]:
        if any(part.cell is None for part in self._parts):
            return [(None, self._file_text())]
        return [(part.cell, part.source) for part in self._parts]

    @property
    def unparsed(self) -> tuple[tuple[int, str], ...]:
        found = []
        for row, (index, number) in enumerate(self._rows):
            part = self._parts[index]
            if number == 0 and not part.parsed and part.program == self._program:
                found.append((self._line_starts[row], part.source))
        return tuple(found)

    def holds(self, mentions: Mentions) -> bool:
        return mentions.stand_in("\n".join(part.source for part in self._parts).encode("utf-8", "replace"))

    def encode(self) -> bytes:
        return self._bom + self._file_text().encode(self.encoding)

    def edited(self, edits: Iterable[Edit]) -> Document:
        edits = sorted(edits, key=lambda edit: (edit.start.offset, edit.end.offset))
        apply_edits(self.text, edits)  # raises where they overlap
        changes: dict[int, list[Change]] = defaultdict(list)
        for edit in edits:
            index, change = self._change(edit)
            changes[index].append(change)
        parts = list(self._parts)
        for index, wanted in changes.items():
            parts[index] = parts[index].changed(wanted)
            if not parses(parts[index].text):
                raise ValueError("a cell or code block would not be Python by itself")
        return self._with(parts, self._program)

    @cached_property
    def programs(self) -> tuple[Document, ...]:
        names = dict.fromkeys(("", *(part.program for part in self._parts)))
        return tuple(self if name == self._program else self._with(self._parts, name) for name in names)

    def program_at(self, location: Location) -> Document:
        part, _ = self._row(location.row)
        names = list(dict.fromkeys(("", *(part.program for part in self._parts))))
        return self.programs[names.index(part.program)] if part else self

    def _with(self, parts: Sequence[Part], program: str) -> PartedDocument:
        return PartedDocument(
            self.filename,
            parts,
            self._between,
            encoding=self.encoding,
            bom=self._bom,
            content=self._content,
            program=program,
        )

    def _file_text(self) -> str:
        return "".join(_woven(self._between, [part.raw for part in self._parts]))

    def _row(self, row: int) -> tuple[Part | None, int]:
        """The part in which the text's ``row`` is, and which of its rows it is."""
        if row > len(self._rows):
            return None, 0
        index, number = self._rows[row - 1]
        return self._parts[index], number

    def _change(self, edit: Edit) -> tuple[int, Change]:
        """What ``edit`` is in the source of a part, and which part that is."""
        if not self._parts:
            raise ValueError("there is nothing to change")
        index, first = self._rows[min(edit.start.row, len(self._rows)) - 1]
        last_index, last = self._rows[min(edit.end.row, len(self._rows)) - 1]
        if index != last_index:
            raise ValueError("the edit reaches from one cell or code block into another")
        part = self._parts[index]
        start = part.rows[first].start + edit.start.column - 1
        end = part.rows[last].start + edit.end.column - 1
        if part.source[start:end] != part.masked[start:end]:
            raise ValueError("the edit would change what is not Python")
        return index, _settled(part, Change(start, end, edit.content), (part.rows[first], part.rows[last]))


def _ended(part: Part) -> Iterator[PartRow]:
    """The rows of ``part``, each with an end: the last one of a source usually has none of its own."""
    newline = match[0] if (match := NEWLINE.search(part.source)) else "\n"
    *rows, last, after = part.rows
    yield from rows
    yield last._replace(text=last.text + newline)
    yield after._replace(text=newline)


def _settled(part: Part, change: Change, rows: tuple[PartRow, PartRow]) -> Change:
    """``change``, which may reach one past the source, within the source, and indented as the part is."""
    start, end, content = change
    last = len(part.source)
    ended = NEWLINE.search(content, max(len(content) - 2, 0))
    if end > last:  # the newline there is in the text only
        if ended and ended.end() == len(content):
            content = content[: ended.start()]
        if start > last:
            newline = match[0] if (match := NEWLINE.search(part.source)) else "\n"
            start, content = last, newline + content
        elif not content and start and part.source[start - 1] in "\r\n":
            start -= 2 if part.source.endswith("\r\n", 0, start) else 1
        end = last
    if part.indent and content:
        content = NEWLINE.sub(lambda newline: newline[0] + part.indent, content)
        if not rows[0].skipped and start == change.start:  # an empty row, which need not be indented
            content = part.indent + content
            if not rows[1].skipped and end == change.end:
                content = content.removesuffix(part.indent)
    return Change(start, end, content)


def _woven(between: Sequence[str], parts: Sequence[str]) -> Iterator[str]:
    for before, part in zip(between, parts):  # noqa: B905 - there is one more in between
        yield before
        yield part
    yield between[-1]


def blank(source: str) -> str:
    """Nothing, in as many rows and columns."""
    return re.sub(r"[^\r\n]", " ", source)


def parses(text: str) -> bool:
    """Whether ``text`` is Python, of this version or another."""
    if is_python(text):
        return True
    import libcst as cst

    try:
        cst.parse_module(text)
    except (cst.ParserSyntaxError, UnicodeError, RecursionError):
        return False
    return True
