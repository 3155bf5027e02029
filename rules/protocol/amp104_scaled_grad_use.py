"""# scaled-grad-use (AMP104)

## What it does
Finds the program's own reading or changing of `.grad` where its size matters (norms, means, sums, noise that is
added, `nan_to_num`) between a scaled backward and `scaler.unscale_(optimizer)`. A function that is asked for such a
number is followed, and reported where it was asked. Whether gradients are finite, their sign, and code that divides
by `scaler.get_scale()` itself are left alone.

## Why is this bad?
The numbers are the loss scale too large: a gradient norm of 2.53 was logged as 166050. What is added to such
gradients, or compared with them, is as good as not there; `nan_to_num` hides the infinite values by which the scaler
knows that it must skip the step.

## Example
```python
scaler.scale(loss).backward()
norm = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
norm = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix is safe: `scaler.unscale_(optimizer)` before the use, `step` then does not unscale again. It is not offered
where the optimizer is not certain, or where the gradients are looked at more often than they are stepped.

## References
- [Automatic mixed precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html)
- [torch.amp.GradScaler](https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler)
"""

from __future__ import annotations

from amplint.findings import Severity
from amplint.rules.protocol.violations import ScaledGradientRule


class ScaledGradUse(ScaledGradientRule):
    """Gradients read or changed by hand while they carry the loss scale."""

    code = "AMP104"
    name = "scaled-grad-use"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "the size of gradients is used while they carry the loss scale"
    fixable = "sometimes"
    advice = "Call `{scaler}.unscale_(optimizer)` before gradients are looked at."
