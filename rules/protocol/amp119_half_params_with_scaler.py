"""# half-params-with-scaler (AMP119)

## What it does
Finds a model that is cast to float16 by `.half()`, `.to(torch.float16)` or `torch_dtype=torch.float16` while its
parameters are given to an optimizer that a gradient scaler steps, be it a scaler of the document or that of an
`Accelerator(mixed_precision="fp16")`.

Models that are not trained, are cast back to float32, or of which only a part is given to the optimizer are left alone.

## Why is this bad?
The gradients of float16 parameters are float16, and the scaler refuses to unscale those: the first step raises
`ValueError: Attempting to unscale FP16 gradients.` Under autocast the parameters stay float32; it casts what it needs.

## Example
```python
model = Net().cuda().half()
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler("cuda")
```

## Use instead
```python
model = Net().cuda()
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler("cuda")
```

## Fix safety
There is no fix: what else relies on the cast cannot be seen from here.

## References
- [Gradient scaling](https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Finding, Severity
from amplint.mentions import OF_TRAINING
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.training.training import Training

_PARTLY_TRAINED = ("requires_grad_", "add_adapter", "get_peft_model", "inject_adapter_in_model", "float", "bfloat16")
_OWN_WAYS = frozenset({"_unscale_grads_", "requires_grad"})
"""Attributes of a scaler that was taught to unscale float16, and of parameters that are frozen one by one."""

_COPIES = frozenset({"deepcopy", "copy", "clone", "state_dict"})


class HalfParamsWithScaler(Rule):
    """float16 parameters under a scaler."""

    code = "AMP119"
    name = "half-params-with-scaler"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "a model cast to float16 whose optimizer a gradient scaler steps"
    mentions = (b"GradScaler", b"Accelerator(")
    imported_mentions = OF_TRAINING

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the casts of models that are trained under a scaler."""
        training = context.training
        trained = list(_trained(training))
        if not trained or _OWN_WAYS & training.places.identifiers:
            return
        for cast, model in _casts(training):
            for optimizer, parameters, switch in trained:
                if _are_cast(training, cast, model, optimizer, parameters, switch):
                    yield context.finding(
                        self,
                        cast,
                        "the parameters become float16, and the gradient scaler refuses to unscale their gradients",
                        help="Leave the parameters in float32: autocast casts what it needs.",
                        related=(context.related(optimizer, "the optimizer that the scaler steps"),),
                        no_fix_reason="what else relies on the cast cannot be seen from here",
                    )
                    break


def _are_cast(
    training: Training,
    cast: cst.Call,
    model: cst.BaseExpression,
    optimizer: cst.Call,
    parameters: cst.BaseExpression,
    switch: cst.BaseExpression | None,
) -> bool:
    """Whether the very model whose parameters an optimizer is given is certainly cast before they are trained.

    ``switch`` is what the scaler is enabled by: where it holds, so does a condition of the same spelling.
    """
    import libcst as cst

    from amplint.training.origins import callee_name

    origins, places = training.origins, training.places
    sources = origins.of(model)
    if not sources.keys or sources.keys != origins.of(parameters).keys or _is_partly_trained(training, model):
        return False
    if any(isinstance(node, cst.Call) and callee_name(node) in _COPIES for node in sources.touched):
        return False
    if training.autocasts.is_inference(cast) or places.function_around(cast) is not places.function_around(optimizer):
        return False
    known = {guard.test for guard in places.guards_of(optimizer)}
    guards = [guard for guard in places.guards_of(cast) if guard.test not in known]
    if switch is not None and places.function_around(switch) is places.function_around(cast):
        enabled = training.tree.code(switch)
        guards = [guard for guard in guards if not guard.truth or training.tree.code(guard.test) != enabled]
    if guards or any(True for _ in places.loops_around(cast)):
        return False
    return training.tree.span(cast)[0] < training.tree.span(optimizer)[1]


def _trained(training: Training) -> Iterator[tuple[cst.Call, cst.BaseExpression, cst.BaseExpression | None]]:
    """The optimizers that a scaler steps, the models whose parameters they are given, and what enables the scaler."""
    scalers = training.scalers
    found = [
        (optimizer, model, scaler.argument("enabled"))
        for scaler in scalers.built
        if not scaler.is_off
        for optimizer, model in scalers.trained(scaler)
    ]
    if _accelerates_in_half(training):
        for prepare in training.places.calls("prepare"):
            for argument in prepare.args:
                if scalers.is_optimizer(argument.value):
                    found.extend((*pair, None) for pair in scalers.parameters(argument.value))
    for optimizer, model, switch in found:  # fused ones unscale by themselves, whatever the dtype
        if not any(argument.keyword is not None and argument.keyword.value == "fused" for argument in optimizer.args):
            yield optimizer, model, switch


def _accelerates_in_half(training: Training) -> bool:
    """Whether an accelerator is built that scales by itself, and by nothing else's plan."""
    from amplint.training.places import literal

    for call in training.places.calls("Accelerator"):
        if training.names.qualified(call.func) & {"accelerate.Accelerator", "accelerate.accelerator.Accelerator"}:
            named = {argument.keyword.value: argument.value for argument in call.args if argument.keyword is not None}
            plans = {name for name in named if name.endswith(("_plugin", "_plugins", "_handlers"))}
            if not plans and literal(named.get("mixed_precision")) == "fp16":
                return True
    return False


def _casts(training: Training) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """The calls that certainly make the parameters of a model float16, with the model."""
    import libcst as cst

    for call in training.places.calls("half"):
        if isinstance(call.func, cst.Attribute) and not call.args:
            yield call, call.func.value
    for call in training.places.calls("to"):
        if isinstance(call.func, cst.Attribute) and not training.names.qualified(call.func):
            if any(_is_half(training, argument) for argument in call.args):
                yield call, call.func.value
    for call in training.places.calls("from_pretrained"):
        for argument in call.args:
            if argument.keyword is not None and argument.keyword.value in ("torch_dtype", "dtype"):
                if _is_half(training, argument):
                    yield call, call


def _is_half(training: Training, argument: cst.Arg) -> bool:
    if argument.star or (argument.keyword is not None and not argument.keyword.value.endswith("dtype")):
        return False
    return training.autocasts.dtype_of(argument.value) == {"float16"}


def _is_partly_trained(training: Training, model: cst.BaseExpression) -> bool:
    """Whether some of the model is frozen, adapted or cast back, so that the trained part may be in float32."""
    import libcst as cst

    for call in training.places.calls(*_PARTLY_TRAINED):
        objects = [argument.value for argument in call.args]
        if isinstance(call.func, cst.Attribute):
            objects.append(call.func.value)
        if any(training.origins.same(value, model) for value in objects):
            return True
    for call in training.places.calls("to"):
        if isinstance(call.func, cst.Attribute) and training.origins.same(call.func.value, model):
            for argument in call.args:
                if {"float32", "bfloat16"} & training.autocasts.dtype_of(argument.value):
                    return True
    return False
