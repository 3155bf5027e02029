"""What rewritten code calls in place of what Python would insist on, and the names that it finds."""

from __future__ import annotations

import builtins
import functools
import importlib
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from amplint.harness.standins.extraction import HELPER, INSIDES, Extract
from amplint.harness.standins.objects import ITEMS, PathEnds, StandIn
from amplint.harness.standins.world import World, items_of

_REAL_MODULES = frozenset(
    {"contextlib", "functools", "itertools", "collections", "collections.abc", "typing", "abc", "enum", "dataclasses"}
)
_PLAIN_BUILTINS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.MethodWrapperType)


class Helper:
    """The object behind :data:`HELPER` in one run."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rounds: dict[int, int] = {}
        self.Base = _base_class(world)

    # Loops and unpacking

    def items(self, values: Any, shape: Any) -> Iterator[Any]:
        """The first items of ``values``, in ``shape``; counted numbers stand for any that might come."""
        if isinstance(values, range):
            values = self._counted(values)
        for item in items_of(values):
            self._world.tick()
            yield item if shape is None else self.unpack(item, shape)

    def all_items(self, values: Any, shape: Any) -> Iterator[Any]:
        """All items of ``values``, in ``shape``."""
        for item in values:
            self._world.tick()
            yield item if shape is None else self.unpack(item, shape)

    def _counted(self, numbers: range) -> Iterable[Any]:
        if len(numbers) <= ITEMS:
            return numbers
        root = self._world.root("range")
        return (self._world.fresh(root, "count", value) for value in numbers[:ITEMS])

    def unpack(self, value: Any, shape: Any) -> Any:
        """``value`` in ``shape``, where it does not say by itself how many parts it has."""
        if shape is None or shape == "*":
            return value
        if isinstance(shape, str):
            return self._world.named(value, shape)
        if isinstance(value, StandIn):
            value = [value[number] for number in range(len(shape))]
            return [
                [part] if inner == "*" else self.unpack(part, inner) for part, inner in zip(value, shape, strict=True)
            ]
        if "*" in shape:
            return value
        parts = list(value)
        if len(parts) == ITEMS:  # made from what has as many parts as it is asked for
            parts = [*parts, *[parts[-1]] * len(shape)][: len(shape)]
        if len(parts) != len(shape):
            return parts  # and Python says so
        return [self.unpack(part, inner) for part, inner in zip(parts, shape, strict=True)]

    def enter(self, loop: int) -> None:
        """A ``while`` loop begins."""
        self._rounds[loop] = 0

    def more(self, loop: int) -> bool:
        """Whether it may go round once more."""
        self._world.tick()
        self._rounds[loop] += 1
        return self._rounds[loop] <= ITEMS

    def mapping(self, value: Any) -> Any:
        """What ``**value`` gives."""
        if isinstance(value, StandIn):
            return {}
        return {name: given for name, given in dict(value).items() if isinstance(name, str)}

    # Expressions

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """``function(...)``; what Python's own functions cannot do with stand-ins has an unknown result."""
        self._world.tick()
        if function is len and isinstance(args[0], StandIn):
            return self._world.length(args[0])
        if not isinstance(function, _PLAIN_BUILTINS) and function not in _TYPES:
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            unknown = any(isinstance(value, StandIn) for value in _all((*args, *kwargs.values())))
            if unknown or "StandIn" in str(error):
                return self._world.combined(("call", function.__name__), (*args, *kwargs.values()))
            raise

    def modulo(self, left: Any, right: Any) -> Any:
        """``left % right``: a text that cannot be filled stays as it is."""
        if not isinstance(left, str):
            return left % right
        try:
            return left % right
        except (TypeError, ValueError, LookupError):
            return left

    def element(self, values: Any, index: Any) -> Any:
        """``values[index]``, or another of them where a list has been cut short or the index is not known."""
        try:
            return values[index]
        except LookupError:
            if isinstance(values, dict) and not any(isinstance(key, StandIn) for key in (index, *values)):
                raise
            rest = list(values.values() if isinstance(values, dict) else values)
            return rest[-1] if rest else self._world.combined("element", (index,))

    def tensor(self, value: Any) -> Any:
        """``value``, or a number where it is not known: what becomes a gradient must be real."""
        return torch.ones(()) if isinstance(value, StandIn) else value

    def inside(self, value: Any) -> Any:
        """What stands for an attribute that leads into the interpreter."""
        return self._world.root("inside")

    def truth(self, value: Any) -> Any:
        """``value``, decided where it is not known."""
        return bool(value) if isinstance(value, StandIn) else value

    def is_none(self, value: Any) -> bool:
        """``value is None``: undecided where nothing is known of it."""
        if not isinstance(value, StandIn):
            return value is None
        if self._world.is_something(value):
            return False
        return not self._world.decide(("something", value._si_key))

    def exceptions(self, kinds: Any) -> Any:
        """What an ``except`` clause catches: nothing, where its class is not known."""
        if isinstance(kinds, tuple):
            return tuple(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseException))
        return kinds if isinstance(kinds, type) and issubclass(kinds, BaseException) else ()


