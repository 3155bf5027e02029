"""The ``.gitignore`` files that speak about a folder, nearest last."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.documents import read_regular_file

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class IgnoreFiles:
    """A chain of ``.gitignore`` files from a repository's top down to one folder."""

    def __init__(self, chain: tuple[tuple[str, GitIgnoreSpec], ...] = ()) -> None:
        self._chain = chain

    @classmethod
    def above(cls, folder: str) -> IgnoreFiles:
        """The ignore files of the Git repository that ``folder`` is in, above the folder itself.

        None of them where they ignore the folder: whoever names it wants it looked into.
        """
        found = cls()
        for parent in reversed(list(_parents_in_repository(folder))):
            found = found.within(parent)
        return cls() if found._chain and found.match(folder, folder=True) else found

    def within(self, folder: str) -> IgnoreFiles:
        """These ignore files and that of ``folder`` below them."""
        try:
            content = read_regular_file(os.path.join(folder, ".gitignore"))
        except OSError:
            return self
        return IgnoreFiles((*self._chain, (folder, _spec(content.decode(errors="surrogateescape").splitlines()))))

    def match(self, path: str, *, folder: bool = False) -> bool:
        """Whether ``path`` (absolute, a ``folder`` or a file) is ignored: the nearest file that mentions it decides."""
        for base, spec in reversed(self._chain):
            inner = os.path.relpath(path, base) if base == os.sep else path[len(base) + 1 :]
            if os.sep != "/":
                inner = inner.replace(os.sep, "/")
            told = spec.check_file(inner + "/" if folder else inner).include
            if told is not None:
                return told
        return False


def _parents_in_repository(folder: str) -> Iterator[str]:
    parents = []
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return iter(())
        folder = parent
        parents.append(folder)
    return iter(parents)


def _spec(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    # to Git `folder/**` is what is in the folder, never the folder itself; pathspec takes the folder too
    lines = [line[:-1] if line.endswith("/**") else line for line in lines]
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return GitIgnoreSpec.from_lines([line for line in lines if _valid(line)])


def _valid(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False  # Git passes over such a line too
    return True
