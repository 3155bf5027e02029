"""Where things stand, as each kind of reader counts and names it."""

from __future__ import annotations

import os

from amplint.documents import Document, Place
from amplint.findings import Finding, Location
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
