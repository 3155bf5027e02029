"""# plain-scaler-with-fsdp (AMP123)

## What it does
Finds a `GradScaler` in a document that shards its model by `torch.distributed.fsdp.FullyShardedDataParallel`, where
nothing uses `ShardedGradScaler`. Models under `fully_shard` and `ShardingStrategy.NO_SHARD` are left alone: there the
plain scaler is right.

## Why is this bad?
Each rank holds gradients of its own shard only. A plain scaler looks for infinities in those and decides for itself:
one rank skips the step and halves its scale while the others go on, and from then on the shards of one model are
trained at different scales. `ShardedGradScaler` asks all ranks.

## Example
```python
model = FullyShardedDataParallel(model)
scaler = torch.amp.GradScaler("cuda")
```

## Use instead
```python
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

model = FullyShardedDataParallel(model)
scaler = ShardedGradScaler()
```

## Fix safety
The fix is unsafe, since it changes what is trained. It is offered where the scaler's arguments are given by keyword:
`ShardedGradScaler` has them in another order.

## References
- [Fully sharded data parallel](https://docs.pytorch.org/docs/stable/fsdp.html)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Applicability, Finding, Fix, Severity
from amplint.mentions import OF_TRAINING
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.training.scalers import Scaler
    from amplint.training.training import Training

_FSDP = frozenset(
    {
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
    }
)
_MODULE = "torch.distributed.fsdp.sharded_grad_scaler"


class PlainScalerWithFsdp(Rule):
    """A scaler that does not know of the other shards."""

    code = "AMP123"
    name = "plain-scaler-with-fsdp"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "a plain `GradScaler` where FSDP shards the parameters"
    fixable = "sometimes"
    mentions = (b"GradScaler",)
    imported_mentions = OF_TRAINING

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the plain scalers of sharded models."""
        training = context.training
        if "ShardedGradScaler" in training.places.identifiers or training.uses_framework:
            return
        wrapped = _wrapping(training)
        if wrapped is None:
            return
        for scaler in training.scalers.built:
            if scaler.is_off or not any(
                wrapped in training.origins.of(part).passed
                for optimizer in training.scalers.steps(scaler)
                for part in _parts(training, scaler, optimizer)
            ):
                continue
            if not _goes_with(training, scaler, wrapped):
                continue
            fix = _shard(context, scaler)
            yield context.finding(
                self,
                scaler.call,
                "a plain gradient scaler decides for its own shard only: under FSDP the ranks drift apart",
                help=f"Use `ShardedGradScaler` from `{_MODULE}`.",
                related=(context.related(wrapped, "the parameters are sharded here"),),
                candidates=(fix,) if fix is not None else (),
                no_fix_reason=None
                if fix is not None
                else "its arguments come in another order, or are not to be seen, or there is no place for the import",
            )


def _wrapping(training: Training) -> cst.Call | None:
    """A call that shards a model; None where one of them keeps the parameters whole."""
    found: list[cst.Call] = []
    for call in training.places.every_call():
        if training.names.qualified(call.func) & _FSDP:
            for argument in call.args:
                if argument.star or "NO_SHARD" in training.tree.code(argument.value):
                    return None
            found.append(call)
    return found[0] if found else None


def _parts(training: Training, scaler: Scaler, optimizer: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The models whose parameters an optimizer has, and whatever else it is built from beside the scaler."""
    import libcst as cst

    for end in training.origins.of(optimizer).ends:
        call = end.node
        if isinstance(call, cst.Call) and training.places.home(call) is training.places.home(scaler.call):
            waiting = [argument.value for argument in call.args]
            while waiting:
                part = waiting.pop()
                yield part
                if isinstance(part, cst.Call):  # filter(..., model.parameters())
                    waiting.extend(argument.value for argument in part.args)
                    if isinstance(part.func, cst.Attribute):
                        waiting.append(part.func.value)
    yield from (model for _, model in training.scalers.trained(scaler))


def _goes_with(training: Training, scaler: Scaler, wrapped: cst.Call) -> bool:
    """Whether the scaler is not the one of another arm than that in which the model is sharded."""
    from amplint.training.conditions import can_hold

    places, conditions = training.places, training.conditions
    guards = [*places.guards_of(scaler.call), *places.guards_of(wrapped)]
    if not can_hold(conditions.guards(guards)):
        return False
    within = {guard.test for guard in places.guards_of(wrapped)}
    return all(
        guard.test in within or "amp" in conditions.text(guard.test).lower() for guard in places.guards_of(scaler.call)
    )


def _shard(context: Context, scaler: Scaler) -> Fix | None:
    """Build a `ShardedGradScaler` instead, and import it."""
    from amplint.syntax.imports import Imports
    from amplint.training.places import literal
    from amplint.training.scalers import OLD_SCALERS

    training, tree, call = context.training, context.tree, scaler.call
    arguments = list(call.args)
    if any(argument.star for argument in arguments):
        return None
    changes: list[tuple[int, int, str]] = [(*tree.span(call.func), "ShardedGradScaler")]
    positional = [argument for argument in arguments if argument.keyword is None]
    if positional and (scaler.name in OLD_SCALERS or len(positional) > 1 or literal(positional[0].value) != "cuda"):
        return None
    if positional:  # the default; before torch 2.3 it would be the initial scale
        first, _ = tree.span(arguments[0])
        last = tree.span(arguments[1])[0] if len(arguments) > 1 else tree.span(arguments[0])[1]
        changes.append((first, last, ""))
    imports = [
        imported
        for imported in training.names.imports
        if imported.module.partition(".")[0] == "torch" and imported.scope is training.names.root
    ]
    if not imports:
        return None
    beside = min(imports, key=lambda imported: not imported.module.startswith("torch.distributed.fsdp")).statement
    changes.append(Imports(training.names).insert_before(beside, f"from {_MODULE} import ShardedGradScaler"))
    return Fix("Use `ShardedGradScaler`", context.edits(changes), Applicability.UNSAFE)
