"""The file of a cache: read whole, kept in memory, replaced at once.

A file's state is told by size, inode and times, so one that did not change is not even opened. Where those say nothing,
its bytes are compared by a digest.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import time
from collections.abc import Mapping
from typing import Any

from amplint.digest import digest
from amplint.documents import read_regular_file

DIRECTORY = ".amplint_cache"
_LABELS = {
    ".gitignore": "# Made by amplint.\n*\n",
    "CACHEDIR.TAG": (
        "Signature: 8a477f597d28d172789f06886806bc55\n"
        "# A cache of amplint, which may be removed. See https://bford.info/cachedir/\n"
    ),
}

_OWN = re.compile(r"[0-9a-f]{32}(\.json|-\d+\.part)")
_TICK = 2_000_000_000  # within so many nanoseconds a file may change twice and have the same time of change
_UNKNOWN = 0
_KEPT = 30 * 86_400  # seconds for which the cache of settings that nobody uses stays


class Shelf:
    """What is known of the files of one folder, by their names.

    A record is the stamp of a file that mentions nothing; a list of that stamp, where it was parsed, too; or a list of
    the stamp and of what was found in it.
    """

    def __init__(self, cache: Cache, records: dict[str, Any]) -> None:
        self._cache, self._records = cache, records

    def knows(self, name: str) -> bool:
        """Whether there is a record of the file, as it was at some time."""
        return name in self._records

    def is_settled(self, name: str, status: os.stat_result, *, parsed: bool = False) -> bool:
        """Whether the file is as it was when it mentioned nothing and, where that is asked, was ``parsed``."""
        record = self._records.get(name)
        if isinstance(record, list):
            return len(record) == 1 and record[0] == _stamp(status)
        return not parsed and record == _stamp(status)

    def settle(self, name: str, status: os.stat_result, *, parsed: bool = False) -> None:
        """Note that the file, which had ``status`` before it was read, mentions nothing."""
        stamp = self._cache.trusted_stamp(status)
        self.put(name, [stamp] if parsed else stamp)

    def is_unchanged(self, name: str, status: os.stat_result) -> bool:
        """Whether the file is as it was when something was found in it."""
        record = self._records.get(name)
        return isinstance(record, list) and len(record) == 2 and record[0] == _stamp(status)

    def found(self, name: str) -> Any:
        """What was found in the file, as JSON."""
        record = self._records.get(name)
        return record[1] if isinstance(record, list) and len(record) == 2 else None

    def note(self, name: str, status: os.stat_result, found: Mapping[str, Any]) -> None:
        """Note what was found in the file, which had ``status`` before it was read."""
        self.put(name, [self._cache.trusted_stamp(status), found])

    def put(self, name: str, record: Any) -> None:
        """Keep ``record``, if it is another than what is known."""
        if self._records.get(name) != record:
            self._records[name] = record
            self._cache.changed = True

    def keep_only(self, names: set[str]) -> None:
        """Forget the files that are not there any more."""
        gone = self._records.keys() - names
        if gone:
            for name in gone:
                del self._records[name]
            self._cache.changed = True


class Cache:
    """What is known of the files of one project, under the same settings and the same amplint."""

    def __init__(self, directory: str, root: str, key: str) -> None:
        """``root`` is the folder of the project, ``key`` what else the records depend on."""
        self.changed = False
        self._directory = directory
        self._root = os.path.join(root, "")
        self._key = digest(f"{root}\n{key}")
        self._path = os.path.join(directory, f"{self._key}.json")
        self._newest = time.time_ns() - _TICK
        self._shelves: dict[str, dict[str, Any]] = {}
        self._others: dict[str, Any] = {}
        self._digests: dict[str, str | None] = {}
        self._load()

    def shelf(self, folder: str) -> Shelf:
        """The records of the files in ``folder``, which is absolute."""
        return Shelf(self, self._shelves.setdefault(self.inside(os.path.join(folder, "")), {}))

    def inside(self, path: str) -> str:
        """``path`` from the root, where it is below it: a project may be moved."""
        return path[len(self._root) :] if path.startswith(self._root) else path

    def digest_of(self, path: str) -> str | None:
        """What is in the file at ``path`` (from the root), or None if there is no such file."""
        if path not in self._digests:
            self._digests[path] = self._fresh_digest(path)
        return self._digests[path]

    def trusted_stamp(self, status: os.stat_result) -> int:
        """The stamp of a file, or one that no file has, if it might change yet and have the same one."""
        return _stamp(status) if status.st_mtime_ns < self._newest else _UNKNOWN

    def save(self) -> None:
        """Write what has become known, if anything; a cache that cannot be written is done without."""
        if not self.changed:
            return
        self.changed = False
        shelves = {folder: records for folder, records in self._shelves.items() if records}
        content = {"key": self._key, "folders": shelves, "others": self._others}
        try:
            prepare(self._directory)
            _replace(self._path, json.dumps(content, separators=(",", ":")).encode())
            self._discard_old()
        except (OSError, ValueError, RecursionError):
            pass

    def _load(self) -> None:
        try:
            content = json.loads(read_regular_file(self._path))
            folders, others = content["folders"], content["others"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return  # there is none yet, or it is damaged
        if content["key"] == self._key and isinstance(others, dict) and _are_shelves(folders):
            self._shelves, self._others = folders, others

    def _fresh_digest(self, path: str) -> str | None:
        absolute = os.path.join(self._root, path)
        try:
            status = os.stat(absolute)
            known = self._others.get(path)
            if isinstance(known, list) and len(known) == 2 and known[0] == _stamp(status):
                return str(known[1])
            found = digest(read_regular_file(absolute))
        except OSError:
            return None
        record = [self.trusted_stamp(status), found]
        if self._others.get(path) != record:
            self._others[path] = record
            self.changed = True
        return found

    def _discard_old(self) -> None:
        limit = time.time() - _KEPT
        with os.scandir(self._directory) as scan:
            old = [entry.path for entry in scan if _OWN.fullmatch(entry.name) and entry.stat().st_mtime < limit]
        for path in old:
            os.unlink(path)


def is_own(name: str) -> bool:
    """Whether a file of this name in a cache's folder is one that amplint wrote there."""
    return name in _LABELS or _OWN.fullmatch(name) is not None


