"""# autocast-without-dtype (ACME001)

## What it does
Finds `torch.autocast(...)` that does not say its `dtype`.

## Why is this bad?
The default is float16 on CUDA and bfloat16 on the CPU. Our models are trained in bfloat16 on both.

## Example
```python
with torch.autocast("cuda"):
    loss = model(x)
```

## Use instead
```python
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = model(x)
```

## Fix safety
The fix is unsafe, since it changes the precision on CUDA.
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Applicability, Finding, Fix, Severity
from amplint.rule import Context, Rule


class AutocastWithoutDtype(Rule):
    """``torch.autocast`` without ``dtype``."""

    code = "ACME001"
    name = "autocast-without-dtype"
    severity = Severity.WARNING
    since = "1.0"
    summary = "`torch.autocast(...)` that does not say its `dtype`"
    fixable = "sometimes"
    mentions = (b"autocast",)

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the calls."""
        import libcst as cst  # only here: most files never get so far

        for call in _calls(context.tree.module):
            given = {argument.keyword.value for argument in call.args if argument.keyword}
            if len(call.args) - len(given) > 1 or "dtype" in given or any(argument.star for argument in call.args):
                continue
            if context.names.qualified(call.func) != {"torch.autocast"}:
                continue
            candidates = ()
            if call.args and isinstance(call.func, cst.Attribute):
                end = context.tree.span(call.args[-1])[1]
                torch = context.tree.code(call.func.value)
                edit = context.document.edit(end, end, f", dtype={torch}.bfloat16")
                candidates = (Fix("Add `dtype=torch.bfloat16`", (edit,), Applicability.UNSAFE),)
            yield context.finding(
                self,
                call,
                "autocast without a dtype",
                help="Say `dtype=torch.bfloat16`.",
                candidates=candidates,
                no_fix_reason=None if candidates else "how to reach `torch.bfloat16` from here is yours to choose",
            )


def _calls(node):
    import libcst as cst

    if isinstance(node, cst.Call):
        yield node
    for child in node.children:
        yield from _calls(child)
