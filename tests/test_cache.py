"""What was found is kept, and believed only where everything that it depends on is as it was."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest

from amplint.cache import Cache, Entry, recall, record
from amplint.digest import digest
from amplint.project import Options, Project, Report
from tests.conftest import Amplint

FAULTY = "from torch.cuda.amp import GradScaler\nscaler = GradScaler()\n"
PLAIN = "import os\nprint(os.name)\n"
OLD = time.time() - 100


def written(path: Path, text: str, when: float = OLD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (when, when))
    return path


@pytest.fixture
def project(tmp_path: Path, inside: Amplint) -> Path:
    written(tmp_path / "faulty.py", FAULTY)
    written(tmp_path / "sub" / "plain.py", PLAIN)
    return tmp_path


def lint(*paths: str, **options: object) -> list[Report]:
    """The reports, what is in a document told by its name."""
    return [each for each in Project(Options(cache=True, **options)).check(paths or (".",)) if isinstance(each, Report)]  # type: ignore[arg-type]


def caches(folder: Path) -> list[Path]:
    return sorted((folder / ".amplint_cache").glob("*.json"))


def test_a_second_run_says_the_same_and_opens_no_file_of_which_nothing_is_said(
    project: Path, inside: Amplint, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(project / "right.py", "import torch\nscaler = torch.amp.GradScaler('cuda')\nscaler.scale(1)\n")
    first = inside("--output-format", "json", "--verbose")
    opened: list[str] = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, *more: (opened.append(str(path)), real(path, *more))[1])
    second = inside("--output-format", "json", "--verbose")
    assert (first.returncode, first.stdout) == (second.returncode, second.stdout)
    assert json.loads(second.stdout)[0]["fix"]["edits"]
    assert b"2 linted: " in first.stderr and b"0 linted, 2 recalled from the cache" in second.stderr
    assert {os.path.basename(path) for path in opened if path.endswith(".py")} == {"faulty.py"}


def test_what_changed_is_linted_again(project: Path) -> None:
    assert [report.recalled for report in lint()] == [False]
    assert [report.recalled for report in lint()] == [True]
    written(project / "faulty.py", "\n" + FAULTY)
    (changed,) = lint()
    assert not changed.recalled and changed.findings[0].start.row == 2
    written(project / "sub" / "plain.py", FAULTY)  # it mentioned nothing before
    assert [(report.document.filename, report.recalled) for report in lint()] == [
        ("faulty.py", True),
        (os.path.join("sub", "plain.py"), False),
    ]
    (project / "faulty.py").unlink()
    assert [report.recalled for report in lint()] == [True]
    (cache,) = caches(project)
    assert "faulty.py" not in cache.read_text()


def test_a_file_with_new_times_and_old_content_need_not_be_linted(project: Path) -> None:
    lint()
    written(project / "faulty.py", FAULTY, time.time())
    assert [report.recalled for report in lint()] == [True]


def test_times_of_just_now_prove_nothing(project: Path) -> None:
    """The file could change once more and have the same time of change."""
    now = time.time()
    file = written(project / "faulty.py", "# a\n" + FAULTY, now)
    before = file.stat()
    lint()
    with open(file, "r+") as same:
        same.write("\n\n\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    (report,) = lint()
    assert not report.recalled and report.document.text == "\n\n\n\n" + FAULTY


def test_other_settings_are_another_matter(project: Path, inside: Amplint) -> None:
    assert inside().returncode == 1
    assert inside("--ignore", "AMP201").returncode == 0
    assert inside().returncode == 1
    (project / "pyproject.toml").write_text("[tool.amplint]\nper-file-ignores = {'faulty.py' = ['AMP201']}\n")
    assert inside().returncode == 0
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\ndependencies = ['torch>=1.13']\n")
    assert b"1.13" in inside().stdout
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\ndependencies = ['torch>=2.4']\n")
    assert b"fixable" in inside().stdout


def test_fixes_are_made_and_what_they_leave_is_known_then(project: Path, inside: Amplint) -> None:
    assert inside().returncode == 1
    assert inside("--fix").returncode == 0
    assert "torch.amp" in (project / "faulty.py").read_text()
    assert not lint(fix=True)[0].recalled
    assert lint(fix=True)[0].recalled


def test_a_file_named_is_parsed_though_it_mentions_nothing(project: Path, inside: Amplint) -> None:
    written(project / "broken.py", "if\n")
    for _ in range(2):
        assert b"AMP902" in inside("broken.py").stdout
        assert inside("sub/plain.py").returncode == 0
        assert b"AMP902" not in inside().stdout


def test_notebooks_and_findings_in_cells_are_recalled(tmp_path: Path, inside: Amplint) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": FAULTY}
    written(tmp_path / "n.ipynb", json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    first = inside()
    assert b"n.ipynb:cell 1:1:" in first.stdout
    assert inside().stdout == first.stdout


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", "{}", '{"key": 1}', '{"key": 1, "folders": [], "others": {}}', "[" * 100_000, "\0"],
)
def test_a_damaged_or_foreign_cache_is_rebuilt(project: Path, inside: Amplint, content: str) -> None:
    expected = inside()
    (cache,) = caches(project)
    good = json.loads(cache.read_text())
    cache.write_text(content)
    assert inside().stdout == expected.stdout
    assert json.loads(cache.read_text()) == good


@pytest.mark.parametrize("found", [1, [], {}, {"digest": 1}, "findings", "location", "settings"])
def test_a_record_that_amplint_did_not_write_is_not_believed(project: Path, inside: Amplint, found: object) -> None:
    expected = inside()
    (cache,) = caches(project)
    content = json.loads(cache.read_text())
    known = content["folders"][""]["faulty.py"]
    if found == "findings":
        known[1]["findings"][0][2] = "harmless"
    elif found == "location":
        known[1]["findings"][0][3] = [10**9, 10**9, 1]
    elif found == "settings":
        known[1]["settings"] = None
    else:
        known[1] = found
    cache.write_text(json.dumps(content))
    done = inside()
    assert (done.returncode, done.stdout, done.stderr) == (1, expected.stdout, b"")


def test_the_folder_is_ignored_by_git_and_by_backups_and_amplint(project: Path, inside: Amplint) -> None:
    inside()
    folder = project / ".amplint_cache"
    assert (folder / ".gitignore").read_text().endswith("\n*\n")
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    written(folder / "faulty.py", FAULTY)
    assert inside("--output-format", "concise").stdout.count(b"AMP201") == 1


def test_where_the_cache_is(project: Path, inside: Amplint, monkeypatch: pytest.MonkeyPatch) -> None:
    inside("--no-cache")
    monkeypatch.setenv("AMPLINT_NO_CACHE", "1")
    inside()
    monkeypatch.delenv("AMPLINT_NO_CACHE")
    assert not caches(project)
    written(project / "sub" / "amplint.toml", "cache-dir = '../kept'\n")
    written(project / "sub" / "plain.py", FAULTY)
    inside("sub")
    assert list((project / "kept").glob("*.json")) and not caches(project)
    monkeypatch.setenv("AMPLINT_CACHE_DIR", "by_environment")
    inside("sub")
    assert list((project / "by_environment").glob("*.json"))
    inside("sub", "--cache-dir", "by_option")
    assert list((project / "by_option").glob("*.json")) and not caches(project)


def test_a_cache_that_cannot_be_written_is_done_without(project: Path, inside: Amplint) -> None:
    (project / ".amplint_cache").write_text("a file")
    done = inside()
    assert (done.returncode, done.stderr) == (1, b"")


def test_clean_removes_what_amplint_wrote_and_nothing_else(project: Path, inside: Amplint) -> None:
    inside()
    written(project / "sub" / "amplint.toml", "")
    inside("sub")
    written(project / "amplint.toml", "cache-dir = 'sub'\n")
    inside()
    assert list((project / "sub").glob("*.json"))
    assert not (project / "sub" / ".gitignore").exists()  # it is no folder of amplint's own
    done = inside("clean")
    assert done.returncode == 0
    told = [line for line in done.stderr.decode().splitlines() if "Removing cache at: " in line]
    assert [re.sub(r".*: ", "", line) for line in told] == [
        ".amplint_cache",
        os.path.join("sub", ".amplint_cache"),
        "sub",
    ]
    assert sorted(path.relative_to(project).as_posix() for path in project.rglob("*")) == [
        "amplint.toml",
        "faulty.py",
        "sub",
        "sub/amplint.toml",
        "sub/plain.py",
    ]
    assert inside("clean").stderr == b""


def test_findings_hold_only_as_long_as_the_files_that_were_consulted(tmp_path: Path) -> None:
    there, missing = written(tmp_path / "there.py", PLAIN), tmp_path / "missing.py"
    consulted = {str(there): digest(PLAIN.encode()), str(missing): None}

    def cache() -> Cache:
        return Cache(str(tmp_path / "cache"), str(tmp_path), "key")

    found = record(cache(), Entry("digest", consulted=consulted), "settings")
    assert recall(cache(), found, "other settings") is None
    kept = cache()
    assert recall(kept, found, "settings") is not None
    kept.save()
    assert recall(cache(), found, "settings") is not None
    written(there, FAULTY)
    assert recall(cache(), found, "settings") is None
    written(there, PLAIN)
    written(missing, PLAIN)
    assert recall(cache(), found, "settings") is None


HELPER = "import torch\n\n\ndef clip(model):\n    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
CALLER = """import torch
from helpers import clip


def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        scaler.scale(model(x).sum()).backward()
        clip(model)
        scaler.step(optimizer)
        scaler.update()
"""


def test_what_depends_on_another_file_is_linted_again_when_that_changes(tmp_path: Path, inside: Amplint) -> None:
    def run() -> tuple[list[str], int]:
        ran = inside("--output-format", "json", "--select", "AMP103", "--verbose")
        recalled = re.search(rb"(\d+) recalled", ran.stderr)
        related = [other for row in json.loads(ran.stdout) for other in row["related"]]
        return [os.path.basename(other["filename"]) for other in related], int(recalled[1]) if recalled else 0

    written(tmp_path / "caller.py", CALLER)
    assert run() == ([], 0)
    assert run() == ([], 1)
    written(tmp_path / "helpers.py", HELPER)  # it was not there before
    assert run()[0] == ["helpers.py", "caller.py"]
    assert run() == (["helpers.py", "caller.py"], 1)
    written(
        tmp_path / "helpers.py", HELPER.replace("clip_grad_norm_(model.parameters(), 1.0)", "utils(model)"), OLD + 9
    )
    assert run()[0] == []
