"""Every regular expression that amplint holds takes time linear in what it reads, whatever that is."""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PUMPS = ("a", "A1", "a_", "1", " ", "\t", "\n", "\r\n", "#", ".", "(", "[", "{", "'", '"', "\\", "-", "%", "`", "=",
         "a.", "A1,", "a=", "from ", "import ", "# noqa:", "\\\n", "a ", "é")  # fmt: skip
LENGTH = 2000
SLOW = 0.004
"""Seconds for ``LENGTH`` pumps: some dozen times what reading them takes, less than the square of it does."""
SHORT = {"_REQUIREMENTS": "the names of files, which have some hundred characters at most"}


def used() -> Iterator[tuple[str, Any, set[str]]]:
    """Each pattern by its name, with the methods by which it is used."""
    for path in sorted([*ROOT.glob("amplint/**/*.py"), *ROOT.glob("rules/**/*.py")]):
        text = "" if {"fixtures", "harness"} & set(path.parts) else path.read_text(encoding="utf-8")
        names = [name for name in re.findall(r"^(\w+) = (?:\(|\{|re\.compile\()", text, re.MULTILINE)]
        if "re.compile(" not in text or not names:
            continue
        dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        module = importlib.import_module(f"amplint.{dotted}" if dotted.startswith("rules.") else dotted)
        for name in names:
            for pattern in found_in(getattr(module, name, None)):
                yield f"{dotted}.{name}", pattern, set(re.findall(rf"\b{name}\.(\w+)\(", text)) or {"finditer", "match"}


def found_in(value: object) -> Iterator[Any]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from found_in(each)
    elif isinstance(value, dict):
        yield from found_in(list(value.values()))


def seconds(pattern: Any, methods: set[str], text: str) -> float:
    said: Any = text.encode() if isinstance(pattern.pattern, bytes) else text
    start = time.process_time()
    if methods - {"match", "fullmatch"}:
        for _ in pattern.finditer(said):
            pass
    pattern.match(said)
    pattern.fullmatch(said)
    return time.process_time() - start


def slow(pattern: Any, methods: set[str]) -> Iterator[str]:
    """Texts of which twice as much takes much more than twice the time."""
    source = pattern.pattern.decode() if isinstance(pattern.pattern, bytes) else pattern.pattern
    for pump in {*PUMPS, *re.findall(r"[A-Za-z_.]{3,}", source)}:
        for head in ("", "#", "'"):
            for tail in ("", "!"):
                text = f"{head}{{}}{tail}"
                if seconds(pattern, methods, text.format(pump * LENGTH)) > SLOW:
                    once, twice = (min(seconds(pattern, methods, text.format(pump * n)) for _ in range(3))
                                   for n in (LENGTH, 2 * LENGTH))  # fmt: skip
                    if twice > max(2.8 * once, 3 * SLOW):
                        yield f"{head!r} {pump!r} {tail!r}: {once:.3f} s, {twice:.3f} s"


def test_they_are_linear() -> None:
    patterns = [each for each in used() if each[0].rpartition(".")[2] not in SHORT]
    assert len(patterns) > 80
    found = {name: next(slow(pattern, methods), None) for name, pattern, methods in patterns}
    assert {name: text for name, text in found.items() if text} == {}


@pytest.mark.parametrize("source", [r"(\w+)\.train\(", r"^\s*from"])
def test_the_test_sees_one_that_is_not(source: str) -> None:
    assert any(slow(re.compile(source, re.MULTILINE), {"search"}))
