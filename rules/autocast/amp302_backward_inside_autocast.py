"""# backward-inside-autocast (AMP302)

## What it does
Finds `backward()`, of a scaled loss or of a plain one, inside an enabled autocast region, a `with` block or a
decorated function. A region with `enabled=False` is none.

## Why is this bad?
Only the forward pass and the loss belong into the region: backward operations run in the types that autocast chose
for their forward operations anyway. PyTorch discourages it, since code that runs in backward (hooks, custom
functions, checkpointed blocks) then runs under autocast, where it was not meant to; and a step that follows inside
the region leaves stale copies of the weights behind.

## Example
```python
with torch.autocast("cuda"):
    loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Use instead
```python
with torch.autocast("cuda"):
    loss = criterion(model(x), y)
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix takes the statements from the backward on out of the region, where they stand in it directly. It is safe where
nothing but the protocol's own calls moves out, and unsafe where other code comes after the backward.

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


class BackwardInsideAutocast(ViolationRule):
    """A backward inside the autocast region."""

    code = "AMP302"
    name = "backward-inside-autocast"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "`backward()` inside the autocast region"
    fixable = "sometimes"
    mentions = ((b"autocast", b"backward"),)
    advice = "Close the region after the loss."
    calls_scaler = False

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The backward, and what comes after it, taken out of the region."""
        from amplint.flow.repairs import dedent

        return (dedent(intent, found.violation.site),)
