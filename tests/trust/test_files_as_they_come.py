"""Files, folders and systems as they are found: what cannot be done is said, and nothing is ever half written."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PACKS, Amplint

from amplint.documents import Document, UnwritableDocument

pytestmark = pytest.mark.usefixtures("demo_rules")
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf%s\n",
        b"# coding: latin-1\ns = '\xe9'; %s\n",
        b"# coding: cp1252\r\ns = '\x80'; %s\r\n",
        b"\r\n%s\r\n",
        b"a\r\nb\n%s\rc\n",
        b"\x0c\nif x:\n\x0c    %s\n    y\n",
        b"if x:\n\t%s\n\tif y:\n\t\tz  \n",
        b"x = 1\n%s",
        b"%s;  x=1 # \xe2\x80\xa8 \xc2\x85\n",
        b"\n\n\n%s\\\n\n",
    ],
)
def test_all_but_the_edit_stays_byte_for_byte(inside: Amplint, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(content % b"bad")
    assert inside("--fix").returncode == 0
    assert path.read_bytes() == content % b"good"


@pytest.mark.parametrize("content", [b"%s\n\0", b"%s, '\0'\n", b"%s\nx = " + b"(" * 5000, b"%s\n\tx\n"])
def test_what_is_no_python_is_told_and_left_alone(inside: Amplint, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.py"
    content = content % b"import torch.cuda.amp\ntorch.cuda.amp.autocast()"
    path.write_bytes(content)
    done = inside("--fix", "--output-format", "concise")
    assert done.returncode == 1
    assert b"AMP902" in done.stdout
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"\xff\xfeb\0a\0d\0", b"bad = '\xe9'\n", b"# coding: no-such\nbad\n"])
def test_what_is_no_text_is_told_and_left_alone(inside: Amplint, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(content)
    done = inside("--fix")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"amplint: a.py: could not be decoded")
    assert path.read_bytes() == content


@pytest.mark.parametrize("megabytes", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_megabytes_in_one_string(inside: Amplint, tmp_path: Path, megabytes: int) -> None:
    """Python's own tokenizer, in versions before 3.12, takes the square of the time."""
    data = "DATA = '''\n" + "0123456789\n" * (100_000 * megabytes) + "'''\n"
    text = data + "import torch\nwith torch.cuda.amp.autocast():\n    pass\n"
    (tmp_path / "a.py").write_text(text)
    start = time.process_time()
    done = inside("--fix", "--no-cache", "--select", "AMP201")
    assert time.process_time() - start < 5 * megabytes
    assert (done.returncode, done.stdout) == (0, b"Found 1 error (1 fixed, 0 remaining).\n")
    fixed = (tmp_path / "a.py").read_text()
    assert fixed.startswith(data) and "cuda.amp" not in fixed


@posix
def test_names_of_any_bytes(inside: Amplint, tmp_path: Path) -> None:
    names = [
        b"\xff\xfe.py",
        b"new\nline.py",
        b"'\"`$(id).py",
        b"-rf.py",
        b"--fix.py",
        b"\xed\xb2\x80.py",
        b"\x1b[2J.py",
    ]
    folder = os.fsencode(tmp_path)
    for name in names:
        Path(os.fsdecode(folder + b"/" + name)).write_text("bad\n")
    for number in range(2):  # the second time from the cache
        done = inside("--output-format", "concise")
        assert done.returncode == 1, number
        assert len(done.stdout.splitlines()) == len(names) + 2
        done.stdout.decode()
    assert inside("--fix").returncode == 0
    assert all(Path(os.fsdecode(folder + b"/" + name)).read_text() == "good\n" for name in names)


