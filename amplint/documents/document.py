"""A file as it was read, and as it is written back: encoding, newlines and byte-order mark are kept."""

from __future__ import annotations

import bisect
import codecs
import errno
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from amplint.findings import Edit, Location
from amplint.mentions import Mentions

PROSE_SUFFIXES = (".md", ".markdown", ".rst")
NEWLINE = re.compile(r"\r\n|\r|\n")
_CHUNK = 1 << 16
_NOT_REGULAR = "not a regular file"
# not blocking, since opening a pipe waits for who writes to it
_OPEN_FLAGS = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_BINARY", "O_CLOEXEC", "O_NONBLOCK"))
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class DocumentError(Exception):
    """A file could not be read or written; the message says why, without the file's name."""

    def __init__(self, filename: str, message: str) -> None:
        super().__init__(filename, message)
        self.filename, self.message = filename, message

    def __str__(self) -> str:
        return self.message


class UnreadableDocument(DocumentError):
    """The file could not be opened, or its bytes are not text in the encoding it declares."""


class UnwritableDocument(DocumentError):
    """The file could not be replaced; it stands as it was."""


@dataclass(frozen=True, slots=True)
class Place:
    """A location as a reader finds it in the file: in a notebook, by its cell and the row and column in that."""

    row: int
    column: int
    cell: int | None = None

    def __str__(self) -> str:
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{cell}{self.row}:{self.column}"

    @property
    def line(self) -> str:
        """The row in words, for a sentence."""
        return f"line {self.row}" + ("" if self.cell is None else f" of cell {self.cell}")


