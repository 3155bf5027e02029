"""The optimizers of a run, and whose parameters are whose."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle
from torch.utils.weak import WeakIdKeyDictionary

from amplint.harness.gradient_reads import gradient_of
from amplint.harness.patches import Patches

OnGradient = Callable[[set[int]], None]


class Optimizers:
    """Knows every optimizer by a number, and calls ``on_gradient`` with a parameter's when its gradient has grown."""

    def __init__(self, on_gradient: OnGradient) -> None:
        self._on_gradient = on_gradient
        self._keys: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._references: dict[int, weakref.ref[Any]] = {}
        self._owners: Any = WeakIdKeyDictionary()  # parameter -> keys of its optimizers
        self._sharing: dict[int, set[int]] = {}
        self._unhooked: Any = WeakIdKeyDictionary()
        self._handles: list[RemovableHandle] = []

    def install(self, patches: Patches, existing: bool = True) -> None:
        """Meet the optimizers that will be made, and those that there are if ``existing``."""
        add_param_group = Optimizer.add_param_group

        def add(optimizer: Optimizer, param_group: dict[str, Any]) -> None:
            add_param_group(optimizer, param_group)
            self.key(optimizer)
            self._own(optimizer)

        patches.set(Optimizer, "add_param_group", add)
        for candidate in gc.get_objects() if existing else ():
            if issubclass(type(candidate), Optimizer):
                self.key(candidate)

    def remove_hooks(self) -> None:
        """Leave the parameters as they were."""
        for handle in self._handles:
            handle.remove()

    def key(self, optimizer: Any) -> int:
        """The number of ``optimizer``, or of any object with ``param_groups`` that stands for one."""
        key = self._keys.get(optimizer)
        if key is None:
            key = len(self._references)
            self._keys[optimizer] = key
            self._references[key] = weakref.ref(optimizer)
            self._own(optimizer)
        return key

    def keys(self) -> list[int]:
        """The numbers of the optimizers that still exist."""
        return sorted(self._keys.values())

    def owners(self, parameter: torch.Tensor) -> frozenset[int]:
        """The optimizers that ``parameter`` was given to."""
        return frozenset(self._owners.get(parameter, ()))

    def sharing(self, key: int) -> list[int]:
        """The other optimizers that hold a parameter of the one with the number ``key``."""
        return sorted(self._sharing.get(key, ()))

    def parameters(self, key: int) -> Iterator[torch.Tensor]:
        """The parameters of the optimizer with the number ``key``."""
        optimizer = self._references[key]()
        for group in optimizer.param_groups if optimizer is not None else ():
            yield from group["params"]

    def emptied(self, keys: Iterable[int], cleared: Callable[[torch.Tensor], bool] = lambda _: False) -> list[int]:
        """Those of ``keys`` with no gradient left, where one that was ``cleared`` counts as none."""
        with torch._C.DisableTorchFunction():  # these reads are not the program's
            return [key for key in keys if all(gradient_of(p) is None or cleared(p) for p in self.parameters(key))]

    def hook_parameters(self) -> None:
        """Hook the parameters that have begun to require a gradient."""
        with torch._C.DisableTorchFunction():
            ready = [parameter for parameter in self._unhooked if parameter.requires_grad and parameter.is_leaf]
            for parameter in ready:
                del self._unhooked[parameter]
                self._handles.append(parameter.register_post_accumulate_grad_hook(self._grown(parameter)))

    def _grown(self, parameter: torch.Tensor) -> Callable[[torch.Tensor], None]:
        owners, on_gradient = self._owners[parameter], self._on_gradient
        return lambda _: on_gradient(owners)

    def _own(self, optimizer: Any) -> None:
        key = self._keys[optimizer]
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter not in self._owners:
                    self._unhooked[parameter] = True
                owners = self._owners.setdefault(parameter, set())
                others = owners - {key}
                owners.add(key)
                for other in others:
                    self._sharing.setdefault(key, set()).add(other)
                    self._sharing.setdefault(other, set()).add(key)
