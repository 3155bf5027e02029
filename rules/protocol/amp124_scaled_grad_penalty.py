"""# scaled-grad-penalty (AMP124)

## What it does
Finds `torch.autograd.grad` of a scaled loss with `create_graph=True`, whose gradients go into a penalty, in a
function that never divides the scale out of them: `scaler.get_scale()` is not mentioned.

## Why is this bad?
`torch.autograd.grad` hands the scaled gradients to the program, and nothing unscales them. Measured: a penalty of 412
for 0.40. It then outweighs the loss itself, and changes whenever the scale does.

## Example
```python
grads = torch.autograd.grad(scaler.scale(loss), model.parameters(), create_graph=True)
penalty = sum(grad.pow(2).sum() for grad in grads).sqrt()
```

## Use instead
```python
grads = torch.autograd.grad(scaler.scale(loss), model.parameters(), create_graph=True)
inverse = 1.0 / scaler.get_scale()
penalty = sum((grad * inverse).pow(2).sum() for grad in grads).sqrt()
```

## Fix safety
There is no fix: where the gradients are used is the program's own.

## References
- [Gradient penalty](https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-penalty)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Finding, Severity
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst


_SCALE = re.compile(r"get_scale|\._scale\b|inv(erse)?_?scale|unscale|scale_factor|loss_scale|1\.?0?\s*/")


class ScaledGradPenalty(Rule):
    """Gradients of a scaled loss in a penalty, with the scale still in them."""

    code = "AMP124"
    name = "scaled-grad-penalty"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "gradients of a scaled loss are used in a penalty without dividing the scale out"
    mentions = ((b"create_graph", b".scale"),)

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the gradients that keep their scale."""
        from amplint.training.autocast import argument_of

        places, scalers = context.training.places, context.training.scalers
        scales = {use.call for scaler in scalers.built for use in scalers.uses(scaler) if use.method == "scale"}
        others = [(context.tree.code(use.receiver), use) for use in scalers.unclaimed]
        updated = {text for text, use in others if use.method in ("update", "unscale_")}
        scales |= {
            use.call for text, use in others if use.method == "scale" and (text in updated or "scaler" in text.lower())
        }
        for call in places.calls("grad"):
            if "torch.autograd.grad" not in context.names.qualified(call.func) or not _builds_graph(call):
                continue
            outputs = argument_of(call.args, ("outputs",), "outputs")
            if outputs is None or not scales & context.training.origins.of(outputs).passed:
                continue
            around = [node for node, _ in places.around(call)]
            function = next((node for node in around if _is_function(node)), context.tree.module)
            if _takes_scale_out(context.tree.code(function)):
                continue
            yield context.finding(
                self,
                call,
                "gradients of a scaled loss are used with the scale still in them",
                help="Multiply them by `1.0 / scaler.get_scale()` before the penalty is made of them.",
                no_fix_reason="where these gradients are used is the program's own",
            )


def _builds_graph(call: cst.Call) -> bool:
    import libcst as cst

    return any(
        argument.keyword is not None
        and argument.keyword.value == "create_graph"
        and isinstance(argument.value, cst.Name)
        and argument.value.value == "True"
        for argument in call.args
    )


def _is_function(node: cst.CSTNode) -> bool:
    import libcst as cst

    return isinstance(node, (cst.FunctionDef, cst.Lambda))


def _takes_scale_out(code: str) -> bool:
    return bool(_SCALE.search(code))
