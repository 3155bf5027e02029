"""Every rule's fixtures: what is found in each file, on which line, and what ``--fix`` makes of it.

``X.py`` says on the line itself what is found there: ``# expect: CODE``, several codes with commas between them, and
``nofix`` or ``unsafe`` after a code whose fix is not offered or not safe. ``X.fixed.py`` is what ``--fix`` makes of it;
without such a file it changes nothing. ``X.unsafe.fixed.py`` is what it makes with ``--unsafe-fixes``.
``clean_*.py`` looks alike, and every rule is silent on it. A line ``# target-torch: 2.0`` gives the lowest torch of the
project, ``# filename: NAME`` the name that the file has there.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from amplint.documents import Document
from amplint.findings import Applicability, Finding
from amplint.fixer import Fixer
from amplint.registry import installed
from amplint.rule import Rule, TargetTorch

FOLDERS = sorted((Path(__file__).parent.parent / "rules").glob("*/fixtures/*/"))
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.py")) if not path.name.endswith(".fixed.py")]
CLEAN = [path for path in FILES if path.name.startswith("clean_")]
FAULTY = [path for path in FILES if path not in CLEAN]
UNSAFE = [path for path in FAULTY if path.with_suffix(".unsafe.fixed.py").exists()]
RULES = installed().rules

_EXPECT = re.compile(r"#\s*expect:\s*([^#]*)")


def label(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def read(path: Path) -> Document:
    text = path.read_bytes().decode()
    name = re.search(r"^# filename: (\S+)$", text, re.MULTILINE)
    return Document(name.group(1) if name else path.name, text)


def fixer(document: Document) -> Fixer:
    target = re.search(r"^# target-torch: (\d+)\.(\d+)$", document.text, re.MULTILINE)
    return Fixer(RULES, RULES, TargetTorch((int(target[1]), int(target[2])), "a test") if target else None)


def expected(text: str) -> Counter[tuple[int, str, str]]:
    found: Counter[tuple[int, str, str]] = Counter()
    for row, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        match = _EXPECT.search(line)
        for entry in match[1].split(",") if match else ():
            code, _, marker = entry.strip().partition(" ")
            found[row, code, marker] += 1
    return found


def plain(wanted: Counter[tuple[int, str, str]]) -> Counter[tuple[int, str]]:
    counts: Counter[tuple[int, str]] = Counter()
    for (row, code, _), count in wanted.items():
        counts[row, code] += count
    return counts


def marker(finding: Finding) -> str:
    if finding.fix is None:
        return "nofix"
    return "unsafe" if finding.fix.applicability is Applicability.UNSAFE else ""


@pytest.mark.parametrize("path", FAULTY, ids=label)
def test_found(path: Path) -> None:
    document = read(path)
    result = fixer(document).lint(document)
    assert not result.crashes
    wanted = expected(document.text)
    assert wanted, "nothing is expected of this file: name it clean_*.py"
    found = Counter((finding.start.row, finding.code) for finding in result.findings)
    assert found == plain(wanted)
    for finding in result.findings:
        marks = {mark for row, code, mark in wanted if (row, code) == (finding.start.row, finding.code)}
        if marks - {""}:
            assert marker(finding) in marks, finding.no_fix_reason
        assert finding.fix is not None or finding.no_fix_reason, f"no fix and no reason why: {finding}"


@pytest.mark.parametrize("path", FAULTY, ids=label)
def test_fixed(path: Path) -> None:
    document = read(path)
    after = fixer(document).fix(document).document
    goal = path.with_suffix(".fixed.py")
    assert after.text == (goal.read_bytes().decode() if goal.exists() else document.text)
    compile(after.text, goal.name, "exec")
    assert fixer(after).fix(after).document.text == after.text


@pytest.mark.parametrize("path", UNSAFE, ids=label)
def test_fixed_unsafely(path: Path) -> None:
    document = read(path)
    after = fixer(document).fix(document, unsafe=True).document
    goal = path.with_suffix(".unsafe.fixed.py")
    assert after.text == goal.read_bytes().decode()
    compile(after.text, goal.name, "exec")
    assert fixer(after).fix(after, unsafe=True).document.text == after.text


@pytest.mark.parametrize("path", CLEAN, ids=label)
def test_clean(path: Path) -> None:
    document = read(path)
    result = fixer(document).lint(document)
    assert not result.crashes
    assert [(finding.start.row, finding.code, finding.message) for finding in result.findings] == []


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.selectable], ids=lambda rule: rule.code)
def test_rule_has_fixtures(rule: type[Rule]) -> None:
    names = [path.name for path in FILES if path.parent.name == rule.name]
    assert any(name.startswith("clean_") for name in names)
    assert any(not name.startswith("clean_") for name in names)


def test_fixed_files_belong_to_fixtures() -> None:
    for folder in FOLDERS:
        for path in folder.glob("*.fixed.py"):
            assert path.with_name(path.name.replace(".unsafe", "").replace(".fixed.py", ".py")).exists(), path
