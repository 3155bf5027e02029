"""Which files are looked into."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from amplint.config import Configuration
from amplint.discovery import Candidate, Discovery, Problem
from amplint.mentions import Mention, Mentions
from amplint.registry import Registry


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(root: Path, *paths: str, text: str = "needle\n") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def find(*paths: str, mentions: tuple[Mention, ...] = (b"needle",), **options: bool) -> list[str]:
    discovery = Discovery(Configuration(Registry(())), Mentions(mentions), **options)
    return [
        item.path.replace(os.sep, "/") if isinstance(item, Candidate) else f"{item.path}: {item.message}"
        for item in discovery.find(paths)
    ]


def test_a_folder_is_walked_for_python_files_in_the_order_of_names(tree: Path) -> None:
    write(tree, "b/z.py", "b/a.py", "a.py", "c.pyx", "d.txt", "B.py", "b.py")
    assert find(".") == ["B.py", "a.py", "b/a.py", "b/z.py", "b.py"]
    assert find("b") == ["b/a.py", "b/z.py"]
    assert find(str(tree / "b")) == [f"{tree}/b/a.py", f"{tree}/b/z.py"]


def test_files_without_a_mention_are_left_out(tree: Path) -> None:
    write(tree, "a.py", text="needl e\n")
    write(tree, "b.py", text="x" * 65530 + " needle\n")
    write(tree, "c.py", text="x" * 65533 + "needle\n")
    assert find(".") == ["b.py", "c.py"]
    assert find(".", mentions=(b"two", b"needle", b"needles")) == ["b.py", "c.py"]


def test_a_mention_of_several_words_needs_them_all(tree: Path) -> None:
    write(tree, "a.py", text="needle\n")
    write(tree, "b.py", text="thread and needle\n")
    write(tree, "c.py", text="thread\n")
    write(tree, "d.py", text="pin\n")
    assert find(".", mentions=((b"needle", b"thread"), b"pin")) == ["b.py", "d.py"]


def test_usual_folders_are_skipped_but_not_when_named(tree: Path) -> None:
    skipped = [".git", ".venv", "venv", "node_modules", "build", "dist", "__pycache__", ".tox", "a/site-packages"]
    write(tree, *(f"{folder}/x.py" for folder in skipped), "a/x.py")
    assert find(".") == ["a/x.py"]
    assert find("build") == ["build/x.py"]
    assert find("build/x.py") == ["build/x.py"]


def test_each_file_comes_once(tree: Path) -> None:
    write(tree, "a/x.py")
    assert find("a", "a/x.py", ".", str(tree / "a")) == ["a/x.py"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links(tree: Path) -> None:
    write(tree, "a/x.py", "outside/y.py")
    (tree / "a" / "loop").symlink_to(tree, target_is_directory=True)
    (tree / "a" / "folder.py").symlink_to(tree, target_is_directory=True)
    (tree / "a" / "aa.py").symlink_to(tree / "a" / "x.py")
    (tree / "a" / "other.py").symlink_to(tree / "outside" / "y.py")
    (tree / "a" / "broken.py").symlink_to(tree / "nowhere")
    assert find("a") == ["a/broken.py: No such file or directory", "a/other.py", "a/x.py"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_what_emacs_puts_beside_an_edited_file_is_no_problem(tree: Path) -> None:
    write(tree, "a/x.py")
    (tree / "a" / ".#x.py").symlink_to("user@host.1234:5678")
    assert find("a") == ["a/x.py"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_not_waited_for(tree: Path) -> None:
    write(tree, "a/x.py")
    os.mkfifo(tree / "a" / "pipe.py")
    assert find("a", "a/pipe.py") == ["a/pipe.py: not a regular file", "a/x.py"]


def test_gitignore_at_every_level(tree: Path) -> None:
    (tree / ".git").mkdir()
    write(tree, "a/x.py", "a/y.py", "a/gen/x.py", "b/gen/x.py", "b/keep/x.py", "c/x.py", "d/e/x.py", "d/k.py", "z/q.py")
    write(tree, ".gitignore", text="# comment\ngen/\n/c\nd/**\n!d/k.py\nz/*\n")
    write(tree, "a/.gitignore", text="y.py\n")
    write(tree, "b/.gitignore", text="!gen/\nkeep\n")
    assert find(".") == ["a/x.py", "b/gen/x.py", "d/k.py"]


def test_the_gitignore_above_a_named_folder_counts_unless_it_ignores_that(tree: Path) -> None:
    (tree / ".git").mkdir()
    write(tree, "a/x.py", "a/gen.py", "out/x.py", "out/gen.py")
    write(tree, ".gitignore", text="gen.py\nout\n")
    assert find("a") == ["a/x.py"]
    assert find("out") == ["out/gen.py", "out/x.py"]
    assert find("a/gen.py") == ["a/gen.py"]


def test_a_gitignore_beyond_the_repository_does_not_count(tree: Path) -> None:
    write(tree, ".gitignore", text="*\n")
    write(tree, "repo/x.py")
    (tree / "repo" / ".git").mkdir()
    assert find("repo") == ["repo/x.py"]


def test_invalid_lines_of_a_gitignore_are_passed_over(tree: Path) -> None:
    write(tree, "a.py", "b.py")
    tree.joinpath(".gitignore").write_bytes(b"!\n\xff\xfe\n///\nb.py\r\n")
    assert find(".") == ["a.py"]


def test_configured_exclusions(tree: Path) -> None:
    write(tree, "pyproject.toml", text="[tool.amplint]\nextend-exclude = ['old', 'gen_*.py', 'a/skip']\n")
    write(tree, "old/x.py", "gen_1.py", "a/skip/x.py", "skip/x.py", "build/x.py", "a/x.py")
    assert find(".") == ["a/x.py", "skip/x.py"]
    assert find("old/x.py", "gen_1.py", "a/skip") == ["old/x.py", "gen_1.py", "a/skip/x.py"]
    assert find("old/x.py", "gen_1.py", "a/skip", "a/x.py", "build/x.py", force_exclude=True) == ["a/x.py"]


def test_a_folder_above_the_project_excludes_nothing(tree: Path) -> None:
    project = tree / "build" / "project"
    write(project, "x.py", "pyproject.toml", text="[tool.amplint]\n")
    write(project, "x.py")
    assert find(str(project / "x.py"), force_exclude=True) == [f"{project}/x.py"]


def test_what_cannot_be_read_is_a_problem_and_the_others_are_found(tree: Path) -> None:
    write(tree, "a.py", "z.py")
    (tree / "bad.py").write_bytes(b"x = '\xe9'\n")
    (tree / "latin.py").write_bytes(b"# coding: latin-1\nx = '\xe9'\n")
    found = find("nowhere", ".")
    assert found[0] == "nowhere: no such file or directory"
    assert found[1] == "a.py"
    assert found[2].startswith("bad.py: could not be decoded")
    assert found[3:] == ["z.py"]


def test_ignored_files_are_no_problem(tree: Path) -> None:
    write(tree, ".gitignore", text="bad.py\n")
    (tree / "bad.py").write_bytes(b"needle = '\xe9'\n")
    assert find(".") == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser reads everything")
def test_without_permission(tree: Path) -> None:
    write(tree, "a.py", "b/c.py")
    (tree / "a.py").chmod(0)
    (tree / "b").chmod(0)
    try:
        assert find(".") == ["a.py: Permission denied", "b/: Permission denied"]
    finally:
        (tree / "b").chmod(0o755)


def test_a_named_file_is_checked_for_syntax_even_without_a_mention(tree: Path) -> None:
    write(tree, "script", "bad.py", text="def f(:\n")
    write(tree, "good.py", text="x = '\\d'\n")
    assert find(".") == []
    assert find("script", "bad.py", "good.py") == ["script", "bad.py"]


def test_notebooks_are_found_and_pages_only_if_asked_for(tree: Path) -> None:
    for name in ("a.ipynb", "b.md", "c.rst", "d.txt"):
        write(tree, name, text="needle")
    assert find(".") == ["a.ipynb"]
    assert find(".", include_docs=True) == ["a.ipynb", "b.md", "c.rst"]


def test_problems_are_no_candidates(tree: Path) -> None:
    (item,) = Discovery(Configuration(Registry(())), ()).find(["nowhere"])
    assert item == Problem("nowhere", "no such file or directory")
