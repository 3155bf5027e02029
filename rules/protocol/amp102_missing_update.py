"""# missing-update (AMP102)

## What it does
Finds `scaler.step()` and `scaler.unscale_()` from which a path leads to the next `step()` or `unscale_()`, or to the
end of the scaler's life, without `scaler.update()` in between.

## Why is this bad?
`update()` closes an iteration: it forgets which optimizers were unscaled and stepped, and adapts the scale. Without it
the next iteration raises `RuntimeError: step() has already been called since the last update().` or, after a skipped
step, `unscale_() has already been called on this optimizer since the last update().` Where the scaler is disabled or
made anew each time nothing is raised, and the scale simply never adapts. A path that skips the step, because a
gradient was infinite say, owes the update too once it has called `unscale_()`.

## Example
```python
for x, y in loader:
    optimizer.zero_grad()
    scaler.scale(criterion(model(x), y)).backward()
    scaler.step(optimizer)
```

## Use instead
```python
for x, y in loader:
    optimizer.zero_grad()
    scaler.scale(criterion(model(x), y)).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Fix safety
The fix is safe. It adds `scaler.update()` after the last step, behind the loop where each of several optimizers is
stepped in one. On a path that skips the step no fix is offered: whether to update or to leave earlier is the program's
choice.

## References
- [Automatic mixed precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html)
- [torch.amp.GradScaler](https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Finding, Fix, Severity
from amplint.rule import Context, Rule
from amplint.rules.protocol.violations import MENTIONS, explanation


class MissingUpdate(Rule):
    """``step`` or ``unscale_`` without an ``update`` before the next."""

    code = "AMP102"
    name = "missing-update"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "`scaler.step()` or `scaler.unscale_()` that no `scaler.update()` follows"
    fixable = "sometimes"
    mentions = MENTIONS

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the calls that owe an update."""
        report = context.protocol
        repeated = {found.violation.site for found in report.violations if found.violation.code == "AMP106"}
        for found in report.violations:
            violation = found.violation
            if violation.code != self.code or (violation.site in repeated and not found.is_step):
                continue  # an unscale_() that is one too many is said as that
            from amplint.flow.intent import bundle

            intent = context.intent
            scaler = intent.scaler_text(violation)
            related = [*explanation(context, intent, found)]
            candidates: tuple[Fix, ...] = ()
            if found.skips_step:
                place = report.node(found.detour)
                message = f"this path skips `{scaler or 'scaler'}.update()` after `unscale_()`"
                related.insert(0, context.related(report.node(violation.site), "unscaled here"))
                reason = "the skipped path may call `update()` or leave before `unscale_()`: that is yours to choose"
            else:
                place, message = report.node(violation.site), violation.message
                reason = (
                    f"`{scaler or 'scaler'}.update()` right after this call would not put all calls in order: "
                    "another update or step around it is out of place, too"
                )
                if scaler is not None and found.is_step:
                    fixes = (
                        bundle(f"Add `{scaler}.update()`", [intent.add_update(violation.site, scaler)]),
                        bundle(f"Move `{scaler}.update()` to the step", intent.move_update(violation.site, scaler)),
                    )
                    candidates = tuple(fix for fix in fixes if fix and intent.heals(fix, violation, scaler))
            yield context.finding(
                self,
                place,
                message,
                help=f"Call `{scaler or 'scaler'}.update()` once, after the last `step()` of each iteration.",
                related=tuple(related),
                candidates=candidates,
                no_fix_reason=None if candidates else reason,
            )
