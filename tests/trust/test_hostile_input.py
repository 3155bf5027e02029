"""What a checked-out repository may hold to harm who lints it: nothing of it is run, believed or shown as it is."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from conftest import Amplint

from amplint.config import OUTPUT_FORMATS
from amplint.modules import Modules

pytestmark = pytest.mark.usefixtures("demo_rules")
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
NAMES = (
    "\x1b]0;owned\x07.py",
    "\n::error::pwned.py",
    "\r##vso[task.setvariable variable=a]b.py",
    "<img src=x>`$(id)`.py",
)


@posix
@pytest.mark.parametrize(
    "args",
    [
        *(("--output-format", each) for each in OUTPUT_FORMATS),
        ("--statistics",),
        ("--show-files",),
        ("--show-settings",),
        ("--fix", "--show-fixes", "--verbose"),
        ("--add-noqa",),
        ("--write-baseline", "--baseline", "\x1b[2Jbase"),
    ],
    ids=" ".join,
)
def test_names_steer_nothing_whatever_is_asked(inside: Amplint, tmp_path: Path, args: tuple[str, ...]) -> None:
    for name in NAMES:
        folder = tmp_path / "\x1b[31m::warning::x"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("bad, stuck, crash_here  # \x1b[2J ::error::x\n")
        (folder / f"u{name}").write_bytes(b"bad = '\xe9'\n")
    done = inside(*args)
    told = done.stdout.decode() + done.stderr.decode()
    assert told
    assert not set(told) & set("\x1b\x07\r")
    lines = [line.strip() for line in told.splitlines()]
    ours = "github" in args
    assert not [line for line in lines if line.startswith("::error::pwned") or line.startswith("::") and not ours]
    assert ("##vso[task.set" in told) is False


@pytest.mark.parametrize("output_format", ["sarif", "gitlab", "json", "rdjson"])
def test_names_and_messages_stay_data(inside: Amplint, tmp_path: Path, output_format: str) -> None:
    name = "</script><b>`x` [y](http:z).py" if sys.platform != "win32" else "`x` [y](z).py"
    path = tmp_path / name.replace("/", "_")
    path.write_text("bad\n")
    assert "DEMO001" in json.dumps(json.loads(inside("--output-format", output_format).stdout))


def test_nothing_of_the_project_is_imported_or_run(amplint: Amplint, tmp_path: Path) -> None:
    trap = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n"
    for name in ("torch", "libcst", "click", "json", "ast", "amplint", "conftest", "setup", "sitecustomize", "helpers"):
        (tmp_path / "project" / name).mkdir(parents=True)
        (tmp_path / "project" / name / "__init__.py").write_text(trap)
        (tmp_path / "project" / f"{name}.py").write_text(trap)
    (tmp_path / "project" / "a.py").write_text(
        "import helpers, torch.cuda.amp\nhelpers.f()\ntorch.cuda.amp.autocast()\nbad\n"
    )
    (tmp_path / "project" / "pyproject.toml").write_text("[tool.amplint]\nselect = ['ALL']\n")
    for args in (("project",), ("project", "--fix"), ("project/a.py", "--unsafe-fixes", "--diff")):
        assert amplint(*args).returncode in (0, 1)
    assert not list(tmp_path.rglob("ran"))


@posix
def test_imports_are_followed_in_the_project_only(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (project / "package", outside):
        folder.mkdir(parents=True)
    for path in (project / "a.py", project / "package" / "__init__.py", project / "package" / "b.py", outside / "x.py"):
        path.write_text("y = 1\n")
    (project / "pyproject.toml").touch()
    (project / "linked.py").symlink_to(outside / "x.py")
    (project / "far").symlink_to(outside, target_is_directory=True)
    (project / "loop.py").symlink_to("loop.py")
    (project / "huge.py").write_text("#" * 500_000)
    (project / "odd.py").write_bytes(b"x = '\xe9'\n")
    os.mkfifo(project / "pipe.py")
    modules = Modules(str(project / "a.py"))
    found = modules.find("package.b.y")
    assert found is not None and found[0].path == str(project / "package" / "b.py")
    for name in (
        "linked.y",
        "far.x.y",
        "loop.y",
        "huge.y",
        "odd.y",
        "pipe.y",
        "..outside.x.y",
        "...outside.x",
        ".....etc",
    ):
        assert modules.find(name) is None, name


def test_a_baseline_takes_the_place_of_a_baseline_only(inside: Amplint, tmp_path: Path) -> None:
    """What the settings of somebody else's project name may be any file of the user's."""
    (tmp_path / "profile").write_text("export A=1\n")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text("bad\n")
    (tmp_path / "project" / "amplint.toml").write_text('baseline = "../profile"\n')
    done = inside("--write-baseline", "--config", "project/amplint.toml", "--baseline", "profile", "project")
    assert (done.returncode, done.stderr[:17]) == (2, b"amplint: profile:")
    assert (tmp_path / "profile").read_text() == "export A=1\n"


def test_a_configuration_that_is_not_amplints_is_not_quoted(inside: Amplint, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password = hunter2\n")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text("bad\n")
    for name in ("../secret", "/etc/passwd", "/dev/zero", "."):
        (tmp_path / "project" / "amplint.toml").write_text(f"extend = {json.dumps(name)}\n")
        done = inside("project")
        assert done.returncode == 2
        assert b"hunter2" not in done.stderr and b"root:" not in done.stderr
