"""# hardcoded-cuda (AMP210)

## What it does
Finds `"cuda"` fixed in `torch.autocast` or `torch.amp.GradScaler`, whose device is CUDA where none is given, beside a
device that the script chooses among CUDA and other accelerators, such as `"mps"` or `"xpu"`.

A choice between CUDA and the CPU alone is left alone: mixed precision is then meant for the GPU. So is a call that is
switched by what may ask for CUDA: `enabled=device.type == "cuda"`, or under `if torch.cuda.is_available():`.

## Why is this bad?
On the other accelerator `torch.autocast("cuda")` and `GradScaler("cuda")` warn and disable themselves: the model trains
in float32.

## Example
```python
device = torch.device("cuda" if torch.cuda.is_available() else "mps")
scaler = torch.amp.GradScaler()
with torch.autocast("cuda", dtype=torch.float16):
    loss = model(batch.to(device))
```

## Use instead
```python
device = torch.device("cuda" if torch.cuda.is_available() else "mps")
scaler = torch.amp.GradScaler(device.type)
with torch.autocast(device.type, dtype=torch.float16):
    loss = model(batch.to(device))
```

## Fix safety
The fix gives the type of the chosen device. It is unsafe: on the other accelerators the model then runs in half
precision for the first time.

## References
- [torch.autocast](https://docs.pytorch.org/docs/stable/amp.html#torch.autocast)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Applicability, Finding, Fix, Severity
from amplint.rule import Context, Rule


class HardcodedCuda(Rule):
    """CUDA fixed where the script chooses its device."""

    code = "AMP210"
    name = "hardcoded-cuda"
    severity = Severity.INFO
    since = "0.1.0"
    summary = '`"cuda"` fixed in `autocast` or `GradScaler` where the script chooses among accelerators'
    fixable = "sometimes"
    default = False
    mentions = (b"autocast", b"GradScaler")

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the calls that are about CUDA whatever device is chosen."""
        from amplint.rules.migration.api import amp_names
        from amplint.rules.migration.generic import Generic

        for fixed in Generic(amp_names(context)).fixed():
            name = fixed.use.member.api.value
            fixes = ()
            if fixed.changes:
                fixes = (Fix("Give the chosen device", context.edits(fixed.changes), Applicability.UNSAFE),)
            yield context.finding(
                self,
                fixed.use.call or fixed.use.node,
                f"`{name}` is about CUDA, whatever `{fixed.device}` is",
                help="Give it the type of the device that the script chooses",
                candidates=fixes,
                no_fix_reason=None if fixes else "`torch` is not imported under a name here that could read the type",
            )
