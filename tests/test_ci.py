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
from conftest import NOT_THE_PROJECT, PROJECT

yaml = pytest.importorskip("yaml")

README = (PROJECT / "README.md").read_text()
BROKEN = """\
from torch.cuda.amp import GradScaler
scaler = GradScaler()
"""


def snippet(begin: str) -> str:
    """The README's YAML that begins with ``begin``."""
    (found,) = (text for text in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if text.startswith(begin))
    return found


def validate(schema: str, *paths: Path) -> None:
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_action_and_the_workflows_are_valid_to_github(tmp_path: Path) -> None:
    validate("github-actions", PROJECT / "action.yml")
    action = yaml.safe_load((PROJECT / "action.yml").read_text())
    paths = []
    for number, begin in enumerate(("name: amplint\non: [push, pull_request]", "name: amplint\non: [push]\n")):
        paths.append(tmp_path / f"{number}.yml")
        paths[-1].write_text(snippet(begin))
        steps = yaml.safe_load(snippet(begin))["jobs"]["amplint"]["steps"]
        (used,) = (step for step in steps if step["uses"].startswith("amplint/"))
        assert set(used["with"]) <= set(action["inputs"])
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
    (here / "d").mkdir(parents=True)
    (here / "d" / "a.py").write_text(BROKEN)
    action = yaml.safe_load((PROJECT / "action.yml").read_text())
    inputs = {name: told["default"] for name, told in action["inputs"].items()}
    install, run = action["runs"]["steps"]
    written = tmp_path / "outputs"
    extra = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(written), "github.action_path": str(source)}
    assert run_action(install, inputs, {}, here, **extra) == 0
    name, _, value = written.read_text().strip().partition("=")
    outputs = {f"steps.install.outputs.{name}": value}
    assert run_action(run, inputs, outputs, here) == 1
    assert f"::warning title=amplint (AMP201),file={here}/d/a.py,line=1," in capfd.readouterr().out
    evil = {**inputs, "args": "nowhere;$(touch${IFS}owned) * --isolated", "working-directory": "d"}
    assert run_action(run, evil, outputs, here) == 2
    assert sorted(path.name for path in (here / "d").iterdir()) == ["a.py"]
    sarif = {**inputs, "args": ". --exit-zero", "output-format": "sarif", "output-file": "amplint.sarif"}
    assert run_action(run, sarif, outputs, here) == 0
    assert json.loads((here / "amplint.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "AMP201"


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_the_gitlab_job_is_valid_and_its_script_runs(tmp_path: Path) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text(snippet("amplint:\n  image"))
    validate("gitlab-ci", tmp_path / ".gitlab-ci.yml")
    job = yaml.safe_load(snippet("amplint:\n  image"))["amplint"]
    (tmp_path / "a.py").write_text(BROKEN)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "amplint"
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m amplint \"$@\"\n")
    command.chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    (script,) = job["script"]
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env={**os.environ, "PATH": path})
    assert done.returncode == 1
    (row,) = json.loads((tmp_path / job["artifacts"]["reports"]["codequality"]).read_text())
    assert (row["check_name"], row["location"]["path"]) == ("AMP201", "a.py")


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
