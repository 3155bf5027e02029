"""Places in the user's program."""

from __future__ import annotations

import functools
import linecache
import os
import sys
import sysconfig
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import NamedTuple

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

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
_PASSING_ON = ("__torch_function__", "__torch_dispatch__")
_REPLACEABLE: tuple[ModuleType | type, ...] = (
    *(torch, torch.amp, torch.cuda.amp, torch.autograd, torch.nn.functional, torch.nn.utils, torch.nn.utils.clip_grad),
    *(torch.Tensor, torch.nn.Module, torch.amp.GradScaler, torch.cuda.amp.GradScaler, torch.amp.autocast),
    *(Optimizer, LRScheduler),
)
"""What holds the functions of PyTorch that programs put others in the place of."""


def caller() -> FrameType | None:
    """The innermost frame that is not amplint's, and does not only pass on what another one does."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith(AMPLINT) or frame.f_code.co_name in _PASSING_ON):
        frame = frame.f_back
    return frame


def user_site() -> Site:
    """Where the user's program is now; the caller of amplint or PyTorch where all of it is installed.

    A function of the program that it has put in the place of one of PyTorch's, such as a profiler's, is not where
    something happens, but where that is called.
    """
    nearest: FrameType | None = None
    wrapper: FrameType | None = None
    frame = caller()
    while frame is not None:
        whose = _whose(frame.f_code.co_filename)
        if whose == "program":
            outermost = _stand_in_around(frame)
            if outermost is None:
                return _site(frame)
            wrapper, frame = wrapper or frame, outermost
        elif whose == "installed":
            nearest = nearest or frame
        frame = frame.f_back
    nearest = wrapper or nearest
    return _site(nearest) if nearest is not None else Site("<unknown>", 1, 1)


def _stand_in_around(frame: FrameType) -> FrameType | None:
    """The function in PyTorch's place that ``frame`` runs for: its own, or one of the same file that called it."""
    filename = frame.f_code.co_filename
    around: FrameType | None = frame
    while around is not None and around.f_code.co_filename == filename:
        if _stands_in_for_torch(around.f_code):
            return around
        around = around.f_back
    return None


@functools.lru_cache(4096)
def _stands_in_for_torch(code: CodeType) -> bool:
    return code.co_name in _PASSING_ON or code in _codes_in_torch()


def _codes_in_torch() -> set[CodeType]:
    """The code of what stands in PyTorch's modules and classes now, with what that wraps."""
    optimizers = [cls for cls in Optimizer.__subclasses__() if cls.__module__.startswith("torch.")]
    found: set[CodeType] = set()
    for owner in (*_REPLACEABLE, *optimizers):
        for value in list(vars(owner).values()):
            if isinstance(value, (staticmethod, classmethod, MethodType)):
                value = value.__func__
            while isinstance(value, FunctionType):
                found.add(value.__code__)
                value = value.__dict__.get("__wrapped__")
    return found


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
