"""The count that a long run shows on a terminal."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from amplint.cli import progress


class Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("terminal", "seconds", "shown"),
    [(True, 0.6, "\r2/3 files\r3/3 files\r\x1b[K"), (True, 0.1, ""), (False, 0.6, "")],
)
def test_a_long_run_is_counted(monkeypatch: pytest.MonkeyPatch, terminal: bool, seconds: float, shown: str) -> None:
    stream, clock = Stream(terminal), [0.0]
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "monotonic", lambda: clock[0])

    def results() -> Iterator[int]:
        for number in range(3):
            clock[0] += seconds
            yield number

    project: Any = SimpleNamespace(found=3)
    assert list(progress.with_progress(results(), project)) == [0, 1, 2]
    assert stream.getvalue() == shown
