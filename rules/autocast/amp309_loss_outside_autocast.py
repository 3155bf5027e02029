"""# loss-outside-autocast (AMP309)

## What it does
Finds a loss computed after a float16 autocast region from what a model returned in it, without a cast. A loss that
float32 targets widen, such as `mse_loss`, is left alone.

## Why is this bad?
In the region autocast computes losses in float32. After it, the model's output is float16 still, and so is the loss:
cross entropy of float16 logits is kept to three digits, losses below 6e-8 are zero, and a sum over a batch is infinite
beyond 65504. Where training computes its loss in the region and validation after it, the two are not the same number.

## Example
```python
with torch.autocast("cuda"):
    output = model(x)
loss = criterion(output, y)
```

## Use instead
```python
with torch.autocast("cuda"):
    output = model(x)
    loss = criterion(output, y)
```

or `criterion(output.float(), y)`.

## References
- [Automatic mixed precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Finding, Severity
from amplint.mentions import OF_PRECISION
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.precision import Tensor, Use

_LOSS = re.compile(
    r"(?i)(^|_)(loss(es)?|criterion|criteria|lossfn|objective)(_|\d|$)|loss_?f(n|unc(tion)?)|criterion|^ce$|^nll$"
)


_BOOKKEEPING = re.compile(
    r"(?i)^_?(log|reduce|gather|update|print|record|add|save|plot|average|avg|all|scale|write|append)_"
)
# an unseen loss of a regression is widened by its float32 targets
_CLASSIFYING = re.compile(
    r"num_class|n_class|classes|label(?!_len)|argmax|accuracy|\bacc\d?\b|topk|[cC]ross_?[eE]ntropy|nll|logits"
)
_REGRESSION = re.compile(r"(MSE|L1|Huber|KLDiv)Loss|\b(mse|l1|smooth_l1|huber|kl_div)(_loss)?\b")


class LossOutsideAutocast(Rule):
    """A loss on half outputs after the region."""

    code = "AMP309"
    name = "loss-outside-autocast"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "a loss on half-precision outputs, computed after the autocast region"
    mentions = (b"autocast",)
    imported_mentions = OF_PRECISION

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the losses that run in half."""
        from amplint.rules.autocast.half_losses import unique

        for place, _, tensor in unique(self._places(context)):
            assert tensor.origin is not None and tensor.entered is not None
            yield context.finding(
                self,
                place,
                "this loss is computed in float16, where autocast would compute it in float32",
                help="Compute the loss in the region, or cast the outputs by `.float()`.",
                related=(
                    context.related(tensor.origin, "this is float16"),
                    context.related(tensor.entered.autocast.call, "made in this region, which has ended"),
                ),
                no_fix_reason="whether to compute it in the region or from float32 outputs cannot be seen",
            )

    def _places(self, context: Context) -> Iterator[tuple[cst.CSTNode, Use, Tensor]]:
        from amplint.operators import LOSSES
        from amplint.rules.autocast.half_losses import half_operands, place_within

        text = context.document.text
        classifies = _CLASSIFYING.search(text) is not None and _REGRESSION.search(text) is None
        for use in context.precision.uses:
            if use.state.cuda is not None:
                continue
            if use.name in LOSSES:
                halves = half_operands(use)
            else:
                halves = self._given_to_a_loss(use) if classifies else []
            for tensor in halves:
                entered = tensor.entered
                if entered is not None and not use.doubts(tensor) and entered.autocast.dtypes == {"float16"}:
                    yield place_within(use, entered.depth), use, tensor

    def _given_to_a_loss(self, use: Use) -> list[Tensor]:
        import libcst as cst

        from amplint.precision import Tensor, Unknown
        from amplint.syntax.names import dotted_name

        if use.name != "call" or not isinstance(use.callee, Unknown) or not isinstance(use.node, cst.Call):
            return []
        name = dotted_name(use.node.func)
        last = name.rpartition(".")[2] if name is not None else ""
        if not _LOSS.search(last) or _BOOKKEEPING.match(last) or len(use.node.args) < 2:
            return []
        given = [value for value in use.arguments.positional if isinstance(value, Tensor)]
        if not given or given[0] is not use.arguments.positional[0] or not all(value.is_half for value in given):
            return []  # a float32 target makes much of it float32
        return given[:1]
