"""Sources cut into batches: what one worker looks into at a time, by names alone, so that little travels."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from amplint.config.patterns import Patterns
from amplint.config.settings import DEFAULT_EXCLUDE
from amplint.digest import digest

FILES = 200
"""How many files of a folder are one batch."""
_SUFFIXES = (".py", ".ipynb")


class SourceError(Exception):
    """A source is nothing that can be swept; the message says why."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some ``files`` of a folder, a whole ``repository``, or the row group ``group`` of a Parquet file."""

    kind: str
    source: str
    files: tuple[str, ...] = ()
    group: int = 0

    @property
    def name(self) -> str:
        """What tells it from every other, as the name of a file."""
        return digest(repr((self.kind, self.source, self.files, self.group)))

    def to_json(self) -> dict[str, Any]:
        """What :meth:`from_json` reads."""
        return asdict(self)

    @staticmethod
    def from_json(said: dict[str, Any]) -> Batch:
        """The batch that was written."""
        return Batch(said["kind"], said["source"], tuple(said["files"]), said["group"])


def batches(sources: Sequence[str]) -> Iterator[Batch]:
    """The batches of ``sources``, each once; raises :class:`SourceError`."""
    for source in dict.fromkeys(sources):
        if is_repository(source):
            yield Batch("repository", source if "://" in source else os.path.abspath(source))
        elif source.endswith(".parquet") and os.path.isfile(source):
            yield from _row_groups(os.path.abspath(source))
        elif os.path.isdir(source):
            yield from _folder(os.path.abspath(source))
        elif os.path.isfile(source):
            yield Batch("files", os.path.dirname(os.path.abspath(source)), (os.path.basename(source),))
        else:
            raise SourceError(f"{source}: no such file or directory")


def is_repository(source: str) -> bool:
    """Whether ``source`` is to be cloned: a URL, or a repository without a working tree."""
    return "://" in source or (os.path.isfile(os.path.join(source, "HEAD")) and os.path.isdir(f"{source}/objects"))


def _row_groups(path: str) -> Iterator[Batch]:
    import pyarrow
    import pyarrow.parquet

    try:
        count = pyarrow.parquet.ParquetFile(path).num_row_groups
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise SourceError(f"{path}: {error}") from None
    for group in range(count):
        yield Batch("parquet", path, group=group)


def _folder(folder: str) -> Iterator[Batch]:
    for path in _below(folder, ".parquet"):
        yield from _row_groups(os.path.join(folder, path))
    files = python_files(folder)
    for start in range(0, len(files), FILES):
        yield Batch("files", folder, tuple(files[start : start + FILES]))


def python_files(folder: str) -> list[str]:
    """The Python files and notebooks below ``folder``, named from there, without the usual folders."""
    return list(_below(folder, *_SUFFIXES))


def _below(folder: str, *suffixes: str) -> Iterator[str]:
    usual = Patterns(folder, DEFAULT_EXCLUDE)
    for inner, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not usual.match(os.path.join(inner, name)))
        yield from (
            os.path.relpath(os.path.join(inner, name), folder) for name in sorted(names) if name.endswith(suffixes)
        )
