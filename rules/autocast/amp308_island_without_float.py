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
The fix is unsafe, since it changes numbers: it adds `.float()` to every half operand, where the operation stands in the
island itself. An operation that wants its operands in one dtype is left alone if that of another operand is not known.

## References
- [torch.autocast](https://docs.pytorch.org/docs/stable/amp.html#torch.autocast): subregions that run in float32
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Applicability, Finding, Fix, Severity
from amplint.mentions import OF_PRECISION
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.precision import Tensor, Use, Value

#: Operations that refuse operands of two dtypes, but for those whose other operands are weights.
_OF_ONE_DTYPE = frozenset(
    """
    __matmul__ addbmm addmm addmv addr baddbmm bmm cdist chain_matmul cross einsum inner lstsq matmul mm multi_dot mv
    scaled_dot_product_attention solve vecdot
    """.split()
)


class IslandWithoutFloat(Rule):
    """A float32 island fed with half tensors."""

    code = "AMP308"
    name = "island-without-float"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "`autocast(enabled=False)` whose inputs stay in half precision"
    fixable = "sometimes"
    mentions = (b"autocast",)
    imported_mentions = OF_PRECISION

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the uses of half tensors in islands."""
        text = context.document.text
        if "autocast" not in text or "enabled" not in text and "False" not in text:
            return
        seen = set()
        for uses in self._told_together(context):
            (place, use, tensor), *others = uses
            island = use.state.cuda
            assert island is not None and tensor.origin is not None
            if place in seen:
                continue
            seen.add(place)
            fix = self._fix(context, [use, *(other for where, other, _ in others if where is other.node)])
            fix = fix if place is use.node else None
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
                no_fix_reason=None if fix else "not all that would have to be cast can be told here",
            )

    def _told_together(self, context: Context) -> list[list[tuple[cst.CSTNode, Use, Tensor]]]:
        """The uses of each tensor in each island: what is computed from it is half for the same reason."""
        from amplint.rules.autocast.half_losses import island_operands, place_within

        told: dict[tuple[object, object], list[tuple[cst.CSTNode, Use, Tensor]]] = {}
        for use in context.precision.uses:
            island = use.state.cuda
            if island is None or island.autocast.enabled is not False or use.state.doubtful:
                continue
            for tensor in island_operands(use):
                if tensor.entered is None or use.doubts(tensor) or tensor.entered.entry == island.entry:
                    continue
                uses = told.setdefault((tensor.origin, island.place), [])
                uses.append((place_within(use, island.depth), use, tensor))
        return list(told.values())

    def _fix(self, context: Context, uses: list[Use]) -> Fix | None:
        """Cast the half operands of the first use, and of the others that are written with the same names."""
        ends: set[int] = set()
        roots: set[str] = set()
        for use in uses:
            nodes = self._half_operands(context, use)
            names = {_root(node) for node in nodes}
            if use is not uses[0] and not names & roots:
                continue
            if not nodes or not all(_is_atom(context.tree.whole(node)) for node in nodes):
                return None
            roots |= names
            ends |= {context.tree.span(node)[1] for node in nodes}
        edits = tuple(context.document.edit(end, end, ".float()") for end in sorted(ends))
        return Fix("Cast it to float32", edits, Applicability.UNSAFE) if edits else None

    def _half_operands(self, context: Context, use: Use) -> list[cst.BaseExpression]:
        """The half operands of an operation as they are written in it; none where not all can be told."""
        import libcst as cst

        from amplint.precision import Constant, Number, Tensor, Unknown

        halves: list[cst.BaseExpression] = []
        for node, value in _operands(use):
            if isinstance(value, Tensor) and value.is_half:
                inner = [use for use in context.precision.uses if use.node is node]
                if isinstance(node, cst.BinaryOperation) and inner:  # `logits / temperature`
                    halves.extend(self._half_operands(context, inner[0]))
                else:
                    halves.append(node)
            elif use.name in _OF_ONE_DTYPE and not isinstance(value, (Constant, Number, Tensor)):
                return []  # it would have to be cast as well, if it is half
            elif isinstance(value, Unknown) and not halves:
                return []
        return halves


def _root(node: cst.BaseExpression) -> str:
    """The name that a chain of attributes, calls and subscripts begins with."""
    import libcst as cst

    while isinstance(node, (cst.Attribute, cst.Call, cst.Subscript)):
        node = node.func if isinstance(node, cst.Call) else node.value
    return node.value if isinstance(node, cst.Name) else ""


def _operands(use: Use) -> list[tuple[cst.BaseExpression, Value]]:
    """The operands of an operation as they are written in it; none where they are not."""
    import libcst as cst

    from amplint.precision import Made, Named

    node = use.node
    if isinstance(node, cst.BinaryOperation):
        return list(zip((node.left, node.right), use.operands, strict=True))
    if not isinstance(node, cst.Call) or any(argument.star for argument in node.args):
        return []
    found: list[tuple[cst.BaseExpression, Value]] = []
    if not isinstance(use.callee, (Named, Made)):
        if not isinstance(node.func, cst.Attribute) or node.func.attr.value != use.name:
            return []
        found.append((node.func.value, use.operands[0]))
    positional, keywords = list(use.arguments.positional), dict(use.arguments.keywords)
    for argument in node.args:
        if argument.keyword is not None:
            value = keywords.get(argument.keyword.value)
        else:
            value = positional.pop(0) if positional else None
        if value is None:
            return []
        found.append((argument.value, value))
    return found


def _is_atom(node: cst.BaseExpression) -> bool:
    """Whether a method can be called on an expression as it is written."""
    import libcst as cst

    return isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
