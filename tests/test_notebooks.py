"""Notebooks: their cells as one program, and their files kept byte for byte around a fix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import Amplint
from hypothesis import given, settings
from hypothesis import strategies as st

from amplint.documents import Document, UnreadableDocument
from amplint.documents.parts import PartedDocument
from amplint.fixer import Fixer
from amplint.mentions import Mentions
from amplint.registry import installed

pytestmark = pytest.mark.usefixtures("demo_rules")


def notebook(*cells: str | list[str], **members: Any) -> dict[str, Any]:
    """A notebook of code cells; what begins with ``# %% `` is a text cell instead."""
    found = []
    for source in cells:
        cell: dict[str, Any] = {"cell_type": "code", "execution_count": 1, "metadata": {"collapsed": False}}
        if str(source).startswith("# %% "):
            cell = {"cell_type": "markdown", "metadata": {}}
        else:
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": ["bad\n", "\u00e9 </div>"]}]
        found.append({**cell, "source": source})
    return {"cells": found, "metadata": {}, "nbformat": 4, "nbformat_minor": 4, **members}


def document(*cells: str | list[str], **members: Any) -> Document:
    return Document.from_bytes("a.ipynb", json.dumps(notebook(*cells, **members)).encode())


def fix(content: str | bytes) -> str:
    content = content.encode() if isinstance(content, str) else content
    read = Document.from_bytes("a.ipynb", content)
    assert read.encode() == content
    rules = installed().rules
    return Fixer([rule for rule in rules if rule.code.startswith("DEMO")], rules).fix(read).document.encode().decode()


def sources(content: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(content)["cells"]]


def test_the_cells_are_one_program_in_their_order() -> None:
    read = document("x = 1", "# %% text", ["y = 2\n", "z = 3\n"], "", "w")
    namespace: dict[str, Any] = {"w": 0}
    exec(read.text, namespace)
    assert (namespace["x"], namespace["y"], namespace["z"]) == (1, 2, 3)


def test_a_place_is_a_cell_and_a_row_and_column_in_it() -> None:
    read = document("first = 1\n", "# %% text", ["\n", "  second = 2\n"], "third")
    assert [str(read.place(read.location(read.text.index(word)))) for word in ("first", "second", "third")] == [
        "cell 1:1:1",
        "cell 3:2:3",
        "cell 4:1:1",
    ]
    row = read.location(read.text.index("second")).row
    assert [read.source_row(number) for number in read.rows_beside(row)] == ["", "  second = 2", ""]


@pytest.mark.parametrize(
    "source", [["x = 1\n", "bad\n", "y"], "x = 1\nbad\ny", ["x = 1\nbad\ny"], ["x = ", "1\n", "bad\ny"]]
)
@pytest.mark.parametrize(
    "style",
    [{}, {"indent": 1}, {"indent": 4, "ensure_ascii": False}, {"separators": (",", ":")}, {"indent": "\t"}],
)
@pytest.mark.parametrize("ending", ["", "\n", "\r\n\n"])
def test_all_but_the_edit_is_kept_byte_for_byte(source: str | list[str], style: dict[str, Any], ending: str) -> None:
    content = json.dumps(notebook("'\u00e9\U0001f600'", source, "x", zebra=1), **style) + ending
    place = content.index("bad", content.index("x = "))
    assert fix(content) == content[:place] + "good" + content[place + len("bad") :]


def test_odd_spellings_around_an_edit_are_kept() -> None:
    content = json.dumps(notebook("SOURCE")).replace("SOURCE", r"'\/\u0041\ud83d\ude00\u00E9' ; bad #\u0020")
    assert fix(content) == content.replace(" bad", " good")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_and_windows_newlines_are_kept(mark: bytes) -> None:
    content = mark + json.dumps(notebook("x\r\nbad\r\n"), indent=1).replace("\n", "\r\n").encode()
    assert fix(content).encode("utf-8") == content.replace(b"x\\r\\nbad", b"x\\r\\ngood")


def test_a_line_that_is_added_is_spelled_as_its_neighbours() -> None:
    content = json.dumps(notebook(["lonely\n", "x"], ["y"]), indent=2) + "\n"
    assert fix(content) == json.dumps(notebook(["import company\n", "lonely\n", "x"], ["y"]), indent=2) + "\n"
    assert sources(fix(json.dumps(notebook("lonely", "y")))) == ["import company\nlonely", "y"]


