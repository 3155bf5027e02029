"""What IPython understands beside Python is masked, and nothing else is."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplint.documents.magics import masked


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("!pip install x\ny", "______________\ny"),
        ("%matplotlib inline\ny", "__________________\ny"),
        ("!!ls", "____"),
        ("?print", "______"),
        ("print?", "______"),
        ("x.y.z??\ny", "_______\ny"),
        ("if x:\n    !ls\nelse:\n    %cd y", "if x:\n    ___\nelse:\n    _____"),
        ("!pip install x \\\n    y \\\n  z\nw", "________________\n       \n   \nw"),
        ("files = !ls *.py\nx", "files = ________\nx"),
        ("a, b = %sql select\n", "a, b = ___________\n"),
        ("%time x = f()\ny", "____; x = f()\ny"),
        ("x = %time f()", "x =       f()"),
        ("%time", "_____"),
        ("%timeit -n 10 -r3 f(x, scaler)\ny", "________________; f(x, scaler)\ny"),
        ("%lprun -f g f(x)", "__________; f(x)"),
        ("r = %timeit -o f(x)", "r =            f(x)"),
        ("%timeit -n10", "____________"),
        ("%time for x in", "______________"),
        ("%%own_timer\nx", "___________\nx"),
        ("%%time\nx", "______\nx"),
        ("\n# why\n%%capture out\nx", "\n# why\n_____________\nx"),
        ("pip install x\ncd ..\nls", "_____________\ncd ..\nls"),
        (";f a\n,f b\n/f c", "____\n____\n____"),
        ("!ls\r\nx\r\n", "___\r\nx\r\n"),
    ],
)
def test_magics_become_names_of_underscores(source: str, expected: str) -> None:
    assert masked(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "print('a'\n  % x)",
        "x = (a\n  % b)",
        "x = a \\\n  % b",
        '"""\n!ls\n%time\n"""',
        "'''\\'''\n!ls'''\nx",
        "x = 'a?'  # really?",
        "x = '!ls'\ny = \"%time\"",
        "x != y",
        "x %= 2\ny = x % 3",
        "f'{x!r}'\nf\"{x % y}\"",
        "pip = 1\ncd = ls = 2\nls -cd",
        "time = 1\ntime.time()\nrun(x)\ncat[1]",
        "x[a: b == c]\nf(a=b)",
        "x = '\\\n!ls'",
    ],
)
def test_python_stays_as_it_is(source: str) -> None:
    ast.parse(source)
    assert masked(source) == source


@pytest.mark.parametrize("magic", ["bash", "file x", "html", "R", "python", "sql", "script", "cython", "", "own that"])
def test_a_cell_magic_of_another_language_takes_the_cell(magic: str) -> None:
    source = "x is y z" if magic == "own that" else "x = 1"
    assert masked(f"%%{magic}\n{source}") is None
    assert masked(f"\n# a comment\n%%{magic}\n{source}") is None


@given(st.text(alphabet="ab%!?=\\\n\r\t '\"#()[]:;,/", max_size=60))
def test_every_character_keeps_its_place(source: str) -> None:
    found = masked(source)
    if found is not None:
        assert len(found) == len(source)
        for before, after in zip(source, found, strict=True):
            assert (before in "\r\n") == (after in "\r\n")
            assert before == after or after in "_; "
