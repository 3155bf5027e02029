"""# deprecated-custom-fwd (AMP202)

## What it does
Finds `custom_fwd` and `custom_bwd` taken from `torch.cuda.amp` or its submodule, however they are imported or used. An
import of such a name is one finding for all of its uses; a use through a module is one finding each. Import shims and
version gates are left alone.

## Why is this bad?
Since PyTorch 2.4 each of these calls raises a `FutureWarning` and the names are to be removed. Changing only the import
breaks the program: the new decorators need a `device_type`, and raise a `TypeError` without one.

## Example
```python
from torch.cuda.amp import custom_bwd, custom_fwd


class Scale(torch.autograd.Function):
    @staticmethod
    @custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    @custom_bwd
    def backward(ctx, grad):
        return 2 * grad
```

## Use instead
```python
from torch.amp import custom_bwd, custom_fwd


class Scale(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        return 2 * grad
```

## Fix safety
The fix is safe: the old names are the new ones with `device_type="cuda"`. It is not offered, and the finding says why,
where the project supports a torch older than 2.4, where another module may import the name from this one, or where the
name is passed on.

## References
- [torch.amp.custom_fwd](https://docs.pytorch.org/docs/stable/amp.html#torch.amp.custom_fwd)
- [Autocast and custom autograd functions](https://docs.pytorch.org/docs/stable/notes/amp_examples.html#autocast-and-custom-autograd-functions)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Finding, Severity
from amplint.rule import Context, Rule


class DeprecatedCustomFwd(Rule):
    """``custom_fwd`` and ``custom_bwd`` of ``torch.cuda.amp``."""

    code = "AMP202"
    name = "deprecated-custom-fwd"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "`custom_fwd` or `custom_bwd` from `torch.cuda.amp`"
    fixable = "sometimes"
    mentions = (b"custom_fwd", b"custom_bwd")

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the imports and uses of the deprecated decorators."""
        from amplint.rules.migration.plan import findings

        yield from findings(self, context)
