"""# island-without-float (AMP308)

## What it does
Finds `autocast(enabled=False)` in which tensors that a float16 region made are used as they are, in an operation that
such an island is there for: a loss, a softmax, a norm, a sum, a product, linear algebra, a Fourier transform.

## Why is this bad?
Switching autocast off casts nothing back. What comes out of a float16 region is float16 still, so the island that was
made for float32 runs in half precision, and with less care than autocast would take, which runs losses, softmax and
sums in float32 itself: the sum of 70,000 ones is infinite here, and `exp(12)` too. A layer with float32 weights raises
a RuntimeError, and so does much of linear algebra, which does not know float16.

## Example
```python
with torch.autocast("cuda"):
    logits = model(x)
    with torch.autocast("cuda", enabled=False):
        loss = F.cross_entropy(logits, y)
```

## Use instead
```python
with torch.autocast("cuda"):
    logits = model(x)
    with torch.autocast("cuda", enabled=False):
        loss = F.cross_entropy(logits.float(), y)
```

## Fix safety
The fix is unsafe, since it changes numbers: it adds `.float()` to the argument, where the operation is called in the
island itself on a plain tensor.

## References
- [torch.autocast](https://docs.pytorch.org/docs/stable/amp.html#torch.autocast): subregions that run in float32
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Applicability, Finding, Fix, Severity
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.precision import Tensor, Use


class IslandWithoutFloat(Rule):
    """A float32 island fed with half tensors."""

    code = "AMP308"
    name = "island-without-float"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "`autocast(enabled=False)` whose inputs stay in half precision"
    fixable = "sometimes"
    mentions = (b"autocast",)

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the uses of half tensors in islands."""
        text = context.document.text
        if "autocast" not in text or "enabled" not in text and "False" not in text:
            return
        from amplint.rules.autocast.half_losses import unique

        for place, use, tensor in unique(self._places(context)):
            island = use.state.cuda
            assert island is not None and tensor.origin is not None
            fix = self._fix(context, use) if place is use.node else None
            yield context.finding(
                self,
                place,
                "autocast is off here, but this still runs in float16: what the region before made was not cast back",
                help="Cast what enters the region by `.float()`.",
                related=(
                    context.related(tensor.origin, "this is float16"),
                    context.related(island.autocast.call, "autocast is switched off here, which casts nothing"),
                ),
                candidates=(fix,) if fix is not None else (),
                no_fix_reason=None if fix else "what is to be cast is not one tensor at this place",
            )

    def _places(self, context: Context) -> Iterator[tuple[cst.CSTNode, Use, Tensor]]:
        from amplint.rules.autocast.half_losses import island_operands, place_within

        told: set[tuple[object, object]] = set()
        for use in context.precision.uses:
            island = use.state.cuda
            if island is None or island.autocast.enabled is not False or use.state.doubtful:
                continue
            for tensor in island_operands(use):
                if tensor.entered is None or use.doubts(tensor) or tensor.entered.entry == island.entry:
                    continue
                if (tensor.origin, island.place) not in told:  # what is computed from it is half for the same reason
                    told.add((tensor.origin, island.place))
                    yield place_within(use, island.depth), use, tensor

    def _fix(self, context: Context, use: Use) -> Fix | None:
        import libcst as cst

        from amplint.precision import Named, Tensor

        call = use.node
        if not isinstance(call, cst.Call) or not isinstance(use.callee, Named) or not call.args:
            return None
        given = call.args[0]
        first = use.arguments.positional[0] if use.arguments.positional else None
        if given.keyword is not None or given.star or not isinstance(first, Tensor) or not first.is_half:
            return None
        if not isinstance(given.value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or given.value.lpar:
            return None
        _, end = context.tree.span(given.value)
        edit = context.document.edit(end, end, ".float()")
        return Fix("Cast it to float32", (edit,), Applicability.UNSAFE)
