"""Gates: what today's torch takes, what only older ones take, and what asks nothing about torch."""

from __future__ import annotations

import libcst as cst
import pytest

from amplint.syntax.gates import Gate, Gates
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree

HEAD = """
import torch
from packaging.version import parse
from elsewhere import TORCH_VERSION, check_version, is_torch_2_4, is_torch_older_than_2_3, is_torch_version
version = torch.__version__
MAJOR, MINOR = map(int, version.split(".")[:2])
"""


def arms(test: str) -> tuple[Gate | None, Gate | None]:
    """How the two arms of ``if test:`` are gated."""
    tree = SyntaxTree(f"{HEAD}if {test}:\n    marked\nelse:\n    marked\n")
    names = Names(tree)
    marked = [node for node in names.parents if isinstance(node, cst.Name) and node.value == "marked"]
    first, second = sorted(marked, key=tree.span)
    gates = Gates(names)
    return gates.gate(first), gates.gate(second)


@pytest.mark.parametrize(
    "test",
    [
        'torch.__version__ >= "2.4"',
        'parse(version) > parse("1.6")',
        'not version < "2.3"',
        '"2.3" <= version',
        "MAJOR > 1 or (MAJOR == 1 and MINOR >= 6)",
        "(MAJOR, MINOR) >= (2, 3)",
        'use_amp and TORCH_VERSION >= "2.4"',
        'is_torch_version(">=", "2.4")',
    ],
)
def test_today_takes_the_first_arm(test: str) -> None:
    assert arms(test)[0] is Gate.LIVE
    assert arms(test)[1] is (Gate.LIVE if test.startswith("use_amp") else Gate.RIGHT)


@pytest.mark.parametrize(
    "test",
    [
        'torch.__version__ < "2.4"',
        '"1.5" <= version < "1.10"',
        "is_torch_older_than_2_3",
        'use_amp and version < "2.4"',
        'check_version("torch", "<", "2.4")',
        "MAJOR == 1",
    ],
)
def test_only_older_ones_take_the_first_arm(test: str) -> None:
    assert arms(test) == (Gate.RIGHT, Gate.LIVE)


@pytest.mark.parametrize(
    "test",
    [
        "is_torch_2_4",
        'hasattr(torch.amp, "GradScaler")',
        'hasattr(torch.cuda, "amp")',
        'getattr(torch.amp, "GradScaler", None) is not None',
        'version.startswith("2")',
    ],
)
def test_both_arms_are_right(test: str) -> None:
    assert arms(test) == (Gate.RIGHT, Gate.RIGHT)


@pytest.mark.parametrize(
    "test",
    [
        "use_amp",
        "torch.cuda.is_available()",
        'hasattr(model, "amp")',
        "sys.version_info >= (3, 8)",
        'torch.version.cuda >= "11"',
        "torch_dtype is torch.float16",
        "TYPE_CHECKING",
        'backend == load("torch")',
        'os.environ["TORCH_HOME"]',
    ],
)
def test_no_gate(test: str) -> None:
    assert arms(test) == (None, None)