_TYPES = frozenset(
    {int, float, str, bool, list, tuple, dict, set, frozenset, zip, map, filter, sorted, bytes, complex, reversed}
)


def _all(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield value
        if isinstance(value, (list, tuple, set)):
            yield from _all(value)
        elif isinstance(value, dict):
            yield from _all(value.values())


def _base_class(world: World) -> type:
    class Base:
        """The base of the program's own classes: what they do not define is stood in for."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            pass

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__") and name.endswith("__"):
                raise AttributeError(name)
            if name == "_si_stand_in":
                self.__dict__[name] = made = world.root(type(self).__name__)
                return made
            made = getattr(self._si_stand_in, name)
            self.__dict__[name] = made
            return made

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self._si_stand_in(*args, *kwargs.values(), *vars(self).values())

        def __getitem__(self, index: Any) -> Any:
            return self._si_stand_in[index]

        def __iter__(self) -> Iterator[Any]:
            return iter(self._si_stand_in)

        def __len__(self) -> int:
            return ITEMS

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: object) -> None:
            return None

        def train(self, *args: Any) -> Any:
            return self

        eval = to = cuda = cpu = half = train

        def parameters(self, *args: Any) -> Any:
            return self._si_stand_in.parameters()

        def zero_grad(self, *args: Any, **kwargs: Any) -> Any:
            return self._si_stand_in.zero_grad()

    return Base


class _Torch(StandIn):
    """``torch`` and what is in it: real where mixed precision is concerned, stood in for otherwise."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name != "__version__":
            raise AttributeError(name)
        attributes = self._si_attributes
        if name not in attributes:
            attributes[name] = _torch_name(self._si_world, f"{self._si_name}.{name}")
        return attributes[name]


_AUTOCASTS = frozenset(
    {"torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast", "torch.cpu.amp.autocast"}
    | {f"torch{inner}.amp.autocast_mode.autocast" for inner in ("", ".cuda", ".cpu")}
)
_SCALERS = frozenset(
    {"torch.GradScaler", "torch.amp.GradScaler", "torch.cuda.amp.GradScaler", "torch.cpu.amp.GradScaler"}
    | {f"torch{inner}.amp.grad_scaler.GradScaler" for inner in ("", ".cuda", ".cpu")}
)
_REAL = {
    "torch.no_grad": torch.no_grad,
    "torch.enable_grad": torch.enable_grad,
    "torch.inference_mode": torch.no_grad,
    "torch.set_grad_enabled": lambda mode: torch.set_grad_enabled(bool(mode)),
    "torch.is_grad_enabled": torch.is_grad_enabled,
    "torch.Tensor": torch.Tensor,
    "torch.__version__": torch.__version__,
    "torch.cuda.is_available": lambda: True,
    "torch.nn.utils": None,
}


def _torch_name(world: World, name: str) -> Any:
    last = name.rpartition(".")[2]
    if name in _AUTOCASTS:
        return _autocast
    if name in _SCALERS:
        return world.scaler
    if name.startswith("torch.optim.") and last[:1].isupper() and "lr_scheduler" not in name and last != "Optimizer":
        return world.optimizer
    if name.startswith("torch.optim.lr_scheduler.") and last[:1].isupper():
        return world.scheduler
    if name == "torch.autograd.backward":
        return lambda tensors, *args, **kwargs: world.backward(
            tensors if isinstance(tensors, (list, tuple)) else [tensors]
        )
    if name == "torch.autograd.grad":
        return lambda *args, **kwargs: _gradients(world, args, kwargs)
    if last.startswith("clip_grad") and name.startswith("torch.nn.utils."):
        real = getattr(torch.nn.utils, "clip_grad_value_" if "value" in last else "clip_grad_norm_")
        return lambda *args, **kwargs: world.clip(real, args, kwargs)
    if _REAL.get(name) is not None:
        return _REAL[name]
    known = getattr(torch, last, None)
    if name == f"torch.{last}" and isinstance(known, torch.dtype):
        return known
    return _Torch(world, ("torch", name), name)


def _autocast(*args: Any, **kwargs: Any) -> Any:
    """A region as far as it can be known."""
    dtype = next((value for value in (*args, *kwargs.values()) if isinstance(value, torch.dtype)), torch.float16)
    enabled = kwargs.get("enabled", True)
    enabled = enabled._si_truth() if isinstance(enabled, StandIn) else bool(enabled)
    return torch.autocast("cuda", dtype=dtype, enabled=enabled)


def _gradients(world: World, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    outputs = kwargs.get("outputs", args[0] if args else ())
    made = world.combined("grad", (outputs,))
    if kwargs.get("create_graph") is not True:
        object.__setattr__(made, "_si_sources", frozenset())
    # a gradient through a scaled result is no scaled backward
    unscaled = frozenset(source for source in made._si_sources if not source.scaled)
    object.__setattr__(made, "_si_sources", unscaled)
    return made


class Namespace(dict[str, Any]):
    """The globals of a run: what nothing defines is stood in for."""

    def __init__(self, extract: Extract, world: World) -> None:
        own = _builtins(world)
        super().__init__(__builtins__=own, __name__="__main__", __file__=extract.filename, __doc__=None)
        self[HELPER] = Helper(world)
        for name in extract.names - own.keys():
            self[name] = _torch_module(world, name) if name == "torch" else world.root(name)
        self["__name__"] = "__main__"


def _torch_module(world: World, name: str) -> StandIn:
    return _Torch(world, ("torch", name), name)


def _builtins(world: World) -> dict[str, Any]:
    def import_module(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if not level and name.partition(".")[0] == "torch":
            return _torch_module(world, name if fromlist else "torch")
        if not level and name in _REAL_MODULES:
            return _public(name)
        root = world.root(name if fromlist else name.partition(".")[0])
        return root

    def leave(*args: Any) -> Any:
        raise PathEnds("it exits")

    def stood_in(name: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: world.combined(("builtin", name), (*args, *kwargs.values()))

    def widened(name: str) -> Callable[..., Any]:
        real = getattr(builtins, name)

        def function(*args: Any, **kwargs: Any) -> Any:
            if any(isinstance(value, StandIn) for value in _all(args)):
                return world.combined(("builtin", name), args)
            return real(*args, **kwargs)

        return function

    def is_instance(value: Any, kinds: Any) -> Any:
        if isinstance(value, StandIn) or any(isinstance(kind, StandIn) for kind in _all([kinds])):
            if isinstance(value, (str, int, float, type(None))):
                return False
            return world.decide(("isinstance", world.key_of(value), world.key_of(kinds)))
        try:
            return isinstance(value, kinds)
        except TypeError:  # one of the functions that stand in for classes
            return world.decide(("isinstance", world.key_of(value), "class"))

    def has_attribute(value: Any, name: Any) -> bool:
        if isinstance(value, StandIn):
            return world.decide(("hasattr", value._si_key, world.key_of(name)))
        return hasattr(value, str(name))

    def get_attribute(value: Any, name: Any, *default: Any) -> Any:
        name = str(name)
        return world.root("inside") if name in INSIDES or name.startswith("_si_") else getattr(value, name, *default)

    def numbers(*args: Any) -> Any:
        known = [value._si_value if isinstance(value, StandIn) else value for value in args]
        if None not in known:
            return range(*known)
        if any(isinstance(value, StandIn) for value in args):
            start = args[0] if len(args) > 1 and isinstance(args[0], int) else 0
            return range(start, start + 1000)
        return range(*args)

    def counted(values: Any, start: Any = 0) -> Iterator[Any]:
        root = world.root("enumerate")
        first = start if isinstance(start, int) else 0
        for number, value in enumerate(values):
            yield world.fresh(root, "count", first + number), value

    def iterator(values: Any, *sentinel: Any) -> Any:
        return world.fresh(values, "iter") if isinstance(values, StandIn) else iter(values, *sentinel)

    replaced: dict[str, Any] = {
        "iter": iterator,
        "__import__": import_module,
        "print": lambda *args, **kwargs: None,
        "exit": leave,
        "quit": leave,
        "isinstance": is_instance,
        "issubclass": is_instance,
        "hasattr": has_attribute,
        "getattr": get_attribute,
        "range": numbers,
        "enumerate": counted,
        "callable": lambda value: True if isinstance(value, StandIn) else callable(value),
    }
    replaced |= {
        name: stood_in(name)
        for name in ("open", "input", "exec", "eval", "compile", "breakpoint", "help", "vars", "dir")
    }
    replaced |= {name: widened(name) for name in ("max", "min", "sorted", "pow", "divmod")}
    own = {name: value for name, value in vars(builtins).items() if name not in ("__loader__", "__spec__")}
    return {**own, **replaced}


@functools.cache
def _public(name: str) -> types.ModuleType:
    """A module with what ``name`` offers to everybody, and with none of the modules that it has imported itself."""
    real = importlib.import_module(name)
    names = getattr(real, "__all__", None) or [name for name in vars(real) if not name.startswith("_")]
    public = types.ModuleType(name)
    vars(public).update({name: getattr(real, name) for name in names})
    for part in sorted(_REAL_MODULES):  # collections.abc
        if part.startswith(name + "."):
            setattr(public, part.rpartition(".")[2], _public(part))
    return public
