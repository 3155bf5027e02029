"""# scaled-grad-use (AMP104)

## What it does
Finds the program's own reading or changing of `.grad` where its size matters (norms, means, sums, noise that is
added, `nan_to_num`) between a scaled backward and `scaler.unscale_(optimizer)`. A function that is asked for such a
number is followed, and reported where it was asked. Whether gradients are finite, their sign, and code that divides
by `scaler.get_scale()` itself are left alone.

## Why is this bad?
The numbers are the loss scale too large: a gradient norm of 2.53 was logged as 166050. What is added to such
gradients, or compared with them, is as good as not there; `nan_to_num` hides the infinite values by which the scaler
knows that it must skip the step.

## Example
```python
scaler.scale(loss).backward()
norm = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
norm = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix is safe: `scaler.unscale_(optimizer)` before the use, `step` then does not unscale again. It is not offered
where the optimizer is not certain, or where the gradients are looked at more often than they are stepped.

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


class ScaledGradUse(ViolationRule):
    """Gradients read or changed by hand while they carry the loss scale."""

    code = "AMP104"
    name = "scaled-grad-use"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "the size of gradients is used while they carry the loss scale"
    fixable = "sometimes"
    advice = "Call `{scaler}.unscale_(optimizer)` before gradients are looked at."

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """``unscale_`` right before the place, under the condition that scales the gradients."""
        from amplint.flow.repairs import unscale_before

        optimizer = intent.optimizer_text(found.violation)
        return () if optimizer is None else unscale_before(intent, found.violation, scaler, optimizer)

    def reason(self, intent: Intent, found: Found, scaler: str | None) -> str | None:
        """Why ``unscale_`` was not added."""
        if scaler is not None and found.violation.optimizer is None:
            return "which optimizer owns these gradients is not certain"
        if scaler is not None and intent.optimizer_text(found.violation) is None:
            return "the optimizer cannot be reached from here"
        return super().reason(intent, found, scaler)