class Document:
    """The text of one file with the place of every character in it.

    ``text`` holds the decoded characters with their newlines as they stand in the file and without a
    byte-order mark. Rows are counted as Python counts them: only ``\\n``, ``\\r\\n`` and ``\\r`` end one.
    """

    importable = True  # whether another module may import names from it
    whole = True  # whether the text is all that the file holds

    def __init__(
        self, filename: str, text: str, *, encoding: str = "utf-8", bom: bytes = b"", content: bytes | None = None
    ) -> None:
        self.filename = filename
        self.text = text
        self.encoding = encoding
        self._bom = bom
        self._content = content

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Document:
        """The document in the file at ``path``; raises :class:`UnreadableDocument`."""
        filename = os.fspath(path)
        return cls.from_bytes(filename, _read_bytes(filename))

    @classmethod
    def from_bytes(cls, filename: str, content: bytes) -> Document:
        """The document whose file holds ``content``; raises :class:`UnreadableDocument`.

        A notebook, or prose with code in it, is known by the file's name.
        """
        if filename.endswith(".ipynb"):
            from amplint.documents.notebook import read_notebook

            return read_notebook(filename, content)
        if filename.endswith(PROSE_SUFFIXES):
            from amplint.documents.prose import read_prose

            return read_prose(filename, content)
        text, encoding, bom = decoded(filename, content)
        return cls(filename, text, encoding=encoding, bom=bom, content=content)

    @classmethod
    def from_source(cls, filename: str, text: str) -> Document:
        """The document of ``text`` that is in no file yet; ``filename`` is what findings are reported under."""
        return cls(filename, text)

    def edited(self, edits: Iterable[Edit]) -> Document:
        """The same file with all of ``edits`` made; raises :class:`ValueError` where they cannot all be made."""
        text = apply_edits(self.text, edits)
        return Document(self.filename, text, encoding=self.encoding, bom=self._bom, content=self._content)

    def pages(self) -> list[tuple[int | None, str]]:
        """What a reader sees of the file, page by page: one page, or each code cell under its number."""
        return [(None, self.text)]

    @property
    def programs(self) -> tuple[Document, ...]:
        """The programs that the file holds, each with its text at the same places, and blanks for the others'.

        The first is the document itself. An edit of one of them can be made in any of them.
        """
        return (self,)

    def program_at(self, location: Location) -> Document:
        """The one of :attr:`programs` whose text stands at ``location``."""
        return self

    @property
    def unparsed(self) -> tuple[tuple[int, str], ...]:
        """The cells that are no Python: the offset at which each stands, left empty in the text, and its source."""
        return ()

    def holds(self, mentions: Mentions) -> bool:
        """Whether the program holds ``mentions``, now that its file was chosen because that does."""
        return True

    def encode(self) -> bytes:
        """The bytes of the file that holds this document's text."""
        return self._bom + self.text.encode(self.encoding)

    def write(self) -> None:
        """Replace the file by this document, all at once or not at all, keeping its mode and a link to it.

        Raises :class:`UnwritableDocument`, also where somebody else changed the file since it was read.
        """
        path = os.path.realpath(self.filename)
        try:
            content = self.encode()
        except UnicodeError as error:
            raise UnwritableDocument(self.filename, f"could not be encoded: {_reason(error)}") from None
        try:
            if self._content is not None and _read_bytes(path) != self._content:
                raise UnwritableDocument(self.filename, "changed on disk since it was read, so it was left alone")
            _replace(path, content)
        except (OSError, UnreadableDocument) as error:
            raise UnwritableDocument(self.filename, f"could not be written: {_reason(error)}") from None
        self._content = content

    @property
    def content(self) -> bytes:
        """What the file held when it was read or written last."""
        return self.encode() if self._content is None else self._content

    @cached_property
    def newline(self) -> str:
        """The newline that most rows end with."""
        windows = self.text.count("\r\n")
        counts = {
            "\n": self.text.count("\n") - windows,
            "\r\n": windows,
            "\r": self.text.count("\r") - windows,
        }
        return max(counts, key=counts.__getitem__)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in NEWLINE.finditer(self.text))]

    @property
    def row_count(self) -> int:
        """How many rows the text has; an empty row after the last newline counts."""
        return len(self._line_starts)

    def row(self, number: int) -> str:
        """The text of the row ``number`` (1-based) without its newline."""
        end = self._line_starts[number] if number < self.row_count else len(self.text)
        return self.text[self._line_starts[number - 1] : end].rstrip("\r\n")

    def location(self, offset: int) -> Location:
        """The place of the character at ``offset``."""
        row = bisect.bisect_right(self._line_starts, offset)
        return Location(offset, row, offset - self._line_starts[row - 1] + 1)

    def location_at(self, row: int, column: int) -> Location:
        """The place at a row and column."""
        return Location(self._line_starts[row - 1] + column - 1, row, column)

    def place(self, location: Location) -> Place:
        """``location`` as a reader finds it."""
        return Place(location.row, location.column)

    def file_place(self, location: Location) -> Place:
        """``location`` by the rows of the file, as somebody finds it who does not know what a cell is."""
        return self.place(location)

    def rows_beside(self, row: int) -> range:
        """The rows that stand together with ``row``: those of the file, or of its cell."""
        return range(1, self.row_count + 1)

    def source_row(self, number: int) -> str:
        """The row ``number`` as it stands in the file, where the text has something else in its place."""
        return self.row(number)

    def at(self, row: int, column: int) -> Location:
        """The place at ``row`` and ``column`` (1-based), or the nearest one that the text has."""
        row = min(max(row, 1), self.row_count)
        column = min(max(column, 1), len(self.row(row)) + 1)
        return Location(self._line_starts[row - 1] + column - 1, row, column)

    def edit(self, start: int, end: int, content: str) -> Edit:
        """The edit that replaces the characters from offset ``start`` up to ``end`` by ``content``.

        Newlines in ``content`` become the document's own.
        """
        return Edit(self.location(start), self.location(end), NEWLINE.sub(self.newline, content))


