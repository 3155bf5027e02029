"""The operations that CUDA autocast treats otherwise than CPU autocast does.

With half inputs CPU autocast leaves many operations in half that CUDA runs in float32, promotes fewer, and allows
binary_cross_entropy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from amplint.harness.autocast import HALVES
from amplint.harness.tensors import tensors_within
from amplint.operators import FLOAT32, WIDEST

_LOWER = frozenset({"addmv", "addr", "mv"})  # the others CPU autocast lowers, too

_BCE_MESSAGE = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


def _functions(names: Iterable[str]) -> frozenset[Callable[..., Any]]:
    owners = (torch, torch.Tensor, F, torch.special, torch.linalg)
    found = (getattr(owner, name, None) for name in names for owner in owners)
    return frozenset(function for function in found if callable(function))


_TO_FLOAT32 = _functions(FLOAT32)
_TO_WIDEST = _functions(WIDEST)
_TO_LOWER = _functions(_LOWER)
_BANNED = frozenset({F.binary_cross_entropy, torch._C._nn.binary_cross_entropy})


def on_refusal() -> None:
    """Called before binary_cross_entropy is refused."""


class AutocastListsMode(TorchFunctionMode):
    """Applies CUDA's lists inside CUDA regions."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if not torch.is_autocast_enabled() or kwargs.get("out") is not None:
            return func(*args, **kwargs)
        if func in _BANNED:
            on_refusal()
            raise RuntimeError(_BCE_MESSAGE)
        if func in _TO_FLOAT32 and not _chooses_itself(func, kwargs):
            return _run(func, args, kwargs, torch.float32)
        if func in _TO_WIDEST:
            wide = any(tensor.dtype is torch.float32 for tensor in tensors_within((*args, *kwargs.values())))
            return _run(func, args, kwargs, torch.float32 if wide else None)
        if func in _TO_LOWER:
            return _run(func, args, kwargs, _cuda_dtype())
        return func(*args, **kwargs)


def _cuda_dtype() -> torch.dtype:
    if hasattr(torch, "get_autocast_dtype"):  # torch 2.4
        return torch.get_autocast_dtype("cuda")
    return torch.get_autocast_gpu_dtype()


def _chooses_itself(func: Callable[..., Any], kwargs: dict[str, Any]) -> bool:
    """Whether the call names its dtype, or has a form that is on no list."""
    return kwargs.get("dtype") is not None or (func is F.interpolate and kwargs.get("mode") == "area")


def _run(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], dtype: torch.dtype | None) -> Any:
    if dtype is not None:
        args = [_cast(value, dtype) for value in args]
        kwargs = {name: _cast(value, dtype) for name, value in kwargs.items()}
    with torch._C._DisableAutocast():
        return func(*args, **kwargs)


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.dtype in (torch.float32, *HALVES) else value
    if type(value) in (list, tuple):
        return type(value)(_cast(item, dtype) for item in value)
    return value
