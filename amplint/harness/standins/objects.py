"""The object that stands in for everything that is not there.

It answers any attribute, call, index, arithmetic, iteration and comparison. What is computed from it knows through
which parameters a gradient would flow (``sources``), so ``backward`` can really be called on it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from amplint.harness.standins.world import World

ITEMS = 3
"""How many items there are in what is iterated over."""

_CUTTING = frozenset(
    {"detach", "detach_", "item", "numpy", "tolist", "data", "stop_gradient", "shape", "dtype", "device"}
)
"""Attributes and methods through which no gradient flows."""
_SELF = frozenset(
    {"to", "cuda", "train", "eval", "half", "bfloat16", "double", "cpu", "share_memory", "requires_grad_"}
)
"""Methods that give the object itself back, as they do on modules; on tensors it makes no difference here."""
_ANSWERED = frozenset({"__version__", "__dict__", "__file__", "__name__"})
"""Attributes of that kind that programs ask for themselves; the others are Python's own business."""
_LEAVING = frozenset({"exit", "_exit", "quit", "abort"})


class PathEnds(BaseException):
    """The program ends here, or cannot go on with stand-ins."""


class Source:
    """Something with a gradient that results were computed from: a tensor, made when it is needed."""

    __slots__ = ("_tensor", "names", "scaled")

    def __init__(self, tensor: torch.Tensor | None = None, names: frozenset[str] = frozenset(), scaled: bool = False):
        self._tensor, self.names, self.scaled = tensor, names, scaled

    @property
    def tensor(self) -> torch.Tensor:
        """The tensor itself; a parameter where there was none yet."""
        if self._tensor is None:
            self._tensor = torch.nn.Parameter(torch.ones(()))
        return self._tensor


Sources = frozenset[Source]
NONE: Sources = frozenset()


