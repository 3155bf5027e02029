"""The example of a rule pack, installed and run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Amplint

EXAMPLE = Path(__file__).parents[1] / "fixtures" / "rule-pack"

pytest.importorskip("pip")

SOURCE = """\
import torch
from torch import autocast


def evaluate(model, x):
    with torch.autocast("cuda"):
        y = model(x)
    with torch.autocast("cuda", torch.float16), torch.autocast("cpu", dtype=torch.bfloat16):
        y = y + model(x)
    with autocast("cuda"):
        return y + model(x)
"""


@pytest.fixture
def acme(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    target, source = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("source") / "pack"
    shutil.copytree(EXAMPLE, source)  # where the build may leave what it likes
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    monkeypatch.setenv("PYTHONPATH", str(target))


@pytest.mark.usefixtures("acme")
def test_the_example_is_installed_and_runs(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCE)
    rows = json.loads(amplint("--output-format", "json").stdout)
    assert [(row["code"], row["name"], row["location"]["row"]) for row in rows] == [
        ("ACME001", "autocast-without-dtype", 6),
        ("ACME001", "autocast-without-dtype", 10),
    ]
    assert [row["no_fix_reason"] is None for row in rows] == [True, False]
    assert amplint("--ignore", "ACME").returncode == amplint("--select", "AMP").returncode == 0
    assert b"ACME0 acme_amp_rules (1): What Acme" in amplint("linter").stdout
    assert amplint("rule", "ACME001").stdout.startswith(b"# autocast-without-dtype (ACME001)\n\n## What it does")
    amplint("--fix", "--unsafe-fixes")
    fixed = SOURCE.replace('with torch.autocast("cuda"):', 'with torch.autocast("cuda", dtype=torch.bfloat16):')
    assert (tmp_path / "a.py").read_text() == fixed
