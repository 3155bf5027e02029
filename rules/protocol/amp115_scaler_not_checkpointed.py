"""# scaler-not-checkpointed (AMP115)

## What it does
Finds a checkpoint that holds the state of an optimizer and not that of the gradient scaler which steps it, and a
restart that loads the optimizer's state and not the scaler's although the checkpoint holds it.

A checkpoint without an optimizer's state is not meant for going on and is left alone, and so is one to which something
that cannot be seen is added. An optimizer's state in a file of its own is a checkpoint, too,
where such a state is loaded again.

## Why is this bad?
The scale is part of the state of a training. A scaler whose state is not restored begins at 65536 again: where the
gradients overflow there, the first steps after the restart are skipped, and a training that is restarted is not the
training that went on. Measured on a linear model that is restarted with a scaler of 2**24 and trained on: the next six
steps are all skipped.

## Example
```python
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
```

## Use instead
```python
torch.save(
    {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}, path
)
```

and `scaler.load_state_dict(checkpoint["scaler"])` where the optimizer's state is loaded.

## Fix safety
There is no fix: checkpoints that were written before lack the scaler's state, and what to do about them is yours to
choose.

## References
- [Saving and resuming](https://docs.pytorch.org/tutorials/recipes/recipes/amp_recipe.html#saving-resuming)
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

    from amplint.training.checkpoints import Checkpoint
    from amplint.training.scalers import Scaler
    from amplint.training.training import Training

_SCALER = re.compile(r"(?i)scaler")
_FRAMEWORK_STATE = ("save_state", "load_state")


class ScalerNotCheckpointed(Rule):
    """A checkpoint without the scaler's state."""

    code = "AMP115"
    name = "scaler-not-checkpointed"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "a checkpoint with the optimizer's state and without the gradient scaler's"
    mentions = (b"GradScaler",)
    imported_mentions = OF_TRAINING

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the checkpoints, and the restarts, that leave a scaler out."""
        training = context.training
        scalers = [scaler for scaler in training.scalers.built if not scaler.is_off]
        if not scalers or any(True for _ in training.places.calls(*_FRAMEWORK_STATE)):
            return
        if _of_scalers(training, "state_dict"):
            yield from self._restarts(context, scalers)
            return
        whole = self._goes_on(training)
        for checkpoint in training.checkpoints.written:
            if checkpoint.alone and not whole:
                continue
            optimizers = [state for state in checkpoint.states if training.scalers.is_optimizer(state)]
            if (
                checkpoint.open
                or _holds_scaler(training, scalers, checkpoint)
                or not _can_run(training, checkpoint.node)
            ):
                continue
            scaler = _stepping(training, scalers, optimizers)
            if scaler is not None:
                yield context.finding(
                    self,
                    checkpoint.node,
                    "this checkpoint holds the optimizer's state and not the gradient scaler's",
                    help="Save `scaler.state_dict()` with it, and load it where the optimizer's state is loaded.",
                    related=(context.related(scaler.call, "the scaler whose scale is lost"),),
                    no_fix_reason="what to do about checkpoints written before is yours to choose",
                )

    def _goes_on(self, training: Training) -> bool:
        """Whether the document loads an optimizer's state again, and writes no scaler into a file of its own."""
        import libcst as cst

        for call in training.places.calls("save"):
            for argument in call.args[:1]:
                if isinstance(argument.value, cst.Name | cst.Attribute):
                    if _SCALER.search(training.tree.code(argument.value)):
                        return False
        return any(
            isinstance(load.func, cst.Attribute) and training.scalers.is_optimizer(load.func.value)
            for load in training.places.calls("load_state_dict")
        )

    def _restarts(self, context: Context, scalers: list[Scaler]) -> Iterator[Finding]:
        """The loads of an optimizer's state in a document that saves a scaler's and never loads it."""
        training = context.training
        loads = list(training.places.calls("load_state_dict"))
        if _of_scalers(training, "load_state_dict") or not all(_is_plain(training, load) for load in loads):
            return
        for load in loads:
            func = load.func
            assert isinstance(func, _attribute())
            if training.scalers.is_optimizer(func.value):
                scaler = _stepping(training, scalers, [func.value])
                if scaler is not None:
                    yield context.finding(
                        self,
                        load,
                        "the optimizer's state is loaded and the gradient scaler's, which is saved, is not",
                        help="Call `scaler.load_state_dict()` with the state that the checkpoint holds.",
                        related=(context.related(scaler.call, "the scaler whose scale is lost"),),
                        no_fix_reason="what to do about checkpoints written before is yours to choose",
                    )


def _holds_scaler(training: Training, scalers: list[Scaler], checkpoint: Checkpoint) -> bool:
    """Whether a scaler's state is in a checkpoint, or something that is called one."""
    if any(_SCALER.search(training.tree.code(node)) for node in (checkpoint.node, *checkpoint.states)):
        return True
    built = {scaler.call for scaler in scalers}
    return any(built & training.origins.of(state).passed for state in checkpoint.states)


def _can_run(training: Training, node: cst.CSTNode) -> bool:
    """Whether the conditions around a place can hold: ``if False and ...`` switches it off."""
    from amplint.training.conditions import can_hold

    return can_hold(training.conditions.guards(training.places.guards_of(node)))


def _attribute() -> type[cst.Attribute]:
    import libcst as cst

    return cst.Attribute


def _of_scalers(training: Training, method: str) -> bool:
    """Whether the document calls a method of a scaler, or of something that is called one."""
    if any(use.method == method for scaler in training.scalers.built for use in training.scalers.uses(scaler)):
        return True
    return any(_SCALER.search(training.tree.code(call.func)) for call in training.places.calls(method))


def _is_plain(training: Training, load: cst.Call) -> bool:
    """Whether it is to be seen of what kind the object is whose state is loaded."""
    func = load.func
    if not isinstance(func, _attribute()):
        return False
    if training.scalers.is_optimizer(func.value):
        return True
    return bool(re.search(r"(?i)model|net|sched|ema|module|encoder|decoder|backbone|head", training.tree.code(func)))


def _stepping(training: Training, scalers: list[Scaler], optimizers: list[cst.BaseExpression]) -> Scaler | None:
    """The scaler that steps one of ``optimizers``: seen to do it, or handed on beside it."""
    origins = training.origins
    for scaler in scalers:
        stepped = list(training.scalers.steps(scaler))
        for optimizer in optimizers:
            if stepped:
                if any(origins.same(optimizer, one) for one in stepped):
                    return scaler
            elif _are_handed_on(training, scaler, optimizer):
                return scaler
    return None


def _are_handed_on(training: Training, scaler: Scaler, optimizer: cst.BaseExpression) -> bool:
    for call in training.places.every_call():
        handed = [argument.value for argument in call.args]
        if any(scaler.call in training.origins.of(value).passed for value in handed) and any(
            training.origins.same(value, optimizer) for value in handed
        ):
            return True
    return False
