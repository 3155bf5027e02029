"""What is said about fixes, in numbers and where, and which exit codes follow."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Amplint

pytestmark = pytest.mark.usefixtures("demo_rules")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("bad, bad, risky\n")
    (tmp_path / "b.py").write_text("stuck, bad\n")


def test_statistics(inside: Amplint) -> None:
    done = inside("--statistics")
    assert done.returncode == 1
    assert done.stdout.decode() == (
        "3\tDEMO001\t[*] bad-word\n1\tDEMO002\t[ ] risky-word\n1\tDEMO003\t[ ] stuck-word\n"
        "Found 5 errors.\n[*] 3 fixable with `--fix` (1 unsafe fix available with `--fix --unsafe-fixes`).\n"
    )
    assert inside("--statistics", "-q", "--select", "DEMO003").stdout == b"1\tDEMO003\tstuck-word\n"
    assert json.loads(inside("--statistics", "--output-format=json", "--unsafe-fixes").stdout)[1] == {
        "code": "DEMO002",
        "name": "risky-word",
        "count": 1,
        "fixable": True,
        "fixable_count": 1,
    }
    assert inside("--statistics", "--ignore=DEMO").stdout == b"All checks passed!\n"


def test_an_output_file_holds_what_would_have_been_printed(inside: Amplint, tmp_path: Path) -> None:
    done = inside("--output-file", "out.txt", "--output-format", "concise")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    assert (tmp_path / "out.txt").read_bytes() == inside("--output-format", "concise").stdout
    done = inside("-o", "nowhere/out.txt")
    assert (done.returncode, done.stderr) == (
        2,
        b"amplint: nowhere/out.txt: could not be written: No such file or directory\n",
    )


def test_show_fixes(inside: Amplint) -> None:
    done = inside("--fix", "--show-fixes", "--output-format", "concise")
    assert done.returncode == 1
    assert done.stdout.decode() == (
        "a.py:1:13: DEMO002 `risky` is found\nb.py:1:1: DEMO003 `stuck` is found\n"
        "\nFixed 3 errors:\n- a.py:\n    2 × DEMO001 (bad-word)\n- b.py:\n    1 × DEMO001 (bad-word)\n\n"
        "Found 5 errors (3 fixed, 2 remaining).\n1 unsafe fix available with `--fix --unsafe-fixes`.\n"
    )


def test_fix_only(inside: Amplint, tmp_path: Path) -> None:
    done = inside("--fix-only")
    assert (done.returncode, done.stdout) == (
        0,
        b"Fixed 3 errors (1 additional fix available with `--unsafe-fixes`).\n",
    )
    assert (tmp_path / "a.py").read_text() == "good, good, risky\n"
    done = inside("--fix-only", "b.py")
    assert (done.returncode, done.stdout) == (0, b"")
    done = inside("--fix-only")
    assert (done.returncode, done.stdout) == (0, b"No errors fixed (1 fix available with `--unsafe-fixes`).\n")
    done = inside("--fix-only", "-", stdin=b"bad, stuck\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"good, stuck\n", b"Fixed 1 error.\n")
    assert inside("--fix-only", "nowhere.py").returncode == 2


def test_exit_non_zero_on_fix(inside: Amplint, tmp_path: Path) -> None:
    args = ("a.py", "--select", "DEMO001", "--exit-non-zero-on-fix")
    assert inside(*args, "--fix").returncode == 1
    assert inside(*args, "--fix").returncode == 0
    (tmp_path / "a.py").write_text("bad\n")
    assert inside(*args, "--fix-only").returncode == 1


def test_silence(inside: Amplint) -> None:
    done = inside("--silent")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    done = inside("--silent", "--diff")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    assert inside("--silent", "nowhere.py").stderr != b""


def test_the_environment_may_choose_the_format(inside: Amplint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMPLINT_OUTPUT_FORMAT", "pylint")
    assert inside("b.py").stdout.startswith(b"b.py:1: [DEMO003]")
    assert inside("b.py", "--output-format=concise").stdout.startswith(b"b.py:1:1: DEMO003")


def test_verbose_tells_settings_times_and_what_was_left(inside: Amplint, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.amplint]\nunsafe-fixes = true\n")
    branches = "".join(f"    if flags[{n}]:\n        scaler.unscale_(optimizers[{n}])\n" for n in range(40))
    (tmp_path / "c.py").write_text(
        f"import torch\ndef deep(flags, optimizers, loss):\n    scaler = torch.amp.GradScaler()\n{branches}"
        + "".join(f"    if flags[{n}]:\n        scaler.step(optimizers[{n}])\n" for n in range(40))
        + "    scaler.update()\n"
    )
    done = inside("--verbose", "--silent")
    assert done.stdout == b""
    lines = done.stderr.decode().splitlines()
    assert "amplint: settings of pyproject.toml" in lines
    assert any(line.startswith("amplint: a.py: 0.") and line.endswith(" s") for line in lines)
    assert "amplint: c.py: `deep` is too complex to be followed in full, so faults in it may go unseen" in lines
    assert lines[-1].startswith("amplint: 3 files searched, 3 linted: ")


def test_colour(inside: Amplint, monkeypatch: pytest.MonkeyPatch) -> None:
    assert b"\x1b[" not in inside("b.py").stdout
    assert b"\x1b[1;31mDEMO003" in inside("b.py", "--color", "always").stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert b"\x1b[1;31mDEMO003" in inside("b.py").stdout
    assert b"\x1b[" not in inside("b.py", "--color=never").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_watch(inside: Amplint, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.importorskip("watchfiles")
    printed = tmp_path_factory.mktemp("printed") / "out.txt"
    command = [sys.executable, "-m", "amplint", "-wq", "--output-format", "concise", "--select=DEMO001"]

    def wait_for(line: str, rows: int) -> None:
        deadline = time.monotonic() + 60
        while line not in printed.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
            if rows:  # until it has begun to watch
                (tmp_path / "a.py").write_text("x\n" * rows + "bad\n")

    with printed.open("w") as file:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=file, stderr=subprocess.PIPE, text=True)
        try:
            wait_for("b.py:1:8: DEMO001", 0)
            wait_for("a.py:4:1: DEMO001", 3)
        finally:
            process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "amplint is watching" in told
    assert inside("--watch", "-").returncode == 2


def test_a_misspelled_command_is_told(inside: Amplint, tmp_path: Path) -> None:
    done = inside("rul", "AMP101")
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1] == "amplint: did you mean the command `rule`?"
    assert b"did you mean" not in inside("train.py").stderr
    (tmp_path / "chek").mkdir()
    assert b"did you mean" not in inside("chek").stderr


@pytest.mark.parametrize(("variable", "value"), [("AMPLINT_OUTPUT_FORMAT", "jsn"), ("AMPLINT_OUTPUT_FILE", ".")])
def test_a_bad_value_of_the_environment_names_its_variable(
    inside: Amplint, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    done = inside()
    assert done.returncode == 2
    assert f"Invalid value for the variable {variable}: ".encode() in done.stderr


def chain(length: int) -> str:
    """A scaled backward whose plain step stands behind that many calls."""
    calls = "".join(f"def call{n}(optimizer):\n    call{n + 1}(optimizer)\n\n\n" for n in range(length))
    return (
        f"import torch\n\n\n{calls}def call{length}(optimizer):\n    optimizer.step()\n\n\n"
        "def train(model, x):\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    scaler = torch.amp.GradScaler('cuda')\n    scaler.scale(model(x).sum()).backward()\n    call0(optimizer)\n"
    )


def test_what_could_not_be_followed_is_counted_in_the_summary(tmp_path: Path, inside: Amplint) -> None:
    (tmp_path / "chain.py").write_text(chain(9))
    assert inside("--select", "AMP101").stdout.splitlines()[-1] == b"Found 1 error."
    (tmp_path / "chain.py").write_text(chain(20))
    summary = inside("--select", "AMP101").stdout.splitlines()
    assert summary == [
        b"All checks passed!",
        b"1 function is too complex to be followed in full; `--verbose` names it.",
    ]


def test_what_is_nested_too_deeply_is_told_with_its_row(tmp_path: Path, inside: Amplint) -> None:
    deep = " - ".join(f"x{n}" for n in range(9000))
    (tmp_path / "sum.py").write_text(f"{chain(0)}\n\nloss = {deep}\n")
    done = inside("--select", "AMP101", "--output-format", "concise")
    assert (
        done.stdout.splitlines()[0]
        == b"sum.py:15:1: AMP902 The file could not be parsed: the code is nested too deeply"
    )
