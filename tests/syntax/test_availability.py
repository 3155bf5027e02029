"""Whether a test protects a name that came with torch 2.3, or with another version, from a torch that lacks it."""

from __future__ import annotations

import libcst as cst
import pytest

from amplint.syntax.availability import Availability
from amplint.syntax.gates import Gates
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree

SINCE = {"torch.amp.GradScaler": (2, 3), "torch.amp.autocast": (1, 12)}


def protected(text: str) -> bool:
    """Whether the name ``marked`` is reached only with a torch of at least 2.3."""
    names = Names(SyntaxTree(f"import torch\n{text}\n"))
    (marked,) = [node for node in names.parents if isinstance(node, cst.Name) and node.value == "marked"]
    return Availability(names, Gates(names), SINCE).protected(marked, (2, 3))


@pytest.mark.parametrize(
    "test",
    [
        'torch.__version__ >= "2.3"',
        '"2.2" < torch.__version__',
        'not torch.__version__ < "2.3"',
        'use_amp and torch.__version__ >= "2.4"',
        '(new := torch.__version__ >= "2.3")',
        '"2.3" <= torch.__version__ < "3"',
        'torch.__version__[0] == "2"',
        "torch_version_tuple(torch)[0]",
        'is_torch_version(">=", "2.3")',
        'is_installed("torch>=2.3")',
        "is_torch_2_4",
        "elsewhere.torch_at_least_2_3",
        'hasattr(torch.amp, "GradScaler")',
        'hasattr(torch, "accelerator")',
        "is_xpu_available()",
        "TORCH_VERSION >= Version('2.3')",
        "TORCH_VERSION >= (2, 3)",
        'TORCH_VERSION >= "3"',
    ],
)
def test_protects(test: str) -> None:
    assert protected(f"if {test}:\n    marked")
    assert protected(f"({test}) and marked")
    assert protected(f"if {test}:\n    pass\nelse:\n    raise RuntimeError\nmarked")
    assert protected(f"assert {test}\nmarked")


@pytest.mark.parametrize(
    "test",
    [
        "use_amp",
        'torch.__version__ >= "2.0"',
        'use_amp or torch.__version__ >= "2.3"',
        'hasattr(model, "amp")',
        "hasattr()",
        'is_torch_version(">=", "2.0")',
        'is_installed("torch>=2.0")',
        "elsewhere.torch_at_least_2_0",
        'hasattr(torch.amp, "autocast")',
    ],
)
def test_protects_not(test: str) -> None:
    assert not protected(f"if {test}:\n    marked")
    assert not protected(f"({test}) and marked")
    assert not protected(f"if {test}:\n    pass\nelse:\n    print()\nmarked")
    assert not protected(f"if {test}:\n    pass\nelse:\n    raise RuntimeError\nmarked")
    assert not protected(f"if {test}:\n    print()\nmarked")
    assert not protected(f"assert {test}\nmarked")


@pytest.mark.parametrize(
    "text, answer",
    [
        ("try:\n    marked\nexcept AttributeError:\n    pass", True),
        ("try:\n    marked\nexcept:\n    pass", True),
        ("try:\n    marked\nexcept KeyError:\n    pass", False),
        ("try:\n    pass\nexcept AttributeError:\n    marked", True),
        ("try:\n    pass\nexcept KeyError:\n    marked", False),
        ("try:\n    pass\nexcept AttributeError:\n    pass\nelse:\n    marked", True),
        ("try:\n    pass\nexcept AttributeError:\n    pass\nfinally:\n    marked", False),
        ("try:\n    run(lambda: marked)\nexcept AttributeError:\n    pass", False),
        ("marked or torch.__version__ >= '2.3'", False),
        ("def train(scaler: marked): pass", True),
        ("pytestmark = pytest.mark.skipif(torch.__version__ < '2.3', reason='')\nmarked", True),
        ("pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason='')\nmarked", False),
        ("pytest.importorskip('torch', '2.3')\nmarked", True),
        ("pytest.importorskip('torch', '2.0')\nmarked", False),
        ("pytest.importorskip('apex')\nmarked", False),
        ("@requires_torch_2_3\nclass TestScaler:\n    def test_new(self):\n        marked", True),
        ("@slow\nclass TestScaler:\n    def test_new(self):\n        marked", False),
        ("@pytest.mark.xfail\ndef test_new():\n    marked", True),
        ("def new():\n    marked\nif torch.__version__ >= '2.3':\n    new()", True),
        ("def new():\n    marked\nnew()", False),
    ],
)
def test_places(text: str, answer: bool) -> None:
    assert protected(text) is answer


@pytest.mark.parametrize(
    "before, answer",
    [
        ("NEW = torch.__version__ >= '2.3'", True),
        ("NEW = torch.__version__ >= '2.0'", False),
        ("NEW: bool = torch.__version__ >= '2.0'", True),
        ("NEW = False\nif run():\n    NEW = torch.__version__ >= '2.0'", True),
        ("try:\n    from torch.amp import GradScaler\n    NEW = True\nexcept ImportError:\n    NEW = False", True),
        (
            "NEW = False\ntry:\n    from torch.amp import GradScaler\n    NEW = True\nexcept ImportError:\n    pass",
            True,
        ),
        ("try:\n    from torch.amp import autocast\n    NEW = True\nexcept ImportError:\n    NEW = False", False),
        ("try:\n    from torch.amp import autocast\n    NEW = None\nexcept ImportError:\n    NEW = False", True),
        ("NEW = False", False),
    ],
)
def test_what_holds_an_answer(before: str, answer: bool) -> None:
    assert protected(f"{before}\nif NEW:\n    marked") is answer


@pytest.mark.parametrize(
    "body, answer",
    [
        ("return torch.__version__ >= '2.3'", True),
        ("return torch.__version__ >= '2.0'", False),
        ("if forced():\n        return False\n    return torch.__version__ >= '2.0'", True),
        ("print()", False),
    ],
)
def test_functions_that_ask(body: str, answer: bool) -> None:
    assert protected(f"def is_new():\n    {body}\nif is_new():\n    marked") is answer
