"""Which tensors a program finds on CUDA: all but those of which it is plain that they never came there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from amplint.harness.patches import Patches
from amplint.harness.sites import AMPLINT, TORCH

DEVICE = torch.device("cuda", 0)
_device: Any = vars(torch._C.TensorBase)["device"]
_FACTORIES = frozenset(
    getattr(torch, name)
    for name in "empty zeros ones full tensor as_tensor from_numpy rand randn randint randperm arange eye linspace "
    "logspace empty_strided normal".split()
)
_TYPED_IN = ("<string>", "<stdin>", "<ipython")
_at_home: Any = WeakIdKeyDictionary()
"""Tensors that were made on the CPU, or brought back."""
_begin_at_home = True


def note_made(func: Callable[..., Any], kwargs: dict[str, Any], made: Any) -> None:
    """A function has made a tensor on the device that it was given, before that became the CPU."""
    if _begin_at_home and func in _FACTORIES and kwargs.get("device") is None and isinstance(made, torch.Tensor):
        _at_home[made] = True


def begin_at_home(truth: bool) -> None:
    """Whether the device that tensors are made on, where none is named, is the CPU."""
    global _begin_at_home
    _begin_at_home = truth


def note_moved(tensor: torch.Tensor) -> torch.Tensor:
    """``tensor``, once it is on CUDA."""
    _at_home.pop(tensor, None)
    return tensor


def brought_back(tensor: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """``made``, which is ``tensor`` on the CPU; another object, where that does no harm, so that both can be told."""
    if made is tensor:
        if tensor.requires_grad or not _is_on_cuda(tensor):
            return tensor
        made = tensor.detach()
    _at_home[made] = True
    return made


def answer(patches: Patches) -> None:
    """Let the program, and what it has installed, find its tensors on CUDA; PyTorch itself sees where they are."""
    begin_at_home(True)
    patches.set(torch.Tensor, "is_cuda", property(lambda tensor: _asked_by_program() and _is_on_cuda(tensor)))
    patches.set(torch.Tensor, "is_cpu", property(lambda tensor: not (_asked_by_program() and _is_on_cuda(tensor))))
    patches.set(
        torch.Tensor,
        "device",
        property(lambda tensor: DEVICE if _asked_by_program() and _is_on_cuda(tensor) else _device.__get__(tensor)),
    )
    for storage in (torch.UntypedStorage, torch.TypedStorage):
        patches.set(storage, "is_cuda", property(lambda storage: _asked_by_program()))


def _asked_by_program() -> bool:
    filename = sys._getframe(2).f_code.co_filename
    return filename.startswith(_TYPED_IN) or not filename.startswith((TORCH, AMPLINT, "<"))


def _is_on_cuda(tensor: torch.Tensor) -> bool:
    return tensor not in _at_home and _device.__get__(tensor).type == "cpu"


def get_device(tensor: torch.Tensor) -> int:
    """What ``tensor.get_device()`` says."""
    return 0 if _is_on_cuda(tensor) else -1


def type_name(tensor: torch.Tensor, name: str) -> str:
    """``name``, which is what ``tensor.type()`` says of a tensor on the CPU."""
    return name.replace("torch.", "torch.cuda.", 1) if _is_on_cuda(tensor) else name
