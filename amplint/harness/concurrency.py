"""Virtual CUDA in the threads and processes that a program starts."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

from amplint.harness.patches import Patches

Modes = Callable[[], contextlib.AbstractContextManager[Any]]


class _Target:
    """What a new process runs: the program's function, under virtual CUDA there, too.

    A forked process has it already; one that is started anew imports amplint to unpickle this.
    """

    def __init__(self, target: Callable[..., Any], mixed_precision: bool) -> None:
        self._target, self._mixed_precision = target, mixed_precision

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from amplint.harness.virtual_cuda import is_active, virtual_cuda

        if is_active():
            return self._target(*args, **kwargs)
        with virtual_cuda(mixed_precision=self._mixed_precision):
            return self._target(*args, **kwargs)


def spread(patches: Patches, modes: Modes, mixed_precision: bool) -> None:
    """Enter ``modes`` in each new thread, and virtual CUDA in each new process of :mod:`multiprocessing`."""
    bootstrap: Callable[..., None] = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]
    init: Callable[..., None] = BaseProcess.__init__

    @functools.wraps(bootstrap)
    def with_modes(thread: threading.Thread) -> None:
        with modes():
            bootstrap(thread)

    @functools.wraps(init)
    def with_virtual_cuda(process: Any, group: None = None, target: Any = None, *args: Any, **kwargs: Any) -> None:
        init(process, group, None if target is None else _Target(target, mixed_precision), *args, **kwargs)

    patches.set(threading.Thread, "_bootstrap_inner", with_modes)
    patches.set(BaseProcess, "__init__", with_virtual_cuda)
