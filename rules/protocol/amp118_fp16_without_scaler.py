"""# fp16-without-scaler (AMP118)

## What it does
Finds training in float16 without a gradient scaler: a loss that was computed under an autocast region whose dtype is
certainly float16 (the default on CUDA), then `loss.backward()` and `optimizer.step()`, in a document in which no scaler
scales it. Where a scaler is there for one arm of a condition and the region is entered in both, the backward of the
other arm is found.

Regions without gradients, dtypes that are chosen elsewhere, and documents that leave scaling to a framework or do it by
hand are left alone.

## Why is this bad?
Small gradients become zero in float16, and nothing says so: of a loss around one millionth 90.7 % of the gradients
were zero in a measured model, and none with a scaler.

## Example
```python
with torch.autocast("cuda"):
    loss = criterion(model(x), y)
loss.backward()
optimizer.step()
```

## Use instead
```python
scaler = torch.amp.GradScaler("cuda")

with torch.autocast("cuda"):
    loss = criterion(model(x), y)
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

Or `torch.autocast("cuda", dtype=torch.bfloat16)`, which needs no scaler.

## Fix safety
There is no fix: whether to scale or to use bfloat16 is yours to choose.

## References
- [Gradient scaling](https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Finding, Severity
from amplint.mentions import OF_TRAINING
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.training.autocast import Region
    from amplint.training.training import Training

_SCALING = re.compile(r"(?i)scaler|(loss|grad)_?scal|scale_(loss|grad)|scaled_loss")
_MOST_EXPRESSIONS = 60


class Fp16WithoutScaler(Rule):
    """Training in float16 without a scaler."""

    code = "AMP118"
    name = "fp16-without-scaler"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "training under float16 autocast without a gradient scaler"
    mentions = (b"autocast",)
    imported_mentions = OF_TRAINING

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the regions that train unscaled, or the backward calls that go past the scaler."""
        training = context.training
        autocasts = training.autocasts
        regions = [
            region
            for region in autocasts.regions
            if not autocasts.is_inference(region.node)
            and {choice.dtype for choice in autocasts.dtypes(region)} == {"float16"}
        ]
        if not regions or training.uses_framework or not _steps(training):
            return
        built = bool(training.scalers.built)
        if not built and any(_SCALING.search(name) for name in training.places.identifiers):
            return
        seen: set[cst.CSTNode] = set()
        for call in training.places.calls("backward"):
            region = _region_of(training, call, regions)
            if region is None or (built and not _goes_past(training, call, region)):
                continue
            place = call if built else region.call
            if place not in seen:
                seen.add(place)
                yield context.finding(
                    self,
                    place,
                    "the loss goes back unscaled after a float16 region: small gradients become zero"
                    if built
                    else "training in float16 without a gradient scaler: small gradients become zero",
                    help="Scale the loss and step through a `GradScaler`, or use `dtype=torch.bfloat16`.",
                    related=(
                        context.related(region.call, "the region that runs in float16")
                        if built
                        else context.related(call, "the loss goes back unscaled"),
                    ),
                    no_fix_reason="whether to scale or to use bfloat16 is yours to choose",
                )


def _steps(training: Training) -> bool:
    """Whether the document steps an optimizer by itself."""
    import libcst as cst

    return any(
        isinstance(call.func, cst.Attribute) and not call.args and training.scalers.is_optimizer(call.func.value)
        for call in training.places.calls("step")
    )


def _region_of(training: Training, call: cst.Call, regions: list[Region]) -> Region | None:
    """The float16 region out of which the loss of a plain ``loss.backward()`` certainly comes."""
    import libcst as cst

    if not isinstance(call.func, cst.Attribute) or any(argument.keyword is None for argument in call.args):
        return None
    loss = call.func.value
    if training.autocasts.is_inference(call) or not _is_plain(loss):
        return None
    expressions = list(_derived(training, loss))
    if any(_is_scaled(expression) for expression in expressions):
        return None
    conditions, places = training.conditions, training.places
    from amplint.training.conditions import can_hold, conjunction

    here = conditions.guards(places.guards_of(call))
    for expression in expressions:
        innermost = next(training.autocasts.around(expression), None)
        if innermost in regions and can_hold(conjunction([training.autocasts.enabled(innermost), here])):
            return innermost
    return None


