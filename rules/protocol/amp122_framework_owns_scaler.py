"""# framework-owns-scaler (AMP122)

## What it does
Finds loss scaling by hand where a framework scales already: `accelerator.scaler.scale(loss)` around
`accelerator.backward()`, a `GradScaler` that steps an optimizer which an `Accelerator(mixed_precision="fp16")` or a
`Fabric(precision="16-mixed")` prepared, a scaled loss given to a DeepSpeed engine, or a scaled loss in a
`LightningModule` that leaves optimization to its trainer, or gives it to `manual_backward()` beside a
`Trainer(precision="16-mixed")`.

Frameworks that are set to float32 or bfloat16 are left alone, and those whose precision is not written out unless their
own `backward()` is given the scaled loss: there a scaler may be right.

## Why is this bad?
The framework's own `step()` unscales by its own scaler, which has not scaled this loss. Depending on who steps, the
gradients are unscaled twice, not at all, or the step fails because no scale was ever set.

## Example
```python
accelerator = Accelerator(mixed_precision="fp16")
scaler = torch.amp.GradScaler("cuda")
model, optimizer = accelerator.prepare(model, optimizer)
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
accelerator = Accelerator(mixed_precision="fp16")
model, optimizer = accelerator.prepare(model, optimizer)
accelerator.backward(loss)
optimizer.step()
```

## Fix safety
There is no fix: which of the two is to scale is yours to choose.

## References
- [Accelerate: mixed precision](https://huggingface.co/docs/accelerate/usage_guides/explore)
- [Lightning: manual optimization](https://lightning.ai/docs/pytorch/stable/model/manual_optimization.html)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Finding, Severity
from amplint.mentions import OF_TRAINING
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.training.scalers import Scaler
    from amplint.training.training import Training

_ACCELERATORS = frozenset({"accelerate.Accelerator", "accelerate.accelerator.Accelerator"})
_FABRICS = frozenset({"lightning.Fabric", "lightning.fabric.Fabric", "lightning_fabric.Fabric"})
_ENGINES = frozenset({"deepspeed.initialize"})
_MODULES = frozenset(
    {
        "lightning.LightningModule",
        "lightning.pytorch.LightningModule",
        "pytorch_lightning.LightningModule",
        "pytorch_lightning.core.LightningModule",
    }
)
_TRAINERS = frozenset({"lightning.Trainer", "lightning.pytorch.Trainer", "pytorch_lightning.Trainer"})
_HALF = frozenset({"fp16", "16-mixed", "16", 16})


class FrameworkOwnsScaler(Rule):
    """A scaler beside that of a framework."""

    code = "AMP122"
    name = "framework-owns-scaler"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "loss scaling by hand where Accelerate, Fabric, Lightning or DeepSpeed scales already"
    mentions = (b"GradScaler", (b"Accelerator", b".scaler"))
    imported_mentions = OF_TRAINING

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the scalers that have no business beside the framework's."""
        training = context.training
        if not training.uses_framework:
            return
        for borrowed in _borrowed(training):
            yield self._found(context, borrowed, "the accelerator's own scaler is used by hand")
        for scaler in training.scalers.built:
            if not scaler.is_off and _is_doubled(training, scaler):
                yield self._found(context, scaler.call, "a gradient scaler of its own beside the framework's")

    def _found(self, context: Context, node: cst.CSTNode, message: str) -> Finding:
        return context.finding(
            self,
            node,
            f"{message}: gradients are unscaled twice, or not at all",
            help="Leave scaling to the framework: its own `backward()`, and plain `optimizer.step()`.",
            no_fix_reason="which of the two is to scale is yours to choose",
        )