def edited(cells: tuple[str | list[str], ...], old: str, new: str) -> list[Any]:
    """The sources after the first ``old`` of the program became ``new``."""
    content = json.dumps(notebook(*cells), indent=1)
    read = Document.from_bytes("a.ipynb", content.encode())
    start = read.text.index(old)
    made = read.edited([read.edit(start, start + len(old), new)]).encode().decode()
    assert made == json.dumps(json.loads(made), indent=1)
    return [cell["source"] for cell in json.loads(made)["cells"]]


@pytest.mark.parametrize(
    ("cells", "old", "new", "expected"),
    [
        ((["a\n", "b\n", "c"], ["d"]), "b\n", "", [["a\n", "c"], ["d"]]),
        ((["a\n", "b\n", "c"], ["d"]), "c\n", "", [["a\n", "b"], ["d"]]),
        ((["a\n", "b\n", "c\n"], ["d"]), "c\n", "", [["a\n", "b\n"], ["d"]]),
        ((["a\n", "b"], ["d"]), "a\nb\n", "", [[], ["d"]]),
        ((["a\n", "b"], ["d"]), "b\n", "b\nc\n", [["a\n", "b\n", "c"], ["d"]]),
        ((["a\n", "b"], ["d"]), "b", "x\ny\nz", [["a\n", "x\n", "y\n", "z"], ["d"]]),
        ((["a\n", "b"], ["d"]), "a\n", "", [["b"], ["d"]]),
        ((["d"], "a\nb"), "b\n", "", [["d"], "a"]),
        ((["a"], ["d"]), "d", "d\n'\u00e9'", [["a"], ["d\n", "'\u00e9'"]]),
    ],
)
def test_edits_of_whole_lines(
    cells: tuple[str | list[str], ...], old: str, new: str, expected: list[str | list[str]]
) -> None:
    assert edited(cells, old, new) == expected


def test_what_is_added_behind_the_last_line_of_a_cell_belongs_to_it() -> None:
    read = document(["for x in y:\n", "    a"], ["b"])
    place = read.text.index("    a\n") + len("    a\n")
    made = read.edited([read.edit(place, place, "    c\n")])
    assert sources(made.encode().decode()) == ["for x in y:\n    a\n    c", "b"]


@pytest.mark.parametrize(
    ("cells", "old", "new"),
    [
        (("a", "b"), "a\n\nb", "c"),  # from one cell into another
        (("!ls", "b"), "___", "c"),  # a shell command
        (("a", "b"), "b", "    b\nc"),  # what is left is no Python
    ],
)
def test_an_edit_that_a_notebook_cannot_take_is_refused(cells: tuple[str, ...], old: str, new: str) -> None:
    with pytest.raises(ValueError, match="cell|not Python"):
        edited(cells, old, new)


def test_nbformat_3_has_worksheets_and_inputs(tmp_path: Path) -> None:
    v3 = nbformat.v3
    sheet = v3.new_worksheet(
        cells=[v3.new_text_cell("markdown", "bad"), v3.new_code_cell("x\nbad"), v3.new_code_cell("bad", language="r")]
    )
    content = nbformat.v3.writes_json(v3.new_notebook(worksheets=[sheet]))
    place = content.index("bad", content.index("x\\n"))
    made = fix(content)
    assert made == content[:place] + "good" + content[place + len("bad") :]
    nbformat.validate(nbformat.reads(made, as_version=3))


@pytest.mark.parametrize(
    "metadata",
    [
        {"kernelspec": {"language": "R"}},
        {"language_info": {"name": "julia"}},
    ],
)
def test_other_languages_are_not_looked_into(metadata: dict[str, Any]) -> None:
    assert document("bad", metadata=metadata).text == ""


