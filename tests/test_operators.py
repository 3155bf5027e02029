"""The lists of operations are PyTorch's own, read from its autocast tests."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from amplint.operators import BANNED, FLOAT32, KEEP, LOWER, WIDEST, Treatment, treatment


def pytorch_lists() -> dict[str, set[str]]:
    """The operations of each list of ``AutocastTestLists``."""
    torch = importlib.util.find_spec("torch")
    assert torch is not None and torch.origin is not None
    path = Path(torch.origin).parent / "testing" / "_internal" / "autocast_test_lists.py"
    lists: dict[str, set[str]] = {}
    tree = ast.parse(path.read_text())
    cuda = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "AutocastTestLists")
    for node in ast.walk(cuda):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            if isinstance(node.value, ast.List):
                entries = [entry.elts[0] for entry in node.value.elts if isinstance(entry, ast.Tuple)]
                lists[node.targets[0].attr] = {
                    str(entry.value).removeprefix("linalg_")
                    for entry in entries
                    if isinstance(entry, ast.Constant) and not str(entry.value).startswith(("_conv", "_thnn", "cudnn"))
                }
    return lists


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (LOWER, ["torch_fp16", "nn_fp16", "linalg_fp16", "methods_fp16"]),
        (FLOAT32, ["torch_fp32", "nn_fp32", "methods_fp32"]),
        (BANNED, ["banned"]),
    ],
    ids=["lower", "float32", "banned"],
)
def test_the_lists_hold_pytorchs(ours: frozenset[str], theirs: list[str]) -> None:
    lists = pytorch_lists()
    assert set().union(*(lists[name] for name in theirs)) - {"conv_tbc"} <= ours


def test_no_operation_is_on_two_lists() -> None:
    names = [*LOWER, *FLOAT32, *BANNED, *KEEP]
    assert len(names) == len(set(names))
    assert WIDEST <= KEEP


def test_an_operation_that_is_on_no_list_is_not_spoken_of() -> None:
    assert treatment("matmul") is Treatment.LOWER
    assert treatment("argmax") is Treatment.OTHER
