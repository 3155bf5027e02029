"""# cpu-autocast-dtype (AMP304)

## What it does
Finds CPU autocast with a dtype that it does not take, float32 or float64, or float16 where the lowest torch of the
project takes bfloat16 only; and an `nn.LSTM` run under CPU autocast with float16.

## Why is this bad?
CPU autocast takes bfloat16 and, since PyTorch 2.2, float16. Given anything else it warns, switches itself off and runs
the region as if it were not there. An LSTM in float16 fails on CPUs without float16 instructions: `RuntimeError: could
not create a primitive descriptor for the LSTM forward propagation primitive`.

## Example
```python
with torch.autocast("cpu", dtype=torch.float32):
    y = model(x)
```

## Use instead
```python
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = model(x)
```

or no region at all.

## References
- [torch.autocast](https://docs.pytorch.org/docs/stable/amp.html#torch.autocast)
- [CPU op-specific behavior](https://docs.pytorch.org/docs/stable/amp.html#cpu-op-specific-behavior)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Finding, Severity
from amplint.mentions import OF_PRECISION
from amplint.rule import Context, Rule

_SINCE_FLOAT16 = (2, 2)


class CpuAutocastDtype(Rule):
    """A dtype that CPU autocast does not take."""

    code = "AMP304"
    name = "cpu-autocast-dtype"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "CPU autocast with a dtype that it, or an operation in it, does not support"
    mentions = (b"autocast",)
    imported_mentions = OF_PRECISION

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the regions that switch themselves off, and what fails in them."""
        report = context.precision
        for call, autocast in report.autocasts.items():
            if autocast.device != "cpu" or autocast.enabled is False or autocast.dtypes is None:
                continue
            message = None
            if autocast.dtypes <= {"float32", "float64"} and len(autocast.dtypes) == 1:
                (dtype,) = autocast.dtypes
                message = f"CPU autocast does not take {dtype}: it warns and switches itself off"
            elif autocast.dtypes == {"float16"} and self._is_old(context):
                target = context.target_torch
                message = f"CPU autocast takes float16 since torch 2.2 only, and torch {target} is supported"
            if message is not None:
                yield context.finding(
                    self,
                    call,
                    message,
                    help="Use bfloat16, or leave the region out.",
                    no_fix_reason="whether bfloat16 or float32 is meant cannot be seen",
                )
        told = set()
        for use in report.uses:
            inner = next((e for e in reversed(use.state.entered) if e.autocast.device in ("cpu", None)), None)
            if use.name != "lstm" or inner is None or use.state.doubts - inner.doubts:
                continue
            autocast = inner.autocast
            if autocast.device == "cpu" and autocast.dtypes == {"float16"} and autocast.enabled is not False:
                if autocast.call in told:
                    continue
                told.add(autocast.call)
                yield context.finding(
                    self,
                    autocast.call,
                    "an LSTM runs in this region, which fails in float16 on CPUs without float16 instructions",
                    help="Use bfloat16 in CPU autocast.",
                    related=(context.related(use.node, "the LSTM"),),
                    no_fix_reason="whether bfloat16 or float32 is meant cannot be seen",
                )

    def _is_old(self, context: Context) -> bool:
        target = context.target_torch
        return target is not None and target.version < _SINCE_FLOAT16
