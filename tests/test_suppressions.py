"""Comments that silence findings."""

from __future__ import annotations

import pytest

from amplint.documents import Document
from amplint.linter import lint_document

pytestmark = pytest.mark.usefixtures("demo_rules")


def codes(text: str) -> list[str]:
    return [finding.code for finding in lint_document(Document.from_source("a.py", text))]


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
