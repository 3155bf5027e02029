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
where every call of the loss applies the sigmoid itself, or to a name that keeps its logits.

## References
- [Prefer binary_cross_entropy_with_logits over binary_cross_entropy](https://docs.pytorch.org/docs/stable/amp.html#prefer-binary-cross-entropy-with-logits-over-binary-cross-entropy)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Applicability, Edit, Finding, Fix, Severity
from amplint.mentions import OF_PRECISION
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.precision import Use

_SIGMOIDS = {"torch.sigmoid", "torch.special.expit", "torch.nn.functional.sigmoid"}
_MOVES = {"to", "cuda"}
_NAME = "binary_cross_entropy"
_ON_LOGITS = {_NAME: f"{_NAME}_with_logits", "BCELoss": "BCEWithLogitsLoss"}


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
        """Drop the sigmoids of all that the loss is called with, and call the loss that takes logits."""
        import libcst as cst

        from amplint.precision import Named

        call = use.node
        if not isinstance(call, cst.Call):
            return None
        if isinstance(use.callee, Named):
            function, calls = call.func, [call]
        else:
            made = _making(context, call.func)
            if made is None:
                return None
            function, calls = made[0].func, made[1]
        if not isinstance(function, cst.Attribute) or function.attr.value not in _ON_LOGITS:
            return None
        edits = [context.document.edit(*context.tree.span(function.attr), _ON_LOGITS[function.attr.value])]
        for each in calls:
            dropped = _drop_sigmoid(context, each)
            if dropped is None:
                return None
            edits.extend(dropped)
        return Fix("Compute the loss from the logits", tuple(dict.fromkeys(edits)), Applicability.UNSAFE)


def _making(context: Context, called: cst.BaseExpression) -> tuple[cst.Call, list[cst.Call]] | None:
    """Where the one loss that a name stands for is made, and every call of it."""
    import libcst as cst

    from amplint.syntax.kinds import Kinds

    names, kinds = context.names, Kinds(context.names)
    if isinstance(called, cst.Call):
        call = names.parent(called)
        return (called, [call]) if isinstance(call, cst.Call) else None
    if isinstance(called, cst.Name):
        binding = names.binding(called)
        if binding is None or binding.imports or len(binding.others) != 1 or binding.scope.kind != "function":
            return None
        value = kinds.assigned_value(binding.others[0])
        references: list[cst.BaseExpression] = list(binding.references)
    elif isinstance(called, cst.Attribute) and isinstance(called.value, cst.Name) and called.value.value == "self":
        values = kinds.assigned_to_self(called)
        value = values[0] if len(values) == 1 else None
        references = [
            node
            for node, parent in names.parents.items()
            if isinstance(node, cst.Attribute)
            and node.attr.value == called.attr.value
            and not isinstance(parent, cst.AssignTarget)
        ]
    else:
        return None
    while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value in _MOVES:
        value = value.func.value
    calls = [names.parent(reference) for reference in references]
    found = [call for call, reference in zip(calls, references, strict=True) if _calls(call, reference)]
    if not isinstance(value, cst.Call) or len(found) != len(calls):
        return None
    return value, [call for call in found if isinstance(call, cst.Call)]


def _calls(call: cst.CSTNode | None, function: cst.BaseExpression) -> bool:
    import libcst as cst

    return isinstance(call, cst.Call) and call.func is function


def _drop_sigmoid(context: Context, call: cst.Call) -> list[Edit] | None:
    """Give a loss the logits behind the probabilities that it is called with."""
    import libcst as cst

    from amplint.syntax.enclosing import removal, statement_of
    from amplint.syntax.kinds import Kinds

    names, tree, document = context.names, context.tree, context.document
    if not call.args or any(argument.star for argument in call.args):
        return None
    given = next((a for a in call.args if a.keyword is not None and a.keyword.value == "input"), call.args[0])
    if given.keyword is not None and given.keyword.value != "input" or tree.whole(given.value).lpar:
        return None
    logits, edits = _logits(context, given.value), []
    binding = names.binding(given.value) if isinstance(given.value, cst.Name) else None
    if binding is not None and len(binding.others) == 1 and not binding.imports:
        target = binding.others[0]
        assigned = Kinds(names).assigned_value(target)
        logits = _logits(context, assigned) if assigned is not None else None
        behind = names.binding(logits) if isinstance(logits, cst.Name) else None
        if behind is None or behind.imports or len(behind.others) != 1:
            return None  # what they were computed from may be something else by now
        statement = statement_of(list(names.ancestors(target)))
        cut = removal(tree, statement) if len(binding.references) == 1 and statement is not None else None
        if cut is not None and not _has_comment(tree.text, cut[0], cut[1]):
            edits.append(document.edit(*cut))
    if logits is None:
        return None
    return [*edits, document.edit(*tree.span(given.value), tree.code(logits))]


def _has_comment(text: str, start: int, end: int) -> bool:
    """Whether lines have a comment in them, or right before them."""
    before = text[:start].rstrip("\r\n").rpartition("\n")[2]
    return "#" in text[start:end] or before.lstrip().startswith("#")


def _logits(context: Context, node: cst.BaseExpression) -> cst.BaseExpression | None:
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
