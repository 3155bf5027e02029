"""# mismatched-enabled (AMP126)

## What it does
Finds a gradient scaler and an autocast region of float16 that are switched by two different flags of the program, or
the scaler by a flag for mixed precision and the region by none, so that the region can be on while the scaler is off.
Flags that choose a precision (float16 here, bfloat16 there) are left alone, as are conditions of more than one flag.

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
from typing import TYPE_CHECKING, Any, NamedTuple

from amplint.findings import Finding, Severity
from amplint.mentions import OF_TRAINING
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    from amplint.training.autocast import Region
    from amplint.training.training import Training

_SWITCH = re.compile(r"amp|scal|mixed|autocast|precision", re.IGNORECASE)
_SWITCH_OF_ALL = re.compile(r"^(use_|enable_|with_|is_)?(amp|autocast|mixed_?precision)(_enabled)?$", re.IGNORECASE)
"""A flag that is meant for the region too: ``use_amp``, not ``use_scaler``."""
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
        if "autocast" not in context.document.text:
            return
        training = context.training
        scalers = [scaler for scaler in training.scalers.built if training.scalers.uses(scaler)]
        if len(scalers) != 1:
            return
        scaler = scalers[0]
        switch = _flag(context, scaler.argument("enabled"))
        regions = [region for region in training.autocasts.regions if not training.autocasts.is_inference(region.node)]
        if switch is None or not regions:
            return
        flags = [_flag(context, region.argument("enabled")) for region in regions]
        on = [flag for flag in flags if flag is not None]
        if _SWITCH_OF_ALL.search(switch.name) and all(_is_always_on(training, region) for region in regions):
            message = f"`{switch.text}` switches the scaler, and the autocast region is on without it"
        elif len(on) == len(flags) and all(flag.origin != switch.origin for flag in on):
            switches = f"`{switch.text}` switches the scaler, `{on[0].text}` the autocast region"
            message = f"{switches}: one can be on without the other"
        else:
            return
        yield context.finding(
            self,
            scaler.call,
            message,
            help="Give both the same flag.",
            related=(context.related(regions[0].call, "the region is switched here" if on else "the region is here"),),
            no_fix_reason="which of the flags is meant only the program knows",
        )


def _is_always_on(training: Training, region: Region) -> bool:
    """Whether a region of float16 is made where it is entered, and that whatever the program's flags are."""
    dtypes = {choice.dtype for choice in training.autocasts.dtypes(region)}
    names = training.names
    made_there = names.parent(region.call) is region.place and region.name in names.qualified(region.call.func)
    if region.argument("enabled") is not None or dtypes != {"float16"} or not made_there:
        return False
    return not any(training.places.guards_of(place) for place in training.lifetimes.ways_to(region.place))


class _Flag(NamedTuple):
    """A flag as it is spelled, and what identifies it."""

    text: str
    name: str
    """The identifier that says what it is for."""
    origin: object


def _flag(context: Context, value: object) -> _Flag | None:
    """The one flag that an argument is, None for anything else."""
    import libcst as cst

    if not isinstance(value, (cst.Name, cst.Attribute, cst.Subscript)):
        return None
    ends = context.training.origins.of(value).ends
    if len(ends) != 1 or not isinstance(ends[0].node, (cst.Name, cst.Attribute, cst.Param)):
        return None
    text = context.tree.code(value)
    spelled = f"{text}.{ends[0].path}"
    if not _SWITCH.search(spelled) or _PRECISION.search(spelled):
        return None
    words = re.findall(r"\w+", text)
    return _Flag(text, words[-1] if words else "", (_spelled(context, ends[0].node), ends[0].path))


def _spelled(context: Context, node: Any) -> tuple[str, ...]:
    """How a value is written, or a parameter is declared."""
    import libcst as cst

    if not isinstance(node, cst.Param):
        return (context.tree.code(node),)
    annotation = None if node.annotation is None else node.annotation.annotation
    return (node.name.value, *(context.tree.code(part) if part else "" for part in (annotation, node.default)))
