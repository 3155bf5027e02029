"""Gradients that the program itself looks at."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from amplint.harness.patches import Patches
from amplint.harness.sites import TORCH, caller
from amplint.harness.tensors import tensors_within

_GRAD: Any = vars(torch._C.TensorBase)["grad"]
_CLIPPING = os.path.join(TORCH, "nn", "utils", "clip_grad.py")
_OPTIMIZERS = os.path.join(TORCH, "optim", "")

_ALIASES = ("data", "detach", "detach_", "view", "flatten", "view_as", "requires_grad_")
# asking for these is no use of the numbers
_HARMLESS = frozenset(
    "zero_ _foreach_zero_ size dim numel nelement element_size stride is_floating_point is_complex data_ptr "
    "untyped_storage get_device __hash__ __len__ register_hook".split()
    # whether they are finite, their sign, and a factor have nothing to do with the scale
    + "isfinite isnan isinf sign sign_ sgn mul_ div_ multiply_ divide_ true_divide_".split()
)
_CLAMPS = frozenset("clamp clamp_ clip clip_ clamp_min_ clamp_max_".split())


class GradientReads:
    """Tells of gradients that carry a scale: ``clipped`` by PyTorch's functions, or ``used`` by the program's own code.

    Whether there is a gradient, its shape and its clearing are nobody's business: a use is an operation on it. What is
    done with gradients is listened to only once the program has got hold of one that carries a scale.
    """

    def __init__(
        self,
        carries_scale: Callable[[torch.Tensor], bool],
        clipped: Callable[[torch.Tensor], None],
        used: Callable[[torch.Tensor], None],
    ) -> None:
        self._carries_scale, self._clipped, self._used = carries_scale, clipped, used
        self._seen: Any = WeakIdKeyDictionary()  # gradient that the program got hold of -> its parameter
        self._mode = _Operations(self._operation)
        self._listens = False

    def install(self, patches: Patches) -> None:
        """Meet every ``tensor.grad``."""

        def get(tensor: torch.Tensor) -> torch.Tensor | None:
            gradient: torch.Tensor | None = _GRAD.__get__(tensor)
            if gradient is not None and self._carries_scale(tensor):
                self._read(tensor, gradient)
            return gradient

        patches.set(torch.Tensor, "grad", property(get, _GRAD.__set__, _GRAD.__delete__, _GRAD.__doc__))

    def remove(self) -> None:
        """Cease to listen."""
        if self._listens:
            self._listens = False
            _below_others([mode for mode in _taken_off() if mode is not self._mode])

    def _listen(self) -> None:
        if not self._listens:
            self._listens = True
            _below_others([self._mode, *_taken_off()])  # below all: the program's own contexts end in their order

    def _operation(self, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if self._seen:
            self._notice_use(func, args)
        result = func(*args, **kwargs)
        if self._seen and args and _name(func) in _ALIASES and isinstance(result, torch.Tensor):
            parameter = self._seen.get(args[0])
            if parameter is not None:
                self._seen[result] = parameter
        return result

    def _read(self, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        filename = _calling_file()
        if filename == _CLIPPING:
            self._clipped(parameter)
        elif not filename.startswith(TORCH):
            self._seen[gradient] = parameter
            self._listen()

    def _notice_use(self, func: Callable[..., Any], args: Sequence[Any]) -> None:
        name = _name(func)
        if name in _HARMLESS or name in _ALIASES or name == "__get__":
            return
        for tensor in tensors_within(args):
            parameter = self._seen.get(tensor)
            if parameter is not None and self._carries_scale(parameter):
                filename = _calling_file()
                if filename != _CLIPPING and not filename.startswith(_OPTIMIZERS):
                    (self._clipped if name in _CLAMPS else self._used)(parameter)


class _Operations(TorchFunctionMode):
    """Passes every operation through ``perform``."""

    def __init__(self, perform: Callable[[Callable[..., Any], Sequence[Any], dict[str, Any]], Any]) -> None:
        super().__init__()
        self._perform = perform

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        return self._perform(func, args, kwargs or {})


def _taken_off() -> list[Any]:
    """The modes that were active, outermost first; none is any more."""
    count = torch._C._len_torch_function_stack()
    return [torch._C._pop_torch_function_stack() for _ in range(count)][::-1]


def _below_others(modes: list[Any]) -> None:
    for mode in modes:
        torch._C._push_on_torch_function_stack(mode)


def gradient_of(parameter: torch.Tensor) -> torch.Tensor | None:
    """The gradient of ``parameter``, read by amplint and not by the program."""
    gradient: torch.Tensor | None = _GRAD.__get__(parameter)
    return gradient


def _calling_file() -> str:
    frame = caller()
    return frame.f_code.co_filename if frame is not None else ""


def _name(func: Callable[..., Any]) -> str:
    name: str = getattr(func, "__name__", "")
    if name == "__get__":
        attribute: str = getattr(getattr(func, "__self__", None), "__name__", "")
        return attribute if attribute in _ALIASES else name
    return name
