"""Source and fixes as they are shown."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplint.documents import Document
from amplint.findings import Finding, Fix, Severity
from amplint.output import renderer
from amplint.output.frame import Mark, change, frame
from amplint.output.style import Style
from amplint.project import Report

PLAIN = Style(False)


def lines(text: str, *edits: tuple[int, int, str], style: Style = PLAIN) -> list[str]:
    document = Document.from_source("a.py", text)
    return list(change(document, Fix("Mend", tuple(document.edit(*edit) for edit in edits)), style))


def test_rows_that_stay_between_changes_are_shown_once() -> None:
    text = "a\nb\nc\nd\ne\nf\ng\nh\n"
    assert lines(text, (2, 3, "B"), (6, 7, "D1\nD2"), (14, 15, "")) == [
        "  |",
        "1 | a",
        "  - b",
        "2 + B",
        "3 | c",
        "  - d",
        "4 + D1",
        "5 + D2",
        "6 | e",
        ".",
        "8 | g",
        "  - h",
        "9 +",
        "  |",
    ]


def test_a_row_inserted_at_an_end() -> None:
    assert lines("a\n", (2, 2, "b\n")) == ["  |", "1 | a", "2 + b", "  |"]
    assert lines("a", (1, 1, "\nb")) == ["  |", "1 | a", "2 + b", "  |"]
    assert lines("a\n", (0, 0, "b\n")) == ["  |", "1 + b", "2 | a", "  |"]
    assert lines("a\n", (0, 2, "")) == [" |", " - a", " |"]


def test_a_change_of_very_many_rows_is_cut() -> None:
    shown = lines("a\n" * 100, *((2 * row, 2 * row + 1, "b") for row in range(0, 100, 5)))
    assert shown[-1] == "   = 74 more rows are not shown"
    assert len(shown) < 30


@given(st.lists(st.sampled_from("abc"), max_size=12), st.data())
def test_what_is_shown_of_a_fix_is_what_it_does(rows: list[str], data: st.DataObject) -> None:
    text = "".join(f"{row}\n" for row in rows)
    document = Document.from_source("a.py", text)
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=6, unique=True)) if text else [])
    pairs = list(zip(places[::2], places[1::2], strict=False))
    edits = [document.edit(start, end, data.draw(st.text("abc\n", max_size=5))) for start, end in pairs]
    after = document.edited(edits)
    if not edits or after.text == text:
        return
    shown = list(change(document, Fix("Mend", tuple(edits)), PLAIN))
    if shown[-1].endswith("not shown"):
        return
    new = after.text.split("\n")
    old: list[str] = []
    position = 0
    for line in shown[1:-1]:
        if set(line) == {"."}:
            continue
        found = re.fullmatch(r" *(\d*) ([-+|])(?: (.*))?", line)
        assert found is not None, line
        number, sign, row = int(found[1] or 0), found[2], found[3] or ""
        if sign == "-":
            old.append(row)
            continue
        old += new[position : number - 1]
        assert new[number - 1] == row
        old += [row] if sign == "|" else []
        position = number
    assert "\n".join([*old, *new[position:]]).rstrip("\n") == text.rstrip("\n")


@pytest.mark.parametrize(
    ("text", "found", "width", "shown"),
    [
        ("x = step(a)  # a long remark", "step(a)", 20, ["1 | x = step(a)  # …", "  |     ^^^^^^^"]),
        (f"{'x = 1; ' * 9}step(a); y = 2", "step(a)", 24, ["1 | …= 1; step(a); y = 2", "  |       ^^^^^^^"]),
        ("あいうえおかきくけこ = step(a)", "step(a)", 24, ["1 | …こ = step(a)", "  |       ^^^^^^^"]),
        ("step(a)", "step(a)", 80, ["1 | step(a)", "  | ^^^^^^^"]),
    ],
)
def test_a_narrow_terminal_sees_where_the_span_begins(text: str, found: str, width: int, shown: list[str]) -> None:
    document = Document.from_source("a.py", text)
    start = text.index(found)
    places = (document.location(offset) for offset in (start, start + len(found)))
    rows = list(frame(document, *places, Mark("^", "red"), Style(width=width)))
    assert rows[2:4] == shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "links"),
    [
        (Terminal(), {"TERM": "xterm-kitty"}, True),
        (Terminal(), {"VTE_VERSION": "7200"}, True),
        (Terminal(), {"VTE_VERSION": "4200"}, False),
        (Terminal(), {"TERM": "xterm"}, False),
        (Terminal(), {"FORCE_HYPERLINK": "1"}, True),
        (Terminal(), {"TERM_PROGRAM": "vscode", "FORCE_HYPERLINK": "0"}, False),
        (Terminal(), {"TERM_PROGRAM": "vscode", "NO_COLOR": "1"}, False),
        (io.StringIO(), {"TERM_PROGRAM": "vscode", "FORCE_COLOR": "1"}, False),
        (io.StringIO(), {"FORCE_HYPERLINK": "1", "FORCE_COLOR": "1"}, True),
    ],
)
def test_links_are_for_terminals_that_follow_them(
    stream: io.StringIO, environment: dict[str, str], links: bool
) -> None:
    assert Style.of(stream, environment).links is links


def test_a_code_leads_to_its_page() -> None:
    document = Document.from_source("a.py", "x")
    place = document.location(0)
    report = Report(document, (Finding("AMP101", "Wrong", Severity.ERROR, place, place),))
    text = renderer("concise")([report], Style(True, True))
    found = re.search("\x1b]8;;(file://[^/]+/.*amp101_step_bypasses_scaler.py)\x1b", text)
    assert found is not None
    assert "\x1b]8" not in renderer("concise")([report], Style(True))
