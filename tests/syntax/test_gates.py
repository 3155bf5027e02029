"""Gates: what today's torch takes, what only older ones take, and what asks nothing about torch."""

from __future__ import annotations

import libcst as cst
import pytest

from amplint.syntax.gates import Gate, Gates, absence_is_provided_for
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree

HEAD = """
import torch
from packaging.version import parse
from elsewhere import TORCH_VERSION, check_version, is_torch_2_4, is_torch_older_than_2_3, is_torch_version
version = torch.__version__
MAJOR, MINOR = map(int, version.split(".")[:2])
"""


def arms(test: str, before: str = "") -> tuple[Gate | None, Gate | None]:
    """How the two arms of ``if test:`` are gated."""
    tree = SyntaxTree(f"{HEAD}{before}\nif {test}:\n    marked\nelse:\n    marked\n")
    names = Names(tree)
    marked = [node for node in names.parents if isinstance(node, cst.Name) and node.value == "marked"]
    first, second = sorted(marked, key=tree.span)
    gates = Gates(names)
    return gates.gate(first), gates.gate(second)


def found(text: str) -> tuple[Names, cst.CSTNode]:
    """The one ``marked`` of a text."""
    names = Names(SyntaxTree(f"{HEAD}{text}\n"))
    (marked,) = [node for node in names.parents if isinstance(node, cst.Name) and node.value == "marked"]
    return names, marked


def gated(text: str) -> Gate | None:
    """How the one ``marked`` of a text is gated."""
    names, marked = found(text)
    return Gates(names).gate(marked)


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
        "is_torch_2_4 and use_amp",
        "TORCH_VERSION[0]",
        "TORCHVERSION",
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


@pytest.mark.parametrize(
    "before, gate",
    [
        ("NEW: bool", None),
        ("NEW = True", None),
        ("try:\n    import torch.amp\n    NEW = True\nexcept ImportError:\n    NEW = False", Gate.RIGHT),
        ("try:\n    import torch.cuda\n    NEW = True\nexcept ImportError:\n    NEW = False", None),
        ("try:\n    import torch.amp\nfinally:\n    NEW = True", None),
        ("for NEW in torch.__version__: pass", None),
    ],
)
def test_what_holds_an_answer(before: str, gate: Gate | None) -> None:
    assert arms("NEW", before) == (gate, gate)


def test_what_a_function_answers() -> None:
    assert arms("new()", "def new(): return use_amp") == (None, None)
    assert arms("new()", "def new(): return version >= '2.4'") == (Gate.LIVE, Gate.RIGHT)


def test_what_a_function_holds() -> None:
    assert gated("def train():\n    found = False\n    if found:\n        marked") is None
    assert gated("def train():\n    old = version < '2.3'\n    if old:\n        marked") is Gate.RIGHT


@pytest.mark.parametrize(
    "text, gate",
    [
        ("try:\n    scaler = torch.amp.GradScaler()\n    marked\nexcept AttributeError:\n    pass", Gate.RIGHT),
        ("try:\n    scaler = torch.amp.GradScaler()\n    marked\nexcept KeyError:\n    pass", None),
        ("try:\n    scaler = torch.amp.GradScaler()\nexcept:\n    marked", Gate.RIGHT),
        ("try:\n    scaler = torch.amp.GradScaler()\nfinally:\n    marked", None),
        ("try:\n    from torch.amp import GradScaler\n    run(lambda: marked)\nexcept ImportError:\n    pass", None),
        ("if version >= '2.4':\n    return_new()\nmarked", None),
        ("def scaler():\n    if version >= '2.4':\n        return new()\n    marked", Gate.RIGHT),
        ("def scaler():\n    if version < '2.3':\n        return old()\n    marked", Gate.LIVE),
        (
            "def scaler():\n    if version >= '2.4':\n        new()\n    elif on_cpu:\n        return None\n    marked",
            Gate.RIGHT,
        ),
        ("def scaler():\n    if version >= '2.4':\n        new()\n    elif on_cpu:\n        pass\n    marked", None),
    ],
)
def test_places(text: str, gate: Gate | None) -> None:
    assert gated(text) is gate


@pytest.mark.parametrize(
    "handlers, answer",
    [
        ("except ImportError:\n    pass", True),
        ("except KeyError:\n    pass\nexcept ImportError:\n    pass", True),
        ("except ImportError:\n    raise RuntimeError('install apex')", False),
        ("except KeyError:\n    pass", False),
        ("finally:\n    pass", False),
    ],
)
def test_absence_is_provided_for(handlers: str, answer: bool) -> None:
    assert absence_is_provided_for(*found(f"try:\n    marked\n{handlers}")) is answer
