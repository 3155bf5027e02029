"""# deprecated-autocast-query (AMP203)

## What it does
Finds the functions of `torch` that ask or set the autocast state of one fixed device:

| deprecated | use instead |
|---|---|
| `get_autocast_gpu_dtype()` | `get_autocast_dtype("cuda")` |
| `get_autocast_cpu_dtype()` | `get_autocast_dtype("cpu")` |
| `set_autocast_gpu_dtype(d)` | `set_autocast_dtype("cuda", d)` |
| `set_autocast_cpu_dtype(d)` | `set_autocast_dtype("cpu", d)` |
| `is_autocast_cpu_enabled()` | `is_autocast_enabled("cpu")` |
| `set_autocast_cpu_enabled(b)` | `set_autocast_enabled("cpu", b)` |

and their kin for `ipu` and `xla`. `torch.is_autocast_enabled()` without a device is not deprecated. Import shims and
version gates are left alone.

## Why is this bad?
Since PyTorch 2.4 each of these calls raises a `DeprecationWarning`, which Python hides outside of `__main__` and tests,
and the functions are to be removed.

## Example
```python
x = x.to(torch.get_autocast_gpu_dtype())
```

## Use instead
```python
x = x.to(torch.get_autocast_dtype("cuda"))
```

## Fix safety
The fix is safe: the new functions answer the same for the device that they are given. It is not offered, and the
finding says why, where the project supports a torch older than 2.4, where another module may import the name from this
one, where the name is passed on, or where the new name already stands for something else.

## References
- [torch.amp](https://docs.pytorch.org/docs/stable/amp.html)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Finding, Severity
from amplint.rule import Context, Rule


class DeprecatedAutocastQuery(Rule):
    """``torch.get_autocast_gpu_dtype`` and its kin."""

    code = "AMP203"
    name = "deprecated-autocast-query"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "`torch.get_autocast_gpu_dtype()` and other queries of one fixed device"
    fixable = "sometimes"
    mentions = (b"get_autocast_", b"set_autocast_", b"is_autocast_")

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the imports and uses of the deprecated functions."""
        from amplint.rules.migration.plan import findings

        yield from findings(self, context)
