"""CUDA autocast and its scaler on the CPU.

The CUDA half of autocast's state is left to PyTorch, which keeps it on a machine without CUDA too: so every query of
it answers as it does with CUDA. Beside each CUDA region goes a CPU region of the same dtype, which does the work.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.amp import GradScaler, autocast, autocast_mode

from amplint.harness.devices import is_cuda
from amplint.harness.patches import Patches

HALVES = (torch.float16, torch.bfloat16)


def emulate(patches: Patches, mixed_precision: bool) -> None:
    """Make CUDA regions and scalers work on the CPU, or do nothing where ``mixed_precision`` is off.

    The classes themselves are changed, so it does not matter when and how a script imported their names.
    """
    _emulate_regions(patches, mixed_precision)
    _emulate_scaler(patches, mixed_precision)
    _emulate_casts(patches)


def switch_off(patches: Patches) -> None:
    """Make every autocast region and gradient scaler behave as if made with ``enabled=False``."""
    patches.set(autocast, "__init__", _disabled(autocast.__init__))
    patches.set(GradScaler, "__init__", _disabled(GradScaler.__init__))


def _emulate_regions(patches: Patches, mixed_precision: bool) -> None:
    init = autocast.__init__
    enter: Callable[..., Any] = autocast.__enter__
    leave: Callable[..., Any] = autocast.__exit__
    make = init if mixed_precision else _disabled(init)

    @functools.wraps(init)
    def with_companion(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        self._amplint_companion = None
        if is_cuda(self.device):
            companion = autocast.__new__(autocast)
            # CUDA takes other dtypes than the halves and changes nothing then; the CPU would warn
            enabled = self._enabled and self.fast_dtype in HALVES
            dtype = self.fast_dtype if enabled else torch.bfloat16
            init(companion, "cpu", dtype=dtype, enabled=enabled, cache_enabled=self._cache_enabled)
            self._amplint_companion = companion

    @functools.wraps(enter)
    def enter_both(self: Any) -> Any:
        entered = enter(self)
        companion = getattr(self, "_amplint_companion", None)
        if companion is not None:
            enter(companion)
        return entered

    @functools.wraps(leave)
    def leave_both(self: Any, *args: Any) -> Any:
        companion = getattr(self, "_amplint_companion", None)
        if companion is not None:
            leave(companion, *args)
        return leave(self, *args)

    patches.set(autocast, "__init__", with_companion)
    patches.set(autocast, "__enter__", enter_both)
    patches.set(autocast, "__exit__", leave_both)


def _emulate_scaler(patches: Patches, mixed_precision: bool) -> None:
    init = GradScaler.__init__ if mixed_precision else _disabled(GradScaler.__init__)

    @functools.wraps(init)
    def on_cpu(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if is_cuda(self._device):
            self._device = "cpu"  # update(new_scale) compares it with where the scale's tensor is

    patches.set(GradScaler, "__init__", on_cpu)


def _disabled(init: Callable[..., None]) -> Callable[..., None]:
    """``init`` with ``enabled=False``, however it was given."""
    parameters = inspect.signature(init)

    @functools.wraps(init)
    def disabled(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = parameters.bind(self, *args, **kwargs)
        bound.arguments["enabled"] = False
        init(*bound.args, **bound.kwargs)

    return disabled


def _emulate_casts(patches: Patches) -> None:
    """custom_fwd(cast_inputs=...) casts what is on its own device only."""
    if hasattr(autocast_mode, "_cast"):  # torch 2.4
        cast = autocast_mode._cast

        @functools.wraps(cast)
        def cast_on_cpu(value: Any, device_type: str, dtype: torch.dtype) -> Any:
            return cast(value, "cpu" if is_cuda(device_type) else device_type, dtype)

        patches.set(autocast_mode, "_cast", cast_on_cpu)
    else:
        patches.set(torch.cuda.amp.autocast_mode, "_cast", _cast)


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() and value.dtype is not torch.float64 else value
    if isinstance(value, dict):
        return {_cast(key, dtype): _cast(item, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, dtype) for item in value)
    return value
