"""# half-underflow-epsilon (AMP402)

## What it does
Finds an epsilon below 3e-8 that is added to, or bounds, a tensor which is float16 in a region or by a cast. Operations
that compute in float32 themselves, such as the norms' own `eps`, and optimizers are left alone.

## Why is this bad?
The smallest float16 above zero is 6e-8: an epsilon under half of that rounds to zero, and what it guards is unguarded.
`x / (x + 1e-8)` is NaN for a zero in float16, `torch.log(x + 1e-8)` is minus infinity, and `F.normalize` of a zero
vector in float16 is NaN.

## Example
```python
with torch.autocast("cuda"):
    p = torch.sigmoid(model(x))
    entropy = -(p * torch.log(p + 1e-8))
```

## Use instead
```python
with torch.autocast("cuda"):
    p = torch.sigmoid(model(x).float())
    entropy = -(p * torch.log(p + 1e-8))
```

or an epsilon that float16 can hold, such as `1e-6`.

## References
- [torch.finfo](https://docs.pytorch.org/docs/stable/type_info.html#torch.finfo)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from amplint.findings import Severity
from amplint.rules.numerics.constants import HalfConstantRule

if TYPE_CHECKING:
    from amplint.precision import Tensor, Use, Value

_LARGEST = 2.0**-25
_SMALL = re.compile(r"[eE]-(?:0?[89]|[1-9]\d)|0\.0{7}|finfo|float_info|normalize\(|cosine_similarity\(|\*\*")
# functions whose own epsilon works in the tensor's dtype: where it stands, its keyword, and its default
_WITH_EPSILON = {
    "normalize": (3, "eps", 1e-12),
    "cosine_similarity": (3, "eps", 1e-8),
    "instance_norm": (7, "eps", 1e-5),
    "logit": (1, "eps", 1.0),
}
_BOUNDS = {
    "clamp": (1, "min"),
    "clamp_": (1, "min"),
    "clip": (1, "min"),
    "clamp_min": (1, "min"),
    "clamp_min_": (1, "min"),
}


class HalfUnderflowEpsilon(HalfConstantRule):
    """An epsilon that float16 rounds to zero."""

    code = "AMP402"
    name = "half-underflow-epsilon"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "an epsilon below 3e-8 in arithmetic on a tensor that may be float16, where it is zero"
    written = _SMALL
    advice = "Compute this on `.float()`, or use an epsilon of at least 6e-8."
    no_fix_reason = "whether to compute in float32 or to use a larger epsilon cannot be seen"

    def message(self, use: Use, number: float) -> str:
        """What becomes of the constant."""
        return f"{number:g} is zero in float16: it guards nothing here"

    def met(self, use: Use) -> tuple[Tensor, float] | None:
        """The float16 tensor and the epsilon that an operation brings together."""
        from amplint.precision import Constant, Named, Tensor

        shift = 0 if isinstance(use.callee, Named) else 1
        tensor: Value | None = use.operands[0] if use.operands else None
        value: Value | None
        if use.name in _WITH_EPSILON and use.state.cuda is None and shift == 0:
            index, keyword, default = _WITH_EPSILON[use.name]
            value = use.arguments.get(index, keyword) or Constant(default)
        elif use.name in _BOUNDS:
            index, keyword = _BOUNDS[use.name]
            value = use.arguments.get(index - shift, keyword)
        elif use.name in ("__add__", "add", "maximum", "max"):
            if len(use.operands) < 2:
                return None
            tensor, value = use.operands[0], use.operands[1]
            if not isinstance(tensor, Tensor):
                tensor, value = value, tensor
        else:
            return None
        number = value.number if isinstance(value, Constant) else None
        if number is None or not 0 < number <= _LARGEST:
            return None
        if not isinstance(tensor, Tensor) or not tensor.is_half or not tensor.certain:
            return None
        return tensor, number
