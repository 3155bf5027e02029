"""Imports from the same project are followed: what goes wrong in a helper's file is told where it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplint import lint_paths
from amplint.documents import Document
from amplint.findings import Finding
from amplint.fixer import Fixer
from amplint.modules import Modules
from amplint.registry import installed

RULES = [rule for rule in installed().rules if rule.code.startswith("AMP1")]
HELPERS = """
import torch


def clip(model, value):
    torch.nn.utils.clip_grad_norm_(model.parameters(), value)


def step(scaler, optimizer):
    scaler.step(optimizer)


def finish(scaler, optimizer):
    step(scaler, optimizer)
    scaler.update()


def unscale_and_clip(scaler, optimizer, model):
    scaler.unscale_(optimizer)
    clip(model, 1.0)
"""
WRAPPER = """
import torch


class NativeScaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, update=True):
        self._scaler.scale(loss).backward()
        if update:
            self._scaler.step(optimizer)
            self._scaler.update()
"""
TRAIN = """
def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        optimizer.zero_grad()
        scaler.scale(model(x).sum()).backward()
"""


def found(folder: Path, text: str, **files: str) -> list[Finding]:
    """What is found in ``main.py`` of a project that has these other files, by their paths without ``.py``."""
    (folder / "pyproject.toml").touch()
    for name, content in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (folder / "main.py").write_text(text)
    return list(Fixer(RULES, RULES).lint(Document.read(folder / "main.py")).findings)


def places(findings: list[Finding]) -> list[tuple[str, int]]:
    return [(finding.code, finding.start.row) for finding in findings]


@pytest.mark.parametrize(
    ("imports", "clip"),
    [
        ("from helpers import clip", "clip"),
        ("from helpers import clip as clip_gradients", "clip_gradients"),
        ("import helpers", "helpers.clip"),
        ("import helpers as h", "h.clip"),
        ("from .helpers import clip", "clip"),
        ("from . import helpers", "helpers.clip"),
        ("from package.passed_on import clip", "clip"),
        ("import package.passed_on", "package.passed_on.clip"),
    ],
)
def test_clip_in_an_imported_helper(tmp_path: Path, imports: str, clip: str) -> None:
    text = f"import torch\n{imports}\n{TRAIN}        {clip}(model, 1.0)\n        scaler.step(optimizer)\n"
    text += "        scaler.update()\n"
    passed_on = "from helpers import clip\n"
    findings = found(tmp_path, text, helpers=HELPERS, package__passed_on=passed_on)
    assert places(findings) == [("AMP103", 10)]
    there, scaled = findings[0].related
    assert there.filename == str(tmp_path / "helpers.py") and there.start.row == 6
    assert scaled.filename is None and scaled.start.row == 9


def test_helpers_in_the_right_order_are_silent(tmp_path: Path) -> None:
    calls = "        unscale_and_clip(scaler, optimizer, model)\n        finish(scaler, optimizer)\n"
    text = f"import torch\nfrom helpers import finish, unscale_and_clip\n{TRAIN}{calls}"
    assert found(tmp_path, text, helpers=HELPERS) == []


def test_update_missing_around_an_imported_step_is_added(tmp_path: Path) -> None:
    text = f"import torch\nfrom helpers import step\n{TRAIN}        step(scaler, optimizer)\n"
    findings = found(tmp_path, text, helpers=HELPERS)
    assert places(findings) == [("AMP102", 10)]
    fixed = Fixer(RULES, RULES).fix(Document.read(tmp_path / "main.py"))
    assert fixed.document.text == text + "        scaler.update()\n"


def test_imported_callable_scaler_is_followed(tmp_path: Path) -> None:
    text = """
import torch
from wrapper import NativeScaler


def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_scaler = NativeScaler()
    for x in loader:
        optimizer.zero_grad()
        loss_scaler(model(x).sum(), optimizer)
"""
    assert found(tmp_path, text, wrapper=WRAPPER) == []
    assert places(found(tmp_path, text + "        optimizer.step()\n", wrapper=WRAPPER)) == [("AMP101", 12)]


def test_method_of_an_imported_base_class(tmp_path: Path) -> None:
    base = "class Base:\n    def finish(self):\n        self.optimizer.step()\n"
    text = """
