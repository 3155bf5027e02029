"""A document's LibCST tree and, once something is found, the offsets of its nodes."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar

import libcst as cst
from libcst._nodes.internal import CodegenState

from amplint.syntax.depth import TooDeep, parsed
from amplint.syntax.invalid import InvalidSyntax as InvalidSyntax
from amplint.syntax.skeleton import NoSkeleton, Offsets, Places, build, fill
from amplint.syntax.trust import whole_trees_only

_Node = TypeVar("_Node", bound=cst.CSTNode)
_SOLID = re.compile(r"[^\s\\]")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_FED_INDENT = re.compile(r"(?<![^\r\n])[ \t]*\f[ \t\f]*")


class SyntaxTree:
    """The tree of one text.

    Where Python's own parser can tell its shape, that is what the tree is made from: see
    :mod:`amplint.syntax.skeleton`. LibCST parses the text when somebody needs what stands around the code. Offsets are
    characters from the start of the text; those that Python's parser does not tell are worked out by one rendering of
    the whole tree. So a file in which nothing is found pays for neither.
    """

    def __init__(self, text: str) -> None:
        if "\0" in text:  # LibCST takes some of them
            raise InvalidSyntax("source code cannot contain null bytes", *_place(text, text.index("\0")))
        try:
            tree = parsed(text)
        except TooDeep as error:
            raise InvalidSyntax("the code is nested too deeply", error.row, 1) from None
        self.text = text
        self.invalid: InvalidSyntax | None = None
        """What LibCST said when it was asked for the rest of the tree, if it knows less than Python's parser."""
        self._places: Places = {}
        self._is_bare = False
        if tree is not None and not whole_trees_only():
            with contextlib.suppress(NoSkeleton, RecursionError):
                self.module, self._places = build(tree, text)
                self._is_bare = True
        if not self._is_bare:
            self.module = _whole(text)

    def whole(self, node: _Node) -> _Node:
        """``node``, now with all of its fields set, not only those that hold code.

        Raises :class:`InvalidSyntax` where LibCST cannot parse the text, :class:`amplint.syntax.trust.Unlike` where it
        sees other code in it.
        """
        if self._is_bare:
            try:
                fill(self.module, _whole(self.text))
            except InvalidSyntax as error:
                self.invalid = error
                raise
            self._is_bare = False
        return node

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Start and end offset of ``node``, without surrounding whitespace and parentheses around it."""
        place = self._places.get(id(node))
        return self._spans[node] if place is None else self._offsets.span(place)

    def around(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """The nodes around ``node``, innermost first, up to the module."""
        parents, found = self._rendering.parents, []
        while node is not self.module:
            node = parents[node]
            found.append(node)
        return found

    @cached_property
    def _offsets(self) -> Offsets:
        return Offsets(self.text)

    @cached_property
    def _rendering(self) -> _SpanState:
        state = _SpanState(self.whole(self.module))
        self.module._codegen(state)
        return state

    @cached_property
    def _spans(self) -> dict[cst.CSTNode, tuple[int, int]]:
        spans, code = self._rendering.spans, "".join(self._rendering.tokens)
        return spans if code == self.text else _Alignment(self.text, code).spans(spans)

    def code(self, node: cst.CSTNode) -> str:
        """The source text of ``node`` as :meth:`span` delimits it."""
        start, end = self.span(node)
        return self.text[start:end]

    def row(self, offset: int) -> int:
        """The row (1-based) of the character at ``offset``."""
        return _place(self.text, offset)[0]


def _whole(text: str) -> cst.Module:
    """The tree as LibCST parses it; raises :class:`InvalidSyntax`."""
    try:
        return _parsed(text)
    except cst.ParserSyntaxError as error:
        raise InvalidSyntax(error.message, error.raw_line, error.raw_column + 1) from None
    except cst.CSTValidationError as error:  # `for x in*y` is Python, and yet LibCST has no tree for it
        raise InvalidSyntax(str(error), 1, 1) from None
    except UnicodeEncodeError as error:  # half of a character, as JSON can hold it
        raise InvalidSyntax("source code cannot contain surrogates", *_place(text, error.start)) from None


def _parsed(text: str) -> cst.Module:
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError:  # where LibCST counts columns on past a form feed, Python begins anew
        without = _FED_INDENT.sub(lambda indent: indent[0].rpartition("\f")[2], text)
        if without == text:
            raise
        return cst.parse_module(without)


class _Alignment:
    """Which characters of a text are those of its rendering.

    LibCST changes whitespace only: it loses a form feed or a continued line before a statement, say.
    """

    def __init__(self, text: str, code: str) -> None:
        self._offsets: list[int] = []
        self._last = len(text)
        solid = (match.start() for match in _SOLID.finditer(text))
        offset = -1
        for character in code:
            offset = next(solid) if _SOLID.match(character) else min(offset + 1, self._last)
            self._offsets.append(offset)

    def spans(self, spans: dict[cst.CSTNode, tuple[int, int]]) -> dict[cst.CSTNode, tuple[int, int]]:
        """The same spans, of the rendering, in the text."""
        return {node: (self._start(start), self._end(start, end)) for node, (start, end) in spans.items()}

    def _start(self, offset: int) -> int:
        return self._offsets[offset] if offset < len(self._offsets) else self._last

    def _end(self, start: int, end: int) -> int:
        return self._start(end - 1) + 1 if start < end <= len(self._offsets) else self._start(end)


class _SpanState(CodegenState):
    """Renders a tree and remembers at which offset each node begins and ends."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.offset = 0
        self.spans: dict[cst.CSTNode, tuple[int, int]] = {}
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self._open: list[tuple[cst.CSTNode, int]] = []

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.offset += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        if self._open:
            self.parents[node] = self._open[-1][0]
        self._open.append((node, self.offset))

    def after_codegen(self, node: cst.CSTNode) -> None:
        _, start = self._open.pop()
        self.spans.setdefault(node, (start, self.offset))

    @contextlib.contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        begin = self.offset
        yield
        start = begin if start_node is None else self.spans[start_node][0]
        end = self.offset if end_node is None else self.spans[end_node][1]
        self.spans[node] = (start, end)


def _place(text: str, offset: int) -> tuple[int, int]:
    start, row = 0, 1
    for newline in _NEWLINE.finditer(text, 0, offset):
        start, row = newline.end(), row + 1
    return row, offset - start + 1
