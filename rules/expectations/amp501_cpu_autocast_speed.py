"""# cpu-autocast-speed (AMP501)

## What it does
Finds CPU autocast in a function that trains.

## Why is this bad?
It need not be: it depends on the processor. Where it lacks instructions for the dtype, CPU autocast is slower than
float32. One training step of a small network (512-1024-512) took 11.1 ms in float32, 5.9 ms in bfloat16 and 359 ms in
float16 on one machine; others differ. Measure it on yours with `amplint measure`.

This rule is off unless selected: it says what to expect, not that something is wrong.

## Example
```python
with torch.autocast("cpu"):
    loss = criterion(model(x), y)
loss.backward()
```

## References
- [torch.autocast](https://docs.pytorch.org/docs/stable/amp.html#torch.autocast)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Finding, Severity
from amplint.mentions import OF_PRECISION
from amplint.rule import Context, Rule


class CpuAutocastSpeed(Rule):
    """CPU autocast in training."""

    code = "AMP501"
    name = "cpu-autocast-speed"
    severity = Severity.INFO
    since = "0.1.0"
    summary = "CPU autocast in training, which may be slower than float32: measure it"
    default = False
    mentions = (b"autocast",)
    imported_mentions = OF_PRECISION

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the CPU regions of functions that train."""
        text = context.document.text
        if "autocast" not in text or "cpu" not in text or "backward" not in text:
            return
        import libcst as cst

        for call, autocast in context.precision.autocasts.items():
            seen = autocast.enabled is not None or autocast.dtypes is not None
            if autocast.device != "cpu" or autocast.enabled is False or not seen:
                continue
            around: cst.CSTNode = next(
                (node for node in context.names.ancestors(call) if isinstance(node, cst.FunctionDef)),
                context.tree.module,
            )
            body = context.document.text if isinstance(around, cst.Module) else context.tree.code(around)
            if ".backward(" in body and not context.training.autocasts.records_nothing(call):
                yield context.finding(
                    self,
                    call,
                    "CPU autocast may be slower than float32, which depends on the processor",
                    help="Measure it on the machine that trains: `amplint measure`.",
                    no_fix_reason="it is a matter of measuring",
                )
