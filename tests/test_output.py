"""What is printed."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from amplint.cli import executing
from amplint.discovery import Problem
from amplint.documents import Document
from amplint.findings import Applicability, Finding, Fix, Related, Severity
from amplint.fixer import WATCHED, WITHHELD
from amplint.output import diff, renderer, summary
from amplint.output.rules import page_of
from amplint.output.style import Style, harmless
from amplint.project import Report

PLAIN = Style(False)


def report(
    text: str, found: str, *, filename: str = "a.py", applicability: Applicability | None = None, related: str = ""
) -> Report:
    """A report of one finding at ``found`` in ``text``."""
    document = Document.from_source(filename, text)

    def span(word: str) -> tuple[int, int]:
        return text.index(word), text.index(word) + len(word)

    start, end = span(found)
    places = [Related("scaled here", *map(document.location, span(related)))] if related else []
    fix = Fix("Step by the scaler", (document.edit(start, end, "new"),), applicability) if applicability else None
    finding = Finding(
        "AMP902",
        "Something is wrong",
        Severity.WARNING,
        document.location(start),
        document.location(end),
        "Do it right",
        tuple(places),
        fix=fix,
        no_fix_reason=None if fix else "nobody knows how",
    )
    return Report(document, (finding,))


def full(*reports: Report) -> list[str]:
    return renderer("full")(reports, PLAIN).splitlines()


def test_full_shows_the_code_what_to_do_and_where_else_to_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "\n\nscaled()\nx = 1\nstep(a)\n\nlast\n"
    assert full(report(text, "step(a)", related="scaled()", applicability=Applicability.SAFE)) == [
        "AMP902 [*] Something is wrong",
        " --> a.py:5:1",
        "  |",
        "3 | scaled()",
        "4 | x = 1",
        "5 | step(a)",
        "  | ^^^^^^^",
        "6 |",
        "7 | last",
        "  |",
        "note: scaled here",
        " --> a.py:3:1",
        "  |",
        "3 | scaled()",
        "  | --------",
        "  |",
        "help: Do it right",
        "fix: Step by the scaler",
        "  |",
        "4 | x = 1",
        "  - step(a)",
        "5 + new",
        "6 |",
        "  |",
        "",
    ]


def test_full_says_why_there_is_no_fix_and_which_is_unsafe() -> None:
    assert full(report("x", "x"))[-2] == "note: No fix is offered: nobody knows how"
    lines = full(report("x", "x", applicability=Applicability.UNSAFE))
    assert lines[0] == "AMP902 Something is wrong"
    assert lines[-2] == "note: This is an unsafe fix and may change runtime behavior"


@pytest.mark.parametrize(
    ("text", "found", "shown"),
    [
        ("あい = step()\n", "step", ["1 | あい = step()", "  |        ^^^^"]),
        ("\tx = step()\n", "step", ["1 |     x = step()", "  |         ^^^^"]),
        ("x = 'e\u0301' + step()\n", "step", ["1 | x = 'e\u0301' + step()", "  |           ^^^^"]),
        (
            "x = '\x1b[31m\u202e' + step()\r\n",
            "step",
            ["1 | x = '\ufffd[31m\ufffd' + step()", "  |                ^^^^"],
        ),
        (
            "f(\n    a,\n)\n",
            "f(\n    a,\n)",
            ["1 | f(", "  | ^^", "2 |     a,", "  |     ^^", "3 | )", "  | ^"],
        ),
    ],
)
def test_the_span_is_underlined_exactly(text: str, found: str, shown: list[str]) -> None:
    assert full(report(text, found))[3 : 3 + len(shown)] == shown


def test_a_place_at_the_very_end_is_underlined() -> None:
    document = Document.from_source("a.py", "x = (\n")
    place = document.location(6)
    finding = Finding("AMP902", "Wrong", Severity.ERROR, place, place)
    assert full(Report(document, (finding,)))[1:] == [" --> a.py:2:1", "  |", "1 | x = (", "2 |", "  | ^", "  |", ""]


def test_the_middle_of_a_long_span_is_left_out() -> None:
    text = "f(\n" + "    a,\n" * 40 + ")\n"
    lines = full(report(text, text[:-1]))
    assert ".." in lines
    assert len(lines) < 30


def test_rows_of_different_width_stand_in_one_column() -> None:
    text = "x\n" * 8 + "step\n" + "x\n" * 5
    lines = full(report(text, "step"))
    assert lines[1:3] == ["  --> a.py:9:1", "   |"]
    assert " 8 | x" in lines
    assert "10 | x" in lines


def test_colour() -> None:
    painted = renderer("full")([report("x", "x", applicability=Applicability.SAFE)], Style(True))
    assert "\x1b[1;31mAMP902\x1b[0m" in painted
    assert "\x1b[1;31m^\x1b[0m" in painted


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "colour"),
    [
        (Terminal(), {}, True),
        (io.StringIO(), {}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_is_for_terminals_and_those_who_want_it(
    stream: io.StringIO, environment: dict[str, str], colour: bool
) -> None:
    assert Style.of(stream, environment).colour is colour


def test_json_has_the_fields_of_ruff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = renderer("json")(
        [report("scaled()\nstep(a)\n", "step(a)", related="scaled()", applicability=Applicability.UNSAFE)], PLAIN
    )
    assert json.loads(text) == [
        {
            "cell": None,
            "code": "AMP902",
            "end_location": {"column": 8, "row": 2},
            "filename": str(tmp_path / "a.py"),
            "fix": {
                "applicability": "unsafe",
                "edits": [
                    {
                        "cell": None,
                        "content": "new",
                        "end_location": {"column": 8, "row": 2},
                        "location": {"column": 1, "row": 2},
                    }
                ],
                "message": "Step by the scaler",
            },
            "location": {"column": 1, "row": 2},
            "message": "Something is wrong",
            "name": "invalid-syntax",
            "noqa_row": 2,
            "severity": "warning",
            "url": None,
            "help": "Do it right",
            "no_fix_reason": None,
            "related": [
                {
                    "cell": None,
                    "filename": str(tmp_path / "a.py"),
                    "message": "scaled here",
                    "location": {"column": 1, "row": 1},
                    "end_location": {"column": 9, "row": 1},
                }
            ],
        }
    ]
    assert renderer("json")([], PLAIN) == "[]\n"


def test_json_names_the_row_where_a_comment_silences() -> None:
    row = json.loads(renderer("json")([report("x = step, '''\n\n'''\n", "step")], PLAIN))[0]
    assert row["noqa_row"] == 3
    assert row["fix"] is None
    assert row["no_fix_reason"] == "nobody knows how"


def test_github_escapes_what_would_end_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = renderer("github")([report("step\n", "step", filename="100%,a:b.py")], PLAIN)
    assert text == (
        f"::warning title=amplint (AMP902),file={tmp_path}/100%25%2Ca%3Ab.py,line=1,endLine=1,col=1,endColumn=5"
        "::100%25,a:b.py:1:1: AMP902 Something is wrong%0A  help: Do it right\n"
    )


def test_paths_are_shown_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for filename, shown in [
        (str(tmp_path / "here" / "a.py"), "a.py"),
        ("./d/a.py", "d/a.py"),
        (str(tmp_path / "a.py"), f"{tmp_path}/a.py"),
        ("../a.py", f"{tmp_path}/a.py"),
        ("-", "-"),
    ]:
        line = renderer("concise")([report("x", "x", filename=filename)], PLAIN)
        assert line == f"{shown}:1:1: AMP902 Something is wrong\n"


def test_summaries() -> None:
    safe, unsafe, stuck = (report("x", "x", applicability=kind) for kind in (*Applicability, None))
    healed = Report(safe.document, (), safe.findings)
    hidden = "1 unsafe fix available with `--fix --unsafe-fixes`"
    assert summary.render([]) == "All checks passed!\n"
    assert summary.render([stuck]) == "Found 1 error.\n"
    assert summary.render([safe, safe]) == "Found 2 errors.\n[*] 2 fixable with `--fix`.\n"
    assert summary.render([safe, unsafe]) == (f"Found 2 errors.\n[*] 1 fixable with `--fix` ({hidden}).\n")
    assert summary.render([unsafe]) == f"Found 1 error.\n{hidden}.\n"
    assert summary.render([healed, stuck]) == "Found 2 errors (1 fixed, 1 remaining).\n"


def test_what_was_fixed_is_told_by_file() -> None:
    safe = report("x", "x", applicability=Applicability.SAFE)
    healed = Report(safe.document, (), safe.findings)
    assert summary.render_fixes([safe], PLAIN) == ""
    assert (
        summary.render_fixes([safe, healed], PLAIN) == "\nFixed 1 error:\n- a.py:\n    1 × AMP902 (invalid-syntax)\n\n"
    )


def test_a_code_of_no_rule_has_no_page() -> None:
    assert page_of("AMP999") is None
    assert (page_of("AMP102") or "").startswith(("https://", "file://"))


def test_what_verify_executed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    withheld = report("x", "x")
    finding = replace(withheld.findings[0], no_fix_reason=f"{WITHHELD}: it hangs")
    healed = Report(withheld.document, (finding,), (replace(finding, code=sorted(WATCHED)[0]),))
    executing.narrate([Problem("b.py", "cannot be read"), withheld, healed])
    assert capsys.readouterr().err == (
        f"amplint: a.py:1:1: AMP902 {WITHHELD}: it hangs\n"
        "amplint: 2 of 2 fixes of the scaler's protocol were executed with stand-ins: 1 kept, 1 withheld\n"
    )


def test_a_diff_on_a_terminal_is_harmless_and_coloured() -> None:
    before, after = (Document.from_source("a.py", text) for text in ("x\x1b[31m\n--- y\n", "z\n"))
    shown = diff.render(before, after, Style(True), terminal=True)
    assert "\x1b[1;31m-x\ufffd[31m\x1b[0m\n" in shown
    assert diff.render(before, after, PLAIN) == "--- a.py\n+++ a.py\n@@ -1,2 +1 @@\n-x\x1b[31m\n---- y\n+z\n"


def test_harmless_text_is_left_as_it_is() -> None:
    assert harmless("naïve あ 🎉 [*]") == "naïve あ 🎉 [*]"
    assert harmless("a\tb\n") == "a\\tb\\n"
