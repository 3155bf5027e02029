"""# scheduler-before-step (AMP116)

## What it does
Finds a learning-rate scheduler's `step()` between a scaled backward and the `scaler.step(optimizer)` of the optimizer
that it drives. Schedulers stepped after the update, once an epoch, or on each micro-batch of an accumulation are left
alone.

## Why is this bad?
The first value of the schedule is skipped and every step is made with the learning rate of the next; PyTorch warns
once: `Detected call of lr_scheduler.step() before optimizer.step()`. What is more, the scaler leaves out steps with
infinite gradients, and a scheduler that has stepped already cannot know of it.

## Example
```python
scaler.scale(loss).backward()
scheduler.step()
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
scheduler.step()
```

## Fix safety
The fix is unsafe: it moves the call behind the update, by which every step is made with the learning rate that the
schedule has before it.

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


class SchedulerBeforeStep(ViolationRule):
    """A learning rate moved on before the step that it should follow."""

    code = "AMP116"
    name = "scheduler-before-step"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "the learning rate is moved on between backward and `scaler.step()`"
    fixable = "sometimes"
    advice = "Step the scheduler after `{scaler}.update()`."

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The scheduler's step moved behind the update."""
        from amplint.flow.repairs import as_unsafe, move_behind_step

        return (as_unsafe(move_behind_step(intent, found.violation, scaler)),)
