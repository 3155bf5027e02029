"""Where values come from: every test asks it of what is given to ``find``."""

from __future__ import annotations

import textwrap

import libcst as cst
import pytest

from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree
from amplint.training.origins import Member, Path, callee_name
from amplint.training.training import Training


def origins_of(text: str, *path: int | str | None | Member) -> set[str]:
    """The code, and the path from there on, of all ends."""
    tree = SyntaxTree(textwrap.dedent(text))
    training = Training(Names(tree))
    (asked,) = [call.args[0].value for call in training.places.every_call() if callee_name(call) == "find"]
    return {f"{shown(tree, end.node)}{spelled(end.path)}" for end in training.origins.of(asked, path).ends}


def shown(tree: SyntaxTree, node: cst.CSTNode) -> str:
    if isinstance(node, cst.Param):
        return f"parameter {node.name.value}"
    return tree.code(node).partition("\n")[0]


def spelled(path: Path) -> str:
    return "".join(f".{step.name}" if isinstance(step, Member) else f"[{step!r}]" for step in path)


@pytest.mark.parametrize(
    "text, ends",
    [
        ("find(a if x else b)", {"a", "b"}),
        ("find(a or make())", {"a", "make()"}),
        ("find(b := make())", {"make()"}),
        ("async def f():\n    find(await make())", {"make()"}),
        ("a = make()\nb = a\nfind(b)", {"make()"}),
        ("a: object = make()\nfind(a)", {"make()"}),
        ("a: object\nfind(a)", set()),
        ("a, b = one(), two()\nfind(b)", {"two()"}),
        ("*a, b = one(), two()\nfind(b)", {"one()", "two()"}),
        ("for a in things():\n    find(a)", {"things()[None]"}),
        ("with make() as a:\n    find(a)", {"make()"}),
        ("match x:\n    case a:\n        find(a)", {"case a:"}),
        ("a += 1\nfind(a)", set()),
        ("import a\nfind(a)", {"a"}),
        ("from b import a\nx = a.y\nfind(x)", {"a.y"}),
        ("find(undefined['a'])\nundefined['a'] = make()", {"undefined['a']"}),
        ("find(a.to('cuda').train())\na = make()", {"make()"}),
        ("find(torch.nn.DataParallel(a))\na = make()", {"make()"}),
        ("find(accelerator.prepare(a))\na = make()", {"make()"}),
        ("b, c = accelerator.prepare(one(), two())\nfind(c)", {"two()"}),
        ("a = iter(b())\nfind(next(a))", {"b()[None]"}),
    ],
)
def test_names(text: str, ends: set[str]) -> None:
    assert origins_of(text) == {end.replace("case a:", "a") for end in ends}


@pytest.mark.parametrize(
    "text, ends",
    [
        ("find([one(), two()][0])", {"one()"}),
        ("find([one(), two()][-1])", {"one()", "two()"}),
        ("find([one(), two()][5])", set()),
        ("find([one(), *more()][0])", {"one()", "more()[0]"}),
        ("find({'a': one(), 'b': two()}['b'])", {"two()"}),
        ("find({'a': one(), **more()}['b'])", {"more()['b']"}),
        ("find([one(x) for x in y][0])", {"one(x)"}),
        ("find({x: one(x) for x in y}['a'])", {"one(x)"}),
        ("find(([one()] + [two()])[0])", {"one()", "two()"}),
        ("find(table[1:2][0])", {"table[None][0]"}),
        ("a = []\na.append(one())\nfind(a[0])", {"one()"}),
        ("a = []\na.extend(more())\nfind(a[0])", {"more()[0]"}),
        ("a = []\na += [one()]\nfind(a[0])", {"one()"}),
        ("a = {}\na['x'] = one()\nfind(a['x'])", {"one()"}),
        ("a = {}\na['x'] = one()\nfind(a['y'])", set()),
        ("a = {}\na.setdefault('x', one())\nfind(a['x'])", {"one()"}),
        ("a = {}\na.setdefault('x')\nfind(a['x'])", set()),
        ("a = {}\na.update(x=one(), **more())\nfind(a['x'])", {"one()", "more()['x']"}),
        ("a, b['x'] = two()\nfind(b['x'])", {"b['x']"}),
        ("b['x', 'y'] = two()\nfind(b['x'])", {"b['x']"}),
        ("find(dict(a=one(), b=two())['a'])", {"one()"}),
        ("find(dict(**more())['a'])", {"more()['a']"}),
        ("find(SimpleNamespace(a=one()).a)", {"one()"}),
        ("a = {'x': one()}\nfor value in a.values():\n    find(value)", {"one()"}),
        ("a = {'x': one()}\nfor key, value in a.items():\n    find(value)", {"one()"}),
        ("a = [one()]\nfor i, value in enumerate(a):\n    find(value)", {"one()"}),
        ("for a, b in zip([one()], [two()]):\n    find(b)", {"two()"}),
        ("find(sorted([one()])[0])", {"one()"}),
    ],
)
def test_parts(text: str, ends: set[str]) -> None:
    assert origins_of(text) == ends


