"""What the README says of hooks and CI, checked by those who read it, and run as far as one machine allows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import NOT_THE_PROJECT, PROJECT, commit, snippet

yaml = pytest.importorskip("yaml")

BROKEN = """\
from torch.cuda.amp import GradScaler
scaler = GradScaler()
"""


def validate(schema: str, *paths: Path) -> None:
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


WORKFLOWS = ("name: amplint\non: [push, pull_request]", "name: amplint\non: [push]\n")


def documented_inputs(begin: str) -> dict[str, str]:
    """What the README's workflow that begins with ``begin`` hands to the action."""
    steps = yaml.safe_load(snippet(begin))["jobs"]["amplint"]["steps"]
    (used,) = (step["with"] for step in steps if step["uses"].startswith("amplint/"))
    return used


def test_the_action_and_the_workflows_are_valid_to_github(tmp_path: Path) -> None:
    validate("github-actions", PROJECT / "action.yml")
    action = yaml.safe_load((PROJECT / "action.yml").read_text())
    paths = []
    for number, begin in enumerate(WORKFLOWS):
        paths.append(tmp_path / f"{number}.yml")
        paths[-1].write_text(snippet(begin))
        assert set(documented_inputs(begin)) <= set(action["inputs"])
    validate("github-workflows", *paths)


def run_action(step: dict[str, Any], inputs: dict[str, str], outputs: dict[str, str], cwd: Path, **extra: str) -> int:
    """Run a step of the composite action as a runner does."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        return inputs.get(name.removeprefix("inputs."), outputs.get(name, extra.get(name, "")))

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ (\S+) \}\}", value, text)

    environment = {
        **os.environ,
        "PYTHONPATH": "",
        **extra,
        **{name: filled(text) for name, text in step["env"].items()},
    }
    folder = cwd / filled(step.get("working-directory", "."))
    return subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], cwd=folder, env=environment).returncode


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_action_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pip")  # or there is nothing to make an environment of
    source, here = tmp_path / "source", tmp_path / "repository"
    shutil.copytree(PROJECT, source, ignore=NOT_THE_PROJECT)
    for name in ("d/a.py", "src/a.py", "train.py"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(BROKEN)
    action = yaml.safe_load((PROJECT / "action.yml").read_text())
    inputs = {name: told["default"] for name, told in action["inputs"].items()}
    install, run = action["runs"]["steps"]
    written = tmp_path / "outputs"
    extra = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(written), "github.action_path": str(source)}
    assert run_action(install, inputs, {}, here, **extra) == 0
    name, _, value = written.read_text().strip().partition("=")
    outputs = {f"steps.install.outputs.{name}": value}
    assert run_action(run, inputs | documented_inputs(WORKFLOWS[0]), outputs, here) == 1
    told = capfd.readouterr().out
    for name in ("src/a.py", "train.py"):
        assert f"::warning title=amplint (AMP201),file={here}/{name},line=1," in told
    assert "d/a.py" not in told
    evil = {**inputs, "args": "nowhere;$(touch${IFS}owned) * --isolated", "working-directory": "d"}
    assert run_action(run, evil, outputs, here) == 2
    assert sorted(path.name for path in (here / "d").iterdir()) == ["a.py"]
    assert run_action(run, inputs | documented_inputs(WORKFLOWS[1]), outputs, here) == 0
    assert json.loads((here / "amplint.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "AMP201"


def run_gitlab_job(folder: Path, lines: list[str], path: Path) -> None:
    """Run ``lines`` of the README's job in ``folder``, with programs from ``path`` first, and read its report."""
    (folder / "a.py").write_text(BROKEN)
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": ""}
    done = subprocess.run(["sh", "-ec", "\n".join(lines)], cwd=folder, env=environment)
    assert done.returncode == 1
    job = yaml.safe_load(snippet("amplint:\n  image"))["amplint"]
    found = json.loads((folder / job["artifacts"]["reports"]["codequality"]).read_text())
    assert [(row["check_name"], row["location"]["path"]) for row in found] == [("AMP201", "a.py")]


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_the_gitlab_job_is_valid_and_its_script_runs(tmp_path: Path) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text(snippet("amplint:\n  image"))
    validate("gitlab-ci", tmp_path / ".gitlab-ci.yml")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "amplint"
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m amplint \"$@\"\n")
    command.chmod(0o755)
    run_gitlab_job(tmp_path, yaml.safe_load(snippet("amplint:\n  image"))["amplint"]["script"], tmp_path / "bin")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_the_gitlab_job_runs_from_its_installation_on(tmp_path: Path) -> None:
    source, here = tmp_path / "source", tmp_path / "repository"
    shutil.copytree(PROJECT, source, ignore=NOT_THE_PROJECT)
    here.mkdir()
    job = yaml.safe_load(snippet("amplint:\n  image"))["amplint"]
    where = f"{source.as_uri()}@{commit(source)}"
    install = [line.replace("https://github.com/amplint/amplint@v0.1.0", where) for line in job["before_script"]]
    assert any(where in line for line in install)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    run_gitlab_job(here, [*install, *job["script"]], tmp_path / "venv" / "bin")


def test_the_hooks_and_their_use_are_valid_to_pre_commit(tmp_path: Path) -> None:
    pytest.importorskip("pre_commit")
    config = tmp_path / ".pre-commit-config.yaml"
    config.write_text(snippet("repos:"))
    hooks = PROJECT / ".pre-commit-hooks.yaml"
    for command, path in (("validate-config", config), ("validate-manifest", hooks)):
        done = subprocess.run([sys.executable, "-m", "pre_commit", command, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
    (used,) = yaml.safe_load(config.read_text())["repos"]
    assert {hook["id"] for hook in used["hooks"]} <= {hook["id"] for hook in yaml.safe_load(hooks.read_text())}


def test_flake8_reports_the_same_findings_under_the_same_codes(tmp_path: Path) -> None:
    pytest.importorskip("flake8")
    (tmp_path / "pyproject.toml").write_text("[tool.amplint]\nignore = ['AMP201']\n")
    query = "import torch\nx = torch.get_autocast_gpu_dtype()\n"
    (tmp_path / "a.py").write_text(f"{BROKEN}{query}")
    (tmp_path / "b.py").write_text(f"{query}y = torch.get_autocast_gpu_dtype()  # noqa: AMP203\n")
    (tmp_path / "c.py").write_text("x = 1\n")
    done = subprocess.run(
        [sys.executable, "-m", "flake8", "--isolated", "."], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stderr == ""
    found = [line.partition(" `")[0] for line in done.stdout.splitlines() if "AMP" in line]
    assert found == ["./a.py:4:5: AMP203", "./b.py:2:5: AMP203"]
