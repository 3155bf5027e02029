"""``amplint rule``, ``amplint linter``, and what a shell completes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Amplint

from amplint.registry import installed

pytestmark = pytest.mark.usefixtures("demo_rules")


def test_all_rules_as_json(inside: Amplint) -> None:
    rows = json.loads(inside("rule", "--all", "--output-format", "json").stdout)
    assert [row["code"] for row in rows] == [rule.code for rule in installed().rules]
    row = json.loads(inside("rule", "AMP101", "--output-format", "json").stdout)
    assert row in rows
    assert (row["name"], row["linter"], row["fix_availability"]) == ("step-bypasses-scaler", "protocol", "Sometimes")
    assert row["explanation"] == installed().find("AMP101").page()


def test_all_rules_as_markdown(inside: Amplint) -> None:
    text = inside("rule", "--all", "--output-format", "markdown").stdout.decode()
    titles = [line for line in text.splitlines() if line.startswith("# ") and line.endswith(")")]
    assert titles == [f"# {rule.name} ({rule.code})" for rule in installed().rules]
    assert "# bad-word (DEMO001)\n\nHas a safe fix.\n" in text


def test_a_rule_or_all(inside: Amplint) -> None:
    assert inside("rule").returncode == inside("rule", "--all", "AMP101").returncode == 2


def test_groups(inside: Amplint) -> None:
    lines = inside("linter").stdout.decode().splitlines()
    assert any(line.strip().startswith("AMP1 protocol (") for line in lines)
    assert any(line.strip().startswith("DEMO demo_rules (8)") for line in lines)
    for group in json.loads(inside("linter", "--output-format=json").stdout):
        chosen = installed().matching(group["prefix"])
        assert len(chosen) == group["rules"]
        assert group["title"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_made_for(inside: Amplint, shell: str) -> None:
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("needs bash")
    done = inside("generate-shell-completion", shell)
    assert b"_AMPLINT_COMPLETE" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n", "/dev/stdin"], input=done.stdout, check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(tmp_path: Path) -> None:
    lines = ["ru", "--output-fo", "--select AMP1,AMP202", "rule step-by", "check --output-format sar", "-"]
    command = tmp_path / "amplint"
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m amplint \"$@\"\n")
    command.chmod(0o755)
    script = 'eval "$(amplint generate-shell-completion bash)"\n' + "".join(
        f"COMP_WORDS=(amplint {line}); COMP_CWORD={len(line.split())}; COMPREPLY=(); "
        '_amplint_completion amplint 2>/dev/null; echo "${COMPREPLY[*]}"\n'
        for line in lines
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env={**os.environ, "PATH": path})
    *found, options = done.stdout.splitlines()
    assert found == ["rule", "--output-format", "AMP1,AMP202", "step-bypasses-scaler", "sarif"]
    assert {"--fix", "--select", "--version"} <= set(options.split())
