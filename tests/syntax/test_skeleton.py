"""Trees made by Python's parser are those that LibCST makes, and no finding is lost by looking at them first."""

from __future__ import annotations

import ast
import sys
import textwrap
from pathlib import Path

import libcst as cst
import pytest

from amplint.documents import Document
from amplint.findings import Severity
from amplint.linter import Result, run_rules
from amplint.registry import installed
from amplint.rule import Context, Rule
from amplint.syntax import skeleton, tree
from amplint.syntax.fields import within
from amplint.syntax.invalid import InvalidSyntax
from amplint.syntax.tree import SyntaxTree
from amplint.syntax.trust import Unlike

RULES = Path(__file__).parents[2] / "rules"
FIXTURES = sorted(RULES.glob("*/fixtures/*/*.py"))
EVERYTHING = textwrap.dedent(
    '''
    """ä text"""; import os, a.b.c as d
    from . import (x as y, z)
    from ..up.on import *
    @wrap(1)
    @other
    async def f(a, /, b: int = -1, *rest: str, c, e=(1), **more) -> "A":
        global one, two; nonlocal_ = 1
        async with a as (b, c), d: await e
        async for q in r: yield
        else:
            yield from [w async for w in v if w if not w for _ in w]
        return
    class K(A, *B, m=type, **n):
        x: int
        y: list[int] = [1, *z]
    if a: pass
    elif b: x = 1; y = 2;
    else:
        if c:
            del a, b
        else: del x
    while a < b <= c is not d not in e: break
    else: continue_ = ...
    for i, (j, *k) in z, w: continue
    try: raise X from Y
    except (A, B) as e: raise
    except C: raise Z
    except: assert a, b
    else: a.b[c:d, ::2, *e] += b @ c ** -d // ~e
    finally: (yield)
    with (open(a) as b, c): x = y = lambda *, a=1, **k: (a, b)
    {**a, 'b': 1}, {1, *a}, {k: v for k, v in a}, {s for s in a}
    f(*a, b, *c, d=1, **e), g(x for x in y), (h := 1), a if b else c
    "one" 'two', f"{a!r:>{w}} {b=}", rb'\\x', 1_0, 0xFF, 1e-8, 2j, None, True, a[b, c], a[(b)], a[b,]
    x = (1 +
         (2)) ; y = not a and b or (c or d) and "ü" + 'ß'; z = a
    '''
)
if sys.version_info < (3, 11):
    EVERYTHING = EVERYTHING.replace("::2, *e]", "::2]")


def same_as_whole(text: str) -> int:
    """Hold a skeleton to LibCST's tree in shape and places; how many of its nodes were told apart."""
    module, places = skeleton.build(ast.parse(text), text)
    offsets = skeleton.Offsets(text)
    told = {id(node): offsets.span(places[id(node)]) for node in within(module) if id(node) in places}
    kept = [node for node in within(module) if id(node) in told]
    skeleton.fill(module, cst.parse_module(text))
    assert module.code == text
    made = SyntaxTree(text)
    made.module, made._places, made._is_bare = module, {}, False
    assert [made.span(node) for node in kept] == [told[id(node)] for node in kept]
    return len(kept)


def test_every_kind_of_code_has_the_shape_and_the_place_that_libcst_gives_it() -> None:
    assert same_as_whole(EVERYTHING) > 150
    assert same_as_whole(EVERYTHING.replace("\n", "\r\n")) > 150


@pytest.mark.parametrize("file", FIXTURES[::12], ids=lambda file: file.stem)
def test_the_fixtures_have_the_shape_and_the_places_that_libcst_gives_them(file: Path) -> None:
    try:
        same_as_whole(Document.read(file).text)
    except (SyntaxError, skeleton.NoSkeleton):
        pass


def lint(text: str, rules: tuple[type[Rule], ...] | None = None) -> Result:
    return run_rules(Context(Document.from_source("a.py", text)), rules or installed().rules)


@pytest.mark.parametrize("file", FIXTURES[5::24], ids=lambda file: file.stem)
def test_libcst_finds_the_same_from_the_beginning(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Document.read(file).text
    found = lint(text)

    def none(*_: object) -> None:
        raise skeleton.NoSkeleton

    monkeypatch.setattr(tree, "build", none)
    assert lint(text) == found


CLEAN = """\
import torch

def train(loader, model, optimizer, use_amp=True):
    scaler = torch.amp.GradScaler("cuda", enabled=use_amp)
    for x in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=use_amp):
            loss = model(x).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
FAULTY = CLEAN.replace("        scaler.update()\n", "")


def test_a_file_without_a_fault_is_not_parsed_by_libcst(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_whole", pytest.fail)
    assert lint(CLEAN) == Result(())


def test_where_libcst_sees_other_code_it_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lint(FAULTY)
    assert [finding.code for finding in found.findings] == ["AMP102"]
    bare: list[object] = []

    def unlike(skeleton: object, whole: object) -> None:
        bare.append(skeleton)
        raise Unlike

    monkeypatch.setattr(tree, "fill", unlike)
    assert lint(FAULTY) == found and bare


def test_a_rule_that_asks_too_much_of_a_tree_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Careless(Rule):
        """Looks at what stands around the code, as a rule of amplint's own."""

        code, name, severity, since, summary = "OWN001", "careless", Severity.INFO, "1.0", "renders the tree"

        def check(self, context):  # type: ignore[no-untyped-def]
            yield context.finding(self, context.tree.module, context.tree.module.code)

    monkeypatch.setattr(Careless, "__module__", "amplint.rules.careless")
    result = lint(CLEAN, (Careless,))
    assert [finding.message for finding in result.findings] == [CLEAN] and not result.crashes


def test_what_only_python_can_parse_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(text: str) -> None:
        raise InvalidSyntax("what is this", 1, 1)

    monkeypatch.setattr(tree, "_whole", fails)
    assert "AMP902" in {finding.code for finding in lint(FAULTY).findings}


def test_the_rules_of_other_packs_see_whole_trees() -> None:
    class Renders(Rule):
        """Looks at what stands around the code."""

        code, name, severity, since, summary = "OWN001", "renders", Severity.INFO, "1.0", "renders the tree"

        def check(self, context):  # type: ignore[no-untyped-def]
            yield context.finding(self, context.tree.module, context.tree.module.code)

    assert [finding.message for finding in lint(CLEAN, (Renders,)).findings] == [CLEAN]
