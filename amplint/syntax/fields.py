"""The fields of LibCST's nodes that hold code, and the code below a node."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import libcst as cst

# Fields that hold no names: whitespace, punctuation, operators.
_TRIVIA = frozenset(
    "asynchronous colon comma comment default_indent default_newline dot empty_lines encoding end equal first_colon "
    "first_line footer has_trailing_newline header indent last_line lbrace lbracket leading_lines leading_whitespace "
    "lines_after_decorators lpar newline operator posonly_ind rbrace rbracket relative rpar second_colon semicolon "
    "separator star start trailing_comma trailing_whitespace".split()
)
NO_CODE = frozenset({type(None), str, cst.MaybeSentinel})
"""What is in such a field where no node is, nor several: cheaper to ask for than whether something is a node."""
_fields: dict[type, tuple[str, ...]] = {}


def child_fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    """The fields of a node type that can hold code, in the order of the text."""
    fields = _fields.get(kind)
    if fields is None:
        fields = _fields[kind] = tuple(
            field.name
            for field in dataclasses.fields(kind)
            if field.name not in _TRIVIA and not field.name.startswith("whitespace")
        )
    return fields


def within(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """``node`` and all the code below it."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(children(current))


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes of code directly below ``node``."""
    for name in child_fields(type(node)):
        value = getattr(node, name)
        kind = type(value)
        if kind is tuple or kind is list:
            yield from value
        elif kind not in NO_CODE:
            yield value
