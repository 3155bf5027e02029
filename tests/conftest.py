"""What the tests of several rooms share."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from amplint import registry

PROJECT = Path(__file__).parents[1]
NOT_THE_PROJECT = shutil.ignore_patterns(
    ".git", ".venv", "venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache"
)
README = (PROJECT / "README.md").read_text(encoding="utf-8")
PACKS = Path(__file__).parent / "packs"


@pytest.fixture
def demo_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The rule pack of ``tests/packs``, installed beside amplint's own, for this process and those it starts."""
    monkeypatch.syspath_prepend(str(PACKS))
    monkeypatch.setenv("PYTHONPATH", str(PACKS))
    registry.installed.cache_clear()
    yield
    registry.installed.cache_clear()


def snippet(begin: str) -> str:
    """The README's YAML that begins with ``begin``."""
    (found,) = (text for text in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if text.startswith(begin))
    return found


def commit(folder: Path) -> str:
    """Make ``folder`` a Git repository of one commit, and return that commit."""

    def git(*args: str) -> str:
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "all")
    return git("rev-parse", "HEAD")


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in ``tmp_path``, outside of any CI system."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI_PROJECT_DIR", raising=False)


class Amplint(Protocol):
    def __call__(self, *args: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]: ...


@pytest.fixture
def amplint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Amplint:
    """Runs amplint in ``tmp_path`` as a user does."""
    monkeypatch.chdir(tmp_path)
    for variable in ("FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)

    def run(*args: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "amplint", *args]
        return subprocess.run(command, cwd=tmp_path, input=stdin, capture_output=True, env=os.environ, timeout=60)

    return run


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Amplint:
    """Runs amplint in ``tmp_path`` as the fixture ``amplint`` does, yet in this process, which is faster."""
    from click.testing import CliRunner

    from amplint.cli import main

    monkeypatch.chdir(tmp_path)
    for variable in ("FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)

    def run(*args: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        done = CliRunner().invoke(main, args, input=stdin, prog_name="amplint")
        return subprocess.CompletedProcess(args, done.exit_code, done.stdout_bytes, done.stderr_bytes)

    return run
