"""# step-inside-autocast (AMP301)

## What it does
Finds an optimizer's step, by a scaler or plain, inside an autocast region in which a later backward shows that the
model runs forward again: a `with torch.autocast(...)` around the whole loop, or around both steps of a GAN.

## Why is this bad?
Inside a region autocast keeps half-precision copies of the weights and uses them again. After a step they are stale:
the forward passes that follow in the same region are made with the old weights, and training stalls without a word.

## Example
```python
with torch.autocast("cuda"):
    for x, y in loader:
        loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
for x, y in loader:
    with torch.autocast("cuda"):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Fix safety
The fix is unsafe: it moves the statements from the backward on out of the region, where they stand in it directly.
Where the region stands around a loop none is offered.

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


class StepInsideAutocast(ViolationRule):
    """Weights changed inside a region that goes on with its copies of them."""

    code = "AMP301"
    name = "step-inside-autocast"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "weights change inside an autocast region that runs forward again"
    fixable = "sometimes"
    mentions = ((b"autocast", b".step"),)
    advice = "Close the region after the loss."
    calls_scaler = False

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The step taken out of the region."""
        from amplint.flow.repairs import as_unsafe, dedent

        return (as_unsafe(dedent(intent, found.violation.site)),)
