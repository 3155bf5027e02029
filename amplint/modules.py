"""The other files of a document's project, by the dotted names under which the document imports them.

Nothing is imported or run: names are looked up as Python would look them up, in the folder of the document and in the
folders around it, up to the one that holds the project. A name that could mean two files means none.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

from amplint.digest import digest
from amplint.documents import Document, DocumentError
from amplint.documents.document import decoded
from amplint.findings import Related
from amplint.syntax.units import NEVER_LOCAL

_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")
LARGEST = 400_000
"""Bytes of a file beyond which nobody looks into it for another's sake."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the project, with its text."""

    path: str
    text: str

    def related(self, message: str, start: tuple[int, int], end: tuple[int, int]) -> Related:
        """What stands here between two places, each a row and a column, as what explains a finding of another file."""
        document = Document.from_source(self.path, self.text)
        return Related(message, document.location_at(*start), document.location_at(*end), self.path)


class Modules:
    """What imports in a file of a project stand for.

    ``consulted`` holds the digest of every file that was looked at, None for those that were not there: what was found
    of a document holds for as long as these stay so.
    """

    def __init__(self, filename: str) -> None:
        self.filename = os.path.abspath(filename)
        self.root = _root(os.path.dirname(self.filename))
        self.consulted: dict[str, str | None] = {}
        self._sources: dict[str, Source | None] = {}
        self._foreign: set[tuple[str, str]] = set()
        self._found: dict[tuple[str, str], tuple[Source, str] | None] = {}

    @staticmethod
    def around(filename: str) -> Modules | None:
        """The modules around the file of this name; None where it is in no folder, as standard input is."""
        return Modules(filename) if os.path.isfile(filename) else None

    def find(self, dotted: str, importer: str | None = None) -> tuple[Source, str] | None:
        """The file that holds what ``dotted`` names when the file ``importer`` imports it, and the rest of the name.

        A relative name begins with its dots.
        """
        importer = self.filename if importer is None else importer
        question = importer, dotted
        if question not in self._found:
            self._found[question] = self._find(dotted, importer)
        return self._found[question]

    def _find(self, dotted: str, importer: str) -> tuple[Source, str] | None:
        level = len(dotted) - len(dotted.lstrip("."))
        parts = dotted[level:].split(".")
        folder = os.path.dirname(importer)
        if not level and (parts[0] in NEVER_LOCAL or (folder, parts[0]) in self._foreign):
            return None
        folders = [_above(folder, level - 1)] if level else self._folders(folder)
        found = {place: None for folder in folders for place in [self._place(folder, parts)] if place is not None}
        if not level and not found and not any(os.path.isdir(os.path.join(f, parts[0])) for f in folders):
            self._foreign.add((folder, parts[0]))
        if len(found) != 1:
            return None
        path, used = next(iter(found))
        source = self._source(path)
        return None if source is None else (source, ".".join(parts[used:]))

    def source(self, path: str) -> Source:
        """The file at a path that :meth:`find` has found."""
        source = self._sources[path]
        assert source is not None
        return source

    def _folders(self, folder: str) -> list[str]:
        """Where Python may look for an absolute name: beside the script, and in the folders around it."""
        folders: list[str] = []
        while folder.startswith(self.root):
            folders += [folder, os.path.join(folder, "src")]
            if folder == self.root or folder == os.path.dirname(folder):
                break
            folder = os.path.dirname(folder)
        return folders

    def _place(self, folder: str, parts: list[str]) -> tuple[str, int] | None:
        """The file of the longest part of a dotted name that is a module, and how many names that part has."""
        found = None
        for used, name in enumerate(parts, 1):
            if not name.isidentifier():
                break
            folder = os.path.join(folder, name)
            package = os.path.join(folder, "__init__.py")
            if self._exists(package):  # comes before a module of the same name
                found = package, used
            elif self._exists(folder + ".py"):
                return folder + ".py", used
            elif not os.path.isdir(folder):
                break
        return found

    def _exists(self, path: str) -> bool:
        exists = os.path.isfile(path) and os.path.realpath(path).startswith(
            os.path.join(os.path.realpath(self.root), "")
        )
        if not exists:
            self.consulted[path] = None
        return exists

    def _source(self, path: str) -> Source | None:
        if path not in self._sources:
            content = _content(path)
            self.consulted[path] = None if content is None else digest(content)
            is_small = content is not None and len(content) <= LARGEST
            self._sources[path] = _decoded(path, content) if content is not None and is_small else None
        return self._sources[path]


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _decoded(path: str, content: bytes) -> Source | None:
    try:
        return Source(path, decoded(path, content)[0])
    except DocumentError:
        return None


def _above(folder: str, levels: int) -> str:
    for _ in range(levels):
        folder = os.path.dirname(folder)
    return folder


@lru_cache(maxsize=1024)
def _root(folder: str) -> str:
    """The folder that holds the project: where its settings are, or the outermost of the packages around."""
    packages = folder
    while os.path.isfile(os.path.join(packages, "__init__.py")):
        packages = os.path.dirname(packages)
    around = folder
    while around != os.path.dirname(around):
        if any(os.path.exists(os.path.join(around, name)) for name in _PROJECT_FILES):
            return around
        around = os.path.dirname(around)
    return packages
