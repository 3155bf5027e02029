"""# wrong-scaler-argument (AMP121)

## What it does
Finds `scaler.step(scheduler)`, `scaler.step(optimizer.step())`, `scaler.update(1024)` with an integer,
`scaler.update(optimizer)`, and `scaler.update(scaler.get_scale())` in the place of a plain update.

## Why is this bad?
A scheduler or the result of a step has no `param_groups`: `AttributeError`. `update()` takes a float or a tensor, an
int raises `AttributeError`. Given the present scale, `update` keeps it: after an overflow the scale never backs off
and every further step is skipped, silently.

## Example
```python
scaler.step(optimizer.step())
scaler.update(scaler.get_scale())
```

## Use instead
```python
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix is safe where the intention is plain: the optimizer itself, a float, or an update without argument. For a
scheduler none is offered.

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


class WrongScalerArgument(ViolationRule):
    """A wrong argument of a scaler's method."""

    code = "AMP121"
    name = "wrong-scaler-argument"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "a method of the scaler is given what it cannot work with"
    fixable = "sometimes"
    advice = "Give `step` the optimizer, and `update` nothing or a float."

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The argument that was meant."""
        from amplint.flow.repairs import right_argument

        return (right_argument(intent, found.violation.site),)
