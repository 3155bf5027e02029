"""How far a long run is, for who waits at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from amplint.project import Project

T = TypeVar("T")

_PATIENCE = 1.0  # seconds before anything is shown
_INTERVAL = 0.1


def with_progress(results: Iterator[T], project: Project) -> Iterator[T]:
    """``results``, and on a terminal a line on standard error that counts them while it takes long."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield from results
        return
    begin = shown = monotonic()
    try:
        for done, result in enumerate(results, 1):
            now = monotonic()
            if now - begin > _PATIENCE and now - shown > _INTERVAL:
                print(f"\r{done}/{project.found} files", end="", file=stream, flush=True)
                shown = now
            yield result
    finally:
        if shown != begin:
            print("\r\x1b[K", end="", file=stream, flush=True)
