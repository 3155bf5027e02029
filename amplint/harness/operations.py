"""Operations that meet what they cannot take: constants beyond float16, a loss that CUDA autocast refuses."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import torch

from amplint.harness import autocast_lists
from amplint.harness.patches import Patches
from amplint.harness.tensors import tensors_within
from amplint.operators import FILLING

Found = Callable[[str, str], None]

LARGEST = torch.finfo(torch.float16).max

# method of a tensor -> where the constant stands among its operands, the tensor included, and its keyword
_CONSTANTS = {
    **FILLING,
    "where": (2, "other"),
    "__setitem__": (2, "value"),
    **dict.fromkeys(("add", "add_", "sub", "sub_"), (1, "other")),
    **dict.fromkeys(("__add__", "__radd__", "__iadd__", "__sub__", "__rsub__", "__isub__"), (1, "other")),
}


def watch_operations(patches: Patches, found: Found) -> None:
    """Call ``found`` with a code and a message where such an operation is about to run."""
    importlib.import_module("torch._dynamo")  # PyTorch's first optimizer does, and catalogues functions by identity
    for name, (position, keyword) in _CONSTANTS.items():
        method = getattr(torch.Tensor, name)
        patches.set(torch.Tensor, name, _watched_method(method, position - 1, keyword, found))
    patches.set(torch, "where", _watched_where(torch.where, found))

    def refused() -> None:
        found("AMP303", "binary_cross_entropy() under CUDA autocast, which refuses it")

    bce = torch._C._nn.binary_cross_entropy

    @functools.wraps(bce)
    def watched_bce(*args: Any, **kwargs: Any) -> Any:
        if torch.is_autocast_enabled():
            refused()
        return bce(*args, **kwargs)

    patches.set(torch._C._nn, "binary_cross_entropy", watched_bce)
    patches.set(autocast_lists, "on_refusal", refused)


def _watched_method(method: Callable[..., Any], position: int, keyword: str, found: Found) -> Callable[..., Any]:
    @functools.wraps(method)
    def watched(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        constant: Any = args[position] if len(args) > position else kwargs.get(keyword)
        if type(constant) in (float, int) and abs(constant) > LARGEST and tensor.dtype is torch.float16:
            _report(constant, found)
        return method(tensor, *args, **kwargs)

    return watched


def _watched_where(where: Callable[..., Any], found: Found) -> Callable[..., Any]:
    @functools.wraps(where)
    def watched(condition: Any, *args: Any, **kwargs: Any) -> Any:
        operands = (*args, *kwargs.values())
        for constant in operands:
            if type(constant) in (float, int) and abs(constant) > LARGEST:
                if all(tensor.dtype is torch.float16 for tensor in tensors_within(operands)):
                    if any(isinstance(operand, torch.Tensor) for operand in operands):
                        _report(constant, found)
        return where(condition, *args, **kwargs)

    return watched


def _report(constant: float, found: Found) -> None:
    if math.isfinite(constant):
        found("AMP401", f"{constant:g} is put into a float16 tensor, whose largest number is {LARGEST:g}")
