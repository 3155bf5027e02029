"""# scaler-maybe-undefined (AMP125)

## What it does
Finds calls of a scaler's methods on a variable that some run has not bound: the scaler is made under a condition for
the whole run only and used on all paths, or no scaler of that name is made anywhere in the file.

## Why is this bad?
The run without the condition ends in `NameError: name 'scaler' is not defined` (or `UnboundLocalError`), often only
after data and model have been loaded.

## Example
```python
if args.amp:
    scaler = torch.amp.GradScaler("cuda")
for x, y in loader:
    loss = criterion(model(x), y)
    scaler.scale(loss).backward()
```

## Use instead
```python
scaler = torch.amp.GradScaler("cuda", enabled=args.amp)
for x, y in loader:
    loss = criterion(model(x), y)
    scaler.scale(loss).backward()
```

## Fix safety
There is no fix.

## References
- [torch.amp.GradScaler](https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler)
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Finding, Severity
from amplint.rule import Context, Rule
from amplint.rules.protocol.violations import MENTIONS

if TYPE_CHECKING:
    import libcst as cst

_STAR = re.compile(r"^[ \t]*from\s+\S+\s+import\s*\(?\s*\*", re.MULTILINE)
ADVICE = "Make the scaler once, ahead of its uses, with `enabled=` for the condition."


class ScalerMaybeUndefined(Rule):
    """A scaler bound on one branch and used on all."""

    code = "AMP125"
    name = "scaler-maybe-undefined"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "a scaler is made on one branch, or nowhere, and used on all"
    mentions = MENTIONS

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the first use of each scaler that some run lacks."""
        seen: set[tuple[int, str]] = set()
        for site in sorted(context.protocol.undefined):
            receiver = _receiver(context.protocol.node(site))
            place = context.protocol.scope(site).number, receiver.value
            if place not in seen:
                seen.add(place)
                yield self._report(context, receiver, f"`{receiver.value}` is not bound here on every path")
        unknown = _unknown_scaler(context)
        if unknown is not None:
            yield self._report(context, unknown, f"no `{unknown.value}` is made or imported in this file")

    def _report(self, context: Context, node: cst.CSTNode, message: str) -> Finding:
        reason = "where the scaler should be made is the program's choice"
        return context.finding(self, node, message, help=ADVICE, no_fix_reason=reason)


def _receiver(node: cst.CSTNode) -> cst.Name:
    """The variable whose method is called."""
    import libcst as cst

    assert isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Name)
    return node.func.value


def _unknown_scaler(context: Context) -> cst.Name | None:
    """The first use of a scaler in a function whose name is the only one in the file that nothing binds.

    Where other names are unknown as well the file is a part of something, and says nothing about what is not in it.
    """
    import libcst as cst

    names = context.names
    if _STAR.search(context.document.text):
        return None
    unknown = [node for node in names.references() if names.binding(node) is None and not hasattr(builtins, node.value)]
    if len({node.value for node in unknown}) != 1 or "scaler" not in unknown[0].value.lower():
        return None
    for node in unknown:
        attribute = names.parent(node)
        call = names.parent(attribute) if isinstance(attribute, cst.Attribute) and attribute.value is node else None
        scales = isinstance(attribute, cst.Attribute) and attribute.attr.value == "scale"
        if isinstance(call, cst.Call) and call.func is attribute and scales and names.scope(node).kind == "function":
            return node
    return None
