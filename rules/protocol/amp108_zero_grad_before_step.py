"""# zero-grad-before-step (AMP108)

## What it does
Finds `optimizer.zero_grad()` (or that of the module whose parameters it holds) after a scaled backward and before the
`scaler.step(optimizer)`, `scaler.unscale_(optimizer)` or plain step that was to use the gradients.

## Why is this bad?
With `set_to_none=False` the step is one of zeros, and nothing is raised: training does not move, or drifts by
momentum and weight decay alone. With the default the scaler raises `AssertionError: No inf checks were recorded for
this optimizer.`

A clear under a condition that is asked after the backward drops gradients that turned out bad: that is no mistake.

## Example
```python
scaler.scale(loss).backward()
optimizer.zero_grad()
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
optimizer.zero_grad()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix is safe: it moves the call behind the update, so that the next iteration begins with cleared gradients.

## References
- [Automatic mixed precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html)
- [torch.amp.GradScaler](https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amplint.findings import Fix, Severity
from amplint.rules.protocol.violations import ViolationRule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.flow.intent import Intent
    from amplint.flow.machine import Found


class ZeroGradBeforeStep(ViolationRule):
    """Gradients cleared before the step that should use them."""

    code = "AMP108"
    name = "zero-grad-before-step"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "gradients are cleared between `backward()` and the step that should use them"
    fixable = "sometimes"
    advice = "Clear gradients after the update, or before the backward."

    def concerns(self, intent: Intent, found: Found) -> bool:
        """Not where gradients that turned out bad are dropped on purpose."""
        import libcst as cst

        report, tree = intent.report, intent.tree
        clear, step = (report.node(site) for site in (found.violation.site, found.violation.causes[0].site))
        around_step = {id(node) for node in tree.around(step)}
        here = report.scope(found.violation.site)
        uses = report.uses.get(found.violation.scaler, ())
        calls = [report.sites[site] for site in uses if report.scopes[site] == here]
        scales, unscales = (
            [tree.span(node)[0] for node in calls if isinstance(node, cst.Call) and _method(node) == name]
            for name in ("scale", "unscale_")
        )
        for node in tree.around(clear):
            if isinstance(node, (cst.FunctionDef, cst.Lambda)):
                break
            if isinstance(node, cst.If):
                start, end = tree.span(node)
                is_asked_later = not any(start <= scale < end for scale in scales)
                if is_asked_later and (id(node) not in around_step or any(unscale < start for unscale in unscales)):
                    return False
        return True

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The clearing moved behind the update."""
        from amplint.flow.repairs import move_behind_step

        return (move_behind_step(intent, found.violation, scaler),)


def _method(call: cst.Call) -> str:
    import libcst as cst

    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
