"""What came of one document, as a record in a cache, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from amplint.cache.records import Damaged, read, written
from amplint.cache.store import Cache
from amplint.findings import Finding


@dataclass(frozen=True, slots=True)
class Entry:
    """What came of linting a document with this content.

    ``consulted`` are the other files that were looked into for it, by their absolute paths, each with the digest of its
    content, or None where there was no such file: the findings hold only as long as these do.
    """

    digest: str
    findings: tuple[Finding, ...] = ()
    left: tuple[str, ...] = ()
    consulted: Mapping[str, str | None] = field(default_factory=dict)


def record(cache: Cache, entry: Entry, settings: str) -> dict[str, Any]:
    """``entry`` under the settings with this digest, for the file's shelf in ``cache``."""
    found: dict[str, Any] = {"digest": entry.digest, "settings": settings}
    if entry.findings:
        found["findings"] = [written(finding) for finding in entry.findings]
    if entry.left:
        found["left"] = list(entry.left)
    if entry.consulted:
        found["consulted"] = {cache.inside(path): known for path, known in entry.consulted.items()}
    return found


def recall(cache: Cache, found: Any, settings: str) -> Entry | None:
    """The entry that :func:`record` wrote under the same settings, if all files that it depends on are as they were."""
    try:
        if found["settings"] != settings:
            return None
        if any(cache.digest_of(path) != known for path, known in found.get("consulted", {}).items()):
            return None
        findings = tuple(map(read, found.get("findings", ())))
        return Entry(str(found["digest"]), findings, tuple(map(str, found.get("left", ()))))
    except (Damaged, KeyError, TypeError, AttributeError, ValueError):
        return None
