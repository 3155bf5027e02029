"""The command line as its users meet it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Amplint

import amplint as package

pytestmark = pytest.mark.usefixtures("demo_rules")


def test_clean(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    done = amplint()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"All checks passed!\n", b"")


def test_a_folder_without_python_is_said(amplint: Amplint) -> None:
    done = amplint()
    assert done.returncode == 0
    assert b"no Python files were found" in done.stderr


def test_findings(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = bad\nz = risky\n")
    done = amplint("--output-format", "concise")
    assert done.returncode == 1
    assert done.stdout.decode().splitlines() == [
        "a.py:2:5: DEMO001 [*] `bad` is found",
        "a.py:3:5: DEMO002 `risky` is found",
        "Found 2 errors.",
        "[*] 1 fixable with `--fix` (1 unsafe fix available with `--fix --unsafe-fixes`).",
    ]


def test_check_may_be_said_or_not(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("bad\n")
    assert amplint("check", "a.py", "-q").stdout == amplint("a.py", "-q").stdout == amplint("-q").stdout != b""


def test_a_path_may_be_called_like_a_command(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "rule").mkdir()
    (tmp_path / "rule" / "a.py").write_text("bad\n")
    assert b"DEMO001" in amplint("./rule").stdout
    assert amplint("rule").returncode == 2


def test_fix(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("bad, risky\n")
    (tmp_path / "b.py").write_text("bad\n")
    done = amplint("--fix", "--output-format", "concise")
    assert done.returncode == 1
    assert done.stdout.decode().splitlines() == [
        "a.py:1:7: DEMO002 `risky` is found",
        "Found 3 errors (2 fixed, 1 remaining).",
        "1 unsafe fix available with `--fix --unsafe-fixes`.",
    ]
    assert ((tmp_path / "a.py").read_text(), (tmp_path / "b.py").read_text()) == ("good, risky\n", "good\n")
    done = amplint("--fix", "--unsafe-fixes")
    assert (done.returncode, done.stdout) == (0, b"Found 1 error (1 fixed, 0 remaining).\n")
    assert (tmp_path / "a.py").read_text() == "good, calm\n"


def test_a_second_fix_changes_nothing(amplint: Amplint, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbflonely, second\r\nbad\r\nhopeless\r\n")
    amplint("--fix")
    once, changed = path.read_bytes(), path.stat().st_mtime_ns
    assert once == b"\xef\xbb\xbfimport company\r\nlonely, fine\r\ngood\r\nhopeless\r\n"
    amplint("--fix")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (once, changed)


def test_no_fix_comes_last(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("bad\n")
    assert amplint("--fix", "--no-fix").returncode == 1
    assert (tmp_path / "a.py").read_text() == "bad\n"


def test_diff(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x\nbad, risky")
    (tmp_path / "b.py").write_text("stuck\n")
    done = amplint("--diff", "--fix")
    assert done.returncode == 1
    assert done.stdout.decode() == (
        "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n x\n"
        "-bad, risky\n\\ No newline at end of file\n+good, risky\n\\ No newline at end of file\n\n"
    )
    assert done.stderr == b"Would fix 1 error (1 additional fix available with `--unsafe-fixes`).\n"
    assert (tmp_path / "a.py").read_text() == "x\nbad, risky"
    done = amplint("--diff", "b.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"No errors would be fixed.\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs patch")
def test_patch_takes_the_diff(amplint: Amplint, tmp_path: Path) -> None:
    for name, content in {"a.py": b"bad\r\nx\x0c\r\nlonely\r\n", "d/b.py": b"x = 1\n\n\nbad"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    done = amplint("--diff", "--quiet")
    assert done.stderr == b""
    subprocess.run(["git", "apply", "-p0"], input=done.stdout, cwd=tmp_path, check=True)
    assert (tmp_path / "a.py").read_bytes() == b"import company\r\ngood\r\nx\x0c\r\nlonely\r\n"
    assert (tmp_path / "d" / "b.py").read_bytes() == b"x = 1\n\n\ngood"


@pytest.mark.skipif(sys.platform == "win32", reason="such names cannot be there")
@pytest.mark.parametrize("tool", [["git", "apply", "-p0"], ["patch", "-p0"]])
def test_the_diff_of_a_file_with_an_odd_name(amplint: Amplint, tmp_path: Path, tool: list[str]) -> None:
    if shutil.which(tool[0]) is None:
        pytest.skip(f"needs {tool[0]}")
    names = ["a b.py", "a\tb.py", "new\nline.py", "back\\slash.py", "\x1b[31m.py", "\u202e.py", 'say "x".py']
    for name in names:
        (tmp_path / name).write_text("bad\n")
    subprocess.run(tool, input=amplint("--diff").stdout, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert [(tmp_path / name).read_text() for name in names] == ["good\n"] * len(names)


def test_invalid_syntax_of_a_file_with_amp_is_found_in_a_folder(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(:\n    import torch.cuda.amp\n")
    done = amplint()
    assert done.returncode == 1
    assert b"AMP902" in done.stdout


def test_invalid_syntax_is_a_finding_that_nothing_silences(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nif bad  # noqa\n    pass\n")
    (tmp_path / "b.py").write_text("bad\n")
    done = amplint("--ignore", "ALL", "--select", "DEMO001", "--output-format", "concise")
    assert done.returncode == 1
    assert "a.py:2:" in done.stdout.decode()
    assert "AMP902 The file could not be parsed: " in done.stdout.decode()
    assert amplint("--diff", "a.py", "--ignore", "DEMO").stdout == b""


def test_what_python_can_read_and_libcst_cannot_is_not_called_wrong(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from torch.cuda.amp import autocast\n\nx = await.0\n")
    done = amplint("a.py").stdout.decode()
    assert "AMP902" in done and "What Python reads here LibCST may not" in done
    assert "Correct the syntax" not in done


def test_a_file_that_names_no_rules_word_is_still_parsed_when_it_is_named(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(:\n")
    assert amplint("a.py").returncode == 1


def test_newer_syntax_than_the_interpreter_is_no_fault(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('type A[T] = list[T]\ndef f[T](x: T) -> T: ...\nprint(f"{x["a"]}")\n')
    done = amplint("a.py")
    assert (done.returncode, done.stdout) == (0, b"All checks passed!\n")


def test_what_could_not_be_done_is_said_and_the_rest_is_done(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("bad\n")
    (tmp_path / "b.py").write_bytes(b"bad = '\xe9'\n")
    done = amplint("nowhere", "a.py", "b.py", "-q", "--output-format", "concise")
    assert done.returncode == 2
    assert done.stdout == b"a.py:1:1: DEMO001 [*] `bad` is found\n"
    assert done.stderr.decode().splitlines()[0] == "amplint: nowhere: no such file or directory"
    assert done.stderr.decode().splitlines()[1].startswith("amplint: b.py: could not be decoded")


def test_nothing_passes_for_clean_where_something_failed(amplint: Amplint) -> None:
    done = amplint("nowhere")
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_rule_that_fails_is_named_and_the_others_are_heard(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("crash_here, bad\n")
    (tmp_path / "b.py").write_text("bad\n")
    done = amplint("--fix", "--exit-zero")
    assert done.returncode == 2
    assert done.stderr == (
        b"amplint: a.py: rule DEMO004 (crash) failed: ZeroDivisionError: as asked; this is no fault of the file: "
        b"please report it to those who made the rule\n"
    )
    assert (tmp_path / "a.py").read_text() == "crash_here, good\n"
    assert (tmp_path / "b.py").read_text() == "good\n"
    assert amplint("--ignore", "DEMO004").returncode == 0


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="the superuser writes everywhere")
def test_a_file_that_cannot_be_written_is_said(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.py").write_text("bad\n")
    (tmp_path / "d").chmod(0o500)
    done = amplint("--fix")
    (tmp_path / "d").chmod(0o700)
    assert done.returncode == 2
    assert b"could not be written" in done.stderr
    assert b"DEMO001" in done.stdout


def test_selection(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("bad, risky, stuck, optional\n")

    def codes(*args: str) -> set[str]:
        return {row["code"] for row in json.loads(amplint("--output-format", "json", *args).stdout)}

    assert codes() == {"DEMO001", "DEMO002", "DEMO003"}
    assert codes("--select", "ALL") == {"DEMO001", "DEMO002", "DEMO003", "DEMO101"}
    assert (
        codes("--select", "DEMO001,DEMO002") == codes("--select=DEMO001", "--select=DEMO002") == {"DEMO001", "DEMO002"}
    )
    assert codes("--ignore", "DEMO00") == set()
    assert codes("--extend-select", "DEMO1", "--ignore", "DEMO003, DEMO002") == {"DEMO001", "DEMO101"}
    (tmp_path / "pyproject.toml").write_text("[tool.amplint]\nselect = ['DEMO003']\n")
    assert codes() == {"DEMO003"}
    assert codes("--extend-select", "DEMO001") == {"DEMO001", "DEMO003"}
    assert codes("--select", "DEMO001") == {"DEMO001"}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--select", "DEMO0O1"], "unknown rule selector `DEMO0O1`. Did you mean `DEMO001`?"),
        (["--ignore", "demo001"], "unknown rule selector `demo001`. Did you mean `DEMO001`?"),
        (["--select", ""], "unknown rule selector ``."),
        (["--target-torch", "new"], "'new' is not a version of torch"),
        (["--select", "E501"], "unknown rule selector `E501`.\n"),
        (["--output-format", "xml"], "'xml' is not one of"),
        (["--output-format", "jsn"], "Did you mean `json`?"),
        (["--fxi"], "No such option"),
        (["--fxi"], "Did you mean"),
        (["--line-length=3"], "--line-length'.\n"),
        (["--statistics", "--output-format", "sarif"], "--statistics cannot be printed as sarif"),
        (["--diff", "--show-fixes"], "--show-fixes cannot be used with --diff"),
        (["-", "a.py"], "standard input (-) cannot be linted together"),
        (["--verify", "a.py"], "--verify is for fixes: use it with --fix or --diff"),
        (["--watch", "-"], "--watch cannot be used with standard input"),
        (["--add-noqa", "--fix"], "--add-noqa is for files"),
        (["--no-baseline", "--write-baseline"], "--no-baseline cannot be used with"),
        (["--write-baseline"], "--write-baseline needs the file to write"),
    ],
)
def test_wrong_options(amplint: Amplint, args: list[str], message: str) -> None:
    done = amplint(*args)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()


def test_a_wrong_configuration(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.amplint]\nselct = []\n")
    done = amplint()
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().endswith("unknown key `selct` in [tool.amplint]; did you mean `select`?\n")


def test_the_configuration_of_the_nearest_folder_holds(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.amplint]\nselect = ['DEMO003']\noutput-format = 'concise'\n")
    (tmp_path / "inner" / "pyproject.toml").write_text("[tool.amplint]\nunsafe-fixes = true\n")
    for folder in (tmp_path, tmp_path / "inner"):
        (folder / "a.py").write_text("bad, risky, stuck\n")
    amplint("--fix")
    assert (tmp_path / "a.py").read_text() == "bad, risky, stuck\n"
    assert (tmp_path / "inner" / "a.py").read_text() == "good, calm, stuck\n"
    assert amplint("-q").stdout == b"a.py:1:13: DEMO003 `stuck` is found\ninner/a.py:1:13: DEMO003 `stuck` is found\n"


def test_exit_zero(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("bad\n")
    done = amplint("--exit-zero")
    assert done.returncode == 0
    assert b"DEMO001" in done.stdout
    assert amplint("--exit-zero", "nowhere").returncode == 2


def test_standard_input(amplint: Amplint, tmp_path: Path) -> None:
    done = amplint("-", "-q", "--output-format", "concise", stdin=b"bad\n")
    assert (done.returncode, done.stdout) == (1, b"-:1:1: DEMO001 [*] `bad` is found\n")
    done = amplint("-", "-q", "--output-format", "concise", "--stdin-filename", "d/x.py", stdin=b"bad\n")
    assert done.stdout == b"d/x.py:1:1: DEMO001 [*] `bad` is found\n"
    assert amplint("-", stdin=b"x = '\xe9'").returncode == 2
    assert amplint("-", stdin=b"").returncode == 0


def test_standard_input_takes_the_configuration_of_its_name(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "pyproject.toml").write_text("[tool.amplint]\nignore = ['DEMO001']\nexclude = ['old']\n")
    assert amplint("-", "--stdin-filename", "d/x.py", stdin=b"bad\n").returncode == 0
    assert amplint("-", stdin=b"bad\n").returncode == 1
    assert amplint("--stdin-filename", "d/old/x.py", "--force-exclude", stdin=b"stuck\n").returncode == 0
    assert amplint("--stdin-filename", "d/old/x.py", stdin=b"stuck\n").returncode == 1


def test_standard_input_is_fixed_to_standard_output(amplint: Amplint) -> None:
    done = amplint("-", "--fix", "--output-format", "concise", stdin=b"\xef\xbb\xbfbad, stuck\r\n")
    assert (done.returncode, done.stdout) == (1, b"\xef\xbb\xbfgood, stuck\r\n")
    assert done.stderr.decode().splitlines() == [
        "-:1:7: DEMO003 `stuck` is found",
        "Found 2 errors (1 fixed, 1 remaining).",
    ]
    assert amplint("-", "--fix", stdin=b"x = 1").stdout == b"x = 1"
    done = amplint("-", "--diff", stdin=b"bad\n")
    assert (done.returncode, done.stdout) == (1, b"@@ -1 +1 @@\n-bad\n+good\n\n")


def test_many_files_are_shared_among_processes(amplint: Amplint, tmp_path: Path) -> None:
    filler = "# filler\n" * 8000
    for number in range(12):
        (tmp_path / f"f{number:02}.py").write_text(f"bad\n{filler}" + "crash_here\n" * (number == 5))
    done = amplint("--fix", "--output-format", "concise")
    assert done.returncode == 2
    assert done.stderr == (
        b"amplint: f05.py: rule DEMO004 (crash) failed: ZeroDivisionError: as asked; this is no fault of the file: "
        b"please report it to those who made the rule\n"
    )
    assert done.stdout == b"Found 12 errors (12 fixed, 0 remaining).\n"
    (tmp_path / "f03.py").write_text(f"bad\n{filler}")
    (tmp_path / "f01.py").write_text(f"bad\n{filler}")
    done = amplint("-q", "--output-format", "concise", "--ignore", "DEMO004")
    assert [line.partition(":")[0] for line in done.stdout.decode().splitlines()] == ["f01.py", "f03.py"]


def test_rule(amplint: Amplint) -> None:
    page = amplint("rule", "AMP902").stdout.decode()
    assert page.startswith("# invalid-syntax (AMP902)\n\n## What it does\n")
    assert amplint("rule", "invalid-syntax").stdout == amplint("rule", "amp902").stdout == page.encode()
    done = amplint("rule", "AMP9O2")
    assert done.returncode == 2
    assert b"Did you mean `AMP902`?" in done.stderr
    listing = amplint("rule", "--all").stdout.decode().splitlines()
    assert "DEMO001  bad-word  (error, fix: always)  a word that should not be there" in listing
    assert amplint("rule").returncode == 2


def test_version_and_help(amplint: Amplint) -> None:
    assert amplint("--version").stdout.decode() == f"amplint {package.__version__}\n"
    for option in ("--help", "-h"):
        told = amplint(option).stdout.decode()
        assert "Usage: amplint [OPTIONS] [PATHS]..." in told
        for word in ("--fix", "--unsafe-fixes", "--diff", "--select", "--stdin-filename", "--version", "verify"):
            assert word in told
    assert amplint("check", "--help").returncode == 0


def test_verify_without_torch_says_how_to_get_it(
    amplint: Amplint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("")
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide" / "sitecustomize.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hide"))
    done = amplint("verify", "a.py")
    assert done.returncode == 2
    assert b"pip install 'amplint[runtime]'" in done.stderr


def test_verify_a_script_that_is_not_there(amplint: Amplint) -> None:
    assert amplint("verify", "nowhere.py").returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break differently there")
def test_a_broken_pipe_is_quiet(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("stuck\n" * 20_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "amplint", "--output-format", "github"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait(60)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["pyproject.toml", ".gitignore"])
def test_a_pipe_in_the_place_of_a_settings_file_is_not_waited_for(amplint: Amplint, tmp_path: Path, name: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.py").write_text("bad\n")
    os.mkfifo(tmp_path / name)
    assert amplint().returncode == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("option", ["--quiet", "--diff", "--output-format=json"])
def test_output_that_cannot_be_written_is_no_finding(tmp_path: Path, option: str) -> None:
    (tmp_path / "a.py").write_text("bad\n")
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "amplint", option]
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, b"amplint: No space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_streams_that_are_closed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("bad\n")
    shell = f"{shlex.quote(sys.executable)} -m amplint --fix"
    done = subprocess.run(f"{shell} - <&-", shell=True, cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"") and b"standard input is closed" in done.stderr
    done = subprocess.run(f"{shell} a.py >&-", shell=True, cwd=tmp_path, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "a.py").read_text() == "good\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_an_interrupt_ends_quietly(tmp_path: Path) -> None:
    filler = "def f(x):\n    return [x, x * 2, {x: x}]\n\n\n" * 3000
    for number in range(40):
        (tmp_path / f"f{number:02}.py").write_text(f"bad\n{filler}")
    process = subprocess.Popen(
        [sys.executable, "-m", "amplint", "--fix"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    time.sleep(2)
    os.killpg(process.pid, signal.SIGINT)
    start = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - start < 5
    assert (process.returncode, out, err) == (130, b"", b"")
    assert len(list(tmp_path.iterdir())) == 40


def test_version_and_help_are_commands_too(inside: Amplint) -> None:
    assert inside("version").stdout == inside("--version").stdout
    assert inside("help").stdout == inside("--help").stdout
    assert b"Remove the caches" in inside("help", "clean").stdout
    assert b"..." not in inside("--help").stdout.partition(b"Commands:")[2]
    assert inside("help", "nothing").returncode == 2