class StandIn:
    """Answers for an object of which nothing is known; two that came about in the same way are equal in truth."""

    __slots__ = (
        "__weakref__",
        "_si_attributes",
        "_si_key",
        "_si_module",
        "_si_name",
        "_si_own",
        "_si_parent",
        "_si_real",
        "_si_sources",
        "_si_value",
        "_si_world",
    )

    _si_world: World
    _si_key: int
    _si_name: str
    _si_sources: Sources
    _si_parent: StandIn | None
    _si_own: Source | None
    _si_attributes: dict[Any, Any]

    def __init__(
        self,
        world: World,
        key: object,
        name: str = "",
        sources: Sources = NONE,
        parent: StandIn | None = None,
        value: int | None = None,
        real: Any = None,
    ) -> None:
        put = object.__setattr__
        put(self, "_si_world", world)
        put(self, "_si_key", world.number(key))
        put(self, "_si_name", name)
        put(self, "_si_sources", sources)
        put(self, "_si_parent", parent)
        put(self, "_si_value", value)
        put(self, "_si_real", real)
        put(self, "_si_attributes", {})
        put(self, "_si_own", None)
        put(self, "_si_module", False)

    # Gradients

    def _si_parameter(self) -> Source:
        """The parameter that stands for all of this object's own."""
        own = self._si_own
        if own is None:
            own = Source(names=frozenset(self._si_names()))
            object.__setattr__(self, "_si_own", own)
        return own

    def _si_names(self) -> Iterator[str]:
        part: StandIn | None = self
        while part is not None:
            if part._si_name:
                yield part._si_name
            part = part._si_parent

    def _si_family(self) -> set[Source]:
        """The parameters of this object, of those it is part of and of its own parts."""
        found = {self._si_parameter()}
        part = self._si_parent
        while part is not None:
            found.add(part._si_parameter())
            part = part._si_parent
        found.update(child._si_parameter() for child in self._si_parts())
        return found

    def _si_modules(self) -> Iterator[Source]:
        """The parameters of those of its parts whose parameters were asked for."""
        return (child._si_parameter() for child in self._si_parts() if child._si_module)

    def _si_parts(self) -> Iterator[StandIn]:
        """What was reached from this object, directly or not; a program may hang an object below itself."""
        waiting, met = [self], {id(self)}
        while waiting:
            for child in waiting.pop()._si_attributes.values():
                if isinstance(child, StandIn) and child._si_parent is not None and id(child) not in met:
                    met.add(id(child))
                    waiting.append(child)
                    yield child

    # Attributes and items

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name not in _ANSWERED:
            raise AttributeError(name)
        attributes = self._si_attributes
        if name not in attributes:
            attributes[name] = self._si_world.attribute(self, name)
        return attributes[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._si_attributes[name] = value

    def __delattr__(self, name: str) -> None:
        self._si_attributes.pop(name, None)

    def __getitem__(self, index: Any) -> Any:
        key = ("item", self._si_world.key_of(index))
        attributes = self._si_attributes
        if key not in attributes:
            attributes[key] = self._si_world.item(self, key)
        return attributes[key]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._si_attributes["item", self._si_world.key_of(index)] = value

    def __delitem__(self, index: Any) -> None:
        self._si_attributes.pop(("item", self._si_world.key_of(index)), None)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[number] for number in range(ITEMS)])

    def __next__(self) -> Any:
        return self._si_world.fresh(self, "next")

    def __len__(self) -> int:
        return ITEMS

    def __contains__(self, value: Any) -> bool:
        return self._si_world.decide(("in", self._si_key, self._si_world.key_of(value)))

    def __reversed__(self) -> Iterator[Any]:
        return iter(self)

    # Calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._si_world.call(self, args, kwargs)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        one = next(_stand_ins((*args, *kwargs.values())))
        return one._si_world.combined(("torch", getattr(func, "__name__", "")), (*args, *kwargs.values()))

    def __enter__(self) -> Any:
        return self._si_world.fresh(self, "entered")

    def __exit__(self, *error: object) -> None:
        return None

    def __await__(self) -> Generator[Any, Any, Any]:
        yield from ()
        return self

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *error: object) -> None:
        return None

    # Numbers, text and truth

    def _si_truth(self, likely: bool = True) -> bool:
        """Whether it is true, and where nothing is decided yet, rather ``likely`` than not."""
        return self._si_world.decide(self._si_key, likely)

    def __bool__(self) -> bool:
        return self._si_truth()

    def __index__(self) -> int:
        return self._si_value or 0

    def __int__(self) -> int:
        return 1 if self._si_value is None else self._si_value

    def __float__(self) -> float:
        return float(int(self))

    def __complex__(self) -> complex:
        return complex(int(self))

    def __str__(self) -> str:
        return self._si_name or "stand-in"

    __repr__ = __str__

    def __format__(self, specification: str) -> str:
        return str(self)

    def __hash__(self) -> int:
        return hash(self._si_key)

    def __fspath__(self) -> str:
        return str(self)


def _binary(name: str) -> None:
    operation = getattr(operator, name, None) or getattr(operator, name + "_", None)

    def forward(self: StandIn, other: Any) -> Any:
        return self._si_world.operation(name, operation, self, other)

    def backward(self: StandIn, other: Any) -> Any:
        return self._si_world.operation(name, operation, other, self)

    setattr(StandIn, f"__{name}__", forward)
    setattr(StandIn, f"__r{name}__", backward)


def _comparison(name: str) -> None:
    def compare(self: StandIn, other: Any) -> Any:
        return self._si_world.comparison(name, self, other)

    setattr(StandIn, f"__{name}__", compare)


def _unary(name: str) -> None:
    def apply(self: StandIn, *arguments: Any) -> Any:
        return self._si_world.combined(name, (self, *arguments))

    setattr(StandIn, f"__{name}__", apply)


for _name in "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor".split():
    _binary(_name)
for _name in "eq ne lt le gt ge".split():
    _comparison(_name)
for _name in "neg pos abs invert round trunc floor ceil".split():
    _unary(_name)


def _stand_ins(values: Iterable[Any]) -> Iterator[StandIn]:
    for value in values:
        if isinstance(value, StandIn):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _stand_ins(value)
        elif isinstance(value, dict):
            yield from _stand_ins(value.values())
