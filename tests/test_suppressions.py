"""Comments that silence findings."""

from __future__ import annotations

import pytest

from amplint.documents import Document
from amplint.linter import lint_document, run_rules
from amplint.registry import installed
from amplint.rule import Context

pytestmark = pytest.mark.usefixtures("demo_rules")


def codes(text: str) -> list[str]:
    found = lint_document(Document.from_source("a.py", text))
    return [finding.code for finding in found if finding.code != "AMP901"]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NOQA",
        "# noqa: DEMO001",
        "# noqa:DEMO001",
        "# noqa : demo001",
        "# noqa: E501, DEMO001",
        "# noqa: E501 DEMO001",
        "# type: ignore # noqa: DEMO001 why not",
        "# noqa: E501 # noqa: DEMO001",
        "# amplint: ignore",
        "# amplint:ignore[DEMO001]",
        "# amplint: ignore[DEMO002, DEMO001]",
        "# amplint: ignore [demo001]  on purpose",
    ],
)
def test_silenced(comment: str) -> None:
    assert codes(f"bad  {comment}\n") == []


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: E501",
        "# noqa: DEMO0011",
        "# noqa: DEMO",
        "# noqa:",
        "# noqa: because",
        "# noqar",
        "# flake8: noqa",
        "# amplint: ignore[DEMO002]",
        "# amplint: ignore[]",
        "# amplint: ignored",
        "# ignore",
        "",
    ],
)
def test_not_silenced(comment: str) -> None:
    assert codes(f"bad  {comment}\n") == ["DEMO001"]


def test_a_string_is_no_comment() -> None:
    assert codes('bad, "# noqa"\n') == ["DEMO001"]
    assert codes('bad, """\n# noqa\n"""\n') == ["DEMO001"]


@pytest.mark.parametrize(
    "text",
    [
        "f(  # noqa\n    1,\n    bad,\n)\n",
        "f(\n    1,\n    bad,  # noqa\n)\n",
        "f(\n    1,\n    bad,\n)  # noqa\n",
        "f(1, \\\n  bad)  # noqa\n",
        "if f(  # noqa\n    bad\n):\n    pass\n",
        "if f(\n    bad\n):  # noqa\n    pass\n",
        "x = bad, '''\n'''  # noqa\n",
        "bad  # noqa\r\n",
        "a\rbad  # noqa\rc\r",
        "x = '\x0c'\nbad  # noqa\n",
        "class A:\n\n    # why\n    def f(self):\n        return bad  # noqa",
    ],
)
def test_the_first_or_last_row_of_the_expression_or_statement_counts(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "# noqa\nbad\n",
        "bad\n# noqa\n",
        "x  # noqa\nbad\n",
        "f(\n    1,  # noqa\n    bad,\n)\n",
        "if x:  # noqa\n    bad\n",
    ],
)
def test_other_rows_do_not(text: str) -> None:
    assert codes(text) == ["DEMO001"]


def test_a_file_that_cannot_be_parsed_is_never_silenced() -> None:
    assert "AMP902" in codes("def f(:  # noqa\n")


@pytest.mark.parametrize(
    "comment",
    [
        "# amplint: disable-file",
        "# amplint:disable-file[DEMO001] for now",
        "# amplint: disable-file [DEMO002, demo001]",
        "# amplint: noqa",
        "# amplint: noqa: DEMO001",
        "# ruff: noqa",
        "# ruff: noqa: E501, DEMO001",
        "# flake8: noqa",
        "# Flake8: NOQA: DEMO001",
        "# why # ruff: noqa",
    ],
)
def test_a_whole_file_is_silenced_by_a_comment_on_a_row_of_its_own(comment: str) -> None:
    assert codes(f"{comment}\nbad\n\n\nf(bad)\n") == []
    assert codes(f"def f():\n    bad\n    {comment}\n") == []
    assert codes(f"x  {comment}\nbad\n") == ["DEMO001"]
    assert codes(f"'{comment}'\nbad\n") == ["DEMO001"]


@pytest.mark.parametrize(
    "comment",
    [
        "# ruff: noqa: T201",
        "# amplint: disable-file[DEMO002]",
        "# amplint: disable-files",
        "# ruff: noqa:",
        "# pylint: noqa",
    ],
)
def test_a_whole_file_is_not_silenced_by_other_codes(comment: str) -> None:
    assert codes(f"{comment}\nbad\n") == ["DEMO001"]


def unused(text: str) -> list[str]:
    found = lint_document(Document.from_source("a.py", text))
    return [finding.message for finding in found if finding.code == "AMP901"]


def test_a_comment_that_silences_nothing_is_found() -> None:
    assert unused("x  # noqa: DEMO001\n") == ["The suppression of DEMO001 is not used: nothing is found here"]
    assert unused("bad  # noqa: DEMO001, DEMO002, E501\n")[0].startswith("The suppression of DEMO002 is not used")
    assert unused("# amplint: disable-file\nx\n") == [
        "The suppression of any rule is not used: nothing is found in this file"
    ]
    assert unused("f(  # noqa: DEMO001\n    bad,\n)  # noqa: DEMO001\n") == []


def test_a_comment_may_be_needed_by_rules_that_do_not_run() -> None:
    rules = [rule for rule in installed().rules if rule.code not in ("DEMO001", "AMP101")]
    text = "x  # noqa: DEMO001\ny  # amplint: ignore\nz  # noqa: DEMO002\n"
    found = lint_document(Document.from_source("a.py", text), rules)
    assert [(finding.code, finding.start.row) for finding in found] == [("AMP901", 3)]


@pytest.mark.parametrize("text", ["crash_here  # noqa: DEMO004\n", "def f(:  # noqa: DEMO001\n"])
def test_nothing_is_unused_where_rules_could_not_look(text: str) -> None:
    assert "AMP901" not in [
        finding.code for finding in run_rules(Context(Document.from_source("a.py", text)), installed().rules).findings
    ]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# noqa: AMP999", "There is no rule AMP999"),
        ("# noqa: AMP9001", "There is no rule AMP9001; did you mean `AMP901`?"),
        (
            "# noqa: DEMO001, AMP999",
            "The suppression of DEMO001 is not used: nothing is found here; there is no rule AMP999",
        ),
        ("# noqa: E501, XYZ999", None),
        ("# amplint: see the manual", None),
        ("# noqa: because AMP says so", None),
        *(
            (comment, "This comment silences nothing: codes of rules, such as `AMP101`, are expected in it")
            for comment in (
                "# noqa: AMP",
                "# noqa: AMP1O2",
                "# amplint: ignore[]",
                "# amplint: ignore[bad-word]  since",
                "# amplint: ignroe[DEMO001]",
                "# type: ignore  # amplint: disable-file: DEMO001",
            )
        ),
    ],
)
def test_a_comment_that_names_no_rule_is_found(comment: str, message: str | None) -> None:
    assert unused(f"x  {comment}\n") == ([] if message is None else [message])
