"""# double-scale (AMP111)

## What it does
Finds `scaler.scale()` of a loss that is scaled already, by the same scaler or by another.

## Why is this bad?
The gradients carry the product of both scales, and the step divides by one: it is the loss scale too large, 65536
times by default, or infinite, so that steps are skipped until the scale has fallen to one.

## Example
```python
loss = scaler.scale(loss)
scaler.scale(loss).backward()
```

## Use instead
```python
scaler.scale(loss).backward()
```

## Fix safety
The fix is safe: it drops the outer `scale`.

## References
- [Automatic mixed precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html)
- [torch.amp.GradScaler](https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amplint.findings import Fix, Severity
from amplint.rules.protocol.violations import ViolationRule

if TYPE_CHECKING:
    from amplint.flow.intent import Intent
    from amplint.flow.machine import Found


class DoubleScale(ViolationRule):
    """A loss scaled a second time."""

    code = "AMP111"
    name = "double-scale"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "a loss is scaled twice, by one scaler or by two"
    fixable = "sometimes"
    advice = "Scale a loss once."

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The outer of the two calls dropped."""
        import libcst as cst

        from amplint.flow.intent import bundle
        from amplint.flow.repairs import replace_call

        call = intent.report.node(found.violation.site)
        if not isinstance(call, cst.Call) or len(call.args) != 1:
            return ()
        inner = intent.tree.code(call.args[0].value)
        return (bundle("Scale it once", [replace_call(intent, found.violation.site, inner)]),)
