"""A CPU that stands in for CUDA."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator

import torch

from amplint.harness import autocast, compilation, concurrency, cuda_queries, devices
from amplint.harness.autocast_lists import AutocastListsMode
from amplint.harness.patches import Patches

_active = 0


@contextlib.contextmanager
def virtual_cuda(*, mixed_precision: bool = True) -> Iterator[None]:
    """Inside this context a program written for CUDA runs on the CPU, with the numerics of CUDA's autocast.

    With ``mixed_precision=False`` every autocast region and gradient scaler behaves as if made with
    ``enabled=False``: the float32 run that a mixed-precision run is compared with. Outside everything is as it was,
    also after an exception. Threads and processes that the program starts inside are covered.
    """
    global _active
    # PyTorch imports this at the first optimizer, and it catalogues the functions of torch.cuda by identity
    importlib.import_module("torch._dynamo")
    with Patches() as patches:
        cuda_queries.answer(patches)
        devices.redirect(patches)
        compilation.run_eagerly(patches)
        autocast.emulate(patches, mixed_precision)
        concurrency.spread(patches, _modes, mixed_precision)
        _active += 1
        try:
            with _regions_left_behind(), _modes():
                yield
        finally:
            _active -= 1


def is_active() -> bool:
    """Whether CUDA is stood in for now."""
    return _active > 0


@contextlib.contextmanager
def _regions_left_behind() -> Iterator[None]:
    """End the regions of autocast that a program leaves open: one that fails on entering has switched it on already."""
    if not hasattr(torch, "get_autocast_dtype"):  # torch 2.3
        yield
        return
    before = {kind: (torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in ("cuda", "cpu")}
    try:
        yield
    finally:
        for kind, (enabled, dtype) in before.items():
            torch.set_autocast_enabled(kind, enabled)
            torch.set_autocast_dtype(kind, dtype)


@contextlib.contextmanager
def _modes() -> Iterator[None]:
    with devices.DeviceMode(), AutocastListsMode():
        yield
