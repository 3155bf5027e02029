"""``amplint rule``, ``amplint linter``, and what a shell completes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
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


def with_amplint(folder: Path) -> dict[str, str]:
    """An environment in which shells find amplint, and nothing of their user's."""
    command = folder / "amplint"
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m amplint \"$@\"\n")
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), "TERM": "dumb"}


LINES = ["ru", "--output-fo", "--select AMP1,AMP202", "rule step-by", "check --output-format sar"]
COMPLETED = ["rule", "--output-format", "AMP1,AMP202", "step-bypasses-scaler", "sarif"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(tmp_path: Path) -> None:
    script = 'eval "$(amplint generate-shell-completion bash)"\n' + "".join(
        f"COMP_WORDS=(amplint {line}); COMP_CWORD={len(line.split())}; COMPREPLY=(); "
        '_amplint_completion amplint 2>/dev/null; echo "${COMPREPLY[*]}"\n'
        for line in (*LINES, "-")
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=with_amplint(tmp_path))
    *found, options = done.stdout.splitlines()
    assert found == COMPLETED
    assert {"--fix", "--select", "--version"} <= set(options.split())


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes(tmp_path: Path) -> None:
    script = "amplint generate-shell-completion fish | source; cd; " + "".join(
        f"complete -C 'amplint {line}'; echo;" for line in LINES
    )
    done = subprocess.run(["fish", "-c", script], capture_output=True, text=True, env=with_amplint(tmp_path))
    found = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert [word for word in found if word] == COMPLETED, done.stderr
    assert "rule\tExplain a rule." in done.stdout


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_completes(tmp_path: Path) -> None:
    """Keys are typed at a zsh of its own; Ctrl-T prints the line as it stands."""
    pty = pytest.importorskip("pty")
    (tmp_path / ".zshrc").write_text(
        'autoload -Uz compinit; compinit -D -u; eval "$(amplint generate-shell-completion zsh)"; cd; PS1="ready> "\n'
        'show() { print -r -- "<<$BUFFER>>"; BUFFER= }; zle -N show; bindkey "^T" show\n'
    )
    ours, its = pty.openpty()
    with subprocess.Popen(
        ["zsh", "-d", "-i"], stdin=its, stdout=its, stderr=its, env=with_amplint(tmp_path), start_new_session=True
    ) as zsh:
        os.close(its)
        patience = threading.Timer(60, zsh.kill)
        patience.start()
        shown = b""
        while b"ready> " not in shown:
            shown += os.read(ours, 65536)
        os.write(ours, "".join(f"amplint {line}\t\x14" for line in LINES).encode() + b"exit\n")
        with contextlib.suppress(OSError):  # which says that zsh has ended
            while more := os.read(ours, 65536):
                shown += more
        patience.cancel()
        assert zsh.wait() == 0
    os.close(ours)
    lines = re.findall(r"<<amplint (.*?) ?>>", shown.decode())
    assert [line.split()[-1] for line in lines] == COMPLETED
