"""# repeated-step (AMP110)

## What it does
Finds a second `scaler.step(optimizer)` for the same optimizer without `scaler.update()` in between.

## Why is this bad?
PyTorch raises `RuntimeError: step() has already been called since the last update().`

## Example
```python
scaler.step(optimizer)
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix is safe: it removes the second step.

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


class RepeatedStep(ViolationRule):
    """A second step of one optimizer between updates."""

    code = "AMP110"
    name = "repeated-step"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "`scaler.step()` twice for one optimizer between updates"
    fixable = "sometimes"
    advice = "Step each optimizer once between two updates."

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The second step removed."""
        from amplint.flow.intent import bundle
        from amplint.flow.repairs import remove

        first = found.violation.causes[0].site
        if intent.report.scope(first) != intent.report.scope(found.violation.site):
            return ()  # the function of the second may be called from elsewhere as well
        return (bundle("Remove the second step", [remove(intent, found.violation.site)]),)