class UnopenedDocument(Document):
    """A file of which nothing is to be said, and that is read only if somebody asks for more than its name."""

    def __init__(self, filename: str) -> None:
        self.filename = filename

    def __getattribute__(self, name: str) -> Any:
        if name == "filename" or name.startswith("__"):
            return super().__getattribute__(name)
        document = Document.read(self.filename)
        self.__dict__.update(document.__dict__)
        self.__class__ = type(document)  # type: ignore[assignment]
        return getattr(self, name)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with all of ``edits`` made; raises :class:`ValueError` where two of them overlap."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=_span):
        if edit.start.offset < position:
            raise ValueError("its edits overlap")
        parts += (text[position : edit.start.offset], edit.content)
        position = edit.end.offset
    return "".join((*parts, text[position:]))


def _span(edit: Edit) -> tuple[int, int]:
    return edit.start.offset, edit.end.offset


def decoded(filename: str, content: bytes, encoding: str | None = None) -> tuple[str, str, bytes]:
    """The text that ``content`` is, its encoding (the declared one, if not given) and its byte-order mark.

    Raises :class:`UnreadableDocument`.
    """
    bom = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    encoding = encoding or _declared_encoding(filename, content)
    try:
        text = content[len(bom) :].decode(encoding)
    except (UnicodeError, LookupError) as error:
        raise UnreadableDocument(filename, f"could not be decoded as {encoding}: {_reason(error)}") from None
    if encoding != "utf-8" and not _is_encoded(text, encoding, content[len(bom) :]):
        raise UnreadableDocument(filename, f"could not be read: {encoding} would write its text in other bytes")
    return text, encoding, bom


def _is_encoded(text: str, encoding: str, content: bytes) -> bool:
    try:
        return text.encode(encoding) == content
    except UnicodeError:
        return False


def _declared_encoding(filename: str, content: bytes) -> str:
    """What a byte-order mark, a coding comment (PEP 263) or Python's default says the bytes are."""
    if b"coding" not in content:
        return "utf-8"
    import tokenize

    lines = _LINE.finditer(content)
    try:
        encoding, _ = tokenize.detect_encoding(lambda: next(lines)[0])
    except SyntaxError as error:
        raise UnreadableDocument(filename, f"could not be decoded: {error.msg}") from None
    return "utf-8" if encoding == "utf-8-sig" else encoding


def read_regular_file(path: str) -> bytes:
    """The bytes of the file at ``path``; raises :class:`OSError`."""
    return read_with_status(path)[1]


def read_with_status(path: str) -> tuple[os.stat_result, bytes]:
    """The bytes of the file at ``path``, and what the system said of it before they were read; raises :class:`OSError`.

    A pipe, a socket or a device is refused: reading one may wait for ever, or end never.
    """
    try:
        handle = os.open(path, _OPEN_FLAGS)
    except OSError as error:
        if error.errno == errno.ENXIO:  # what opening a socket says
            raise OSError(errno.EINVAL, _NOT_REGULAR) from None
        raise
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            raise OSError(errno.EINVAL, _NOT_REGULAR)
        content = os.read(handle, _CHUNK)
        if len(content) == _CHUNK:
            parts = [content]
            while part := os.read(handle, _CHUNK):
                parts.append(part)
            content = b"".join(parts)
        return status, content
    finally:
        os.close(handle)


def _read_bytes(filename: str) -> bytes:
    try:
        return read_regular_file(filename)
    except OSError as error:
        raise UnreadableDocument(filename, _reason(error)) from None


def _replace(path: str, content: bytes) -> None:
    import tempfile

    if not os.access(path, os.W_OK):  # replacing it needs no permission of its own
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    status = os.stat(path)
    handle, temporary = tempfile.mkstemp(prefix=".amplint-", dir=os.path.dirname(path))
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if hasattr(os, "chown"):
            try:
                os.chown(temporary, status.st_uid, status.st_gid)
            except OSError:
                pass  # only the owner's group or the superuser may: the mode matters more
        os.chmod(temporary, stat.S_IMODE(status.st_mode))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