@pytest.mark.parametrize(("member", "value"), [("vscode", {"languageId": "sql"}), ("deepnote_cell_type", "sql")])
def test_cells_in_other_languages_are_not_looked_into(member: str, value: object) -> None:
    content = notebook("bad", "x")
    content["cells"][0]["metadata"] = {member: value}
    assert Document.from_bytes("a.ipynb", json.dumps(content).encode()).text.split() == ["x"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Expecting"),
        (b"[]", "Expecting {"),
        (b"{}", "it has no cells"),
        (b'{"cells": [], "nbformat": 6}', "its format is nbformat 6, and known are 2 to 5"),
        (b'{"cells": [}', "Expecting"),
        (b'{"cells": []} x', "Extra data"),
        (b'{"cells": [' + b"[" * 200_000, "could not be read as a notebook"),
        (b'{"cells": ["\xe9"]}', "could not be decoded"),
    ],
)
def test_what_is_no_notebook_is_said(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        Document.from_bytes("a.ipynb", content)


@pytest.mark.parametrize("source", [None, 7, ["x", 7], {"x": "y"}])
def test_a_source_that_is_no_text_is_no_code(source: Any) -> None:
    assert document(source, "x").text.split() == ["x"]


def test_an_indented_cell_runs_as_it_does_in_ipython() -> None:
    content = json.dumps(notebook("for x in y:\n    pass", "    bad\n    z"), indent=1)
    assert isinstance(Document.from_bytes("a.ipynb", content.encode()), PartedDocument)
    assert sources(fix(content))[1] == "    good\n    z"
    assert sources(fix(json.dumps(notebook("    lonely\n    z"))))[0] == "    import company\n    lonely\n    z"


def test_a_cell_that_cannot_run_is_left_out_and_reported_if_it_mentions_amp(amplint: Amplint, tmp_path: Path) -> None:
    cells = ("from torch.cuda.amp import autocast", "x y", "with autocast(:\n    !ls", "with autocast():\n    pass")
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook(*cells)))
    done = amplint("--output-format", "concise", "a.ipynb")
    assert done.stdout.decode().splitlines()[:2] == [
        "a.ipynb:cell 1:1:28: AMP201 [*] `torch.cuda.amp.autocast` is deprecated since PyTorch 2.4",
        "a.ipynb:cell 3:1:15: AMP902 The cell could not be parsed: invalid syntax",
    ]


def test_the_command_line_speaks_of_cells(amplint: Amplint, tmp_path: Path) -> None:
    before = json.dumps(notebook(["x\n", "!ls\n", "bad  # why\n"], "stuck"), indent=1) + "\n"
    (tmp_path / "a.ipynb").write_text(before)
    shown = amplint("--select", "DEMO", "--output-format", "full").stdout.decode()
    assert "--> a.ipynb:cell 1:3:1\n  |\n1 | x\n2 | !ls\n3 | bad  # why\n  | ^^^\n" in shown
    rows = json.loads(amplint("--select", "DEMO", "--output-format", "json").stdout)
    assert [(row["cell"], row["location"], row["noqa_row"]) for row in rows] == [
        (1, {"row": 3, "column": 1}, 3),
        (2, {"row": 1, "column": 1}, 1),
    ]
    assert rows[0]["fix"]["edits"][0]["location"] == {"row": 3, "column": 1}
    diff = amplint("--select", "DEMO", "--diff").stdout.decode()
    assert diff.startswith("--- a.ipynb:cell 1\n+++ a.ipynb:cell 1\n@@ -1,3 +1,3 @@\n x\n !ls\n-bad  # why\n")
    assert (tmp_path / "a.ipynb").read_text() == before
    assert amplint("--select", "DEMO", "--fix").returncode == 1
    assert (tmp_path / "a.ipynb").read_text() == before.replace("bad  #", "good  #")
    assert amplint("--select", "DEMO001", "--fix").returncode == 0
    assert (tmp_path / "a.ipynb").read_text() == before.replace("bad  #", "good  #")
    nbformat.validate(nbformat.read(tmp_path / "a.ipynb", as_version=nbformat.NO_CONVERT))
    stdin = amplint("--select", "DEMO", "--fix", "--stdin-filename", "b.ipynb", "-", stdin=before.encode())
    assert stdin.stdout.decode() == before.replace("bad  #", "good  #")


@pytest.mark.parametrize("source", [["x\n", "é", ", bad\n"], "x\né, bad\n", ["x\n", "é, bad"]])
@pytest.mark.parametrize("style", [{}, {"indent": 1}, {"indent": 2, "ensure_ascii": False}])
def test_a_place_in_the_file_is_one_in_its_json(source: str | list[str], style: dict[str, Any]) -> None:
    content = json.dumps(notebook(["# bad\n"], "# %% bad", source, "bad"), **style)
    read = Document.from_bytes("a.ipynb", content.encode())
    place = read.file_place(read.location(read.text.index(", bad") + 2))
    row = content.split("\n")[place.row - 1]
    assert row[place.column - 1 :].startswith("bad")
    assert row[: place.column - 1].endswith(("é, ", "\\u00e9, ", '", '))


@pytest.mark.parametrize("output_format", ["github", "sarif", "gitlab", "rdjson", "junit", "azure", "pylint"])
def test_every_format_has_notebooks(amplint: Amplint, tmp_path: Path, output_format: str) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook(["x\n", "bad"], "stuck"), indent=1))
    done = amplint("--select", "DEMO", "--output-format", output_format)
    assert (done.returncode, done.stderr) == (1, b"")
    row = next(row for row, text in enumerate((tmp_path / "a.ipynb").read_text().split("\n"), 1) if '"bad"' in text)
    assert str(row) in done.stdout.decode()


