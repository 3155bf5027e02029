"""The values of numbers and strings, of which most are told without asking Python's parser."""

from __future__ import annotations

from typing import Any

import libcst as cst


def value_of(node: cst.Integer | cst.Float | cst.Imaginary | cst.SimpleString | cst.ConcatenatedString) -> Any:
    """What a literal stands for."""
    if isinstance(node, cst.ConcatenatedString):
        return node.evaluated_value
    text = node.value
    if type(node) is cst.Integer and text.isdecimal() and text.isascii() and len(text) < 100:
        return int(text)
    if type(node) is cst.SimpleString and text[0] in "\"'" and "\\" not in text and "\r" not in text:
        return node.raw_value
    return node.evaluated_value