def _is_plain(loss: cst.BaseExpression) -> bool:
    """Whether a loss is a name, its mean or sum, or divided by something."""
    import libcst as cst

    if isinstance(loss, cst.BinaryOperation):
        return isinstance(loss.operator, (cst.Divide, cst.Add)) and _is_plain(loss.left)
    if isinstance(loss, cst.Call):
        return isinstance(loss.func, cst.Attribute) and loss.func.attr.value in ("mean", "sum") and not loss.args
    return isinstance(loss, (cst.Name, cst.Attribute, cst.Subscript))


def _derived(training: Training, loss: cst.BaseExpression) -> Iterator[cst.CSTNode]:
    """The expressions from which a loss is computed, those in functions that compute it too."""
    import libcst as cst

    origins, places = training.origins, training.places
    seen: set[cst.CSTNode] = {loss}
    waiting: list[cst.CSTNode] = [loss]
    while waiting and len(seen) < _MOST_EXPRESSIONS:
        node = waiting.pop(0)
        found: list[cst.CSTNode] = []
        for reference in places.references(node):
            if isinstance(reference, cst.Name):
                found.extend(source for source, _ in origins.before(reference) if not isinstance(source, cst.Param))
        for call in places.calls_in(node):
            functions = set(origins.targets(call))
            for module in origins.classes(call.func):
                functions.update(places.members(module, "forward"))
            found.extend(value for function in functions for value in places.returned(function))
        for source in found:
            if source not in seen and not training.autocasts.is_inference(source) and not _is_detached(source):
                seen.add(source)
                waiting.append(source)
                yield source


def _is_detached(expression: cst.CSTNode) -> bool:
    import libcst as cst

    from amplint.training.origins import callee_name

    return isinstance(expression, cst.Call) and callee_name(expression) in ("detach", "item", "numpy", "tolist")


def _is_scaled(expression: cst.CSTNode) -> bool:
    import libcst as cst

    from amplint.training.origins import callee_name
    from amplint.training.scalers import last_name

    if isinstance(expression, cst.Call):
        return callee_name(expression) == "scale"
    if not isinstance(expression, cst.BinaryOperation) or not isinstance(expression.operator, cst.Multiply):
        return False
    return any("scal" in last_name(side) for side in (expression.left, expression.right))


def _goes_past(training: Training, call: cst.Call, region: Region) -> bool:
    """Whether a backward certainly goes past the document's scalers: they scale nothing, or only in another arm."""
    places, scalers = training.places, training.scalers
    if region.argument("enabled") is not None:
        return False
    guards = places.guards_of(call)
    within = {guard.test for guard in guards}
    if any(guard.test not in within for guard in training.autocasts.guards(region)):
        return False
    for guard in guards:
        if _SCALING.search(training.tree.code(guard.test)):
            return False
    scaled = [use.call for scaler in scalers.built for use in scalers.uses(scaler) if use.method == "scale"]
    if any(use.method == "scale" and _SCALING.search(training.tree.code(use.call)) for use in scalers.unclaimed):
        return False
    if not scaled:
        return not any(_is_handed_on(training, scaler.call) for scaler in scalers.built)
    home = places.function_around(call)
    for other in scaled:
        if places.function_around(other) is not home:
            continue
        contrary = {(guard.test, not guard.truth) for guard in places.guards_of(other)}
        if contrary & {(guard.test, guard.truth) for guard in guards}:
            return True
    return False


def _is_handed_on(training: Training, scaler: cst.Call) -> bool:
    import libcst as cst

    for call in training.places.every_call():
        for argument in call.args:
            if isinstance(argument.value, (cst.Name, cst.Attribute)) and (
                scaler in training.origins.of(argument.value).passed
            ):
                return True
    return False
