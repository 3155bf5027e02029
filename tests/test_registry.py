"""Rule packs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from amplint.findings import Severity
from amplint.registry import Registry, UnknownRule, installed
from amplint.rule import Rule


def make(code: str, name: str) -> type[Rule]:
    return type("Made", (Rule,), {"code": code, "name": name, "severity": Severity.INFO, "since": "1", "summary": "x"})


@pytest.mark.usefixtures("demo_rules")
def test_an_installed_pack_is_found_beside_the_built_in_one() -> None:
    codes = [rule.code for rule in installed().rules]
    assert "DEMO001" in codes
    assert "AMP902" in codes
    assert codes == sorted(codes)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("", "no attribute 'RULES'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("RULES = 1", "TypeError"),
        (
            "from amplint.rules import RULES as ours\n"
            "class Mine(ours[-1]): code = 'X1'; name = 'mine'; severity = 'error'\nRULES = (Mine,)",
            "is 'error', not an amplint.findings.Severity",
        ),
        (
            "from amplint.rules import RULES as ours\n"
            "class Mine(ours[-1]): code = 'X1'; name = 'mine'; fixable = True\nRULES = (Mine,)",
            "not never, sometimes or always",
        ),
        (
            "from amplint.rules import RULES as ours\n"
            "class Mine(ours[-1]): code = 'X1'; name = 'mine'; mentions = b'x'\nRULES = (Mine,)",
            "not a tuple of bytes",
        ),
        ("RULES = (int,)", "is not a subclass of amplint.rule.Rule"),
        (
            "from amplint.rules import RULES as ours\nclass Mine(ours[-1]): name = 'mine'\nRULES = (Mine,)",
            "is already taken",
        ),
    ],
)
def test_a_broken_pack_is_named_and_left_out(tmp_path: Path, source: str, complaint: str) -> None:
    metadata = tmp_path / "broken-1.dist-info"
    metadata.mkdir()
    metadata.joinpath("entry_points.txt").write_text("[amplint.rules]\nteam = broken_pack\n")
    tmp_path.joinpath("broken_pack.py").write_text(source)
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from amplint.registry import installed\n"
    done = subprocess.run(
        [sys.executable, "-c", script + "print(*[rule.code for rule in installed().rules])"],
        capture_output=True,
        text=True,
    )
    assert "AMP902" in done.stdout
    assert "rule pack `team` was left out" in done.stderr
    assert complaint in done.stderr


def test_codes_and_names_are_taken_once() -> None:
    one = make("X1", "one")
    with pytest.raises(ValueError, match="X1 of .* is already taken by"):
        Registry([one, make("X1", "two")])
    with pytest.raises(ValueError, match="one of .* is already taken by"):
        Registry([one, make("X2", "one")])
    assert Registry([one, one]).rules == (one,)


@pytest.mark.parametrize(("code", "name"), [("x1", "one"), ("X", "one"), ("X1", "One"), ("X1", "one_two")])
def test_malformed_codes_and_names_are_refused(code: str, name: str) -> None:
    with pytest.raises(ValueError, match="not "):
        Registry([make(code, name)])


def test_a_rule_is_found_by_code_or_name_and_the_nearest_is_suggested() -> None:
    registry = Registry([make("AB101", "some-thing"), make("AB202", "other-word")])
    assert registry.find("ab101") is registry.find("some-thing")
    for word, suggestion in [
        ("AB10", "AB101"),
        ("AB1O1", "AB101"),
        ("A101", "AB101"),
        ("BA101", "AB101"),
        ("AB102", None),
        ("E101", None),
        ("some-thin", "some-thing"),
        ("Some_Thing", "some-thing"),
        ("zzz", None),
        ("", None),
    ]:
        with pytest.raises(UnknownRule) as raised:
            registry.find(word)
        assert raised.value.suggestion == suggestion


def test_a_selector_is_all_a_beginning_or_a_name() -> None:
    registry = Registry([make("AB101", "some-thing"), make("AB202", "other-word")])
    codes = {word: [rule.code for rule in registry.matching(word)] for word in ("ALL", "AB", "AB1", "other-word")}
    assert codes == {"ALL": ["AB101", "AB202"], "AB": ["AB101", "AB202"], "AB1": ["AB101"], "other-word": ["AB202"]}
    for word in ("", "ab101", "AB3", "some"):
        with pytest.raises(UnknownRule):
            registry.matching(word)


def test_rules_and_their_packs_are_read_without_libcst() -> None:
    script = (
        "import sys; from amplint.registry import installed\n"
        "pages = [rule.page() for rule in installed().rules]; assert installed().mentions\n"
        "assert 'libcst' not in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_package_is_installed() -> None:
    """What an editable install finds by itself, a wheel has only if it is listed."""
    root = Path(__file__).parents[1]
    listed = set(re.findall(r'"(amplint[\w.]*)",', (root / "pyproject.toml").read_text().partition("packages = [")[2]))
    found = {".".join(path.relative_to(root).parent.parts) for path in (root / "amplint").rglob("*.py")}
    rules = [path.relative_to(root).parent.parts for path in (root / "rules").rglob("*.py")]
    found |= {".".join(("amplint", *parts)) for parts in rules if "fixtures" not in parts}
    assert found <= listed
