"""# misplaced-update (AMP107)

## What it does
Finds `scaler.update()` before the last of several optimizers has stepped, inside a window of accumulated gradients,
and where neither `step()` nor `unscale_()` has come before it: a second time in a row, or on every micro-batch.

## Why is this bad?
`update()` may change the scale, and it forgets what was unscaled. An optimizer that steps after it divides by another
scale than its gradients were made with, or divides a second time: the measured step was 1.95e-3 for 2. In an
accumulation window gradients of two scales are added up, 0.56 off. With nothing recorded PyTorch raises
`AssertionError: No inf checks were recorded prior to update.`

## Example
```python
scaler.step(optimizer_g)
scaler.update()
scaler.step(optimizer_d)
scaler.update()
```

## Use instead
```python
scaler.step(optimizer_g)
scaler.step(optimizer_d)
scaler.update()
```

## Fix safety
The fix is safe: it removes the update that is one too many, or moves it behind the step. Where neither puts all calls
in order none is offered.

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


class MisplacedUpdate(ViolationRule):
    """An update where gradients of the old scale still wait, or where there is nothing to update from."""

    code = "AMP107"
    name = "misplaced-update"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "`scaler.update()` between optimizers' steps, in an accumulation window, twice, or with nothing recorded"
    fixable = "sometimes"
    advice = "Call `{scaler}.update()` once, after the last `step()`."

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The update removed, or moved behind the step that still needs the scale."""
        from amplint.flow.intent import bundle
        from amplint.flow.repairs import move_after, remove, steps_beside

        site = found.violation.site
        fixes = []
        past = any(other.violation.code == "AMP101" for other in intent.report.violations)
        # where the scaler steps nothing it is the step that may lack, and without the update nobody would notice
        if not found.is_idle_update or intent.report.given or past:
            fixes.append(bundle(f"Remove `{scaler}.update()`", [remove(intent, site)]))
        for cause in found.violation.causes:
            fixes.append(bundle(f"Move `{scaler}.update()`", move_after(intent, site, cause.site)))
        for step in steps_beside(
            intent, found.violation
        ):  # behind the loop that steps each, under the step's condition
            edits = [remove(intent, site), intent.add_update(step, scaler)]
            fixes.append(bundle(f"Move `{scaler}.update()`", edits))
        return tuple(fixes)