def test_a_warning_among_the_outputs_is_no_program() -> None:
    read = document("print(x)", "# %% autocast")
    assert read.holds(Mentions([b"print"]))
    assert not read.holds(Mentions([b"autocast", b"</div>"]))


def test_comments_in_cells_silence(amplint: Amplint, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook("%%time\nbad  # noqa: DEMO001", "bad\n(x,\n bad)  # noqa")))
    assert (
        amplint("--select", "DEMO", "--output-format", "concise")
        .stdout.decode()
        .splitlines()[0]
        .startswith("a.ipynb:cell 2:1:1")
    )


def test_an_import_that_a_notebook_does_not_use_is_used_nowhere() -> None:
    read = document("from torch.cuda.amp import autocast")
    assert (
        Fixer(installed().rules, installed().rules).fix(read).document.text.strip() == "from torch.amp import autocast"
    )


@st.composite
def edits(draw: st.DrawFn) -> tuple[list[str | list[str]], int, int, int, str]:
    """Sources of cells, one of them, a span in it, and what is put there."""
    lines = st.lists(st.sampled_from(["a", "b = 1", "# \u00e9", "!ls", "", "x = , "]), max_size=4)
    texts = draw(st.lists(st.builds("\n".join, lines), min_size=1, max_size=3))
    cells: list[str | list[str]] = [
        draw(st.sampled_from([text, text.splitlines(keepends=True)])) if text else text for text in texts
    ]
    index = draw(st.integers(0, len(texts) - 1))
    start = draw(st.integers(0, len(texts[index])))
    end = draw(st.integers(start, len(texts[index])))
    return cells, index, start, end, draw(st.sampled_from(["", "c", "\nc\n", "c\n", "\U0001f600"]))


@settings(max_examples=150, deadline=None)
@given(edits())
def test_an_edit_changes_its_span_and_nothing_else(wanted: tuple[list[str | list[str]], int, int, int, str]) -> None:
    cells, index, start, end, new = wanted
    content = json.dumps(notebook(*cells), indent=1)
    read = Document.from_bytes("a.ipynb", content.encode())
    texts = ["".join(cell) for cell in cells]
    tops = [offset for offset in range(len(read.text) + 1) if read.place(read.location(offset)).cell == index + 1]
    if not tops or read.unparsed:
        return
    try:
        made = read.edited([read.edit(tops[0] + start, tops[0] + end, new)]).encode().decode()
    except ValueError:
        return
    texts[index] = texts[index][:start] + new + texts[index][end:]
    assert sources(made) == texts
    assert made == json.dumps(json.loads(made), indent=1)


def test_a_cell_that_is_written_into_a_file_is_a_program_of_its_own(tmp_path: Path, inside: Amplint) -> None:
    path = tmp_path / "a.ipynb"
    cells = [
        "bad",
        "%%writefile 'train.py'\n'a module'\nfrom __future__ import annotations\nbad\n\nf(bad,\n  1)",
        "%%writefile -a train.py\nstuck",
        "%%writefile notes.txt\nbad",
        "%%file {name}.py\nclass {name}: bad",
        "%%writefile train.py\n!bad",
        "bad",
    ]
    path.write_text(json.dumps(notebook(*cells), indent=1))
    rows = json.loads(inside("--select", "DEMO", "--output-format", "json", "a.ipynb").stdout)
    found = [(row["cell"], row["location"]["row"], row["code"], row["noqa_row"]) for row in rows]
    assert found == [
        (1, 1, "DEMO001", 1),
        (2, 4, "DEMO001", 4),
        (2, 6, "DEMO001", 6),
        (3, 2, "DEMO003", 2),
        (7, 1, "DEMO001", 1),
    ]
    inside("--select", "DEMO", "--add-noqa", "a.ipynb")
    assert json.loads(inside("--select", "DEMO", "--output-format", "json", "a.ipynb").stdout) == []
    path.write_text(json.dumps(notebook(*cells), indent=1))
    inside("--select", "DEMO", "--fix", "a.ipynb")
    expected = [cell.replace("bad", "good") if number in (0, 1, 6) else cell for number, cell in enumerate(cells)]
    assert path.read_text() == json.dumps(notebook(*expected), indent=1)


def test_a_reason_names_the_line_as_its_reader_counts() -> None:
    read = document("import torch", "from torch.cuda.amp import autocast\n", "\ncontexts(autocast)")
    (found,) = Fixer(installed().rules, installed().rules).lint(read).findings
    assert (found.no_fix_reason or "").startswith("line 2 of cell 3 passes `autocast` on")
