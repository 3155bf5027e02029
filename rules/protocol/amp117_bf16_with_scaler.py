"""# bf16-with-scaler (AMP117)

## What it does
Finds a gradient scaler that is switched on where every autocast region that the document trains under runs, or may be
set to run, in bfloat16. It says nothing where the scaler is switched by the dtype, or by a setting of which it is not
plain whether it goes with the dtype.

## Why is this bad?
Scaling keeps small gradients from becoming zero in float16. bfloat16 has the range of float32, so there is nothing to
keep: a measured training ends with bitwise the same weights with and without the scaler. What it costs is a look at
every gradient and a wait for the device at each step. Often it is a sign that float16 was meant, or that the switch
for one precision turns on what only the other needs.

## Example
```python
scaler = torch.amp.GradScaler("cuda")
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = model(x).mean()
scaler.scale(loss).backward()
```

## Use instead
```python
scaler = torch.amp.GradScaler("cuda", enabled=False)
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = model(x).mean()
scaler.scale(loss).backward()
```

Or, where the dtype is chosen, `enabled=dtype is torch.float16`.

## Fix safety
The fix is safe: a disabled scaler passes everything through. It is offered where all regions are written as bfloat16;
where the dtype is chosen elsewhere the right condition is yours to write.

## References
- [Automatic mixed precision package](https://docs.pytorch.org/docs/stable/amp.html)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Finding, Fix, Severity
from amplint.mentions import OF_TRAINING
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    from amplint.training.autocast import Region
    from amplint.training.conditions import Atom, Formula
    from amplint.training.scalers import Scaler
    from amplint.training.training import Training

_PRECISION = re.compile(r"(?i)fp16|bf16|float16|half|\bf16|dtype|precision|scal|\b16\b")
_BFLOAT16 = re.compile(r"(?i)bf16|bfloat16")
_SWITCH = re.compile(r"(?i)amp|autocast|cuda|gpu|device")


class Bf16WithScaler(Rule):
    """A scaler that is switched on under bfloat16."""

    code = "AMP117"
    name = "bf16-with-scaler"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "a gradient scaler that is switched on where autocast runs in bfloat16"
    fixable = "sometimes"
    mentions = (b"GradScaler",)
    imported_mentions = OF_TRAINING

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the scalers that are on under bfloat16."""
        training = context.training
        if not training.scalers.built:
            return
        regions = [region for region in training.autocasts.regions if not training.autocasts.is_inference(region.node)]
        dtypes = {choice.dtype for region in regions for choice in training.autocasts.dtypes(region)}
        if "bfloat16" not in dtypes or None in dtypes:
            return
        for scaler in training.scalers.built:
            if scaler.is_off or scaler.may_be_off or not _is_on(training, scaler, regions):
                continue
            literally = dtypes == {"bfloat16"}
            fix = _switch_off(context, scaler) if literally else None
            when = "" if literally else ", also where the dtype is bfloat16"
            yield context.finding(
                self,
                scaler.call,
                f"a gradient scaler that is switched on{when}: bfloat16 needs no loss scaling",
                help="Switch the scaler off for bfloat16, as by `enabled=dtype is torch.float16`.",
                related=tuple(context.related(region.call, "the region that runs in bfloat16") for region in regions),
                candidates=(fix,) if fix is not None else (),
                no_fix_reason=None if fix is not None else "when the dtype is bfloat16 is decided elsewhere",
            )


def _is_on(training: Training, scaler: Scaler, regions: list[Region]) -> bool:
    """Whether the scaler certainly scales something in a setting in which all regions run in bfloat16."""
    from amplint.training.conditions import TRUE, conjunction

    places, conditions = training.places, training.conditions
    enabled = scaler.argument("enabled")
    switch = TRUE if enabled is None else conditions.of(enabled)
    built = conjunction([conditions.guards(places.guards_of(scaler.call)), switch])
    for use in training.scalers.uses(scaler):
        if use.method != "scale":
            continue
        on = conjunction([built, conditions.guards(places.guards_of(use.call))])
        if all(_go_together(training, scaler, on, switch, region) for region in regions):
            return True
    return False


def _go_together(training: Training, scaler: Scaler, on: Formula, switch: Formula, region: Region) -> bool:
    """Whether the scaler may be on, as ``on`` says, while ``region`` runs in bfloat16."""
    from amplint.training.conditions import Formula, can_hold, conjunction

    choices = [choice for choice in training.autocasts.dtypes(region) if choice.dtype == "bfloat16"]
    chosen = Formula("or", parts=tuple(choice.when for choice in choices))
    inside = conjunction([training.autocasts.enabled(region), chosen])
    known = {atom.text for atom in inside.atoms()}
    switches = {atom.text for atom in switch.atoms()}
    assumed: list[Formula] = []
    for atom in on.atoms():
        if atom.text in known or _asks_for(training, scaler, atom):
            continue
        said = _said(training, atom)
        if _BFLOAT16.search(atom.text) and re.fullmatch(r"[\w.]+", atom.text):  # a flag for bfloat16: it is set
            assumed.append(Formula("atom", atom=atom))
        elif _PRECISION.search(said) or (atom.text in switches and not _SWITCH.search(said)):
            return False
    return can_hold(conjunction([on, inside, *assumed]))


def _asks_for(training: Training, scaler: Scaler, atom: Atom) -> bool:
    return any(
        scaler.call in training.origins.of(reference).passed for reference in training.places.references(atom.node)
    )


def _said(training: Training, atom: Atom) -> str:
    """What a condition says, with what its names come from."""
    import libcst as cst

    texts = [atom.text]
    for reference in training.places.references(atom.node):
        for end in training.origins.of(reference).ends:
            if isinstance(end.node, cst.BaseExpression):
                texts.append(training.conditions.text(end.node))
    return " ".join(texts)


def _switch_off(context: Context, scaler: Scaler) -> Fix:
    from amplint.syntax.arguments import insert_keyword

    tree, call = context.tree, scaler.call
    enabled = scaler.argument("enabled")
    change = (*tree.span(enabled), "False") if enabled is not None else insert_keyword(tree, call, "enabled=False")
    return Fix("Switch the scaler off with `enabled=False`", context.edits([change]))
