"""Whether trees may be made by Python's own parser: not where what came of that was found to be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_whole_only: ContextVar[bool] = ContextVar("whole_only", default=False)


class Unlike(Exception):
    """LibCST sees other code in a text than Python's own parser does: what was made of that may be wrong."""


@contextmanager
def whole_trees() -> Iterator[None]:
    """Have LibCST parse every tree that is made meanwhile, all fields of all nodes set."""
    token = _whole_only.set(True)
    try:
        yield
    finally:
        _whole_only.reset(token)


def whole_trees_only() -> bool:
    """Whether every tree is parsed by LibCST."""
    return _whole_only.get()
