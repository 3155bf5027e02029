"""# scaled-loss-used (AMP112)

## What it does
Finds a variable that holds `scaler.scale(loss)` and of which a number or a text is made: `.item()`, `float()`,
`print`, an f-string. Dividing by `scaler.get_scale()` is right as long as `scaler.update()` has not changed the scale
since.

## Why is this bad?
The number is the loss scale too large: 174546 was logged for a loss of 2.66. It also jumps each time the scale
changes, so curves, early stopping and schedules that follow it are wrong.

## Example
```python
loss = scaler.scale(loss)
loss.backward()
scaler.step(optimizer)
scaler.update()
total += loss.item()
```

## Use instead
```python
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
total += loss.item()
```

## Fix safety
The fix is safe where the variable is scaled in one statement and backpropagated in another: both become
`scaler.scale(loss).backward()`; and where the scaled loss has no name, as in `scaler.scale(loss).item()`, which becomes
`loss.item()`. It is not offered where the program divides by the scale somewhere.

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


class ScaledLossUsed(ViolationRule):
    """A scaled loss used as if it were the loss."""

    code = "AMP112"
    name = "scaled-loss-used"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "a scaled loss is logged or made a number as if it were the loss"
    fixable = "sometimes"
    advice = "Use the loss itself, and keep it under its name: `{scaler}.scale(loss).backward()`."

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The loss itself used, or the variable left unscaled, and scaled where it is backpropagated."""
        from amplint.flow.repairs import leave_unscaled, scale_at_backward

        violation = found.violation
        return leave_unscaled(intent, violation, scaler), scale_at_backward(intent, violation, scaler)

    def reason(self, intent: Intent, found: Found, scaler: str | None) -> str | None:
        """Why the loss was not put in its place."""
        untold = scaler is not None and not found.elsewhere
        return "which name has the loss itself is not certain" if untold else super().reason(intent, found, scaler)
