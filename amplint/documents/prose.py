"""Pages of Markdown and reStructuredText: their blocks of Python, in their order, as one program."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from amplint.documents.document import NEWLINE, decoded
from amplint.documents.magics import masked
from amplint.documents.parts import Change, Part, PartedDocument, PartRow, blank, changed_source, parses

_LANGUAGES = {"py", "py3", "python", "python3", "ipython", "ipython3", "pycon"}
_PROMPT = re.compile(r"(?:>>>|\.\.\.)(?: |$)")
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\r\n]*)")
_WORD = re.compile(r"[\w-]+")
_DIRECTIVE = re.compile(
    r"(?P<indent>[ \t]*)\.\.[ \t]+(?P<name>code|code-block|code-cell|sourcecode|testcode)::[ \t]*(?P<language>[\w-]*)"
)
_OPTION = re.compile(r"[ \t]+:[\w-]+:")


@dataclass(frozen=True, slots=True)
class _Row:
    number: int
    start: int
    text: str

    @property
    def blank(self) -> bool:
        return not self.text.strip()

    @property
    def indent(self) -> str:
        return self.text[: len(self.text) - len(self.text.lstrip())]


def read_prose(filename: str, content: bytes) -> PartedDocument:
    """The page whose file holds ``content``; raises :class:`amplint.documents.UnreadableDocument`.

    A block that is no Python, since it is a fragment or leaves something out, is not looked into.
    """
    text, encoding, bom = decoded(filename, content, "utf-8")
    rows, start = [], 0
    for number, row in enumerate(re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text), 1):
        rows.append(_Row(number, start, row.rstrip("\r\n")))
        start += len(row)
    blocks = _directives(rows) if os.path.splitext(filename)[1] == ".rst" else _fences(rows)
    parts, between, position = [], [], 0
    for block in blocks:
        first, last = block[0], block[-1]
        end = last.start + len(last.text)
        part = _part(text[first.start : end], block)
        if part is not None:
            parts.append(part)
            between.append(text[position : first.start])
            position = end
    return PartedDocument(filename, parts, (*between, text[position:]), encoding=encoding, bom=bom, content=content)


def _part(source: str, block: list[_Row]) -> Part | None:
    indent = os.path.commonprefix([row.indent for row in block if not row.blank])
    if block[0].text.startswith(f"{indent}>>>"):
        part: Part = Session(source, source, first_row=block[0].number, indent=indent)
    else:
        without_magics = masked(source)
        if without_magics is None:
            return None
        part = Part(source, without_magics, first_row=block[0].number, indent=indent)
    return part if parses(part.text) else None


class Session(Part):
    """What was typed in an interactive session, each row behind its prompt, with what was answered in between."""

    @cached_property
    def rows(self) -> tuple[PartRow, ...]:
        rows = []
        for row in super().rows:
            prompt = _PROMPT.match(row.text.rstrip("\r\n"))
            length = prompt.end() if prompt else 0
            text = row.text[length:] if prompt else blank(row.text)
            rows.append(PartRow(row.start + length, row.skipped + length, text))
        return tuple(rows)

    def changed(self, changes: Sequence[Change]) -> Part:
        for change in changes:
            if NEWLINE.search(change.content + self.source[change.start : change.end]):
                raise ValueError("the edit would add or remove rows of an interactive session")
        source = changed_source(self.source, changes)
        return replace(self, source=source, masked=source)


def _stripped(rows: list[_Row]) -> Iterator[list[_Row]]:
    """``rows`` without blank ones around them, if anything is left."""
    solid = [index for index, row in enumerate(rows) if not row.blank]
    if solid:
        yield rows[solid[0] : solid[-1] + 1]


def _fences(rows: list[_Row]) -> Iterator[list[_Row]]:
    """The fenced blocks of Python in Markdown."""
    coming = iter(rows)
    for row in coming:
        opened = _FENCE.match(row.text)
        if not opened:
            continue
        fence, info = opened["fence"], opened["info"].lower()
        closed = re.compile(rf"[ \t]*{re.escape(fence[0])}{{{len(fence)},}}[ \t]*\Z")
        block = []
        for inner in coming:
            if closed.match(inner.text):
                break
            block.append(inner)
        words = _WORD.findall(info)
        if words and words[0] in ("code-cell", "code-block", "code", "sourcecode"):  # directives of MyST
            words = words[1:]
        if words and words[0] in _LANGUAGES:
            yield from _stripped(block)


def _directives(rows: list[_Row]) -> Iterator[list[_Row]]:
    """The code blocks of Python in reStructuredText."""
    index = 0
    while index < len(rows):
        directive = _DIRECTIVE.match(rows[index].text)
        index += 1
        if not directive:
            continue
        block = []
        while index < len(rows) and (rows[index].blank or len(rows[index].indent) > len(directive["indent"])):
            block.append(rows[index])
            index += 1
        while block and _OPTION.match(block[0].text):
            block.pop(0)
        if directive["name"] == "testcode" or directive["language"].lower() in _LANGUAGES:
            yield from _stripped(block)
