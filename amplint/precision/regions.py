"""What a call of ``autocast`` says about the region that it makes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from amplint.precision.values import Arguments, Autocast, Choice, Constant, DType, Entered, Value, options
from amplint.syntax.names import children, dotted_name
from amplint.training.autocast import OLD_CPU, OLD_CUDA

_FIXED = dict.fromkeys(OLD_CUDA, "cuda") | dict.fromkeys(OLD_CPU, "cpu")
_DEFAULTS = {"cpu": frozenset({"bfloat16"}), "cuda": frozenset({"float16"}), None: frozenset({"float16"})}
_SOUNDS = re.compile(r"(?i)autocast|(^|[._])amp|precision|fp16|half")


def autocast(name: str, call: cst.Call, arguments: Arguments, around: Sequence[Entered]) -> Autocast:
    """The object that calling the autocast of this dotted name makes within the regions ``around``.

    The new autocast keeps the dtype of a region around it; the old ones go back to their own.
    """
    if name in _FIXED:
        device: str | None = _FIXED[name]
        enabled, dtype, cached = (arguments.get(i, n) for i, n in enumerate(("enabled", "dtype", "cache_enabled")))
    else:
        device = _device(arguments.get(0, "device_type"))
        dtype, enabled, cached = (arguments.get(i, n) for i, n in enumerate(("dtype", "enabled", "cache_enabled"), 1))
    if dtype is not None and dtype != Constant(None):
        dtypes = _dtypes(dtype)
    else:
        dtypes = _DEFAULTS.get(device) if name in _FIXED else _inherited(device, around)
    if not arguments.complete:
        return Autocast(call, device, None, None, flags=_flags(call))
    return Autocast(call, device, dtypes, _truth(enabled), _truth(cached) is not False, flags=_flags(call))


def _inherited(device: str | None, around: Sequence[Entered]) -> frozenset[str] | None:
    """The dtypes of the innermost region of a device, be it on or off; the device's own without one."""
    for outer in (entered.autocast for entered in reversed(around)):
        if device is None or outer.device is None or not outer.known:
            return None
        if outer.device == device:
            return outer.dtypes
    return _DEFAULTS.get(device)


def stranger(call: cst.CSTNode) -> Autocast:
    """An unseen context manager that sounds like autocast: it may switch it on, or off, or neither."""
    return Autocast(call, None, None, None, known=False)


def sounds_like_autocast(text: str) -> bool:
    """Whether a context manager's name says that it has to do with precision."""
    return _SOUNDS.search(text) is not None


def merged(first: Autocast, second: Autocast) -> Autocast:
    """The region where one of two is entered."""
    dtypes = None if first.dtypes is None or second.dtypes is None else first.dtypes | second.dtypes
    return Autocast(
        first.call,
        first.device if first.device == second.device else None,
        dtypes,
        first.enabled if first.enabled == second.enabled else None,
        first.cached and second.cached,
        first.known and second.known,
        first.flags | second.flags,
    )


def _device(value: Value | None) -> str | None:
    names = {
        option.value.partition(":")[0] if isinstance(option, Constant) and isinstance(option.value, str) else None
        for option in (options(value) if value is not None else ())
    }
    return names.pop() if len(names) == 1 else None


def _dtypes(value: Value) -> frozenset[str] | None:
    found = {option.name for option in options(value) if isinstance(option, DType)}
    # a dtype that one path chooses is possible, whatever the others do
    return frozenset(found) if found and (isinstance(value, Choice) or len(found) == 1) else None


def _truth(value: Value | None) -> bool | None:
    if value is None:
        return True
    if isinstance(value, Constant) and value.value is not None:
        return bool(value.value)
    return None


def _flags(call: cst.Call) -> frozenset[str]:
    return frozenset(name for argument in call.args for name in names_in(argument.value))


def names_in(node: cst.CSTNode) -> Iterator[str]:
    """The names and dotted names that an expression is made of."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        name = dotted_name(node) if type(node) is cst.Name or type(node) is cst.Attribute else None
        if name is not None:
            yield name
        else:
            waiting.extend(children(node))
