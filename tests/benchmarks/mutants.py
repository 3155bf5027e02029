"""Mutation testing: how many small faults put into a module its tests notice.

    python tests/benchmarks/mutants.py amplint/protocol.py tests/test_protocol.py -k "not pytorch"

Each mutant differs from the module in one place: a comparison turned around, a condition always or never true, a
statement left out, a constant changed. It is killed where a test fails with it in the module's place. Needs ``fork``.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_TURNED = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
_SECONDS = 60


def mutants(tree: ast.Module) -> Iterator[tuple[int, str, ast.Module]]:
    """Each mutant of ``tree``, with its row and what was done to it."""
    for place, node in enumerate(_code(tree)):
        for change in range(len(_changes(node))):
            mutant = copy.deepcopy(tree)
            twin = next(each for number, each in enumerate(_code(mutant)) if number == place)
            told = _changes(twin)[change]
            before = ast.unparse(node)
            told[1]()
            yield getattr(node, "lineno", 0), f"{told[0]}: {before[:90]}", ast.fix_missing_locations(mutant)


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """All that runs: no annotations, and no decorators."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _code(child)


def _changes(node: ast.AST) -> list[tuple[str, object]]:
    """What can be done to ``node``: words, and the deed."""
    found: list[tuple[str, object]] = []
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _TURNED:
        found.append(("turned", lambda: node.ops.__setitem__(0, _TURNED[type(node.ops[0])]())))
    if isinstance(node, (ast.BoolOp, ast.BinOp, ast.AugAssign)) and type(node.op) in _TURNED:
        found.append(("turned", lambda: setattr(node, "op", _TURNED[type(node.op)]())))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        found.append(("without not", lambda: setattr(node, "op", ast.UAdd()) or _unwrap(node)))
    if isinstance(node, (ast.If, ast.IfExp)):
        found += [(f"always {t}", lambda t=t: setattr(node, "test", ast.Constant(t))) for t in (True, False)]
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        found.append(("turned", lambda: setattr(node, "value", not node.value)))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        found.append(("one more", lambda: setattr(node, "value", node.value + 1)))
    if isinstance(node, (ast.FunctionDef, ast.If, ast.For)):
        for number, statement in enumerate(node.body):
            documents = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr, ast.Continue)) and not documents:
                found.append(
                    (f"without `{ast.unparse(statement)[:60]}`", lambda n=number: node.body.__setitem__(n, ast.Pass()))
                )
    if isinstance(node, ast.Call) and node.keywords:
        for number, keyword in enumerate(node.keywords):
            found.append((f"without {keyword.arg}", lambda n=number: node.keywords.pop(n)))
    if isinstance(node, ast.Call) and len(node.args) > 1:
        for number in range(len(node.args)):
            found.append((f"None as argument {number}", lambda n=number: node.args.__setitem__(n, ast.Constant(None))))
    return found


def _unwrap(node: ast.UnaryOp) -> None:
    node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)


def is_killed(name: str, path: str, mutant: ast.Module, tests: list[str]) -> bool:
    """Whether a test fails with ``mutant`` as the module ``name``."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] != 0
    signal.alarm(_SECONDS)  # a mutant that never ends is one that is noticed
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        module = sys.modules[name]
        exec(compile(mutant, path, "exec"), module.__dict__)
        code = pytest.main(["-xq", "--assert=plain", "-pno:cacheprovider", *tests])
    except BaseException:
        os._exit(1)
    os._exit(int(code != 0))


def main(path: str, tests: list[str]) -> None:
    name = ".".join(Path(path).with_suffix("").parts)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for each in (name, "hypothesis", "hypothesis.strategies", "torch"):  # once, and not in every child
        with contextlib.suppress(ImportError):
            __import__(each)
    killed = total = 0
    for row, what, mutant in mutants(ast.parse(Path(path).read_text(encoding="utf-8"))):
        total += 1
        if is_killed(name, path, mutant, tests):
            killed += 1
        else:
            print(f"survived: {path}:{row}: {what}", flush=True)
    print(f"{killed} of {total} mutants killed ({killed / total:.1%})")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
