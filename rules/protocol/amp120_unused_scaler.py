"""# unused-scaler (AMP120)

## What it does
Finds a gradient scaler that is built and then scales nothing: nothing refers to it, or only its state and its scale are
looked at. A scaler that is handed on, returned, stored or could be imported by another module is left alone, and so is
one that a test makes assertions about.

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
from amplint.mentions import OF_TRAINING
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

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
    imported_mentions = OF_TRAINING

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
    if isinstance(target, cst.Attribute):
        return _is_idle_attribute(training, target)
    if not isinstance(target, cst.Name):
        return False
    function = places.function_around(target)
    if target.value in places.declared or (function is None and places.class_around(target) is not None):
        return False
    if function is None and not training.is_script:
        return False
    return _leads_nowhere(training, target, 0)


def _is_idle_attribute(training: Training, target: cst.Attribute) -> bool:
    """Whether a class that goes backward by itself keeps a scaler in an attribute that nothing here reads."""
    import libcst as cst

    places, names = training.places, training.names
    owner = places.class_around(target)
    binding = names.binding(target)
    if owner is None or binding is None or places.owner_of_self(binding) is not owner or owner.bases:
        return False
    if not any(places.class_around(call) is owner for call in places.calls("backward")):
        return False
    if any(places.class_around(call) is owner for call in places.calls("scale", "unscale_")):
        return False  # it scales by another one, and this one may be meant for somebody else
    name = target.attr.value
    if any(True for _ in places.calls("getattr", "hasattr", "setattr")) or name.startswith("__"):
        return False
    return all(
        node in places.attribute_targets(name) or _looks_only(training, node)
        for node in names.every(cst.Attribute)
        if node.attr.value == name
    )


def _leads_nowhere(training: Training, bound: cst.CSTNode, depth: int) -> bool:
    """Whether all references to a name only look at the scaler, or hand it to functions that do no more."""
    binding = training.places.binding(bound)
    if binding is None:
        return True
    return depth < 4 and all(
        _looks_only(training, reference) or _is_ignored(training, reference, depth) for reference in binding.references
    )


def _is_ignored(training: Training, reference: cst.Name, depth: int) -> bool:
    """Whether a scaler is handed to functions of the document alone, and their parameter leads nowhere."""
    import libcst as cst

    argument = training.names.parent(reference)
    call = training.names.parent(argument) if isinstance(argument, cst.Arg) else None
    if not isinstance(argument, cst.Arg) or argument.star or not isinstance(call, cst.Call):
        return False
    functions = training.origins.targets(call)
    if not functions or call.func is reference:
        return False
    for function in functions:
        if not isinstance(function, cst.FunctionDef):
            return False
        params = training.origins.filled(call, function, argument)
        if not params or not all(_leads_nowhere(training, param, depth + 1) for param in params):
            return False
    return True


def _looks_only(training: Training, reference: cst.Name | cst.Attribute) -> bool:
    """Whether a reference only asks for the scaler's state or its scale, and not to test the scaler itself."""
    import libcst as cst

    names = training.names
    attribute = names.parent(reference)
    if isinstance(attribute, cst.Attribute) and attribute.value is reference and attribute.attr.value in _IDLE:
        call = names.parent(attribute)
        return isinstance(call, cst.Call) and call.func is attribute and not _is_asserted(training, call)
    return False


def _is_asserted(training: Training, call: cst.Call) -> bool:
    """Whether an assertion is about what a call returns."""
    import libcst as cst

    from amplint.syntax.names import dotted_name

    for above in training.names.ancestors(call):
        if isinstance(above, cst.Assert):
            return True
        if isinstance(above, cst.Call) and (dotted_name(above.func) or "").rpartition(".")[2].startswith("assert"):
            return True
        if isinstance(above, cst.BaseStatement):
            return False
    return False