import torch
from base import Base


class Trainer(Base):
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def train_step(self, x):
        self.scaler.scale(self.model(x).sum()).backward()
        self.finish()
"""
    assert places(found(tmp_path, text, base=base)) == [("AMP101", 14)]


def test_fault_of_the_other_file_is_told_there_only(tmp_path: Path) -> None:
    wrong = WRAPPER.replace("            self._scaler.update()\n", "")
    text = "import torch\nfrom wrapper import NativeScaler\n" + TRAIN.replace(
        "scaler.scale(model(x).sum()).backward()", "scaler(model(x).sum(), optimizer)"
    ).replace('torch.amp.GradScaler("cuda")', "NativeScaler()")
    assert found(tmp_path, text, wrapper=wrong) == []
    results = lint_paths([tmp_path / "wrapper.py"], select=["AMP102"])
    assert [finding.start.row for result in results for finding in result.findings] == [12]


def test_name_that_could_mean_two_files_is_not_followed(tmp_path: Path) -> None:
    text = f"import torch\nfrom helpers import clip\n{TRAIN}        clip(model, 1.0)\n        scaler.step(optimizer)\n"
    text += "        scaler.update()\n"
    assert found(tmp_path, text, helpers=HELPERS, src__helpers="def clip(model, value): ...\n") == []


def test_nothing_outside_the_project_is_read(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(HELPERS)
    project = tmp_path / "project"
    project.mkdir()
    (project / "link.py").symlink_to(tmp_path / "helpers.py")
    text = f"import torch\nfrom MODULE import clip\n{TRAIN}        clip(model, 1.0)\n        scaler.step(optimizer)\n"
    text += "        scaler.update()\n"
    for module in ("helpers", "..helpers", "link"):
        assert found(project, text.replace("MODULE", module)) == []
    modules = Modules(str(project / "main.py"))
    assert modules.find("..helpers.clip") is None
    assert all(digest is None for digest in modules.consulted.values())


def test_what_was_looked_at_is_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "helpers.py").write_text(HELPERS)
    modules = Modules(str(tmp_path / "main.py"))
    place = modules.find("helpers.clip")
    assert place is not None and place[0].path == str(tmp_path / "helpers.py") and place[1] == "clip"
    assert modules.consulted[str(tmp_path / "helpers.py")] is not None
    assert modules.find("absent.clip") is None
    assert modules.consulted[str(tmp_path / "absent.py")] is None


@pytest.mark.parametrize(
    "content", ["def clip(:\n", "\0", "x = 1\n", "from main import clip\n", "from helpers import clip\n"]
)
def test_helper_that_cannot_be_read_is_unknown(tmp_path: Path, content: str) -> None:
    text = f"import torch\nfrom helpers import clip\n{TRAIN}        clip(model, 1.0)\n        scaler.step(optimizer)\n"
    text += "        scaler.update()\n"
    assert found(tmp_path, text, helpers=content) == []


def test_gradients_looked_at_in_a_training_function_are_told_where_that_is(tmp_path: Path) -> None:
    text = """
import torch
from helpers import step


