"""# repeated-unscale (AMP106)

## What it does
Finds a second `scaler.unscale_(optimizer)` for the same optimizer without `scaler.update()` in between, and one after
`scaler.step(optimizer)`: unscaling on every micro-batch of an accumulation, for a log and again for the clip, or in
both passes of a two-pass optimizer.

## Why is this bad?
PyTorch raises `RuntimeError: unscale_() has already been called on this optimizer since the last update().`, or
`unscale_() is being called after step().` On a path that is seldom taken it is raised after hours of training.

## Example
```python
scaler.scale(loss).backward()
if step % log_every == 0:
    scaler.unscale_(optimizer)
    log(grad_norm(model))
scaler.unscale_(optimizer)
clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
if step % log_every == 0:
    log(grad_norm(model))
clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix is safe: it removes the second call where the first one is made whenever the second is, and the calls are in
order without it. Elsewhere none is offered.

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


class RepeatedUnscale(ViolationRule):
    """``unscale_`` a second time for one optimizer between updates."""

    code = "AMP106"
    name = "repeated-unscale"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "`scaler.unscale_()` twice, or after `step()`, for one optimizer between updates"
    fixable = "sometimes"
    advice = "Call `{scaler}.unscale_()` once for each optimizer between two updates."

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The second call removed, where the first is made whenever the second is."""
        from amplint.flow.intent import bundle
        from amplint.flow.repairs import comes_always_before, remove

        site, first = found.violation.site, found.violation.causes[0].site
        if not comes_always_before(intent, first, site):
            return ()
        return (bundle("Remove the repeated call", [remove(intent, site)]),)
