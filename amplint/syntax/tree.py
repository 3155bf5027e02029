"""A document's LibCST tree and, once something is found, the offsets of its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst
from libcst._nodes.internal import CodegenState


class InvalidSyntax(Exception):
    """The text is not Python that amplint can parse; ``row`` and ``column`` are 1-based."""

    def __init__(self, message: str, row: int, column: int) -> None:
        super().__init__(message)
        self.message, self.row, self.column = message, row, column


class SyntaxTree:
    """The tree of one text.

    Offsets are characters from the start of the text. They are worked out by one rendering of the tree, at the
    first question for one, so that a file in which nothing is found never pays for positions.
    """

    def __init__(self, text: str) -> None:
        try:
            self.module = cst.parse_module(text)
        except cst.ParserSyntaxError as error:
            raise InvalidSyntax(error.message, error.raw_line, error.raw_column + 1) from None
        self.text = text
        self._spans: dict[cst.CSTNode, tuple[int, int]] | None = None

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Start and end offset of ``node``, without surrounding whitespace and parentheses around it."""
        if self._spans is None:
            state = _SpanState(self.module)
            self.module._codegen(state)
            self._spans = state.spans
        return self._spans[node]

    def code(self, node: cst.CSTNode) -> str:
        """The source text of ``node`` as :meth:`span` delimits it."""
        start, end = self.span(node)
        return self.text[start:end]


class _SpanState(CodegenState):
    """Renders a tree and remembers at which offset each node begins and ends."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.offset = 0
        self.spans: dict[cst.CSTNode, tuple[int, int]] = {}
        self._starts: list[int] = []

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def add_token(self, value: str) -> None:
        self.offset += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._starts.append(self.offset)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._starts.pop()
        self.spans.setdefault(node, (start, self.offset))

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        begin = self.offset
        yield
        start = begin if start_node is None else self.spans[start_node][0]
        end = self.offset if end_node is None else self.spans[end_node][1]
        self.spans[node] = (start, end)
