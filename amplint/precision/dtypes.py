"""What operations and paths make of values whose dtype matters."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from amplint.precision.values import (
    UNKNOWN,
    Arguments,
    Autocast,
    Class,
    Constant,
    DType,
    Entered,
    Function,
    Instance,
    Items,
    Limits,
    Made,
    Mapping,
    Named,
    Number,
    Tensor,
    Value,
    join,
    options,
)
from amplint.precision.vocabulary import (
    CONSTANTS,
    DTYPES,
    LIMITS,
    WIDE,
)


def named(name: str) -> Value:
    """What a dotted name stands for: a constant, a dtype, or something of a library."""
    if name in CONSTANTS:
        return Constant(CONSTANTS[name])
    module, _, last = name.rpartition(".")
    if module in ("torch", "torch.cuda", "numpy") and last in DTYPES:
        return DType(DTYPES[last])
    return Named(name)


def limits_of(arguments: Arguments) -> Value:
    """What ``finfo`` returns."""
    dtype = arguments.get(0, "type") or arguments.get(None, "dtype")
    if dtype is None:
        return Limits("float32")
    if isinstance(dtype, DType) and dtype.name in LIMITS:
        return Limits(dtype.name)
    return UNKNOWN


def tensor_of(dtype: Value, node: cst.CSTNode) -> Value:
    """A tensor of a dtype."""
    names = {option.name if isinstance(option, DType) else None for option in options(dtype)}
    if "float16" in names:
        return Tensor("float16", None not in names, node)
    if len(names) == 1:
        name = names.pop()
        if name is not None:
            return Tensor("float32" if name in WIDE else name, True, node)
    return UNKNOWN


def to_dtype(arguments: Arguments) -> str | None:
    """The dtype among the arguments of ``to``."""
    for value in arguments.all:
        if isinstance(value, DType):
            return value.name
    return None


def lowered(entered: Entered, node: cst.CSTNode) -> Value:
    """What an operation returns that a region runs in its own dtype."""
    dtypes = entered.autocast.dtypes
    if dtypes is None or not entered.autocast.known:
        return UNKNOWN
    for dtype in ("float16", "bfloat16"):
        if dtype in dtypes:
            return Tensor(dtype, True, node, entered)
    return UNKNOWN


def halved(value: Value) -> Value:
    """A module after ``half()``."""
    if isinstance(value, Tensor) and value.dtype == "float32":
        return Tensor("float16", value.certain, value.origin)
    return replace(value, half=True) if isinstance(value, (Made, Instance)) else value


def element_of(value: Value) -> Value:
    """What iterating a value gives."""
    if isinstance(value, (Tensor, Number)):
        return value
    if isinstance(value, Made) and value.parts:
        value = Items(value.parts)
    if isinstance(value, Items) and value.values:
        result = value.values[0]
        for other in value.values[1:]:
            result = join(result, other)
        return result
    return UNKNOWN


def join_names(
    first: dict[str, Value], second: dict[str, Value], flags: frozenset[str] = frozenset()
) -> dict[str, Value]:
    """Names after one of two paths, between which the names ``flags`` decide.

    A name that only one of them binds has what it has there, but an attribute was something before.
    """
    joined: dict[str, Value] = {}
    for name in first.keys() | second.keys():
        if name in first and name in second:
            joined[name] = join(first[name], second[name], flags)
        else:
            value = first[name] if name in first else second[name]
            joined[name] = join(value, UNKNOWN, flags) if "." in name else value
    return joined


def is_none(value: Value) -> bool | None:
    """Whether a value is None, if that is known."""
    if isinstance(value, Constant):
        return value.value is None
    if isinstance(value, (Tensor, Function, Class, Instance, Made, Autocast, Named, DType, Items, Mapping)):
        return False
    return None
