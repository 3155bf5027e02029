"""# cuda-only-query (AMP209)

## What it does
Finds `torch.is_autocast_enabled()` and `torch.set_autocast_enabled(enabled)` without a device in device-generic code:
in a class, or beside it in a file, that opens regions or asks for the dtype of a device that it does not fix.

Nothing is found under a condition that asks for CUDA, in a function that asks for another device as well, or where the
lowest torch of the project lacks the functions that take a device (2.4).

## Why is this bad?
Without a device these functions are about CUDA only. Inside `torch.autocast("cpu")` or `torch.autocast("mps")`
`torch.is_autocast_enabled()` is `False`, so that a layer that is to go along with the region around it computes in
float32 there, or mixes dtypes.

## Example
```python
class Norm(nn.Module):
    def forward(self, x):
        with torch.autocast(x.device.type, enabled=False):
            y = self.norm(x.float())
        return y.half() if torch.is_autocast_enabled() else y
```

## Use instead
```python
class Norm(nn.Module):
    def forward(self, x):
        device = x.device.type
        with torch.autocast(device, enabled=False):
            y = self.norm(x.float())
        return y.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else y
```

## Fix safety
There is no fix: which device is meant cannot be seen from the call.

## References
- [torch.amp](https://docs.pytorch.org/docs/stable/amp.html)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Finding, Severity
from amplint.rule import Context, Rule


class CudaOnlyQuery(Rule):
    """A query of the autocast state that is about CUDA only."""

    code = "AMP209"
    name = "cuda-only-query"
    severity = Severity.INFO
    since = "0.1.0"
    summary = "`torch.is_autocast_enabled()` without a device in device-generic code"
    default = False
    mentions = (b"is_autocast_enabled", b"set_autocast_enabled")

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the queries without a device in device-generic code."""
        if context.target_torch is not None and context.target_torch.version < (2, 4):
            return
        from amplint.rules.migration.api import amp_names
        from amplint.rules.migration.generic import Generic

        for use in Generic(amp_names(context)).queries():
            name = use.member.api.value
            yield context.finding(
                self,
                use.call or use.node,
                f"`{name}` without a device is about CUDA only, and the code around is not",
                help=f"Give it the type of the device: `torch.{name}(x.device.type, ...)`",
                no_fix_reason="which device is meant cannot be seen",
            )
