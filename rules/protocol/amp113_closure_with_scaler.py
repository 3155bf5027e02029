"""# closure-with-scaler (AMP113)

## What it does
Finds `scaler.step(optimizer, closure)`, by position or by keyword, and `scaler.step()` of an LBFGS optimizer.

## Why is this bad?
The scaler unscales gradients before it calls `optimizer.step`, and a closure then computes new ones, which nobody
unscales. By keyword PyTorch raises `RuntimeError: Closure use is not currently supported if GradScaler is enabled.`;
by position the closure slips past that check and the step is the loss scale too large, or not checked for infinite
values. An LBFGS raises a `TypeError` without its closure.

## Example
```python
scaler.step(optimizer, closure)
```

## Use instead
```python
scaler.scale(loss).backward()
scaler.step(optimizer)
```

## Fix safety
There is no fix: an optimizer that needs its closure is trained without a scaler, in bfloat16 or float32.

## References
- [Automatic mixed precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html)
- [torch.amp.GradScaler](https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amplint.findings import Severity
from amplint.rules.protocol.violations import ViolationRule

if TYPE_CHECKING:
    from amplint.flow.intent import Intent
    from amplint.flow.machine import Found


class ClosureWithScaler(ViolationRule):
    """A scaler's step with a closure."""

    code = "AMP113"
    name = "closure-with-scaler"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "`scaler.step()` with a closure, or of an optimizer that needs one"
    fixable = "never"
    advice = "Step without a closure, or train this optimizer without a scaler."

    def reason(self, intent: Intent, found: Found, scaler: str | None) -> str | None:
        """Why there is no fix."""
        return "whether to do without the closure or without the scaler is the program's choice"
