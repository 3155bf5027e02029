"""What findings depend on besides files and settings: amplint itself, rule packs, LibCST and the Python that runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import lru_cache

_NO_PART = frozenset({"__pycache__", "fixtures"})  # folders without code that runs


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """A line that changes with any of them.

    Sources count by their size and time of change: a version alone stays the same while its author works on it.
    """
    import amplint
    from amplint.registry import installed, metadata, packs

    parts = [amplint.__version__, sys.version, f"{sys.maxsize:x}"]
    parts += (name for _, name in metadata() if name.startswith("libcst-"))
    parts += (f"{pack.name} {pack.value} {pack.distribution}" for pack in packs())
    folders, files = set(), set()
    for module in {"amplint", "amplint.rules", *(rule.__module__ for rule in installed().rules)}:
        file = getattr(sys.modules.get(module), "__file__", None)
        if file:
            files.add(file)
            folder = os.path.dirname(file)
            if os.path.exists(os.path.join(folder, "__init__.py")):
                folders.add(folder)
    outermost = sorted(folder for folder in folders if os.path.dirname(folder) not in folders)
    parts += (_state(entry) for folder in outermost for entry in _sources(folder))
    parts += (f"{file} {status.st_size} {status.st_mtime_ns}" for file in sorted(files) if (status := _status(file)))
    return "\n".join(parts)


def _sources(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(".py"):
            yield entry
        elif "." not in entry.name and entry.name not in _NO_PART and entry.is_dir():
            yield from _sources(entry.path)


def _state(entry: os.DirEntry[str]) -> str:
    try:
        status = entry.stat()
    except OSError:
        return entry.path
    return f"{entry.path} {status.st_size} {status.st_mtime_ns}"


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
