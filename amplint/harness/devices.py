"""Tensors that a script puts on CUDA stay on the CPU."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.data import DataLoader

from amplint.harness import residence
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
            return torch.device("cuda", args[0]) if args and type(args[0]) is int else func(*args, **kwargs)
        stand_in = _STAND_INS.get(func)
        if stand_in is not None:
            return stand_in(*args, **kwargs)
        if func is torch.Tensor.to or func is torch.Tensor.cpu:
            return _moved(func, args, kwargs)
        given, args = args, tuple(CPU if is_cuda(value) else value for value in args)
        if func is torch.Tensor.type:
            if len(args) == 1 and not kwargs:
                return residence.type_name(args[0], func(*args))
            args = (args[0], *(v.replace("torch.cuda.", "torch.") if isinstance(v, str) else v for v in args[1:]))
        wanted = kwargs.get("device")
        if wanted is not None:
            kwargs["device"] = placed(wanted)
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        made = func(*args, **kwargs)
        if wanted is None and given == args:
            residence.note_made(func, kwargs, made)
        return made


def _moved(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """``tensor.to(...)`` and ``tensor.cpu()``."""
    tensor, *others = args
    target = kwargs.get("device", others[0] if others and func is torch.Tensor.to else None)
    if func is torch.Tensor.to:
        others = [placed(others[0]), *others[1:]] if others else []
        if "device" in kwargs:
            kwargs["device"] = placed(kwargs["device"])
    made = func(tensor, *others, **kwargs)
    if func is torch.Tensor.cpu or target == "cpu" or target == CPU:
        return residence.brought_back(tensor, made)
    if is_cuda(target) or type(target) is int:
        return residence.note_moved(made)
    return made


def _cuda(tensor: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
    return residence.note_moved(tensor)


def _itself(tensor: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
    return tensor


_STAND_INS: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.Tensor.cuda: _cuda,
    torch.Tensor.get_device: residence.get_device,
    torch.Tensor.pin_memory: _itself,
    torch.Tensor.is_pinned: lambda tensor, *args, **kwargs: False,
}


def redirect(patches: Patches) -> None:
    """Redirect the places that take a device without asking a mode."""
    residence.answer(patches)
    _redirect_generator(patches)
    _redirect_load(patches)
    set_default_device = torch.set_default_device

    def set_default(device: Any) -> None:
        residence.begin_at_home(not is_cuda(device))
        set_default_device(placed(device))

    patches.set(torch, "set_default_device", set_default)

    set_default_tensor_type = torch.set_default_tensor_type
    patches.set(torch, "set_default_tensor_type", lambda kind: set_default_tensor_type(_on_cpu(kind)))
    patches.set(torch.Tensor, "record_stream", lambda tensor, stream: None)  # asks for a real stream first

    # DataParallel without devices runs the module as it is
    patches.set(_data_parallel, "_get_available_device_type", lambda: None)
    for owner in (_data_parallel, torch.nn.parallel):
        patches.set(owner, "data_parallel", _run_as_it_is)

    _redirect_distributed(patches)

    loader_init = DataLoader.__init__

    @functools.wraps(loader_init)
    def without_pinning(self: DataLoader[Any], *args: Any, **kwargs: Any) -> None:
        loader_init(self, *args, **kwargs)
        self.pin_memory = False  # pinning asks the driver, from a thread that no mode reaches

    patches.set(DataLoader, "__init__", without_pinning)


def _redirect_distributed(patches: Patches) -> None:
    """One process can be a whole group: over gloo, with its module where it is."""
    distributed = torch.nn.parallel.DistributedDataParallel
    init: Callable[..., None] = distributed.__init__

    @functools.wraps(init)
    def without_devices(
        self: Any, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        init(self, module, None, None, *args, **kwargs)

    patches.set(distributed, "__init__", without_devices)
    if torch.distributed.is_available():
        begin = torch.distributed.init_process_group

        @functools.wraps(begin)
        def over_gloo(backend: Any = None, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("device_id", None)
            begin("gloo" if backend is None or "nccl" in str(backend) else backend, *args, **kwargs)

        patches.set(torch.distributed, "init_process_group", over_gloo)


def _on_cpu(kind: Any) -> Any:
    return kind.replace("torch.cuda.", "torch.") if isinstance(kind, str) else kind


def _run_as_it_is(
    module: torch.nn.Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


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

    for module in (torch, torch.serialization):
        patches.set(module, "load", on_cpu)

    # a map_location that is a function may place storages by itself
    for storage in (torch.UntypedStorage, torch.TypedStorage):
        to = storage.to
        patches.set(storage, "cuda", lambda storage, *args, **kwargs: storage)
        patches.set(storage, "to", lambda storage, *, device, _to=to, **kwargs: _to(storage, device=placed(device)))
