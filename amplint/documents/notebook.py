"""Jupyter notebooks: the code cells as one program, in JSON of which only what is edited is written anew."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from amplint.documents.document import UnreadableDocument, decoded
from amplint.documents.magics import masked
from amplint.documents.parts import Change, Part, PartedDocument, blank, parses

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_CHARACTER = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[^\\]", re.DOTALL)
_INDENT = re.compile(
    r"(?:[ \t]*(?:\r\n|\r(?!\n)|\n))*([ \t]+)\S"
)  # which IPython takes away from every row that has it
_PYTHON = {"python", "ipython", "python2", "python3", "sagemath"}
_FORMATS = range(2, 6)
_WRITTEN = re.compile(  # a cell that is a file of Python
    r"""
    \s*%%(?:writefile|file)[ \t]+(?P<append>(?:-a|--append)[ \t]+)?
    (?:(?P<quote>["'])(?P<quoted>[^\r\n]*?\.py)(?P=quote)|(?P<name>\S+\.py))[ \t]*(?:\r\n|\r|\n|\Z)
    """,
    re.VERBOSE,
)
_BOUNDARY = "\\n"  # as JSON spells a newline


def read_notebook(filename: str, content: bytes) -> PartedDocument:
    """The notebook whose file holds ``content``; raises :class:`UnreadableDocument`."""
    text, encoding, bom = decoded(filename, content, "utf-8")
    try:
        found = _Reader(text).notebook()
    except (ValueError, RecursionError) as error:
        raise UnreadableDocument(filename, f"could not be read as a notebook: {error}") from None
    parts: list[Part] = []
    files: Counter[str] = Counter()  # how often each of the files that cells write was begun
    between, position = [], 0
    for cell in found.cells if _is_python(found.metadata) else ():
        part = _part(cell, text, files)
        if part is not None:
            parts.append(part)
            between.append(text[position : cell.start])
            position = cell.end
    return PartedDocument(filename, parts, (*between, text[position:]), encoding=encoding, bom=bom, content=content)


def _is_python(metadata: dict[str, Any]) -> bool:
    """Whether a notebook's code is Python, as it is where nothing else is said."""
    kernel, info = metadata.get("kernelspec"), metadata.get("language_info")
    told = (isinstance(info, dict) and info.get("name")) or (isinstance(kernel, dict) and kernel.get("language"))
    return not isinstance(told, str) or told.lower() in _PYTHON


def _part(cell: _Cell, text: str, files: Counter[str]) -> Part | None:
    """The share of the program that ``cell`` is; None where it is text, or code in another language."""
    if cell.members.get("cell_type") != "code" or cell.source is None:
        return None
    metadata = cell.members.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    editor = metadata.get("vscode")
    languages = (
        cell.members.get("language"),  # nbformat 3
        editor.get("languageId") if isinstance(editor, dict) else None,
        kind if (kind := metadata.get("deepnote_cell_type")) != "code" else None,
    )
    if any(isinstance(language, str) and language.lower() not in _PYTHON for language in languages):
        return None
    source = "".join(cell.source.decoded)
    header = _WRITTEN.match(source)
    if header:
        return _written(cell.number, source, header, cell.source, text.isascii(), files)
    without_magics = masked(source)
    if without_magics is None or not source.strip():
        return None
    indent = _INDENT.match(without_magics)
    part = CellPart(
        source, without_magics, cell.number, indent=indent[1] if indent else "", json=cell.source, ascii=text.isascii()
    )
    return part if parses(part.text) else replace(part, masked=blank(source), indent="", parsed=False)


def _written(
    number: int, source: str, header: re.Match[str], spelled: _Source, ascii: bool, files: Counter[str]
) -> Part | None:
    """The cell whose ``source`` is written into a file of Python: a program of its own, or more of one."""
    name = header["quoted"] or header["name"]
    if not header["append"] or not files[name]:
        files[name] += 1
    part = CellPart(source, "", number, json=spelled, ascii=ascii, program=f"{name} ({files[name]})")
    masked = part._masked(source)
    return replace(part, masked=masked) if masked is not None and parses(masked) else None


@dataclass(frozen=True)
class _Source:
    """The JSON value that a cell's source is: a string, or a list of them.

    ``strings`` are their spellings, without the quotes; ``leads`` is what stands before each string and after the last.
    """

    strings: tuple[str, ...]
    leads: tuple[str, ...]
    is_list: bool

    @property
    def decoded(self) -> list[str]:
        return [json.loads(f'"{string}"') for string in self.strings]

    @property
    def raw(self) -> str:
        quoted = (f'{lead}"{string}"' for lead, string in zip(self.leads, self.strings, strict=False))
        return "".join((*quoted, self.leads[-1]))

    def raw_offset(self, offset: int) -> int:
        """Where in :attr:`raw` the character of the text at ``offset`` is."""
        position = 0
        last = len(self.strings) - 1
        for index, (lead, string) in enumerate(zip(self.leads, self.strings, strict=False)):
            characters = _CHARACTER.findall(string)
            position += len(lead) + 1
            if offset < len(characters) or index == last:
                return position + sum(map(len, characters[:offset]))
            offset -= len(characters)
            position += len(string) + 1
        return position

    def changed(self, changes: Sequence[Change], *, ascii: bool) -> _Source:
        """The value with ``changes`` made to its text; strings that they do not touch keep their spelling."""
        characters = [_CHARACTER.findall(string) for string in self.strings]
        starts, position = [], 0
        for string in characters:
            starts.append(position)
            position += len(string)
        low = max((index for index, start in enumerate(starts) if start <= changes[0].start), default=0)
        high = max((index for index, start in enumerate(starts) if start < changes[-1].end), default=low)
        high = max(low, high)
        touched = [character for string in characters[low : high + 1] for character in string]
        for change in reversed(changes):
            spelled = [json.dumps(character, ensure_ascii=ascii)[1:-1] for character in change.content]
            touched[change.start - starts[low] : change.end - starts[low]] = spelled
        by_row = self.is_list and all(_BOUNDARY not in string[:-1] for string in characters[low : high + 1])
        strings = _rows(touched) if by_row else ["".join(touched)]
        comma = self.leads[1] if len(self.strings) > 1 else "," + self.leads[0].lstrip("[")
        leads = [self.leads[low], *(comma for _ in strings[1:])][: len(strings)]
        rest = list(self.leads[high + 1 :])
        if not strings and low == 0:  # the bracket stands before what comes first
            rest[0] = self.leads[0] if len(rest) > 1 else "[]"
        return _Source(
            (*self.strings[:low], *strings, *self.strings[high + 1 :]), (*self.leads[:low], *leads, *rest), self.is_list
        )


def _rows(characters: Sequence[str]) -> list[str]:
    rows, row = [], ""
    for character in characters:
        row += character
        if character == _BOUNDARY:
            rows.append(row)
            row = ""
    return [*rows, row] if row else rows


@dataclass(frozen=True, kw_only=True)
class CellPart(Part):
    """A code cell."""

    json: _Source
    ascii: bool = True

    @property
    def raw(self) -> str:
        return self.json.raw

    def raw_offset(self, offset: int) -> int:
        return self.json.raw_offset(offset)

    def _masked(self, source: str) -> str | None:
        header = _WRITTEN.match(source) if self.program else None
        return blank(header[0]) + source[header.end() :] if header else super()._masked(source)

    def changed(self, changes: Sequence[Change]) -> Part:
        made = super().changed(changes)
        return replace(self, source=made.source, masked=made.masked, json=self.json.changed(changes, ascii=self.ascii))


@dataclass
class _Cell:
    """A cell in the JSON: its source there, from ``start`` up to ``end``, and its other members."""

    number: int
    members: dict[str, Any] = field(default_factory=dict)
    source: _Source | None = None
    start: int = 0
    end: int = 0


@dataclass
class _Found:
    metadata: dict[str, Any]
    cells: list[_Cell]


class _Reader:
    """Reads a notebook's JSON and remembers where the cells' sources stand; raises :class:`ValueError`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decode = json.JSONDecoder().raw_decode
        self._position = 0
        self._cells: list[_Cell] = []

    def notebook(self) -> _Found:
        metadata: Any = {}
        version: Any = None
        known = False
        for key in self._members():
            if key == "cells":
                known = True
                self._array(self._cell)
            elif key == "worksheets":  # nbformat 2 and 3
                known = True
                self._array(self._worksheet)
            else:
                value = self._value()
                metadata = value if key == "metadata" else metadata
                version = value if key == "nbformat" else version
        if self._peek():
            raise json.JSONDecodeError("Extra data", self._text, self._position)
        if isinstance(version, int) and version not in _FORMATS:
            raise ValueError(f"its format is nbformat {version}, and known are {_FORMATS[0]} to {_FORMATS[-1]}")
        if not known:
            raise ValueError("it has no cells")
        return _Found(metadata if isinstance(metadata, dict) else {}, self._cells)

    def _worksheet(self) -> None:
        for key in self._members():
            if key == "cells":
                self._array(self._cell)
            else:
                self._value()

    def _cell(self) -> None:
        cell = _Cell(len(self._cells) + 1)
        for key in self._members():
            if key in ("source", "input"):
                self._peek()
                cell.start = self._position
                value = self._value()
                cell.end = self._position
                cell.source = self._source(cell.start, value)
            else:
                cell.members[key] = self._value()
        self._cells.append(cell)

    def _source(self, start: int, value: object) -> _Source | None:
        """The source whose JSON, which is ``value``, begins at ``start``."""
        text = self._text
        if isinstance(value, str):
            return _Source((text[start + 1 : self._position - 1],), ("", ""), False)
        if not isinstance(value, list) or not all(isinstance(string, str) for string in value):
            return None
        strings, leads, position = [], [], start
        for _ in value:
            quote = text.index('"', position)
            leads.append(text[position:quote])
            string = _STRING.match(text, quote)
            position = string.end() if string else quote
            strings.append(text[quote + 1 : position - 1])
        return _Source(tuple(strings), (*leads, text[position : self._position]), True)

    def _members(self) -> Iterator[Any]:
        """The keys of the object that comes next; whoever takes one must read its value."""
        self._expect("{")
        if self._peek() != "}":
            while True:
                key = self._value()
                self._expect(":")
                yield key
                if self._peek() != ",":
                    break
                self._expect(",")
        self._expect("}")

    def _array(self, read_element: Any) -> None:
        self._expect("[")
        if self._peek() != "]":
            while True:
                read_element()
                if self._peek() != ",":
                    break
                self._expect(",")
        self._expect("]")

    def _value(self) -> Any:
        self._peek()
        value, self._position = self._decode(self._text, self._position)
        return value

    def _peek(self) -> str:
        space = _SPACE.match(self._text, self._position)
        self._position = space.end() if space else self._position
        return self._text[self._position : self._position + 1]

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise json.JSONDecodeError(f"Expecting {character}", self._text, self._position)
        self._position += 1
