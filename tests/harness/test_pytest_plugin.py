"""``pytest --amp-watch`` fails the tests whose training step misuses mixed precision, and no others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest, torch

def step(right):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(model(torch.ones(1, 2)).sum()).backward()
    if right:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()

def test_right():
    step(True)

def test_wrong():
    step(False)

@pytest.mark.amp_misuse
def test_wrong_on_purpose():
    step(False)

def test_fails_anyway():
    step(False)
    assert 1 == 2
"""


def pytest_run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *args]
    if "amplint.pytest_plugin" not in _loaded():
        command += ["-p", "amplint.pytest_plugin"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def _loaded() -> set[str]:
    """The plugins that pytest finds by their entry points."""
    from importlib.metadata import entry_points

    return {point.value for point in entry_points(group="pytest11")}


@pytest.mark.parametrize("on", [True, False])
def test_plugin(on: bool, tmp_path: Path) -> None:
    (tmp_path / "test_training.py").write_text(TESTS)
    done = pytest_run(tmp_path, *(["--amp-watch"] if on else []))
    for name, fails in {"right": False, "wrong": on, "wrong_on_purpose": False, "fails_anyway": True}.items():
        assert f"{'FAILED' if fails else 'PASSED'} test_training.py::test_{name}" in done.stdout
    assert ("test_training.py:13:9: AMP101 optimizer.step()" in done.stdout) is on
    assert ("mixed precision is misused" in done.stdout) is on
    assert "1 == 2" in done.stdout


def test_the_plugin_costs_nothing_where_it_is_off() -> None:
    code = "import sys, amplint.pytest_plugin; print({'torch', 'libcst', 'click'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "set()\n"
