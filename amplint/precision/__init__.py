"""Where autocast is on and which tensors may be half: a document's values interpreted over its statements."""

from __future__ import annotations

from amplint.precision.code import decorator_name
from amplint.precision.interpreter import interpret
from amplint.precision.state import PrecisionReport, State, Use
from amplint.precision.values import (
    Autocast,
    Class,
    Constant,
    DType,
    Entered,
    Function,
    Instance,
    Made,
    Named,
    Number,
    Tensor,
    Unknown,
    Value,
)

__all__ = [
    "Autocast",
    "Class",
    "Constant",
    "DType",
    "Entered",
    "Function",
    "Instance",
    "Made",
    "Named",
    "Number",
    "PrecisionReport",
    "State",
    "Tensor",
    "Unknown",
    "Use",
    "Value",
    "decorator_name",
    "interpret",
]
