"""Tensors that a script puts on CUDA stay on the CPU."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.data import DataLoader

from amplint.harness.patches import Patches

CPU = torch.device("cpu")
_data_parallel = importlib.import_module("torch.nn.parallel.data_parallel")  # the package hides it by a function


def is_cuda(device: object) -> bool:
    """Whether ``device`` names CUDA, as a string or as an object."""
    if isinstance(device, str):
        return device == "cuda" or device.startswith("cuda:")
    return isinstance(device, torch.device) and device.type == "cuda"


def placed(device: Any) -> Any:
    """``device``, or the CPU where that is a CUDA device or the bare index of one."""
    return CPU if is_cuda(device) or type(device) is int else device


class DeviceMode(TorchFunctionMode):
    """Gives every torch call the CPU for a CUDA device.

    ``torch.device("cuda")`` itself stays what it is, so that ``device.type == "cuda"`` still decides as it does on
    a machine with a GPU.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.device:
            return func(*args, **kwargs)
        stand_in = _STAND_INS.get(func)
        if stand_in is not None:
            return stand_in(*args, **kwargs)
        args = tuple(CPU if is_cuda(value) else value for value in args)
        if func is torch.Tensor.to and len(args) > 1:
            args = (args[0], placed(args[1]), *args[2:])
        if kwargs.get("device") is not None:
            kwargs["device"] = placed(kwargs["device"])
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        return func(*args, **kwargs)


def _itself(tensor: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
    return tensor


_STAND_INS: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.Tensor.cuda: _itself,
    torch.Tensor.pin_memory: _itself,
    torch.Tensor.is_pinned: lambda tensor, *args, **kwargs: False,
    torch.Tensor.record_stream: lambda tensor, stream: None,
}


def redirect(patches: Patches) -> None:
    """Redirect the places that take a device without asking a mode."""
    _redirect_generator(patches)
    _redirect_load(patches)
    set_default_device = torch.set_default_device
    patches.set(torch, "set_default_device", lambda device: set_default_device(placed(device)))

    # DataParallel without devices runs the module as it is
    patches.set(_data_parallel, "_get_available_device_type", lambda: None)

    loader_init = DataLoader.__init__

    @functools.wraps(loader_init)
    def without_pinning(self: DataLoader[Any], *args: Any, **kwargs: Any) -> None:
        loader_init(self, *args, **kwargs)
        self.pin_memory = False  # pinning asks the driver, from a thread that no mode reaches

    patches.set(DataLoader, "__init__", without_pinning)


def _redirect_generator(patches: Patches) -> None:
    new: Callable[..., Any] = torch.Generator.__new__

    class Generator(torch.Generator):
        """A generator on the CPU, whatever device it was asked for."""

        def __new__(cls, device: Any = "cpu") -> Any:
            return new(cls, device=placed(device))

    patches.set(torch, "Generator", Generator)


def _redirect_load(patches: Patches) -> None:
    load = torch.load

    @functools.wraps(load)
    def on_cpu(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        if map_location is None:
            map_location = CPU
        elif isinstance(map_location, Mapping):
            map_location = {source: placed(target) for source, target in map_location.items()}
        else:
            map_location = placed(map_location)
        return load(f, map_location, *args, **kwargs)

    patches.set(torch, "load", on_cpu)
