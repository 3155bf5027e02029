"""Patterns of file names, as ``exclude`` and ``per-file-ignores`` have them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cached_property

_GLOB = re.compile(r"[*?\[/]")


class Patterns:
    """Patterns that match a path by its last part or, if they hold a ``/``, as a path from ``folder``."""

    def __init__(self, folder: str, patterns: Iterable[str]) -> None:
        self.folder = folder
        self.patterns = tuple(patterns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Patterns) and (self.folder, self.patterns) == (other.folder, other.patterns)

    def __hash__(self) -> int:
        return hash((self.folder, self.patterns))

    def match(self, path: str) -> bool:
        """Whether one of them matches ``path``, which is absolute."""
        if os.path.basename(path) in self._plain:
            return True
        return any(fnmatchcase(path, pattern) for pattern in self._globs)

    @cached_property
    def _plain(self) -> frozenset[str]:
        return frozenset(pattern for pattern in self.patterns if not _GLOB.search(pattern))

    @cached_property
    def _globs(self) -> tuple[str, ...]:
        globs: list[str] = []
        base = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in self.folder)
        for pattern in self.patterns:
            if _GLOB.search(pattern):
                anywhere = "/" not in pattern.rstrip("/")
                pattern = os.path.join("*" if anywhere else base, os.path.normpath(pattern))
                globs += (pattern, pattern.replace(f"**{os.sep}", ""))
        return tuple(dict.fromkeys(globs))
