"""# scale-sync (AMP502)

## What it does
Finds `scaler.get_scale()` in a loop where the scale is only written down: printed, logged, given to a progress bar or a
meter, in every iteration. A scale that the program computes with or compares is left alone.

## Why is this bad?
The scale lives on the GPU. Reading it waits for everything that was queued there before, so the CPU cannot run ahead
and prepare the next iteration. Where the iteration waits anyway, for `loss.item()` or `torch.cuda.synchronize()`, the
scale costs nothing more, and the rule is silent.

This rule is off unless selected: one sync for each iteration may be cheap enough.

## Example
```python
for x, y in loader:
    train_step(x, y)
    writer.add_scalar("scale", scaler.get_scale())
```

## Use instead
```python
for step, (x, y) in enumerate(loader):
    train_step(x, y)
    if step % 100 == 0:
        writer.add_scalar("scale", scaler.get_scale())
```

## References
- [torch.amp.GradScaler.get_scale](https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.get_scale)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Finding, Severity
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

_WRITING = re.compile(
    r"^(print|log|log_dict|log_metrics|info|debug|add_scalar|add_scalars|set_postfix|set_postfix_str|set_description|"
    r"set_description_str|write|scalar|report_scalar|track|log_metric|append|update|add|record)$"
)
_SYNCS = re.compile(r"\.item\(\)|synchronize\(|\.cpu\(\)|\.tolist\(\)|\.numpy\(\)|float\(loss|barrier\(")


class ScaleSync(Rule):
    """Reading the scale in every iteration to write it down."""

    code = "AMP502"
    name = "scale-sync"
    severity = Severity.INFO
    since = "0.1.0"
    summary = "the scale read in every iteration only to be written down: each time the CPU waits for the GPU"
    default = False
    mentions = (b"get_scale(", b"_scale.item(")

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the reads of the scale."""
        import libcst as cst

        for node in context.names.every(cst.Call):
            if self._reads_scale(context, node):
                loop = self._writes_each_iteration(context, node)
                if loop is not None:
                    yield context.finding(
                        self,
                        node,
                        "the CPU waits for the GPU here in every iteration, only to write the scale down",
                        help="Write it down every so many iterations.",
                        related=(context.related(loop, "in every iteration of this loop"),),
                        no_fix_reason="how often it is to be written down is yours to choose",
                    )

    def _reads_scale(self, context: Context, call: cst.Call) -> bool:
        import libcst as cst

        from amplint.syntax.names import dotted_name

        name = dotted_name(call.func) if isinstance(call.func, cst.Attribute) else None
        if name is None or call.args:
            return False
        owner, _, method = name.rpartition(".")
        if method == "item" and owner.endswith("._scale"):
            owner = owner.removesuffix("._scale")
        elif method != "get_scale":
            return False
        return bool(re.search(rf"(?<![\w.]){re.escape(owner)}\.(scale|unscale_|step)\(", context.document.text))

    def _writes_each_iteration(self, context: Context, node: cst.CSTNode, depth: int = 0) -> cst.For | cst.While | None:
        """The loop in each of whose iterations a value is written down and nothing else."""
        import libcst as cst

        from amplint.syntax.names import dotted_name

        used = (cst.Comparison, cst.BinaryOperation, cst.Assign, cst.AugAssign, cst.Return, cst.If, cst.IfExp)
        used += (cst.FunctionDef, cst.Lambda, cst.BooleanOperation)
        writes, child = False, node
        for above in context.names.ancestors(node):
            if isinstance(above, cst.Assign) and above.value is node and depth < 3:
                readers = self._readers(context, above)
                loops = {self._writes_each_iteration(context, reader, depth + 1) for reader in readers}
                loop = loops.pop() if len(loops) == 1 else None
                return loop if loop is not None and self._is_always_met(context, above, loop) else None
            if isinstance(above, used):
                return None
            if isinstance(above, cst.Call) and isinstance(child, cst.Arg):
                called = dotted_name(above.func) or (
                    above.func.attr.value if isinstance(above.func, cst.Attribute) else ""
                )
                writes = writes or _WRITING.match(called.rpartition(".")[2]) is not None
            if isinstance(above, (cst.For, cst.While)):
                epoch = isinstance(above, cst.For) and "epoch" in context.tree.code(above.target).lower()
                return above if writes and not epoch and not self._waits_anyway(context, above) else None
            child = above
        return None

    def _readers(self, context: Context, assign: cst.Assign) -> list[cst.CSTNode]:
        """What reads a name, or a dictionary, that an assignment puts the scale into."""
        import libcst as cst

        names = context.names
        target = assign.targets[0].target if len(assign.targets) == 1 else None
        if isinstance(target, cst.Name):
            binding = names.bound(target)
            return list(binding.references) if binding is not None and binding.others == [target] else []
        if not isinstance(target, cst.Subscript) or not isinstance(target.value, cst.Name):
            return []
        binding = names.binding(target.value)
        if binding is None or binding.imports or len(binding.others) != 1:
            return []
        own = {reference for reference in binding.references if self._is_filled(context, reference)}
        return [reference for reference in binding.references if reference not in own]

    def _is_filled(self, context: Context, reference: cst.Name) -> bool:
        """Whether a reference to a dictionary only puts something into it."""
        import libcst as cst

        parent = context.names.parent(reference)
        return isinstance(parent, cst.Subscript) and isinstance(context.names.parent(parent), cst.AssignTarget)

    def _is_always_met(self, context: Context, statement: cst.CSTNode, loop: cst.CSTNode) -> bool:
        """Whether each iteration of a loop comes by a statement."""
        import libcst as cst

        for above in context.names.ancestors(statement):
            if isinstance(above, (cst.If, cst.For, cst.While, cst.FunctionDef)):
                return above is loop
        return False

    def _waits_anyway(self, context: Context, loop: cst.For | cst.While) -> bool:
        """Whether each iteration waits for the GPU elsewhere."""
        import libcst as cst

        def text(statement: cst.CSTNode) -> str:
            if isinstance(statement, (cst.If, cst.FunctionDef)):
                return ""
            if isinstance(statement, (cst.With, cst.Try)):
                return "".join(text(child) for child in statement.body.body)
            return context.tree.code(statement)

        lines = "".join(text(statement) for statement in loop.body.body)
        return _SYNCS.search(lines.replace("_scale.item()", "")) is not None
