"""# step-bypasses-scaler (AMP101)

## What it does
Finds `optimizer.step()` on gradients that a gradient scaler has scaled or unscaled, on any path that the program can
take: through branches on the same flag, early exits, loops, helpers and methods of the file and of the project.

## Why is this bad?
`scaler.scale(loss).backward()` leaves gradients that are 65536 times too large. Only `scaler.step(optimizer)` divides
the scale out again and skips the step when a gradient is infinite or NaN. Measured with SGD, the losses of three plain
steps were 2.66, 6e6 and 6e13; Adam hides the factor, but weight decay is then wrong and a single infinite gradient
makes every weight NaN. After `scaler.unscale_(optimizer)` a plain step has the right size, yet no longer skips
infinite gradients.

## Example
```python
scaler.scale(loss).backward()
optimizer.step()
```

## Use instead
```python
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix is safe. It writes `scaler.step(optimizer)`, and `scaler.update()` after the last step where the loop lacks it.
Where the scaler exists only under a condition, the step is split in two under that same condition. The fix is not
offered where the scaler cannot be reached from the step, or where other calls around it are out of order as well.

A step with a closure is not looked at: the closure runs backward by itself.

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


class StepBypassesScaler(ViolationRule):
    """``optimizer.step()`` on gradients that a scaler scaled or unscaled."""

    code = "AMP101"
    name = "step-bypasses-scaler"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "`optimizer.step()` on gradients that a gradient scaler scaled or unscaled"
    fixable = "sometimes"
    advice = "Call `{scaler}.step(optimizer)`, then `{scaler}.update()`."

    def reason(self, intent: Intent, found: Found, scaler: str | None) -> str | None:
        """Why the step was not replaced."""
        if scaler is None:
            return "the scaler that scaled these gradients cannot be reached from here"
        return (
            f"`{scaler}.step(...)` alone would not put the calls in order: "
            "another backward, step or update around it is out of place, too"
        )

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The rewrites that may heal this step, the smallest first."""
        from amplint.flow.intent import bundle

        violation = found.violation
        here = intent.report.scope(violation.site)
        # several plain steps of one scaler in one function are one mistake: they share the update after the last
        together = [
            other.violation.site
            for other in intent.report.violations
            if other.violation.code == self.code
            and other.violation.scaler == violation.scaler
            and intent.report.scope(other.violation.site) == here
        ]
        step = f"Replace with `{scaler}.step(...)`"
        both = f"{step} and add `{scaler}.update()`"
        steps = [intent.replace_step(site, scaler) for site in together]
        if intent.is_unsayable(violation):
            return ()
        if intent.guard(violation) is not None:  # the scaler may be there under this condition only
            fixes = [
                bundle(step, [intent.guarded_step(violation, scaler, update=False)]),
                bundle(both, [intent.guarded_step(violation, scaler, update=True)]),
            ]
        else:
            fixes = [
                bundle(step, [intent.replace_step(violation.site, scaler)]),
                bundle(step, steps),
                bundle(both, [*steps, intent.add_update(together[-1], scaler)]),
            ]
        return tuple(fixes)
