"""The calls of gradient scalers."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch.amp import GradScaler

from amplint.harness.patches import Patches


class Listener(Protocol):
    """Is told of the calls of enabled scalers: of ``scaled`` after the call, of the others before it."""

    def scaler_made(self, scaler: int) -> None: ...
    def scaled(self, scaler: int, outputs: Any, inputs: tuple[Any, ...]) -> Any: ...
    def unscaling(self, scaler: int, optimizer: Any) -> None: ...
    def stepping(self, scaler: int, optimizer: Any, arguments: bool) -> None: ...
    def stepped(self, scaler: int, optimizer: Any, arguments: bool) -> None: ...
    def updating(self, scaler: int, new_scale: bool) -> None: ...
    def given_wrongly(self, scaler: int) -> None: ...
    def restored(self, scaler: int) -> None: ...


class Scalers:
    """Knows every scaler by a number and tells ``listener`` what the program calls on it.

    What a scaler calls on itself is not told: ``step`` unscales by itself, and a subclass calls its base class.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._keys: weakref.WeakKeyDictionary[GradScaler, int] = weakref.WeakKeyDictionary()
        self._scalers: weakref.WeakValueDictionary[int, GradScaler] = weakref.WeakValueDictionary()
        self._count = 0
        self._depth = 0
        self._classes: set[type] = set()

    @property
    def inside(self) -> bool:
        """Whether a scaler's method is running."""
        return self._depth > 0

    def install(self, patches: Patches) -> None:
        """Watch the scalers that there are and those that will be made."""
        init = GradScaler.__init__

        @functools.wraps(init)
        def watched(scaler: GradScaler, *args: Any, **kwargs: Any) -> None:
            self._watch_class(patches, type(scaler))
            init(scaler, *args, **kwargs)
            if scaler.is_enabled():
                self._listener.scaler_made(self._key(scaler))

        patches.set(GradScaler, "__init__", watched)
        for cls in _with_subclasses(GradScaler):
            self._watch_class(patches, cls)

    def _watch_class(self, patches: Patches, cls: type) -> None:
        for base in cls.__mro__:
            if issubclass(base, GradScaler) and base not in self._classes:
                self._classes.add(base)
                for name, wrap in self._wrappers.items():
                    if name in vars(base):
                        patches.set(base, name, wrap(self, vars(base)[name]))

    def _key(self, scaler: GradScaler) -> int:
        key = self._keys.get(scaler)
        if key is None:
            self._count += 1
            key = self._keys[scaler] = self._count
            self._scalers[key] = scaler
        return key

    def scale_of(self, key: int) -> float:
        """The scale that the scaler with that number has now."""
        scaler = self._scalers.get(key)
        return 1.0 if scaler is None else float(scaler.get_scale())

    def _silent(self, scaler: GradScaler) -> bool:
        return self.inside or not scaler.is_enabled()

    def _call(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._depth += 1
        try:
            return method(*args, **kwargs)
        finally:
            self._depth -= 1

    def _scale(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def scale(scaler: GradScaler, *args: Any, **kwargs: Any) -> Any:
            if self._silent(scaler):
                return method(scaler, *args, **kwargs)
            outputs = self._call(method, scaler, *args, **kwargs)
            return self._listener.scaled(self._key(scaler), outputs, (*args, *kwargs.values()))

        return scale

    def _unscale(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def unscale_(scaler: GradScaler, optimizer: Any) -> Any:
            if not self._silent(scaler):
                if hasattr(optimizer, "param_groups"):
                    self._listener.unscaling(self._key(scaler), optimizer)
                else:
                    self._listener.given_wrongly(self._key(scaler))
            return self._call(method, scaler, optimizer)

        return unscale_

    def _step(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def step(scaler: GradScaler, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._silent(scaler) and not hasattr(optimizer, "param_groups"):
                self._listener.given_wrongly(self._key(scaler))
                return method(scaler, optimizer, *args, **kwargs)
            if self._silent(scaler):
                return method(scaler, optimizer, *args, **kwargs)
            key, arguments = self._key(scaler), any(given is not None for given in (*args, *kwargs.values()))
            self._listener.stepping(key, optimizer, arguments)
            result = self._call(method, scaler, optimizer, *args, **kwargs)
            self._listener.stepped(key, optimizer, arguments)
            return result

        return step

    def _update(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def update(scaler: GradScaler, *args: Any, **kwargs: Any) -> Any:
            if not self._silent(scaler):
                new_scales = [value for value in (*args, *kwargs.values()) if value is not None]
                if any(not isinstance(value, (float, torch.Tensor)) for value in new_scales):
                    self._listener.given_wrongly(self._key(scaler))
                else:
                    self._listener.updating(self._key(scaler), bool(new_scales))
            return self._call(method, scaler, *args, **kwargs)

        return update

    def _load(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def load_state_dict(scaler: GradScaler, *args: Any, **kwargs: Any) -> Any:
            if not self._silent(scaler):
                self._listener.restored(self._key(scaler))
            return self._call(method, scaler, *args, **kwargs)

        return load_state_dict

    _wrappers = {"scale": _scale, "unscale_": _unscale, "step": _step, "update": _update, "load_state_dict": _load}


def _with_subclasses(cls: type) -> list[type]:
    subclasses: list[type] = cls.__subclasses__()
    return [cls, *(found for subclass in subclasses for found in _with_subclasses(subclass))]
