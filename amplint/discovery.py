"""From paths to the files that may hold something: folders walked, ignored files left out, bytes searched.

Most files of a project never mention AMP, so what is done for every file is as little as can be: read its bytes and
search them. Whether a file is ignored or excluded is asked only of the few that are left then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from amplint.cache import Cache, Shelf
from amplint.config import Configuration, Settings
from amplint.digest import digest
from amplint.documents import PROSE_SUFFIXES, Document, UnreadableDocument, read_with_status
from amplint.ignores import IgnoreFiles
from amplint.mentions import Mentions

_SUFFIXES = (".py", ".ipynb")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to look into: its path as it is to be opened, the folder it is in, and its size in bytes.

    ``status`` is what the system said of it before it was read, if it is to be looked into whoever names it. ``digest``
    is of its content, where it was read and the cache knows some content of it.
    """

    path: str
    folder: str
    size: int
    status: os.stat_result | None = None
    digest: str | None = None


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
        caches: Callable[[Settings], Cache | None] = lambda settings: None,
    ) -> None:
        """``caches`` has the cache of the files for which settings hold, where there is one."""
        self._configuration = configuration
        self._caches = caches
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
        cache = self._caches(self._configuration.settings(folder))
        shelf = None if cache is None else cache.shelf(folder)
        name = os.path.basename(path)
        try:
            self.searched += 1
            if shelf is not None and shelf.knows(name):
                status = os.stat(path)
                if shelf.is_settled(name, status, parsed=True):
                    return
                if shelf.is_unchanged(name, status):
                    yield Candidate(path, folder, status.st_size, status)
                    return
            status, content = read_with_status(path)
            if self._mentions.stand_in(content):
                yield _candidate(path, folder, status, content, shelf)
            elif not _parses(Document.from_bytes(path, content)):
                yield Candidate(path, folder, len(content))
            elif shelf is not None:
                shelf.settle(name, status, parsed=True)
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
        cache = self._caches(settings)
        shelf = None if cache is None else cache.shelf(folder)
        if shelf is not None:
            shelf.keep_only({entry.name for entry in entries})
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                inner = os.path.join(folder, name)
                if not settings.excludes(inner) and not ignores.match(inner, folder=True):
                    yield from self._walk(f"{prefix}{name}{os.sep}", inner, ignores)
            elif name.endswith(suffixes):
                item = self._search(entry, prefix + name, folder, shelf)
                if item is not None:
                    absolute = os.path.join(folder, name)
                    if not settings.excludes(absolute) and not ignores.match(absolute):
                        yield item

    def _search(
        self, entry: os.DirEntry[str], path: str, folder: str, shelf: Shelf | None
    ) -> Candidate | Problem | None:
        self.searched += 1
        try:
            if shelf is not None and shelf.knows(entry.name):
                status = entry.stat()
                if shelf.is_settled(entry.name, status):
                    return None
                if shelf.is_unchanged(entry.name, status):
                    return Candidate(path, folder, status.st_size, status)
            status, content = read_with_status(path)
        except IsADirectoryError:
            return None  # a link to a folder: not followed, so no loop of links can catch the walk
        except OSError as error:
            return Problem(path, error.strerror or str(error))
        if self._mentions.stand_in(content):
            return _candidate(path, folder, status, content, shelf)
        if not content.isascii() and path.endswith(".py"):
            try:
                Document.from_bytes(path, content)
            except UnreadableDocument as error:
                return Problem(path, error.message)
        if shelf is not None:
            shelf.settle(entry.name, status)
        return None


def _candidate(path: str, folder: str, status: os.stat_result, content: bytes, shelf: Shelf | None) -> Candidate:
    known = shelf is not None and shelf.found(os.path.basename(path)) is not None
    return Candidate(path, folder, len(content), status, digest(content) if known else None)


def _parses(document: Document) -> bool:
    """Whether the Python that runs parses the document; if not, it is for LibCST, which knows more, to say."""
    from amplint.documents.grammar import is_python

    return is_python(document.text)
