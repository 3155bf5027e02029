"""Source as a person reads it: rows with their numbers, a span underlined, or what a fix makes of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from amplint.documents import Document
from amplint.findings import Edit, Fix, Location
from amplint.output.places import shown_place
from amplint.output.style import Style, harmless_source

_LONGEST_SPAN = 8  # rows of a span that are shown before its middle is left out
_LONGEST_CHANGE = 24  # rows of a fix that are shown before the rest is left out
_TAB = "    "


@dataclass(frozen=True, slots=True)
class Mark:
    """How a span is underlined."""

    letter: str
    colour: str


def frame(
    document: Document, start: Location, end: Location, mark: Mark, style: Style, around: int = 0
) -> Iterator[str]:
    """The rows from ``start`` to ``end`` and those ``around``, with their place above and the span underlined.

    Where a row is wider than the terminal, the part is shown where the span begins.
    """
    rows = _rows(document, start.row, end.row, around)
    shift = document.place(start).row - start.row
    width = len(str(max(row for row in rows if row) + shift))
    window = _Window.around(document, start, style, width)
    gutter = " " * width + " " + style("blue", "|")
    yield f"{' ' * width}{style('blue', '-->')} {shown_place(document, start)}"
    yield gutter
    for row in rows:
        if not row:
            yield style("blue", "." * width)
            continue
        text = document.source_row(row)
        yield f"{style('blue', f'{row + shift:>{width}} |')} {window.of(_shown(text))}".rstrip()
        if start.row <= row <= end.row:
            left = start.column - 1 if row == start.row else len(text) - len(text.lstrip())
            right = end.column - 1 if row == end.row else len(text.rstrip())
            if right > left or start == end:
                line = mark.letter * max(_width(_shown(text[left:right])), 1)
                line = window.of(" " * _width(_shown(text[:left])) + line, ellipsis="").rstrip()
                if line:
                    blank = len(line) - len(line.lstrip())
                    yield f"{gutter} {line[:blank]}{style(mark.colour, line[blank:])}"
    yield gutter


def change(document: Document, fix: Fix, style: Style) -> Iterator[str]:
    """What ``fix`` makes of the rows that it touches, with a row before and after for orientation."""
    after = document.edited(fix.edits)
    lines = list(_changed(document, after, fix.edits))
    left_out = len(lines) - _LONGEST_CHANGE
    if left_out > 1:
        lines = lines[:_LONGEST_CHANGE]
    width = max(len(number) for number, _, _ in lines)
    window = _Window.at_left(style, width)
    gutter = " " * width + " " + style("blue", "|")
    yield gutter
    for number, sign, text in lines:
        if sign == ".":
            yield style("blue", "." * width + text)
            continue
        body = window.of(_shown(text))
        if sign == " ":
            yield f"{style('blue', f'{number:>{width}} |')} {body}".rstrip()
        else:
            yield style("red" if sign == "-" else "green", f"{number:>{width}} {sign} {body}".rstrip())
    yield gutter
    if left_out > 1:
        yield f"{' ' * width} {style('blue', '=')} {left_out} more rows are not shown"


def _changed(before: Document, after: Document, edits: Sequence[Edit]) -> Iterator[tuple[str, str, str]]:
    """Number, sign and text of each row that changes, and of those beside it."""
    shift, last = 0, 0  # how much lower rows stand in ``after``, and the last row of it that was shown
    for start, end, more in _touched(before, edits):
        old = [before.source_row(row) for row in range(start, end + 1)]
        new = [after.source_row(row) for row in range(start + shift, end + shift + more + 1)]
        blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        unchanged = [block for block in (blocks[0], blocks[-1]) if block[0] == "equal"]
        blocks = [block for block in blocks if block not in unchanged] or blocks
        first = start + shift + blocks[0][3]
        beside = after.rows_beside(min(first, after.row_count))
        cell = after.place(after.at(first, 1)).cell
        if last and cell != after.place(after.at(last, 1)).cell:
            yield "", ".", f" cell {cell}"
        elif last and first - 1 > last + 1:
            yield "", ".", ""
        if first - 1 > last and first - 1 in beside:
            yield _number(after, first - 1), " ", after.source_row(first - 1)
        for _, old_start, old_end, new_start, new_end in blocks:
            kept = old[old_start:old_end] == new[new_start:new_end]
            for text in () if kept else old[old_start:old_end]:
                yield "", "-", text
            for row in range(new_start, new_end):
                yield _number(after, start + shift + row), " " if kept else "+", new[row]
        last = start + shift + blocks[-1][4] - 1
        if last + 1 in beside and (last + 1 < after.row_count or after.source_row(last + 1)):
            last += 1
            yield _number(after, last), " ", after.source_row(last)
        shift += more


def _touched(document: Document, edits: Sequence[Edit]) -> Iterator[tuple[int, int, int]]:
    """First and last row of each run of rows that ``edits`` touch, and how many rows there are more afterwards."""
    runs: list[tuple[int, int, int]] = []
    for edit in sorted(edits, key=lambda edit: (edit.start.offset, edit.end.offset)):
        start, end = edit.start.row, edit.end.row
        more = _newlines(edit.content) - (end - start)
        if runs and start <= runs[-1][1] + 2:
            first, last, so_far = runs.pop()
            runs.append((first, max(last, end), so_far + more))
        else:
            runs.append((start, end, more))
    return iter(runs)


def _newlines(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _number(document: Document, row: int) -> str:
    return str(document.place(document.at(row, 1)).row)


@dataclass(frozen=True, slots=True)
class _Window:
    """The columns that a terminal has room for; without an end all of them."""

    start: int = 0
    end: int | None = None

    @classmethod
    def at_left(cls, style: Style, gutter: int) -> _Window:
        return cls() if style.width is None else cls(0, max(style.width - gutter - 3, 10))

    @classmethod
    def around(cls, document: Document, place: Location, style: Style, gutter: int) -> _Window:
        window = cls.at_left(style, gutter)
        before = _width(_shown(document.source_row(place.row)[: place.column - 1]))
        if window.end is None or before < window.end * 3 // 4:
            return window
        start = before - window.end // 3
        return cls(start, start + window.end)

    def of(self, text: str, ellipsis: str = "…") -> str:
        if self.end is None:
            return text
        shown, column = "", 0
        for letter in text:
            width = _width(letter)
            if self.start <= column and column + width <= self.end:
                shown += letter
            elif self.start < column + width <= self.end:
                shown += " " * (column + width - self.start)  # half of it is outside
            column += width
        if column > self.end:
            shown = shown[: len(shown) - len(ellipsis)] + ellipsis
        return ellipsis + shown[len(ellipsis) :] if self.start and shown.strip() else shown


def _rows(document: Document, first: int, last: int, around: int) -> list[int]:
    """The rows to show; 0 stands for rows left out."""
    beside = document.rows_beside(first)
    before = [row for row in range(first - around, first) if row in beside]
    after = [row for row in range(last + 1, last + around + 1) if row in beside]
    while before and not document.source_row(before[0]).strip():
        before.pop(0)
    while after and not document.source_row(after[-1]).strip():
        after.pop()
    span = list(range(first, last + 1))
    if len(span) > _LONGEST_SPAN:
        span = [*span[: _LONGEST_SPAN // 2], 0, *span[-_LONGEST_SPAN // 2 :]]
    return before + span + after


def _shown(text: str) -> str:
    return harmless_source(text.replace("\t", _TAB))


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
