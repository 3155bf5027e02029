"""The hooks, run by pre-commit itself on a repository of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import NOT_THE_PROJECT, PROJECT, commit, snippet

pytest.importorskip("pre_commit")

BROKEN = """\
import torch


def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        optimizer.zero_grad()
        scaler.scale(model(x)).backward()
        optimizer.step()
"""
FIXED = BROKEN.replace("optimizer.step()\n", "scaler.step(optimizer)\n        scaler.update()\n")


def test_the_hooks_find_and_fix(tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    shutil.copytree(PROJECT, hooks, ignore=NOT_THE_PROJECT)
    revision = commit(hooks)
    repository = tmp_path / "repository"
    (repository / "old").mkdir(parents=True)
    (repository / "train.py").write_text(BROKEN)
    (repository / "old" / "train.py").write_text(BROKEN)
    (repository / "pyproject.toml").write_text("[tool.amplint]\nextend-exclude = ['old']\n")
    documented = snippet("repos:")
    assert "# or amplint-fix" in documented
    (repository / ".pre-commit-config.yaml").write_text(
        documented.replace("https://github.com/amplint/amplint", hooks.as_uri()).replace("v0.1.0", revision)
        + "      - id: amplint-fix\n"
    )
    commit(repository)

    def run(hook: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color=never", hook],
            cwd=repository,
            env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home"), "PYTHONPATH": ""},
            capture_output=True,
            text=True,
        )

    found = run("amplint")
    assert found.returncode == 1, found.stdout + found.stderr
    assert "--> train.py:10:9" in found.stdout
    assert "old" not in found.stdout
    assert (repository / "train.py").read_text() == BROKEN

    fixed = run("amplint-fix")
    assert fixed.returncode == 1
    assert "files were modified by this hook" in fixed.stdout
    assert (repository / "train.py").read_text() == FIXED
    assert (repository / "old" / "train.py").read_text() == BROKEN

    for hook in ("amplint", "amplint-fix"):
        again = run(hook)
        assert again.returncode == 0, again.stdout
