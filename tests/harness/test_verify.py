"""``amplint verify`` as its function and as a process: what it prints and how it exits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from runs import FIXTURES

import amplint
from amplint.harness.script import run_script
from amplint.harness.verify import main

PACKAGE = Path(amplint.__file__).parent
FAULT = FIXTURES / "missing-update" / "flat_loop.before.py"


def verify(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "amplint", "verify", *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_a_run_that_raises_shows_its_traceback_and_its_findings(tmp_path: Path) -> None:
    done = verify(str(FAULT), cwd=FIXTURES)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "missing-update/flat_loop.before.py:15:5: AMP102 "
        "scaler.step() is not followed by scaler.update() before the scaler is used again",
        "Found 1 error in this run (1 optimizer step, 0 skipped by a scaler).",
    ]
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert f'File "{FAULT}", line 15, in <module>' in done.stderr
    assert done.stderr.endswith("RuntimeError: step() has already been called since the last update().\n")
    assert str(PACKAGE) not in done.stderr  # none of amplint's own frames


def test_arguments_and_working_folder_are_those_of_python(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "beside.py").write_text("HERE = True\n")
    script = tmp_path / "scripts" / "show.py"
    script.write_text(
        "import os, pickle, sys\n"
        "import beside\n"
        "class Thing: pass\n"
        "pickle.loads(pickle.dumps(Thing()))\n"
        "print(__name__, sys.argv, sys.path[0], os.getcwd(), __file__, beside.HERE)\n"
    )
    plain = subprocess.run(
        [sys.executable, "scripts/show.py", "--epochs", "3"], cwd=tmp_path, capture_output=True, text=True
    )
    done = verify("scripts/show.py", "--epochs", "3", cwd=tmp_path)
    assert plain.stdout
    assert done.stdout == plain.stdout + (
        "No misuse of mixed precision in this run (0 optimizer steps, 0 skipped by a scaler). "
        "With no step of an optimizer there was little to see.\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "script.py"


def test_clean_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(str(FIXTURES / "clean" / "typical.py")) == 0
    assert capsys.readouterr().out.startswith("No misuse of mixed precision in this run (6 optimizer steps, 0")


def test_run_with_findings(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES)
    assert main(str(FIXTURES / "step-bypasses-scaler" / "plain_loop.before.py")) == 1
    out = capsys.readouterr().out
    assert out.startswith("step-bypasses-scaler/plain_loop.before.py:15:5: AMP101 optimizer.step() on gradients that")


@pytest.mark.parametrize(
    ("end", "code", "error"),
    [
        ("sys.exit()", 0, ""),
        ("sys.exit(0)", 0, ""),
        ("sys.exit(7)", 7, ""),
        ("sys.exit('no data')", 1, "no data\n"),
        ("raise KeyboardInterrupt", 130, ""),
    ],
)
def test_exit_codes_of_the_script(
    script: Path, end: str, code: int, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(f"import sys\n{end}\n")
    assert main(str(script)) == code
    assert capsys.readouterr().err == error


def test_findings_turn_a_zero_into_a_one(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(
        (FIXTURES / "step-bypasses-scaler" / "plain_loop.before.py").read_text() + "raise SystemExit(0)\n"
    )
    assert main(str(script)) == 1
    assert "AMP101" in capsys.readouterr().out


def test_script_that_does_not_compile(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text("for\n")
    assert main(str(script)) == 1
    error = capsys.readouterr().err
    assert error.startswith(f'  File "{script}", line 1')
    assert error.splitlines()[-1].startswith("SyntaxError: ")


@pytest.mark.parametrize("name", ["absent.py", "."])
def test_script_that_cannot_be_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(name) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("amplint: ")
    assert captured.out == ""


def test_missing_script_as_a_command(tmp_path: Path) -> None:
    assert verify("absent.py", cwd=tmp_path).returncode == 2


def test_declared_encoding(script: Path) -> None:
    script.write_bytes('# coding: latin-1\nword = "\xe4"\n'.encode("latin-1"))
    assert run_script(str(script))["word"] == "\xe4"


def test_running_a_script_leaves_main_and_arguments_alone(script: Path) -> None:
    before = sys.modules["__main__"], sys.argv, sys.path
    script.write_text("raise ValueError\n")
    with pytest.raises(ValueError):
        run_script(str(script))
    assert (sys.modules["__main__"], sys.argv, sys.path) == before


def test_options_come_before_the_script_and_the_scripts_own_after_it(script: Path, tmp_path: Path) -> None:
    script.write_text("import sys\nprint(sys.argv[1:])\n")
    done = verify("--device", "cpu", str(script), "--device", "tpu", "--timeout", "soon", cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "['--device', 'tpu', '--timeout', 'soon']"
    assert done.returncode == 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text("print('ran')\n")
    assert main(str(script), device="cuda") == 2
    assert "ran" not in capsys.readouterr().out


def test_self_test_as_a_command(tmp_path: Path) -> None:
    done = verify("--self-test", cwd=tmp_path)
    assert done.returncode == 0
    assert "Mixed precision works here as recorded." in done.stdout
    assert verify("--self-test", str(FAULT), cwd=tmp_path).returncode == 2
    assert verify(cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("catches", ["Exception", "BaseException"])
def test_a_script_that_hangs_is_stopped(catches: str, script: Path, tmp_path: Path) -> None:
    before, *_ = (FIXTURES / "step-bypasses-scaler" / "plain_loop.before.py").read_text().rpartition("\n")
    hang = f"while True:\n    try:\n        time.sleep(60)\n    except {catches}:\n        pass\n"
    script.write_text(f"import time\n{before}\n{hang}")
    done = verify("--timeout", "2", str(script), cwd=tmp_path)
    assert done.returncode == 124
    assert "AMP101" in done.stdout and "Found 1 error" in done.stdout
    if catches == "Exception":
        assert "stopped after the time limit of 2 s; the script was here:\n  File" in done.stderr
        assert "time.sleep(60)" in done.stderr
    else:
        assert "cannot be interrupted; ended after the time limit of 2 s" in done.stderr


def test_a_fast_script_does_not_meet_its_time_limit(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    handler = signal.getsignal(signal.SIGALRM) if hasattr(signal, "SIGALRM") else None
    script.write_text("print('done')\n")
    assert main(str(script), timeout=60) == 0
    assert capsys.readouterr().out.startswith("done\n")
    assert (signal.getsignal(signal.SIGALRM) if hasattr(signal, "SIGALRM") else None) is handler


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_says_nothing_and_exits_as_it_wants(script: Path, tmp_path: Path) -> None:
    script.write_text(
        "import os, sys\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    sys.exit(3)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    done = verify(str(script), cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "3"
    assert done.stdout.count("No misuse") == 1
    assert done.returncode == 0


def test_a_hard_exit_is_preceded_by_the_report(script: Path, tmp_path: Path) -> None:
    script.write_text("import os\nos._exit(5)\n")
    done = verify(str(script), cwd=tmp_path)
    assert done.returncode == 5
    assert done.stdout.startswith("The script ended with exit code 5; no misuse")


ENDINGS = {
    "terminated": ("os.kill(os.getpid(), signal.SIGTERM)", 143, "amplint: the script was ended by SIGTERM"),
    "output closed": ("sys.stdout.close()", 0, "No misuse of mixed precision in this run"),
    "a thread goes on": (
        "threading.Thread(target=time.sleep, args=(1000,)).start()",
        124,
        "amplint: stopped after the time limit of 0.5 s",
    ),
}


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
@pytest.mark.parametrize(("statement", "code", "said"), ENDINGS.values(), ids=ENDINGS)
def test_however_a_script_ends_it_is_said(statement: str, code: int, said: str, script: Path, tmp_path: Path) -> None:
    script.write_text(f"import os, signal, sys, threading, time\n{statement}\n")
    limit = ["--timeout", "0.5"] if code == 124 else []
    done = verify(*limit, script.name, cwd=tmp_path)
    assert done.returncode == code
    assert said in done.stdout + done.stderr
    assert "(0 optimizer steps, 0 skipped by a scaler)" in done.stdout + done.stderr


def test_a_missing_module_is_named(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text("import a_package_that_nobody_has.part\n")
    assert main(str(script)) == 1
    error = capsys.readouterr().err
    assert "ModuleNotFoundError: No module named 'a_package_that_nobody_has'\n" in error
    assert "amplint: the script needs `a_package_that_nobody_has`, which this Python cannot import." in error


@pytest.mark.parametrize(
    ("torch_there", "message"),
    [
        ("", "amplint.harness runs PyTorch, which is not installed: pip install 'amplint[runtime]'"),
        ("__version__ = '1.13.1'", "amplint.harness needs torch 2.3 or newer; installed is 1.13.1"),
    ],
)
def test_the_harness_says_what_torch_it_needs(torch_there: str, message: str, tmp_path: Path) -> None:
    if torch_there:
        (tmp_path / "torch" / "amp").mkdir(parents=True)
        (tmp_path / "torch" / "__init__.py").write_text(torch_there)
        (tmp_path / "torch" / "amp" / "__init__.py").write_text("")
        start = f"sys.path.insert(0, {str(tmp_path)!r})"
    else:
        start = "sys.path[:] = [p for p in sys.path if not os.path.isdir(os.path.join(p, 'torch'))]"
    copied = f"sys.path.insert(0, {str(PACKAGE.parent)!r})"
    code = f"import os, sys; {start}; {copied}; import amplint.harness"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(message)


def test_a_notebook_is_no_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.ipynb").write_text('{"cells": []}')
    assert main(str(tmp_path / "train.ipynb")) == 2
    assert "--stand-in runs its training loops" in capsys.readouterr().err