class Trainer:
    def train(self):
        try:
            return self.all_batches()
        finally:
            print("done")

    def all_batches(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cuda")
        norms = []
        for x in self.loader:
            scaler.scale(self.model(x).sum()).backward()
            norms.append(self.norm())
            step(scaler, optimizer)
            scaler.update()
        return norms

    def norm(self):
        return torch.norm(torch.stack([torch.norm(p.grad.detach()) for p in self.model.parameters()]))
"""
    assert places(found(tmp_path, text, helpers=HELPERS)) == [("AMP104", 19)]


@pytest.mark.parametrize(
    "imports",
    [
        "from helpers import clip\nclip = print",
        "from helpers import clip\nif torch.cuda.is_available():\n    def clip(model, value): ...",
        "from helpers import clip\nfor clip in (print,):\n    pass",
        "from helpers import clip\ndef turn_off():\n    global clip\n    clip = print",
        "from helpers import clip\nfrom others import *",
        "try:\n    from helpers import clip\nexcept ImportError:\n    def clip(model, value): ...",
        "try:\n    from fast import clip\nexcept ImportError:\n    from helpers import clip",
    ],
)
def test_name_that_may_stand_for_something_else_is_unknown(tmp_path: Path, imports: str) -> None:
    calls = "        clip(model, 1.0)\n        scaler.step(optimizer)\n        scaler.update()\n"
    assert found(tmp_path, f"import torch\n{imports}\n{TRAIN}{calls}", helpers=HELPERS) == []


@pytest.mark.parametrize(
    "rebound",
    [
        "if torch.cuda.is_available():\n    def clip(model, value): ...\n",
        "try:\n    from fast import clip\nexcept ImportError:\n    pass\n",
        "clip, other = print, print\n",
        "with torch.no_grad() as clip:\n    pass\n",
        "from others import *\n",
        "def turn_off():\n    global clip\n    clip = print\n",
    ],
)
def test_helper_that_is_bound_again_is_unknown(tmp_path: Path, rebound: str) -> None:
    calls = "        clip(model, 1.0)\n        scaler.step(optimizer)\n        scaler.update()\n"
    text = f"import torch\nfrom helpers import clip\n{TRAIN}{calls}"
    assert found(tmp_path, text, helpers=HELPERS + rebound) == []


def test_package_comes_before_a_module_of_its_name(tmp_path: Path) -> None:
    calls = "        clip(model, 1.0)\n        scaler.step(optimizer)\n        scaler.update()\n"
    text = f"import torch\nfrom helpers import clip\n{TRAIN}{calls}"
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "__init__.py").write_text("def clip(model, value): ...\n")
    assert found(tmp_path, text, helpers=HELPERS) == []


def test_helper_nested_beyond_reading_is_unknown(tmp_path: Path) -> None:
    text = f"import torch\nfrom helpers import clip\n{TRAIN}        scaler.step(optimizer)\n        scaler.update()\n"
    assert found(tmp_path, text, helpers=HELPERS + "x = " + "-" * 5000 + "1\n") == []


@pytest.mark.parametrize(
    ("top", "inside"),
    [
        ("", "    from helpers import clip\n"),
        ("", "    from passing import clip\n"),
        ("", "    from inner import clip\n"),
        ("try:\n    from .helpers import clip\nexcept ImportError:\n    from helpers import clip\n", ""),
        ("if torch:\n    from helpers import clip\n", ""),
    ],
)
def test_import_that_is_not_at_the_top_is_followed(tmp_path: Path, top: str, inside: str) -> None:
    text = (
        f"import torch\n{top}{TRAIN}        clip(model, 1.0)\n        scaler.step(optimizer)\n        scaler.update()\n"
    )
    text = text.replace("    optimizer =", f"{inside}    optimizer =")
    passing = "import torch\n\nif torch:\n    from helpers import clip\n"
    inner = "def clip(model, value):\n    from helpers import clip as inner\n\n    inner(model, value)\n"
    findings = found(tmp_path, text, helpers=HELPERS, passing=passing, inner=inner)
    assert places(findings) == [("AMP103", text[: text.index(" clip(model")].count("\n") + 1)]


def test_helper_that_imports_under_a_condition_is_followed(tmp_path: Path) -> None:
    text = f"import torch\nfrom outer import outer\n{TRAIN}        outer(model)\n        scaler.step(optimizer)\n"
    text += "        scaler.update()\n"
    outer = "try:\n    import torch; from helpers import (\n        clip,\n    )\nexcept ImportError:\n    pass\n\n\n"
    outer += "def outer(model):\n    clip(model, 1.0)\n"
    assert places(found(tmp_path, text, helpers=HELPERS, outer=outer)) == [("AMP103", 10)]
    outer = outer.replace("    pass", "    clip = print")
    assert found(tmp_path, text, helpers=HELPERS, outer=outer) == []
