"""Names through imports and scopes: every test asks what the call of ``find(...)`` in a text stands for."""

from __future__ import annotations

import textwrap

import libcst as cst
import pytest

from amplint.syntax.names import Names, root_name
from amplint.syntax.tree import SyntaxTree


def named(text: str) -> tuple[list[frozenset[str]], list[bool]]:
    """Qualified names, and whether they are ambiguous, of the argument of every ``find(...)`` in order."""
    tree = SyntaxTree(textwrap.dedent(text))
    names = Names(tree)
    calls = [
        node
        for node in names.parents
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "find"
    ]
    calls.sort(key=lambda call: tree.span(call))
    arguments = [call.args[0].value for call in calls]
    return [names.qualified(a) for a in arguments], [names.ambiguous(a) for a in arguments]


def only(text: str) -> set[str]:
    (found,), _ = named(text)
    return set(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch\nfind(torch.cuda.amp.autocast)", {"torch.cuda.amp.autocast"}),
        ("import torch as t\nfind(t.cuda.amp.autocast)", {"torch.cuda.amp.autocast"}),
        ("import torch.cuda.amp\nfind(torch.cuda.amp.GradScaler)", {"torch.cuda.amp.GradScaler"}),
        ("import torch.cuda.amp as tamp\nfind(tamp.GradScaler)", {"torch.cuda.amp.GradScaler"}),
        ("from torch.cuda import amp\nfind(amp.autocast)", {"torch.cuda.amp.autocast"}),
        ("from torch.cuda.amp import autocast\nfind(autocast)", {"torch.cuda.amp.autocast"}),
        ("from torch.cuda.amp import autocast as ac\nfind(ac)", {"torch.cuda.amp.autocast"}),
        ("from torch.cuda.amp import *\nfind(autocast)", {"torch.cuda.amp.autocast"}),
        ("from .amp import autocast\nfind(autocast)", {".amp.autocast"}),
        ("from . import amp\nfind(amp.autocast)", {".amp.autocast"}),
        ("from ..x import amp\nfind(amp)", {"..x.amp"}),
        ("find(autocast)", set()),
        ("import torch\nfind(torch.cuda().amp)", set()),
        ("import torch\nx = torch\nfind(x.amp)", set()),
    ],
)
def test_chain_through_import(text: str, expected: set[str]) -> None:
    assert only(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "def f(amp):\n    find(amp)",
        "def f(*amp):\n    find(amp)",
        "def f(**amp):\n    find(amp)",
        "def f():\n    find(amp)\n    amp = 1",
        "def f():\n    for amp in x:\n        find(amp)",
        "def f():\n    with x as amp:\n        find(amp)",
        "def f():\n    try:\n        pass\n    except E as amp:\n        find(amp)",
        "def f():\n    (a, *amp) = x\n    find(amp)",
        "def f():\n    if (amp := x):\n        find(amp)",
        "def f():\n    [amp := y for y in x]\n    find(amp)",
        "def f():\n    amp: int = 1\n    find(amp)",
        "def f():\n    match x:\n        case {'a': amp}:\n            find(amp)",
        "def f():\n    match x:\n        case [1, *amp]:\n            find(amp)",
        "def f():\n    match x:\n        case {**amp}:\n            find(amp)",
        "def f():\n    def amp(): pass\n    find(amp)",
        "def f():\n    def g():\n        nonlocal amp\n        find(amp)\n    amp = 1",
        "[find(amp) for amp in x]",
        "{find(amp): 1 for y in x for amp in y}",
        "lambda amp: find(amp)",
        "class A:\n    amp = 1\n    find(amp)",
        "def f[amp](x: find(amp)): pass",
    ],
)
def test_shadowed(text: str) -> None:
    assert only("from torch.cuda import amp\n" + text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "def f(amp=find(amp)):\n    pass",
        "def f(amp: find(amp)):\n    pass",
        "@find(amp)\ndef f(amp):\n    amp = 1",
        "def f(amp) -> find(amp):\n    pass",
        "class A:\n    amp = 1\n    def f(self):\n        find(amp)",
        "class A:\n    amp = 1\n    x = [find(amp) for y in z]",
        "class A(find(amp)):\n    amp = 1",
        "def f():\n    def g():\n        amp = 1\n    find(amp)",
        "def f():\n    match x:\n        case [1, *_]:\n            find(amp)",
        "[amp for amp in find(amp)]",
        "lambda amp=find(amp): amp",
        "def f():\n    global amp\n    find(amp)",
        "x.amp = 1\nfind(amp)",
        "f(amp=1)\nfind(amp)",
        "match x:\n    case A(amp=1):\n        find(amp)",
        "def f(x=f'{find(amp)}'): pass",
    ],
)
def test_not_shadowed(text: str) -> None:
    assert only("from torch.cuda import amp\n" + text) == {"torch.cuda.amp"}


def test_what_is_bound_by_nonlocal() -> None:
    text = """
        def outer():
            from torch.cuda.amp import autocast
            def middle():
                def inner():
                    nonlocal autocast
                    autocast = contextlib.nullcontext
                inner()
            find(autocast)
    """
    assert named(text) == ([{"torch.cuda.amp.autocast"}], [True])


def test_nonlocal_of_nothing() -> None:
    text = """
        from torch.cuda.amp import autocast
        def train():
            nonlocal autocast
            autocast = None
        find(autocast)
    """
    assert named(text) == ([{"torch.cuda.amp.autocast"}], [False])


def test_root_of_a_chain() -> None:
    chain = cst.parse_expression("torch.cuda.amp")
    assert root_name(chain).value == "torch"
    with pytest.raises(ValueError, match="Call is no name"):
        root_name(cst.parse_expression("torch().amp"))


def test_import_inside_function_is_local() -> None:
    text = """
        def f():
            from torch.cuda.amp import autocast
            find(autocast)
        find(autocast)
    """
    assert named(text)[0] == [{"torch.cuda.amp.autocast"}, frozenset()]


def test_import_by_global_is_the_modules() -> None:
    text = """
        def f():
            global autocast
            from torch.cuda.amp import autocast
        find(autocast)
    """
    assert only(text) == {"torch.cuda.amp.autocast"}


def test_two_imports_of_one_name() -> None:
    text = """
        try:
            from torch.amp import autocast
        except ImportError:
            from torch.cuda.amp import autocast
        find(autocast)
    """
    assert named(text) == ([{"torch.amp.autocast", "torch.cuda.amp.autocast"}], [True])


def test_import_or_something_else_is_ambiguous() -> None:
    text = """
        try:
            from torch.cuda.amp import autocast
        except ImportError:
            autocast = None
        find(autocast)
    """
    assert named(text) == ([{"torch.cuda.amp.autocast"}], [True])


def test_one_import_is_not_ambiguous() -> None:
    assert named("import torch\nimport torch.cuda.amp\nfind(torch.cuda.amp)")[1] == [False]


def test_references_are_listed_in_order() -> None:
    tree = SyntaxTree("from torch.cuda import amp\namp.a\ndef f(x=amp.b):\n    return amp.c\n[amp.d for x in amp.e]\n")
    (binding,) = Names(tree).bindings()
    parents = Names(tree).parents
    assert binding.qualified == {"torch.cuda.amp"}
    found = sorted((tree.span(reference), tree.code(parents[reference])) for reference in binding.references)
    assert [code for _, code in found] == ["amp.a", "amp.b", "amp.c", "amp.d", "amp.e"]


def test_deep_expression() -> None:
    text = "from torch.cuda import amp\nx = " + " + ".join(["1"] * 150) + " + find(amp)"
    assert only(text) == {"torch.cuda.amp"}
