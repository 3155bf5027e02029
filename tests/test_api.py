"""amplint from Python."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import amplint

BROKEN = """\
from torch.cuda.amp import GradScaler
from torch.optim import SGD


def train(model, batches):
    optimizer = SGD(model.parameters(), lr=0.1)
    scaler = GradScaler()
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        optimizer.step()
"""
FIXED = """\
from torch.amp import GradScaler
from torch.optim import SGD


def train(model, batches):
    optimizer = SGD(model.parameters(), lr=0.1)
    scaler = GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
"""


def test_lint_source() -> None:
    outcome = amplint.lint_source(BROKEN, "train.py")
    assert (outcome.path, outcome.source, outcome.fixed, outcome.problems) == ("train.py", BROKEN, (), ())
    assert [finding.code for finding in outcome.findings] == ["AMP201", "AMP101"]
    step = outcome.findings[1]
    assert isinstance(step, amplint.Finding)
    assert (step.severity, str(outcome.place(step))) == (amplint.Severity.ERROR, "11:9")
    assert step.fix is not None and step.fix.applicability is amplint.Applicability.SAFE
    assert amplint.lint_source(FIXED).findings == ()
    assert [finding.code for finding in amplint.lint_source("def f(:").findings] == ["AMP902"]


def test_fix_source() -> None:
    outcome = amplint.fix_source(BROKEN)
    assert outcome.source == FIXED
    assert [finding.code for finding in outcome.fixed] == ["AMP201", "AMP101"]
    assert outcome.findings == ()
    assert amplint.fix_source(BROKEN, select=["AMP2"]).source == BROKEN.replace("torch.cuda.amp", "torch.amp").replace(
        "GradScaler()", 'GradScaler("cuda")'
    )
    assert amplint.fix_source(FIXED).source == FIXED
    assert amplint.fix_source(BROKEN.replace("\n", "\r\n")).source == FIXED.replace("\n", "\r\n")


def test_selectors_and_targets() -> None:
    def codes(**options: object) -> list[str]:
        return [finding.code for finding in amplint.lint_source(BROKEN, **options).findings]  # type: ignore[arg-type]

    assert codes(select=["AMP1"]) == codes(ignore=["AMP2"]) == codes(select="step-bypasses-scaler") == ["AMP101"]
    old = amplint.lint_source(BROKEN, select=["AMP201"], target_torch="2.0").findings[0]
    assert old.fix is None and old.no_fix_reason is not None
    with pytest.raises(amplint.UnknownRule):
        amplint.lint_source("", select=["NONE"])
    with pytest.raises(ValueError, match="not a version of torch"):
        amplint.lint_source("", target_torch="new")


def test_a_notebook_is_source_too() -> None:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": BROKEN}] * 2
    source = json.dumps({"cells": cells[:1], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    outcome = amplint.fix_source(source, "a.ipynb")
    assert json.loads(outcome.source)["cells"][0]["source"] == FIXED
    found = amplint.lint_source(source, "a.ipynb")
    assert [str(found.place(finding)) for finding in found.findings] == ["cell 1:1:28", "cell 1:11:9"]
    with pytest.raises(amplint.UnreadableDocument):
        amplint.lint_source("{", "a.ipynb")


def test_lint_paths(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.amplint]\nignore = ['AMP201']\n")
    (tmp_path / "train.py").write_text(BROKEN)
    (tmp_path / "other.py").write_text("x = 1\n")
    (alone,) = amplint.lint_paths(str(tmp_path))
    outcome, missing = amplint.lint_paths([tmp_path, tmp_path / "nowhere.py"])
    assert alone == outcome
    assert outcome.path == str(tmp_path / "train.py")
    assert [finding.code for finding in outcome.findings] == ["AMP101"]
    assert missing.problems == ("no such file or directory",)
    (outcome,) = amplint.lint_paths([str(tmp_path)], fix=True, select=["AMP"])
    assert (outcome.source, outcome.findings) == (FIXED, ())
    assert [finding.code for finding in outcome.fixed] == ["AMP201", "AMP101"]
    assert (tmp_path / "train.py").read_text() == FIXED
    (tmp_path / "pyproject.toml").write_text("[tool.amplint]\nignor = []\n")
    with pytest.raises(amplint.ConfigError):
        amplint.lint_paths([tmp_path])


def test_the_readmes_example_runs(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    example = re.search(r"<!-- api: begin.*?```python\n(.*?)```", readme, re.DOTALL)
    assert example is not None
    (tmp_path / "train.py").write_text(BROKEN)
    done = subprocess.run([sys.executable, "-c", example[1]], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.startswith("train.py:11:9 AMP101 optimizer.step()")
    assert FIXED in done.stdout
    assert done.stdout.endswith("train.py 2 fixed, 0 left\n")


def test_importing_it_is_instant_and_everything_is_there() -> None:
    script = (
        "import sys; import amplint; loaded = sorted(name for name in sys.modules if name.startswith('amplint.'))\n"
        "assert not loaded and 'click' not in sys.modules\n"
        "assert set(amplint.__all__) <= set(dir(amplint))\n"
        "for name in amplint.__all__: getattr(amplint, name)\n"
        "assert 'libcst' not in sys.modules and 'torch' not in sys.modules\n"
        "assert not hasattr(amplint, 'nothing')"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
