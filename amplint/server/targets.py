"""What is linted as one, a text document or the cells of a notebook, and how its places are named to an editor."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from lsprotocol import types
from pygls.uris import to_fs_path
from pygls.workspace import PositionCodec, Workspace

from amplint.documents import Document
from amplint.documents.document import NEWLINE
from amplint.findings import Finding, Location
from amplint.suppressions import Suppressions


@dataclass(frozen=True)
class Page:
    """What the editor shows as one document of its own: a file, or a cell."""

    uri: str
    version: int | None
    text: str


@dataclass(frozen=True)
class Target:
    """A document of amplint's, what it is read from, and the editor's documents that it is made of, by their cells."""

    uri: str
    version: int | None
    filename: str
    content: str
    pages: dict[int | None, Page]
    codec: PositionCodec

    @cached_property
    def document(self) -> Document:
        """All pages as one document; raises :class:`amplint.documents.DocumentError`."""
        if None in self.pages:
            return Document.from_source(self.filename, self.content)
        return Document.from_bytes(self.filename, self.content.encode("utf-8", "surrogatepass"))

    def position(self, location: Location, document: Document | None = None) -> types.Position:
        """``location`` as the editor counts in its page."""
        document = document or self.document
        place = document.place(location)
        before = document.source_row(location.row)[: place.column - 1]
        return types.Position(place.row - 1, self.codec.client_num_units(before))

    def range(self, start: Location, end: Location) -> types.Range:
        """The range from ``start`` to ``end``, which are in one page."""
        return types.Range(self.position(start), self.position(end))

    def page(self, location: Location) -> Page:
        """The page in which ``location`` is."""
        return self.pages[self.document.place(location).cell]

    def silencing(self, finding: Finding) -> types.TextDocumentEdit:
        """The edit that adds the comment by which ``finding`` is silenced."""
        document = self.document
        row = Suppressions(document.program_at(finding.start)).row_for(finding)
        place = document.place(document.at(row, 1))
        page = self.pages[place.cell]
        text = document.source_row(row)
        end = types.Position(place.row - 1, self.codec.client_num_units(text))
        edit = types.TextEdit(types.Range(end, end), f"  # amplint: ignore[{finding.code}]")
        return types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(page.uri, page.version), [edit])

    def edits(self, after: Document) -> Iterator[tuple[Page, list[types.TextEdit]]]:
        """What makes ``after`` of the pages that differ there."""
        for cell, text in after.pages():
            page = self.pages[cell]
            if page.text != text:
                yield page, list(self._edits(page.text, text))

    def _edits(self, before: str, after: str) -> Iterable[types.TextEdit]:
        old, new = _rows(before), _rows(after)
        for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                place = types.Range(self._row_start(old, start), self._row_start(old, end))
                yield types.TextEdit(place, "".join(new[new_start:new_end]))

    def _row_start(self, rows: list[str], index: int) -> types.Position:
        if index == len(rows) and rows and not NEWLINE.search(rows[-1]):
            return types.Position(index - 1, self.codec.client_num_units(rows[-1]))
        return types.Position(index, 0)


def target_of(workspace: Workspace, uri: str) -> Target | None:
    """What the editor's document at ``uri``, or the notebook that it is a cell of or is, is linted as."""
    notebook = workspace.get_notebook_document(notebook_uri=uri) or workspace.get_notebook_document(cell_uri=uri)
    if notebook is not None:
        return _notebook(workspace, notebook)
    if uri not in workspace.text_documents:
        return None
    text = workspace.text_documents[uri]
    page = Page(uri, text.version, text.source)
    return Target(uri, text.version, _filename(uri) or "-", text.source, {None: page}, workspace.position_codec)


def _notebook(workspace: Workspace, notebook: types.NotebookDocument) -> Target:
    pages: dict[int | None, Page] = {}
    cells = []
    for number, cell in enumerate(notebook.cells, 1):
        text = workspace.get_text_document(cell.document)
        pages[number] = Page(cell.document, text.version, text.source)
        metadata = {"vscode": {"languageId": text.language_id or "python"}}
        kind = "code" if cell.kind is types.NotebookCellKind.Code else "markdown"
        cells.append({"cell_type": kind, "metadata": metadata, "source": text.source})
    content = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    filename = _filename(notebook.uri) or "untitled"
    filename = filename if filename.endswith(".ipynb") else f"{filename}.ipynb"
    return Target(notebook.uri, notebook.version, filename, content, pages, workspace.position_codec)


def _filename(uri: str) -> str | None:
    return to_fs_path(uri) if uri.startswith("file:") else None


def _rows(text: str) -> list[str]:
    rows, start = [], 0
    for match in NEWLINE.finditer(text):
        rows.append(text[start : match.end()])
        start = match.end()
    return [*rows, text[start:]] if start < len(text) else rows
