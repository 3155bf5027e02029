"""Known findings: comments added to the source, and baselines."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import Amplint

from amplint import lint_paths
from amplint.documents import Document
from amplint.linter import lint_document
from amplint.registry import installed
from amplint.silencing import with_noqa

pytestmark = pytest.mark.usefixtures("demo_rules")

DEMO = ("--select", "DEMO", "--output-format", "concise")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("bad\n", "bad  # noqa: DEMO001\n"),
        ("bad, stuck, bad  \r\nx", "bad, stuck, bad  # noqa: DEMO001, DEMO003\r\nx"),
        ("bad  # why", "bad  # why  # noqa: DEMO001"),
        ("bad  # noqa: E501\n", "bad  # noqa: E501, DEMO001\n"),
        ("bad  # noqa:E501 and why\n", "bad  # noqa:E501, DEMO001 and why\n"),
        ("bad  # amplint: ignore[DEMO002]\n", "bad  # amplint: ignore[DEMO002]  # noqa: DEMO001\n"),
        ("f(bad,\n  '''\n''')\n", "f(bad,  # noqa: DEMO001\n  '''\n''')\n"),
        ("x = bad + '''\n'''\n", "x = bad + '''\n'''  # noqa: DEMO001\n"),
        ("x = bad + \\\n  1\n", "x = bad + \\\n  1  # noqa: DEMO001\n"),
        ("bad  # noqa\n", "bad  # noqa\n"),
    ],
)
def test_comments_are_added(before: str, after: str) -> None:
    rules = [rule for rule in installed().rules if rule.code.startswith("DEMO")]
    document = Document.from_source("a.py", before)
    made = with_noqa(document, lint_document(document, rules)).document
    assert made.text == after
    assert lint_document(made, rules) == []
    assert with_noqa(made, lint_document(made, rules)).rows == 0


def test_comments_are_added_to_cells_and_pages(amplint: Amplint, tmp_path: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["!ls\n", "bad"]}
    content = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    (tmp_path / "a.ipynb").write_text(content)
    (tmp_path / "b.md").write_text("- x\n  ```python\n  bad\n  ```\n")
    done = amplint("--add-noqa", "--select", "DEMO", "--include-docs")
    assert done.stderr == b"Added 2 noqa directives.\n"
    assert (tmp_path / "a.ipynb").read_text() == content.replace("bad", "bad  # noqa: DEMO001")
    assert (tmp_path / "b.md").read_text() == "- x\n  ```python\n  bad  # noqa: DEMO001\n  ```\n"
    assert amplint(*DEMO, "--include-docs").returncode == 0
    assert amplint("--add-noqa", "--select", "DEMO", "--include-docs").stderr == b"Added 0 noqa directives.\n"


def test_what_is_no_python_gets_no_comment(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("bad (\n")
    assert amplint("--add-noqa", "--select", "AMP902").returncode == 0
    assert (tmp_path / "a.py").read_text() == "bad (\n"


@pytest.mark.parametrize("args", [["--fix"], ["--diff"], ["--baseline", "b.json"], ["-"]])
def test_comments_are_added_by_themselves(amplint: Amplint, args: list[str]) -> None:
    assert b"--add-noqa" in amplint("--add-noqa", *args, stdin=b"").stderr


def test_known_findings_are_not_shown_wherever_they_move(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / "a.py"
    path.write_text("bad\nstuck\nf(bad,\n  1)\n")
    made = amplint("--baseline", "sub/known.json", "--write-baseline", "--select", "DEMO")
    assert (made.returncode, made.stderr) == (0, f"Wrote 3 known findings to sub{os.sep}known.json.\n".encode())
    assert amplint("--baseline", "sub/known.json", *DEMO).returncode == 0

    path.write_text("# moved\n\nif x:\n    f(bad,\n      1)\nstuck\nbad\n")
    done = amplint("--baseline", "sub/known.json", *DEMO)
    assert (done.returncode, done.stdout) == (0, b"All checks passed!\n")
    assert b"amplint: 3 known by " in done.stderr

    path.write_text("bad\nbad\nbad\nrisky\n")
    done = amplint("--baseline", "sub/known.json", *DEMO)
    assert done.stdout.decode().splitlines()[:2] == [
        f"sub{os.sep}a.py:3:1: DEMO001 [*] `bad` is found",
        f"sub{os.sep}a.py:4:1: DEMO002 `risky` is found",
    ]
    assert b"amplint: 1 in sub" in done.stderr

    assert amplint("--baseline", "sub/known.json", "--write-baseline", "--select", "DEMO").returncode == 0
    again = amplint("--baseline", "sub/known.json", *DEMO)
    assert (again.returncode, b"gone" in again.stderr) == (0, False)


def test_a_baseline_is_the_same_from_every_folder_and_for_the_same_findings(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("bad\n")
    amplint("--baseline", "known.json", "--write-baseline", "--select", "DEMO")
    first = (tmp_path / "known.json").read_bytes()
    assert json.loads(first)["findings"][0]["path"] == "a.py"
    amplint("--baseline", str(tmp_path / "known.json"), "--write-baseline", "--select", "DEMO", str(tmp_path))
    assert (tmp_path / "known.json").read_bytes() == first


def test_a_file_that_cannot_be_parsed_is_never_known(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("bad (\n")
    amplint("--baseline", "known.json", "--write-baseline", "--select", "AMP902")
    assert amplint("--baseline", "known.json", "--select", "AMP902").returncode == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file; --write-baseline makes it"),
        ("{", "is no baseline"),
        ("[]", "is no baseline of version 1"),
        ('{"version": 2, "findings": []}', "is no baseline of version 1"),
        ('{"version": 1, "findings": [1]}', "is no baseline"),
    ],
)
def test_what_is_no_baseline_is_said(amplint: Amplint, tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "known.json").write_text(content)
    (tmp_path / "a.py").write_text("bad\n")
    done = amplint("--baseline", "known.json", *DEMO)
    assert done.returncode == 2
    assert f"amplint: known.json: {message}" in done.stderr.decode()
    assert b"DEMO001" in done.stdout


def test_a_baseline_is_written_only_where_it_is_named(amplint: Amplint) -> None:
    assert b"--write-baseline needs the file to write" in amplint("--write-baseline").stderr
    assert b"--no-baseline cannot be used" in amplint("--no-baseline", "--write-baseline").stderr


def test_a_baseline_in_the_settings_holds_for_their_files(inside: Amplint, tmp_path: Path) -> None:
    (tmp_path / "amplint.toml").write_text('select = ["DEMO"]\nbaseline = "known/all.json"\n')
    (tmp_path / "known").mkdir()
    (tmp_path / "sub").mkdir()
    for folder in (tmp_path, tmp_path / "sub"):
        (folder / "a.py").write_text("bad\n")
    assert b"all.json: no such file; --write-baseline makes it" in inside().stderr
    assert (inside("--write-baseline").returncode, inside().returncode) == (0, 0)
    assert [len(outcome.findings) for outcome in lint_paths([tmp_path])] == [0, 0]
    assert inside("--no-baseline").returncode == inside("--isolated", "--select", "DEMO").returncode == 1
    (tmp_path / "sub" / "amplint.toml").write_text('select = ["DEMO"]\n')
    assert b"a.py:1:1" in inside("sub").stdout and inside("a.py").returncode == 0