@pytest.mark.parametrize(
    "parameters, call, ends",
    [
        ("a", "f(one())", {"one()"}),
        ("a", "f(a=one())", {"one()"}),
        ("a", "f(*given())", {"given()[0]"}),
        ("x, a", "f(one(), *given())", {"given()[0]"}),
        ("x, a", "f(*given(), one())", {"given()[1]"}),
        ("a, x", "f(one(), *given())", {"one()"}),
        ("a", "f(**given())", {"given()['a']"}),
        ("a=one()", "f()\nf(two())", {"one()", "two()"}),
        ("a=one()", "f(two())", {"two()"}),
        ("a", "g(f)", {"parameter a"}),
        ("a", "f(one())\nf(two())", {"one()", "two()"}),
    ],
)
def test_parameters(parameters: str, call: str, ends: set[str]) -> None:
    assert origins_of(f"def f({parameters}):\n    find(a)\n{call}") == ends


@pytest.mark.parametrize(
    "parameters, call, expression, ends",
    [
        ("*a", "f(one(), two())", "a[1]", {"two()"}),
        ("x, *a", "f(one(), two())", "a[0]", {"two()"}),
        ("*a", "f(one(), two())", "a[7]", {"parameter a[7]"}),
        ("**a", "f(x=one())", "a['x']", {"one()"}),
        ("**a", "f(**more())", "a['x']", {"more()['x']"}),
    ],
)
def test_parameters_for_many(parameters: str, call: str, expression: str, ends: set[str]) -> None:
    assert origins_of(f"def f({parameters}):\n    find({expression})\n{call}") == ends


def test_parameter_of_a_lambda() -> None:
    assert origins_of("step = lambda a: find(a)\nstep(one())") == {"parameter a"}


@pytest.mark.parametrize(
    "text, ends",
    [
        ("def f():\n    return one()\nfind(f())", {"one()"}),
        ("def f():\n    print()\nfind(f())", {"f()"}),
        ("f = lambda: one()\nfind(f())", {"one()"}),
        ("class A:\n    def __init__(self):\n        self.x = one()\nfind(A().x)", {"one()"}),
        ("class A:\n    x = one()\nfind(A().x)", {"one()"}),
        ("class A:\n    @property\n    def x(self):\n        return one()\nfind(A().x)", {"one()"}),
        ("class A:\n    def x(self):\n        return one()\nfind(A().x())", {"one()"}),
        ("@dataclass\nclass A:\n    y: int\nfind(A(x=one()).x)", {"one()"}),
        ("class A:\n    def f(self, a):\n        find(a)\nA().f(one())", {"one()"}),
        ("class A:\n    def f(self, a):\n        find(a)\nA.f(self, one())", {"one()"}),
        ("class A:\n    @staticmethod\n    def f(a):\n        find(a)\nA.f(one())", {"one()"}),
        (
            "class A:\n    def f(self, a):\n        find(a)\nclass B(A):\n    def f(self):\n        super().f(one())",
            {"one()"},
        ),
        ("class A:\n    x = one()\ndef f(a: 'A'):\n    find(a.x)", {"one()"}),
        ("class A:\n    x = one()\ndef f(a: 'B'):\n    find(a.x)", {"parameter a.x"}),
        ("class A:\n    x = one()\ndef f(a: B):\n    find(a.x)", {"parameter a.x"}),
        ("def f():\n    print()\nfind(f().x)", {"f().x"}),
        ("def f():\n    print()\nfind(f().x())", {"f().x()"}),
        (
            "class A:\n    def f(self):\n        me = self\n        find(me.g())\n    def g(self): return one()",
            {"one()"},
        ),
        ("class A:\n    def __init__(self, a):\n        find(a)\nA(one())\nprint(module.A(two()))", {"one()"}),
        ("class A:\n    x = one()\nclass B(A): pass\nclass C(A): pass\nclass D(B, C): pass\nfind(D().x)", {"one()"}),
    ],
)
def test_functions_and_classes(text: str, ends: set[str]) -> None:
    assert origins_of(text) == ends


def test_methods_of_what_methods_return() -> None:
    text = """
        class A:
            def b(self):
                return B()
        class B:
            def c(self):
                return C()
        class C:
            pass
        a = A()
        b = a.b()
        c = b.c()
        find(c)
        """
    assert origins_of(text) == {"C()"}


def test_an_attribute_of_anything() -> None:
    assert origins_of("def f(state):\n    state.scaler = one()\n    find(state.scaler)") == {
        "one()",
        "parameter state.scaler",
    }
    assert origins_of("state.scaler = one()\nfind(state.scaler)") == {"state.scaler"}  # what state is, nobody knows
    assert origins_of("find(state)", Member("scaler")) == {"state.scaler"}
