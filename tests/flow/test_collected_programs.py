"""Small programs in many looks: right ones, of which nothing may be said, and broken ones, said at their line.

Each stands behind a line ``#### name``. In a broken one ``# expect: CODE`` ends the line that is found.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from amplint.documents import Document
from amplint.fixer import Fixer
from amplint.registry import installed
from amplint.rule import Rule

RULES = [rule for rule in installed().rules if rule.code in ("AMP101", "AMP102")]
ALL = [rule for rule in installed().rules if rule.selectable and rule.default]


def collected(name: str) -> dict[str, str]:
    """The programs of one file by their names; each begins with ``import torch``."""
    text = (Path(__file__).parent / name).read_text()
    programs = {}
    for part in re.split(r"^#### ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        programs[title.strip()] = f"import torch\n{body}"
    return programs


def found(source: str, rules: list[type[Rule]]) -> Counter[tuple[int, str]]:
    result = Fixer(rules, rules).lint(Document("program.py", source))
    assert not result.crashes
    return Counter((finding.start.row, finding.code) for finding in result.findings)


RIGHT = collected("right_programs.txt")


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_are_left_alone(name: str) -> None:
    assert found(RIGHT[name], ALL) == Counter()


BROKEN = collected("broken_programs.txt")


@pytest.mark.parametrize("name", BROKEN)
def test_broken_programs_are_found_at_their_lines(name: str) -> None:
    source = BROKEN[name]
    lines = enumerate(source.splitlines(), 1)
    marked = [(row, match[1]) for row, line in lines for match in re.finditer(r"# expect: (\w+)", line)]
    assert found(source, RULES) == Counter(marked)
