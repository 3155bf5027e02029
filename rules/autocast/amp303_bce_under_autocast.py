"""# bce-under-autocast (AMP303)

## What it does
Finds `F.binary_cross_entropy` and `nn.BCELoss` called where CUDA autocast is on, in the region itself or in a function
or module of the file that is called from it. A region that switches autocast off and CPU autocast are left alone.

## Why is this bad?
CUDA autocast refuses it, whatever the dtype of the region and of the tensors: `RuntimeError:
torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast`. The CPU raises nothing, so the
program fails on the first machine with a GPU. Sigmoid and logarithm taken apart are inexact in half precision, too: for
a logit of 12 the sigmoid rounds to 1 in float16, and the loss of a wrong prediction comes out as 100, where the
logarithm is cut off, instead of 12.

## Example
```python
with torch.autocast("cuda"):
    loss = F.binary_cross_entropy(model(x).sigmoid(), y)
```

## Use instead
```python
with torch.autocast("cuda"):
    loss = F.binary_cross_entropy_with_logits(model(x), y)
```

Where there are no logits, leave autocast for the loss:

```python
with torch.autocast("cuda"):
    p = model(x)
    with torch.autocast("cuda", enabled=False):
        loss = F.binary_cross_entropy(p.float(), y.float())
```

## Fix safety
The fix is unsafe: the loss computed from logits is the same in exact arithmetic and differs in rounding. It is offered
where the sigmoid is applied in the call itself, so that nothing else sees the probabilities.

## References
- [Prefer binary_cross_entropy_with_logits over binary_cross_entropy](https://docs.pytorch.org/docs/stable/amp.html#prefer-binary-cross-entropy-with-logits-over-binary-cross-entropy)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Applicability, Finding, Fix, Severity
from amplint.mentions import OF_PRECISION
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.precision import Use

_SIGMOIDS = {"torch.sigmoid", "torch.special.expit", "torch.nn.functional.sigmoid"}
_NAME = "binary_cross_entropy"


class BceUnderAutocast(Rule):
    """``binary_cross_entropy`` in a CUDA region."""

    code = "AMP303"
    name = "bce-under-autocast"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "`binary_cross_entropy` or `BCELoss` under CUDA autocast, which refuses it"
    fixable = "sometimes"
    mentions = (b"autocast",)
    imported_mentions = OF_PRECISION

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the calls that autocast refuses."""
        text = context.document.text
        if "autocast" not in text or (_NAME not in text and "BCELoss" not in text):
            return
        from amplint.precision import Made, Named

        seen: set[object] = set()
        others = {use.node for use in context.precision.uses if use.name != _NAME}
        for use in context.precision.uses:
            region = use.state.active
            if use.name != _NAME or region is None or not region.autocast.known or use.state.doubtful:
                continue
            if use.node in others and region.autocast.enabled is None and _decided_together(context, use):
                continue  # one of several losses, and the region may be on for the others
            if not isinstance(use.callee, (Named, Made)) or use.node in seen:
                continue
            seen.add(use.node)
            spelling = "nn.BCELoss" if isinstance(use.callee, Made) else f"F.{_NAME}"
            fix = self._fix(context, use)
            yield context.finding(
                self,
                use.node,
                f"CUDA autocast refuses `{spelling}`: this raises a RuntimeError",
                help="Compute the loss from logits, or in `autocast(enabled=False)` on float32 tensors.",
                related=(context.related(region.autocast.call, "in this region"),),
                candidates=(fix,) if fix is not None else (),
                no_fix_reason=None if fix else "the logits behind the probabilities are not at hand in this call",
            )

    def _fix(self, context: Context, use: Use) -> Fix | None:
        """Drop a sigmoid that is applied in the call, and call the loss that takes logits."""
        import libcst as cst

        from amplint.precision import Named

        call = use.node
        if not isinstance(call, cst.Call) or not call.args or not isinstance(use.callee, Named):
            return None
        given = next((a for a in call.args if a.keyword is not None and a.keyword.value == "input"), call.args[0])
        function = call.func
        logits = self._logits(context, given.value)
        if logits is None or given.star or not isinstance(function, cst.Attribute) or given.value.lpar:
            return None
        edits = [
            context.document.edit(*context.tree.span(function.attr), f"{_NAME}_with_logits"),
            context.document.edit(*context.tree.span(given.value), context.tree.code(logits)),
        ]
        return Fix("Compute the loss from the logits", tuple(edits), Applicability.UNSAFE)

    def _logits(self, context: Context, node: cst.BaseExpression) -> cst.BaseExpression | None:
        import libcst as cst

        if not isinstance(node, cst.Call):
            return None
        if len(node.args) == 1 and context.names.qualified(node.func) & _SIGMOIDS:
            return node.args[0].value
        if not node.args and isinstance(node.func, cst.Attribute) and node.func.attr.value == "sigmoid":
            return node.func.value
        return None


def _decided_together(context: Context, use: Use) -> bool:
    """Whether what chooses a loss and what switches the region have names in common."""
    import libcst as cst

    from amplint.precision.regions import names_in
    from amplint.syntax.names import dotted_name

    deciding: dict[str, set[str]] = {}
    for node in context.names.parents:
        if isinstance(node, cst.Assign):
            tests = [above.test for above in context.names.ancestors(node) if isinstance(above, cst.If)]
            names = {name for part in (node.value, *tests) for name in names_in(part)}
            for target in node.targets:
                deciding.setdefault(dotted_name(target.target) or "", set()).update(names)

    def behind(names: set[str]) -> set[str]:
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(deciding.get(name, ()))
        return found

    region = use.state.active
    assert region is not None and isinstance(use.node, cst.Call)
    return bool(behind(set(names_in(use.node.func))) & behind(set(region.autocast.flags)))