@posix
def test_what_is_no_file_is_not_waited_for(inside: Amplint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.py")  # relative, since these names must be short
        os.mkfifo("pipe.py")
        Path("device.py").symlink_to("/dev/zero")
        Path("loop.py").symlink_to("loop.py")
        Path("around").symlink_to(".", target_is_directory=True)
        Path("a.py").write_text("bad\n")
        done = inside("--fix")
    assert done.returncode == 2
    told = dict(line.removeprefix("amplint: ").split(": ", 1) for line in done.stderr.decode().splitlines())
    assert set(told) == {"socket.py", "pipe.py", "device.py", "loop.py"}
    assert {told[name] for name in ("socket.py", "pipe.py", "device.py")} == {"not a regular file"}
    assert Path("a.py").read_text() == "good\n"


@pytest.fixture
def inside(inside: Amplint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Amplint:
    monkeypatch.chdir(tmp_path)
    return inside


def run(folder: Path, *args: str, before: Callable[[], object] | None = None, **env: str) -> Any:
    """What amplint does in a process of its own, after ``before`` in it."""
    command = [sys.executable, "-m", "amplint", *args]
    environment = os.environ | {"PYTHONPATH": str(PACKS)} | env
    return subprocess.run(command, cwd=folder, capture_output=True, env=environment, preexec_fn=before, timeout=60)


def as_anybody() -> None:
    """Whoever runs this may from now on no longer what only the superuser may."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # to pass by permissions when writing, and when reading
            if libc.prctl(24, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "cannot be given up")


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux to drop privileges")


@linux
def test_without_permission(tmp_path: Path) -> None:
    for name in ("locked.py", "closed/x.py", "fixed/x.py", "written.py", "a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("bad\n")
    (tmp_path / "locked.py").chmod(0)
    (tmp_path / "written.py").chmod(0o444)
    (tmp_path / "closed").chmod(0)
    (tmp_path / "fixed").chmod(0o555)
    try:
        done = run(tmp_path, "--fix", before=as_anybody)
    finally:
        for name in ("closed", "fixed", "locked.py"):
            (tmp_path / name).chmod(0o755)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        "amplint: closed: Permission denied",
        "amplint: fixed/x.py: could not be written: Permission denied",
        "amplint: locked.py: Permission denied",
        "amplint: written.py: could not be written: Permission denied",
    ]
    assert {path.name for path in (tmp_path / "fixed").iterdir()} == {"x.py"}
    assert (tmp_path / "fixed" / "x.py").read_text() == (tmp_path / "written.py").read_text() == "bad\n"
    assert (tmp_path / "a.py").read_text() == "good\n"


def test_a_file_that_disappears_before_it_is_written_stays_away(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("bad\n")
    document = Document.read(path)
    document = document.edited([document.edit(0, 3, "good")])
    path.unlink()
    with pytest.raises(UnwritableDocument, match="No such file"):
        document.write()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_disappears_before_it_is_read_is_told(
    inside: Amplint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("bad\n")
    read = Document.read.__func__  # type: ignore[attr-defined]

    def gone(cls: type[Document], path: str) -> Document:
        if os.path.basename(path) == "a.py":
            os.unlink(path)
        return read(cls, path)  # type: ignore[no-any-return]

    monkeypatch.setattr(Document, "read", classmethod(gone))
    done = inside("--fix", "--no-cache")
    assert (done.returncode, done.stderr) == (2, b"amplint: a.py: No such file or directory\n")
    assert (tmp_path / "b.py").read_text() == "good\n"


@linux
def test_a_full_disk(tmp_path: Path) -> None:
    import resource

    def full() -> None:  # a limit does to a process what a full disk does to all: a part is written, and then no more
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    text = "bad\n" + "# filler\n" * 5000
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "b.py").write_text("bad\n")
    done = run(tmp_path, "--fix", "--no-cache", before=full)
    assert (done.returncode, done.stderr) == (2, b"amplint: a.py: could not be written: File too large\n")
    assert {path.name for path in tmp_path.iterdir()} == {"a.py", "b.py"}
    assert (tmp_path / "a.py").read_text() == text
    assert (tmp_path / "b.py").read_text() == "good\n"


@posix
@pytest.mark.parametrize("moment", ["fsync", "chmod", "replace"])
def test_a_kill_in_the_middle_of_fixing(tmp_path: Path, moment: str) -> None:
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(
        "import os, signal\n"
        f"kept = os.{moment}\n"
        f"def {moment}(*args, **options):\n"
        "    if args and isinstance(args[0], int) or '.amplint-' in str(args[0]):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return kept(*args, **options)\n"
        f"os.{moment} = {moment}\n"
    )
    text = "bad\n" + "# filler\n" * 5000
    (tmp_path / "a.py").write_text(text)
    done = run(tmp_path, "--fix", "--no-cache", "a.py", PYTHONPATH=f"{hook}{os.pathsep}{PACKS}")
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "a.py").read_text() == text
    assert run(tmp_path, "--fix").returncode == 0
    assert (tmp_path / "a.py").read_text() == text.replace("bad", "good")


def test_two_runs_at_once(tmp_path: Path) -> None:
    filler = "# filler\n" * 200
    for number in range(60):
        (tmp_path / f"f{number}.py").write_text(f"bad\n{filler}")
    command = [sys.executable, "-m", "amplint", "--fix", "-q"]
    environment = os.environ | {"PYTHONPATH": str(PACKS)}
    both = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in both:
        _, told = process.communicate(timeout=60)
        assert all(
            line.endswith(b"changed on disk since it was read, so it was left alone") for line in told.splitlines()
        )
        assert process.returncode in (0, 2)
    assert all((tmp_path / f"f{number}.py").read_text() == f"good\n{filler}" for number in range(60))
    assert len(list(tmp_path.glob(".*"))) == 1  # the cache
    assert run(tmp_path).stdout == b"All checks passed!\n"
