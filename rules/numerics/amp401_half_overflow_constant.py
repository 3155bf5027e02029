"""# half-overflow-constant (AMP401)

## What it does
Finds a finite constant beyond 65504, the largest float16, that is put into a tensor which is float16 in a region or by
a cast: `masked_fill`, `fill_`, `full`, `torch.where`, an addition, an assignment to items.

## Why is this bad?
`masked_fill`, `fill_`, `full`, `pad` and `index_fill` raise `RuntimeError: value cannot be converted to type
c10::Half without overflow`. `torch.where`, `+`, `torch.tensor` and an assignment to items say nothing and put an
infinity there: a row of scores that is masked everywhere becomes NaN in the softmax instead of uniform.

## Example
```python
with torch.autocast("cuda"):
    scores = q @ k.transpose(-2, -1)
    scores = scores.masked_fill(mask, -1e9)
```

## Use instead
```python
with torch.autocast("cuda"):
    scores = q @ k.transpose(-2, -1)
    scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
```

## Fix safety
The fix is unsafe: it puts `torch.finfo(x.dtype).min`, or `.max`, in the place of the constant, which is another number.
It is offered where the constant is written at the place and the tensor has a name, or the call its dtype.

## References
- [torch.finfo](https://docs.pytorch.org/docs/stable/type_info.html#torch.finfo)
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from amplint.findings import Applicability, Fix, Severity
from amplint.operators import FILLING
from amplint.rule import Context
from amplint.rules.numerics.constants import HalfConstantRule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.precision import Tensor, Use, Value

_LARGEST = 65504.0
_LARGE = re.compile(r"\d[eE]\+?\d|\d[\d_]{4}|finfo|float_info|\*\*|<<")
_FILLING = {
    **FILLING,
    "fill": (1, "value"),
    "full_like": (1, "fill_value"),
    "new_tensor": (1, "data"),
    "pad": (3, "value"),
}
_MADE = {"full": (1, "fill_value"), "tensor": (0, "data"), "as_tensor": (0, "data")}
_RAISING = {*_FILLING, "full"} - {"new_tensor"}


class HalfOverflowConstant(HalfConstantRule):
    """A constant that float16 cannot hold."""

    code = "AMP401"
    name = "half-overflow-constant"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "a constant beyond 65504 put into a tensor that may be float16"
    fixable = "sometimes"
    written = _LARGE
    advice = "Use `torch.finfo(x.dtype).min` (or `.max`) of the tensor's own dtype."
    no_fix_reason = "the constant, or a name of the tensor, is not at hand here"

    def message(self, use: Use, number: float) -> str:
        """What becomes of the constant."""
        raises = use.name in _RAISING
        outcome = "this raises a RuntimeError" if raises else "this puts an infinity there, without an error"
        return f"{number:g} is beyond 65504, the largest float16: {outcome}"

    def met(self, use: Use) -> tuple[Tensor, float] | None:
        """The float16 tensor and the constant that an operation brings together."""
        from amplint.precision import DType, Tensor

        operands = use.operands
        value: Value | None
        tensor: Value | None = operands[0] if operands else None
        if use.name in _FILLING:
            value = _argument(use, *_FILLING[use.name])
            dtype = use.arguments.get(None, "dtype")
            if dtype is not None and dtype != DType("float16"):
                return None  # the tensor that is filled is of another type than the one it is made like
        elif use.name in _MADE and _is_function(use):
            dtype = use.arguments.get(None, "dtype")
            tensor = Tensor("float16") if dtype == DType("float16") else None
            value = _argument(use, *_MADE[use.name])
        elif use.name == "where":
            given = _where(use)
            if given is None:
                return None
            tensor, value = given
        elif use.name in ("__add__", "__sub__") and len(operands) == 2:
            tensor, value = operands
            if not isinstance(tensor, Tensor):
                tensor, value = value, tensor
        elif use.name == "__mul__" and len(operands) == 2:
            tensor, value = self._mask_times(operands)
        elif use.name == "__setitem__" and len(operands) == 2:
            tensor, value = operands
        else:
            return None
        number = _number(value)
        if number is None or not math.isfinite(number) or abs(number) <= _LARGEST:
            return None
        if not isinstance(tensor, Tensor) or not tensor.is_half or not tensor.certain:
            return None
        return tensor, number

    def _mask_times(self, operands: tuple[Value, ...]) -> tuple[Value | None, Value | None]:
        """A mask of zeros and ones that was cast to half; what a region made may be small enough."""
        from amplint.precision import Tensor

        tensor, value = operands
        if not isinstance(tensor, Tensor):
            tensor, value = value, tensor
        cast = isinstance(tensor, Tensor) and tensor.entered is None
        return (tensor, value) if cast else (None, None)

    def fix(self, context: Context, use: Use, number: float) -> Fix | None:
        """The limit of the tensor's own dtype."""
        place, dtype = _constant_and_dtype(context, use)
        torch = self._torch(context)
        if place is None or dtype is None or context.tree.whole(place).lpar or torch is None:
            return None
        limit = "max" if number > 0 else "min"
        edit = context.document.edit(*context.tree.span(place), f"{torch}.finfo({dtype}).{limit}")
        return Fix(
            f"Use the {'largest' if number > 0 else 'lowest'} number of its dtype", (edit,), Applicability.UNSAFE
        )

    def _torch(self, context: Context) -> str | None:
        """The name that the document has for ``torch``."""
        bound = (
            name
            for name, binding in context.names.root.bindings.items()
            if binding.qualified == {"torch"} and not binding.ambiguous
        )
        return next(bound, None)


