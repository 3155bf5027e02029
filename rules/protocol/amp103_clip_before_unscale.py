"""# clip-before-unscale (AMP103)

## What it does
Finds gradient clipping, by norm or by value, through PyTorch's functions, timm's, or by hand, on gradients that
`scaler.scale(loss).backward()` has made and that `scaler.unscale_(optimizer)` has not yet divided by the scale.
Helpers and methods of the file and of the project are followed; with several optimizers the one that owns the clipped
parameters counts.

## Why is this bad?
While they carry the scale, gradients are up to 65536 times too large, so every one of them exceeds the threshold.
Measured: a norm of 254 was reported as 1.67e7, and the step that was applied had a length of 1.5e-5 in the place of
1.0: training all but stands still, and nothing is raised.

## Example
```python
scaler.scale(loss).backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix is safe: it puts `scaler.unscale_(optimizer)` right before the clip, under the same condition as the scaled
backward where there is one, or moves an `unscale_` that comes too late. It is not offered where it is not certain
which optimizer owns the parameters, where scaler or optimizer cannot be reached from the clip, or where the clip is
made more often than the step: `unscale_` may be called once only between updates.

## References
- [Automatic mixed precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html)
- [torch.amp.GradScaler](https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler)
"""

from __future__ import annotations

from amplint.findings import Severity
from amplint.rules.protocol.violations import ScaledGradientRule


class ClipBeforeUnscale(ScaledGradientRule):
    """Clipping of gradients that still carry the loss scale."""

    code = "AMP103"
    name = "clip-before-unscale"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "gradients are clipped while they carry the loss scale"
    fixable = "sometimes"
    advice = "Call `{scaler}.unscale_(optimizer)` once, right before the clip."