def prepare(directory: str) -> None:
    """Make the folder of a cache, which neither Git nor backups look into; raises :class:`OSError`.

    A folder that holds something else, too, is left as it is.
    """
    os.makedirs(directory, exist_ok=True)
    names = os.listdir(directory)
    if all(map(is_own, names)):
        for name in _LABELS.keys() - names:
            with contextlib.suppress(FileExistsError), open(os.path.join(directory, name), "x") as file:
                file.write(_LABELS[name])


def remove(directory: str) -> bool:
    """Remove what amplint wrote into the folder of a cache, and the folder if nothing else is in it.

    Returns whether there was anything; raises :class:`OSError`.
    """
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return False
    own = [name for name in names if _OWN.fullmatch(name)]
    paths = [os.path.join(directory, name) for name in own]
    if all(map(is_own, names)):
        paths += (os.path.join(directory, name) for name in names if name in _LABELS)
    for path in paths:
        os.unlink(path)
    if len(paths) == len(names):
        os.rmdir(directory)
    return bool(paths)


def _replace(path: str, content: bytes) -> None:
    """Write the file at once or not at all: another run may be reading or writing it."""
    temporary = f"{os.path.splitext(path)[0]}-{os.getpid()}.part"
    try:
        with open(temporary, "xb") as file:
            file.write(content)
        os.replace(temporary, path)
    except FileExistsError:
        raise  # of a process that had the same number and was killed: it goes when it is old
    except BaseException:
        os.unlink(temporary)
        raise


def _are_shelves(folders: object) -> bool:
    return isinstance(folders, dict) and all(isinstance(records, dict) for records in folders.values())


def _stamp(status: os.stat_result) -> int:
    """One number for the state of a regular file; that of anything else is no file's."""
    if not stat.S_ISREG(status.st_mode):
        return _UNKNOWN + 1
    return hash((status.st_mtime_ns, status.st_size, status.st_ctime_ns, status.st_ino)) | 2
