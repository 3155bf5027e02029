"""Places in the user's program."""

from __future__ import annotations

import functools
import linecache
import os
import sys
import sysconfig
from types import CodeType, FrameType
from typing import NamedTuple

import torch

import amplint


class Site(NamedTuple):
    """A file, and a row and column in it (1-based)."""

    filename: str
    row: int
    column: int


def _folder(path: str) -> str:
    return os.path.join(os.path.dirname(os.path.abspath(path)), "")


AMPLINT = _folder(amplint.__file__)
TORCH = _folder(torch.__file__)
# the program is what is neither ours, nor PyTorch's, nor installed
_INSTALLED = tuple(
    {os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)


def caller() -> FrameType | None:
    """The innermost frame that is not amplint's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(AMPLINT):
        frame = frame.f_back
    return frame


def user_site() -> Site:
    """Where the user's program is now; the caller of amplint or PyTorch where all of it is installed."""
    nearest: FrameType | None = None
    frame = caller()
    while frame is not None:
        whose = _whose(frame.f_code.co_filename)
        if whose == "program":
            return _site(frame)
        if whose == "installed":
            nearest = nearest or frame
        frame = frame.f_back
    return _site(nearest) if nearest is not None else Site("<unknown>", 1, 1)


def is_the_programs_own() -> bool:
    """Whether the program itself has called amplint, and not something that is installed."""
    frame = caller()
    return frame is not None and _whose(frame.f_code.co_filename) == "program"


@functools.cache
def _whose(filename: str) -> str:
    if filename.startswith((TORCH, AMPLINT, "<")):
        return "torch"
    return "installed" if filename.startswith(_INSTALLED) else "program"


def _site(frame: FrameType) -> Site:
    return Site(frame.f_code.co_filename, *_position(frame.f_code, frame.f_lasti, frame.f_lineno))


@functools.lru_cache(4096)
def _position(code: CodeType, instruction: int, row: int) -> tuple[int, int]:
    if sys.version_info >= (3, 11):
        from itertools import islice

        start, _, column, _ = next(islice(code.co_positions(), instruction // 2, None), (None, None, None, None))
        if start is not None and column is not None:
            return start, column + 1
    line = linecache.getline(code.co_filename, row)
    return row, len(line) - len(line.lstrip()) + 1
