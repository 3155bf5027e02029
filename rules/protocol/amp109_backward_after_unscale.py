"""# backward-after-unscale (AMP109)

## What it does
Finds `scaler.scale(loss).backward()` into gradients that `scaler.unscale_(optimizer)` has already divided, and an
`unscale_` that comes before the backward.

## Why is this bad?
Gradients of two sizes are added up: those of the second backward count 65536 times as much as those of the first, and
`scaler.step()` does not divide again. Measured: 32768 times too large for two equal losses.

## Example
```python
scaler.scale(first).backward()
scaler.unscale_(optimizer)
scaler.scale(second).backward()
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
scaler.scale(first).backward()
scaler.scale(second).backward()
scaler.unscale_(optimizer)
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix is safe: it moves `unscale_` behind the last backward, where that puts all calls in order.

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


class BackwardAfterUnscale(ViolationRule):
    """Scaled gradients added to unscaled ones."""

    code = "AMP109"
    name = "backward-after-unscale"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "a scaled backward adds to gradients that are already unscaled"
    fixable = "sometimes"
    advice = "Call `{scaler}.unscale_(optimizer)` after the last backward."

    def concerns(self, intent: Intent, found: Found) -> bool:
        """Not where the same ``unscale_`` is called again on the way: that is one call too many (AMP106)."""
        unscaled = {cause.site for cause in found.violation.causes}
        repeated = (other.violation for other in intent.report.violations if other.violation.code == "AMP106")
        return not any(unscaled & {other.site, *(cause.site for cause in other.causes)} for other in repeated)

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """``unscale_`` moved behind the backward, where both are done under the same conditions."""
        from amplint.flow.intent import bundle
        from amplint.flow.repairs import comes_always_before, move_after

        place = found.violation.site
        sites = (cause.site for cause in found.violation.causes if comes_always_before(intent, cause.site, place))
        moves = (move_after(intent, site, place) for site in sites)
        return tuple(bundle(f"Move `{scaler}.unscale_()`", move) for move in moves)