def _constant_and_dtype(context: Context, use: Use) -> tuple[cst.BaseExpression | None, str | None]:
    """Where the constant stands, and how the dtype of what it is put into can be written there."""
    import libcst as cst

    from amplint.precision import Constant

    node = use.node
    if use.name == "__setitem__" and isinstance(node, cst.Subscript):
        statement = context.names.parent(context.names.parents[node])
        return (statement.value, _dtype_of(node.value)) if isinstance(statement, cst.Assign) else (None, None)
    if use.name == "__mul__" and isinstance(node, cst.BinaryOperation):
        left_is_constant = isinstance(use.operands[0], Constant)
        place, mask = (node.left, node.right) if left_is_constant else (node.right, node.left)
        return place, _dtype_of(_only_name(mask))
    if not isinstance(node, cst.Call) or any(argument.star for argument in node.args):
        return None, None
    if use.name == "where":
        values = [argument.value for argument in node.args]
        if len(values) == 2 and isinstance(node.func, cst.Attribute):
            values.insert(1, node.func.value)  # `x.where(mask, -1e9)`
        sides = values[1:] if len(values) == 3 else []
        if not any(isinstance(argument.keyword, cst.Name) for argument in node.args) and sides:
            names = [_dtype_of(side) for side in sides]
            number_first = _number(use.arguments.get(1 if len(node.args) == 3 else None, "input")) is not None
            return (sides[0], names[1]) if number_first else (sides[1], names[0])
        return None, None
    if use.name not in {**_FILLING, **_MADE}:
        return None, None
    method = not _is_function(use)
    index, keyword = {**_FILLING, **_MADE}[use.name]
    named = {argument.keyword.value: argument.value for argument in node.args if argument.keyword is not None}
    given = _positional(node, index - (1 if method else 0))
    place_given = named.get(keyword, given.value if given is not None else None)
    if "dtype" in named or use.name in _MADE:
        dtype = context.tree.code(named["dtype"]) if "dtype" in named else None
    else:
        owner = node.func.value if isinstance(node.func, cst.Attribute) and method else _first(node)
        dtype = _dtype_of(owner)
    if isinstance(place_given, (cst.List, cst.Tuple)):
        return None, None
    return place_given, dtype


def _dtype_of(node: cst.BaseExpression | None) -> str | None:
    """The dtype of a tensor that has a name."""
    import libcst as cst

    from amplint.syntax.names import dotted_name

    name = dotted_name(node) if isinstance(node, (cst.Name, cst.Attribute)) else None
    return f"{name}.dtype" if name is not None else None


def _only_name(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The only name in an expression of numbers and it."""
    import libcst as cst

    if isinstance(node, cst.BinaryOperation):
        sides = [side for side in (node.left, node.right) if not isinstance(side, (cst.Integer, cst.Float))]
        return _only_name(sides[0]) if len(sides) == 1 else None
    return node


def _is_function(use: Use) -> bool:
    from amplint.precision import Named

    return isinstance(use.callee, Named)


def _argument(use: Use, index: int, keyword: str) -> Value | None:
    """An argument by its place among the operands, where the tensor of a method is the first."""
    shift = 0 if _is_function(use) else 1
    return use.arguments.get(index - shift, keyword)


def _where(use: Use) -> tuple[Value, Value] | None:
    given = use.arguments.positional
    if _is_function(use):
        return (given[1], given[2]) if len(given) == 3 and _number(given[1]) is None else _reversed(given)
    return (use.operands[0], given[1]) if len(given) == 2 else None


def _reversed(given: tuple[Value, ...]) -> tuple[Value, Value] | None:
    return (given[2], given[1]) if len(given) == 3 else None


def _number(value: Value | None) -> float | None:
    from amplint.precision import Constant

    return value.number if isinstance(value, Constant) else None


def _positional(call: cst.Call, index: int) -> cst.Arg | None:
    given = [a for a in call.args if a.keyword is None and not a.star]
    return given[index] if 0 <= index < len(given) else None


def _first(call: cst.Call) -> cst.BaseExpression | None:
    place = _positional(call, 0)
    return place.value if place is not None else None
