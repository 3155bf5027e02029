"""Reading and writing files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from amplint.documents import Document, UnreadableDocument, UnwritableDocument
from amplint.findings import Edit, Location


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a\nb\n", ["a", "b", ""]),
        ("a\r\nb\r\n", ["a", "b", ""]),
        ("a\rb\r", ["a", "b", ""]),
        ("a\n\rb", ["a", "", "b"]),
        ("a\x0cb\x0bc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\nj", ["a\x0cb\x0bc\x1cd\x1de\x1ef\x85g\u2028h\u2029i", "j"]),
        ("", [""]),
    ],
)
def test_rows_are_those_that_python_counts(text: str, rows: list[str]) -> None:
    document = Document.from_source("a.py", text)
    assert [document.row(number) for number in range(1, document.row_count + 1)] == rows


def test_a_location_and_its_row_and_column_name_the_same_place() -> None:
    text = "é = 'x\x0c\u2028y'\r\nz = 1\rw\n"
    document = Document.from_source("a.py", text)
    for offset in range(len(text) + 1):
        place = document.location(offset)
        if text[offset - 1 : offset + 1] != "\r\n":  # between the two no row has a column
            assert document.at(place.row, place.column) == place
    assert document.location(text.index("z")) == Location(text.index("z"), 2, 1)


def test_a_place_past_the_text_is_the_nearest_there_is() -> None:
    document = Document.from_source("a.py", "ab\nc\n")
    assert document.at(99, 1).row == 3
    assert document.at(2, 99) == document.location(4)
    assert document.at(0, 0) == document.location(0)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"x = '\xc3\xa9'\n", "x = 'é'\n"),
        (b"\xef\xbb\xbfx = '\xc3\xa9'\r\n", "x = 'é'\r\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = 'é'\n"),
        (b"#!/usr/bin/python\r\n# vim: set fileencoding=cp1252 :\r\nx = '\x80'\r\n", None),
        (b"#!/usr/bin/python\r# coding: latin-1\rx = '\xe9'\r", None),
        (b"# coding: euc-jp\nx = '\xa4\xa2'", "# coding: euc-jp\nx = 'あ'"),
        (b"", ""),
    ],
)
def test_a_file_is_read_and_written_back_byte_for_byte(tmp_path: Path, content: bytes, text: str | None) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(content)
    document = Document.read(path)
    assert text is None or document.text == text
    document.write()
    assert path.read_bytes() == content


def test_a_changed_text_keeps_encoding_mark_and_newlines(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfa = '\xc3\xa9'\r\n")
    document = Document.read(path)
    whole(document, "b" + document.text[1:]).write()
    assert path.read_bytes() == b"\xef\xbb\xbfb = '\xc3\xa9'\r\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"x = '\xe9'\n", "could not be decoded"),
        (b"\n\n\nx = '\xe9'\n", "could not be decoded"),
        (b"# coding: no-such\n", "could not be decoded"),
        (b"# coding: rot13\n", "could not be decoded"),
        (b"\xef\xbb\xbf# coding: latin-1\n", "could not be decoded"),
        (b"\xff\xfex\x00", "could not be decoded"),
        (b"# coding: unicode_escape\nx = '\\x41'\n", "in other bytes"),
        (b"# coding: utf-7\nx = '+AOk-+AOk-'\n", "in other bytes"),
    ],
)
def test_what_cannot_be_decoded_is_said(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(content)
    with pytest.raises(UnreadableDocument, match=reason):
        Document.read(path)


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="No such file"):
        Document.read(tmp_path / "none.py")


def test_mode_is_kept_and_nothing_is_left_beside(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("a")
    path.chmod(0o754)
    whole(Document.read(path), "b").write()
    assert path.read_text() == "b"
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert os.listdir(tmp_path) == ["a.py"]


def test_a_name_as_long_as_it_may_be(tmp_path: Path) -> None:
    path = tmp_path / f"{'x' * 252}.py"
    path.write_text("a")
    whole(Document.read(path), "b").write()
    assert path.read_text() == "b"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser writes everything")
def test_a_file_that_may_not_be_written_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("a")
    path.chmod(0o444)
    with pytest.raises(UnwritableDocument, match="Permission denied"):
        whole(Document.read(path), "b").write()
    assert path.read_text() == "a"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    with pytest.raises(UnreadableDocument, match="not a regular file"):
        Document.read(tmp_path / "a.py")


def test_a_link_is_written_through(tmp_path: Path) -> None:
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    real.write_text("a")
    link.symlink_to(real)
    whole(Document.read(link), "b").write()
    assert link.is_symlink()
    assert real.read_text() == "b"


def test_a_file_that_somebody_else_changed_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("a")
    document = Document.read(path)
    path.write_text("theirs")
    with pytest.raises(UnwritableDocument, match="changed on disk"):
        whole(document, "b").write()
    assert path.read_text() == "theirs"


def test_what_the_encoding_cannot_hold_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: latin-1\n")
    with pytest.raises(UnwritableDocument, match="could not be encoded"):
        whole(Document.read(path), "# coding: latin-1\n'あ'").write()
    assert path.read_bytes() == b"# coding: latin-1\n"


@pytest.mark.parametrize(
    ("text", "newline"), [("", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\rc\n", "\r"), ("a\nb\r\n", "\n")]
)
def test_an_edit_gets_the_newlines_that_most_rows_have(text: str, newline: str) -> None:
    document = Document.from_source("a.py", text)
    assert document.newline == newline
    assert document.edit(0, 0, "x\ny\r\n").content == f"x{newline}y{newline}"


def whole(document: Document, text: str) -> Document:
    """The document with all of its text replaced."""
    return document.edited([Edit(document.location(0), document.location(len(document.text)), text)])
