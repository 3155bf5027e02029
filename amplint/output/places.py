"""Where things stand, as each kind of reader counts and names it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from amplint.documents import Document, DocumentError, Place
from amplint.findings import Finding, Location, Related
from amplint.output.style import relative, shown_path


def shown_place(document: Document, location: Location) -> str:
    """``path:row:column``, as people click on it."""
    return f"{shown_path(document.filename)}:{document.place(location)}"


def absolute_path(document: Document) -> str:
    """The absolute path of the document's file; ``-`` is standard input."""
    return document.filename if document.filename == "-" else os.path.abspath(document.filename)


def portable_path(document: Document) -> str:
    """The path from the working folder where the file is below it, with ``/`` between its parts on every system."""
    return relative(document.filename).replace(os.sep, "/")


def file_place(document: Document, location: Location) -> Place:
    """The place of ``location`` for readers that know files only: of a cell, its rows in the JSON."""
    return document.file_place(location)


def file_message(document: Document, finding: Finding) -> str:
    """The message of ``finding`` for readers that know files only: of a notebook it begins with the place."""
    found = document.place(finding.start)
    return finding.message if found.cell is None else f"{found}: {finding.message}"


def related_places(finding: Finding, document: Document) -> Iterator[tuple[Document, Related]]:
    """The places of a finding of ``document``, but for those in files that are no longer as they were."""
    for related in finding.related:
        home = document if related.filename is None else _read(related.filename, related.end.row)
        if home is not None:
            yield home, related


def _read(filename: str, row: int) -> Document | None:
    try:
        document = Document.read(filename)
    except DocumentError:
        return None
    return document if document.text.count("\n") + 1 >= row else None
