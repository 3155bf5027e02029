"""# unused-scaler (AMP120)

## What it does
Finds a gradient scaler that is built and then scales nothing: nothing refers to it, or only its state and its scale are
looked at. A scaler that is handed on, returned, stored or could be imported by another module is left alone.

## Why is this bad?
The training looks as if its gradients were scaled, and they are not: in float16 the small ones become zero without a
word. Where autocast runs in bfloat16 or not at all, the scaler is clutter.

## Example
```python
scaler = torch.amp.GradScaler("cuda")
for x, y in loader:
    with torch.autocast("cuda"):
        loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
```

## Use instead
```python
scaler = torch.amp.GradScaler("cuda")
for x, y in loader:
    with torch.autocast("cuda"):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Fix safety
There is no fix: whether to use the scaler or to drop it is yours to choose.

## References
- [Automatic mixed precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Finding, Severity
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    from amplint.training.scalers import Scaler
    from amplint.training.training import Training

_IDLE = frozenset({"state_dict", "load_state_dict", "get_scale", "is_enabled"})
_LOOKS_AT_NAMES = ("locals", "globals", "vars", "exec", "eval", "get_ipython")


class UnusedScaler(Rule):
    """A scaler that scales nothing."""

    code = "AMP120"
    name = "unused-scaler"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "a gradient scaler that is built and never used to scale"
    mentions = (b"GradScaler",)

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the scalers that nothing uses."""
        training = context.training
        scalers = training.scalers.built
        if not scalers or any(True for _ in training.places.calls(*_LOOKS_AT_NAMES)):
            return
        for scaler in scalers:
            if not scaler.is_off and _is_idle(training, scaler):
                yield context.finding(
                    self,
                    scaler.call,
                    "this gradient scaler is never used to scale",
                    help="Scale the loss with it and step the optimizer through it, or drop it.",
                    no_fix_reason="whether to use the scaler or to drop it is yours to choose",
                )


def _is_idle(training: Training, scaler: Scaler) -> bool:
    """Whether the scaler is bound to a name of its own that leads nowhere."""
    import libcst as cst

    names, places = training.names, training.places
    node: cst.CSTNode = scaler.call
    parent = names.parent(node)
    while isinstance(parent, cst.IfExp):
        node, parent = parent, names.parent(parent)
    if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
        target: cst.CSTNode = parent.targets[0].target
    elif isinstance(parent, cst.AnnAssign):
        target = parent.target
    else:
        return False
    if not isinstance(target, cst.Name):
        return False
    function = places.function_around(target)
    inside_class = places.class_around(target) is not None and function is None
    if inside_class or target.value in places.declared:
        return False
    if function is None and not training.is_script:
        return False
    binding = places.binding(target)
    if binding is None:
        return True
    return all(_looks_only(training, reference) for reference in binding.references)


def _looks_only(training: Training, reference: object) -> bool:
    """Whether a reference only asks for the scaler's state or its scale."""
    import libcst as cst

    assert isinstance(reference, cst.Name)
    names = training.names
    attribute = names.parent(reference)
    if isinstance(attribute, cst.Attribute) and attribute.value is reference and attribute.attr.value in _IDLE:
        call = names.parent(attribute)
        return isinstance(call, cst.Call) and call.func is attribute
    return False
