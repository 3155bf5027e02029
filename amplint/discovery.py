"""From paths to the files that may hold something: folders walked, ignored files left out, bytes searched.

Most files of a project never mention AMP, so what is done for every file is as little as can be: read its bytes and
search them. Whether a file is ignored or excluded is asked only of the few that are left then.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from amplint.config import Configuration
from amplint.documents import PROSE_SUFFIXES, Document, UnreadableDocument, read_regular_file
from amplint.ignores import IgnoreFiles
from amplint.mentions import Mentions

_SUFFIXES = (".py", ".ipynb")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to look into: its path as it is to be opened, the folder it is in, and its size in bytes."""

    path: str
    folder: str
    size: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A path about which amplint could not do its job, and why."""

    path: str
    message: str


class Discovery:
    """Finds the candidates below paths: Python files and notebooks and, where ``include_docs`` or the settings say so,
    pages with code.

    A file that is named is always looked into, unless ``force_exclude`` holds it to the same exclusions as the
    files that are found in folders.
    """

    def __init__(
        self,
        configuration: Configuration,
        mentions: Mentions,
        *,
        force_exclude: bool = False,
        include_docs: bool | None = None,
    ) -> None:
        self._configuration = configuration
        self._include_docs = include_docs
        self._mentions = mentions
        self._force_exclude = force_exclude
        self.searched = 0  # how many files were read, whether they hold anything or not

    def find(self, paths: Iterable[str]) -> list[Candidate | Problem]:
        """The candidates below ``paths``, each file once, in the order of the paths and of the names in a folder.

        Raises :class:`amplint.config.ConfigError`.
        """
        found: dict[str, Candidate | Problem] = {}
        for path in paths:
            for item in self._below(path):
                real = os.path.realpath(item.path)
                if real in found and os.path.islink(found[real].path):
                    del found[real]  # a link says nothing new beside its file
                found.setdefault(real, item)
        return list(found.values())

    def _below(self, path: str) -> Iterator[Candidate | Problem]:
        absolute = os.path.abspath(path)
        if not os.path.exists(path):
            yield Problem(path, "no such file or directory")
        elif self._force_exclude and self.excludes(absolute):
            return
        elif os.path.isdir(path):
            yield from self._walk(
                "" if path == os.curdir else os.path.join(path, ""), absolute, IgnoreFiles.above(absolute)
            )
        else:
            yield from self._named(path, os.path.dirname(absolute))

    def excludes(self, path: str) -> bool:
        """Whether the settings exclude ``path`` (absolute), or a folder of their project that it is in."""
        settings = self._configuration.settings(os.path.dirname(path))
        while len(path) > len(settings.folder):
            if settings.excludes(path):
                return True
            path = os.path.dirname(path)
        return False

    def _named(self, path: str, folder: str) -> Iterator[Candidate | Problem]:
        try:
            self.searched += 1
            content = read_regular_file(path)
            if self._mentions.stand_in(content) or not _parses(Document.from_bytes(path, content)):
                yield Candidate(path, folder, len(content))
        except OSError as error:
            yield Problem(path, error.strerror or str(error))
        except UnreadableDocument as error:
            yield Problem(path, error.message)

    def _walk(self, prefix: str, folder: str, ignores: IgnoreFiles) -> Iterator[Candidate | Problem]:
        try:
            with os.scandir(prefix or os.curdir) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            yield Problem(prefix, error.strerror or str(error))
            return
        settings = self._configuration.settings(folder)
        docs = settings.include_docs if self._include_docs is None else self._include_docs
        suffixes = (*_SUFFIXES, *PROSE_SUFFIXES) if docs else _SUFFIXES
        if any(entry.name == ".gitignore" for entry in entries):
            ignores = ignores.within(folder)
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                inner = os.path.join(folder, name)
                if not settings.excludes(inner) and not ignores.match(inner, folder=True):
                    yield from self._walk(f"{prefix}{name}{os.sep}", inner, ignores)
            elif name.endswith(suffixes):
                path = prefix + name
                item = self._search(path, folder)
                if item is not None:
                    absolute = os.path.join(folder, name)
                    if not settings.excludes(absolute) and not ignores.match(absolute):
                        yield item

    def _search(self, path: str, folder: str) -> Candidate | Problem | None:
        self.searched += 1
        try:
            content = read_regular_file(path)
        except IsADirectoryError:
            return None  # a link to a folder: not followed, so no loop of links can catch the walk
        except OSError as error:
            return Problem(path, error.strerror or str(error))
        if self._mentions.stand_in(content):
            return Candidate(path, folder, len(content))
        if not content.isascii() and path.endswith(".py"):
            try:
                Document.from_bytes(path, content)
            except UnreadableDocument as error:
                return Problem(path, error.message)
        return None


def _parses(document: Document) -> bool:
    """Whether the Python that runs parses the document; if not, it is for LibCST, which knows more, to say."""
    from amplint.documents.grammar import is_python

    return is_python(document.text)
