"""Literals mean what Python says they mean."""

from __future__ import annotations

import ast

import libcst as cst
import pytest

from amplint.syntax.literals import value_of


@pytest.mark.parametrize(
    "text",
    ["0", "42", "1_000", "0x1f", "1e-8", "2j", "'a'", '"""b\nc"""', r"'\n'", r"r'\n'", "b'x'", "u'x'", "'a' 'b'", "''"],
)
def test_a_literal_has_the_value_that_python_gives_it(text: str) -> None:
    node = cst.parse_expression(text)
    assert isinstance(node, (cst.BaseNumber, cst.SimpleString, cst.ConcatenatedString))
    assert value_of(node) == ast.literal_eval(text)  # type: ignore[arg-type]