def _borrowed(training: Training) -> list[cst.CSTNode]:
    """Where the scaler of an accelerator is taken to scale a loss."""
    import libcst as cst

    from amplint.training.origins import Member

    found: dict[cst.CSTNode, None] = {}
    for use in training.scalers.unclaimed:
        sources = training.origins.of(use.receiver)
        if use.method == "scale" and any(
            end.path == (Member("scaler"),) and _is_accelerator(training, end.node) for end in sources.ends
        ):
            for node in sources.passed:
                if isinstance(node, cst.Attribute) and node.attr.value == "scaler":
                    found[node] = None
    return list(found)


def _is_accelerator(training: Training, node: cst.CSTNode) -> bool:
    import libcst as cst

    if isinstance(node, cst.Call):
        return bool(training.names.qualified(node.func) & _ACCELERATORS)
    annotation = node.annotation if isinstance(node, cst.Param) else None
    return annotation is not None and bool(training.names.qualified(annotation.annotation) & _ACCELERATORS)


def _is_doubled(training: Training, scaler: Scaler) -> bool:
    """Whether a framework that scales already gets what the scaler scales, or prepared what it steps."""
    import libcst as cst

    origins, scalers = training.origins, training.scalers
    for optimizer in scalers.steps(scaler):
        for node in origins.of(optimizer).touched:
            if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
                if node.func.attr.value in ("prepare", "setup", "setup_optimizers") and _scales(
                    training, node.func, False
                ):
                    return True
    scaled = {use.call for use in scalers.uses(scaler) if use.method == "scale"}
    for call in training.places.calls("backward"):
        if isinstance(call.func, cst.Attribute) and call.args and not call.args[0].star:
            if scaled & origins.of(call.args[0].value).passed and _scales(training, call.func, True):
                return True
    if any(_in_automatic_module(training, call) for call in scaled):
        return True
    return _trains_in_half(training) and any(
        isinstance(call.func, cst.Attribute)
        and bool(call.args)
        and bool(scaled & origins.of(call.args[0].value).passed)
        and _is_of_module(training, training.places.class_around(call))
        for call in training.places.calls("manual_backward")
    )


def _trains_in_half(training: Training) -> bool:
    """Whether every trainer of the document is set up to scale."""
    from amplint.training.places import literal

    trainers = [call for call in training.places.calls("Trainer") if training.names.qualified(call.func) & _TRAINERS]
    return bool(trainers) and all(
        any(
            argument.keyword is not None and argument.keyword.value == "precision" and literal(argument.value) in _HALF
            for argument in call.args
        )
        for call in trainers
    )


def _is_of_module(training: Training, owner: cst.ClassDef | None) -> bool:
    return owner is not None and any(training.names.qualified(base.value) & _MODULES for base in owner.bases)


def _scales(training: Training, method: cst.Attribute, unsaid: bool) -> bool:
    """Whether a method is of a framework that is set up to scale; ``unsaid`` where that is not to be seen."""
    import libcst as cst

    from amplint.training.places import literal

    for end in training.origins.of(method.value).ends:
        if not isinstance(end.node, cst.Call):
            continue
        named = training.names.qualified(end.node.func)
        if named & _ENGINES:
            return True
        if named & (_ACCELERATORS | _FABRICS):
            wanted = "mixed_precision" if named & _ACCELERATORS else "precision"
            for argument in end.node.args:
                if argument.keyword is not None and argument.keyword.value == wanted:
                    precision = literal(argument.value)
                    return unsaid if precision is None else precision in _HALF
            return unsaid
    return False


def _in_automatic_module(training: Training, call: cst.Call) -> bool:
    """Whether a loss is scaled in the training step of a module whose trainer goes backward and steps."""
    import libcst as cst

    if "automatic_optimization" in training.places.identifiers or "manual_backward" in training.places.identifiers:
        return False
    function, owner = training.places.function_around(call), training.places.class_around(call)
    if not isinstance(function, cst.FunctionDef) or function.name.value != "training_step":
        return False
    if not _is_of_module(training, owner):
        return False
    return any(call in training.origins.of(value).passed for value in training.places.returned(function))
