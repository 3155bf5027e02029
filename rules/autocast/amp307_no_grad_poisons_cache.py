"""# no-grad-poisons-cache (AMP307)

## What it does
Finds a model that is run without gradients and then with them in one autocast region. It speaks where the lowest torch
of the project is not known or is one that loses the gradients.

## Why is this bad?
In a region autocast casts each weight once and keeps the half copy until the outermost region ends. A copy made under
`torch.no_grad()` has no history; up to PyTorch 2.9 the later forward takes it from the cache, and the gradient ends
there: `weight.grad` stays None, without an error, since biases and norms, which are not cast, still learn. A loop that
records gradients in its last round only does the same.

## Example
```python
with torch.autocast("cuda"):
    with torch.no_grad():
        baseline = encoder(x).mean()
    loss = (encoder(x).mean() - baseline).square()
```

## Use instead
```python
with torch.no_grad(), torch.autocast("cuda"):
    baseline = encoder(x).mean()
with torch.autocast("cuda"):
    loss = (encoder(x).mean() - baseline).square()
```

or call `torch.clear_autocast_cache()` in between.

## References
- [pytorch#65766](https://github.com/pytorch/pytorch/issues/65766),
  [pytorch#112583](https://github.com/pytorch/pytorch/issues/112583)
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Finding, Severity
from amplint.mentions import OF_PRECISION
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.precision import Use

_MENDED = (2, 10)


class NoGradPoisonsCache(Rule):
    """Forwards without and with gradients in one region."""

    code = "AMP307"
    name = "no-grad-poisons-cache"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "a model run without and then with gradients in one autocast region, whose weight cache loses them"
    mentions = (b"autocast",)
    imported_mentions = OF_PRECISION

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the later forwards."""
        target = context.target_torch
        text = context.document.text
        if "autocast" not in text or not re.search(r"no_grad|set_grad_enabled|inference_mode", text):
            return
        if target is not None and target.version >= _MENDED:
            return
        first: dict[object, Use] = {}
        said: set[object] = set()
        is_frozen = functools.cache(functools.partial(self._is_frozen, context))
        for use in context.precision.uses:
            if use.name == "clear_autocast_cache":
                first.clear()
                continue
            model = self._model(context, use)
            region = use.state.active
            if model is None or region is None or not region.autocast.known or use.state.doubtful:
                continue
            outer = use.state.entered[0]
            if not (outer.autocast.may_be_cuda and outer.autocast.cached and region.autocast.cached):
                continue
            if is_frozen(model):
                continue
            key = outer.entry, self._home(context, use, model), model
            earlier = first.get(key)
            if earlier is not None and self._exclude_each_other(context, earlier.node, use.node):
                earlier = None
            if use.state.gradients is False:
                first.setdefault(key, use)
            elif use.node not in said and (
                (earlier is not None and use.state.gradients is True)
                or (use.state.gradients is None and any(depth > 0 for _, depth in use.state.loops))
            ):
                said.add(use.node)
                related = [context.related(outer.autocast.call, "one region, so one cache of half weights")]
                if earlier is not None:
                    related.insert(0, context.related(earlier.node, "its weights are cast without a history here"))
                yield context.finding(
                    self,
                    use.node,
                    f"`{model}` ran without gradients in this autocast region before: "
                    "torch before 2.10 takes its half weights from the cache, and their gradients are lost",
                    help="Use two regions, or call `torch.clear_autocast_cache()` in between.",
                    related=tuple(related),
                    no_fix_reason="where one region may end and the next begin cannot be seen",
                )

    def _exclude_each_other(self, context: Context, first: cst.CSTNode, second: cst.CSTNode) -> bool:
        """Whether no run comes to both places, as where one is of the training and one of the evaluation."""
        from amplint.training.conditions import can_hold, conjunction

        training = context.training
        guards = (training.conditions.guards(training.places.guards_of(place)) for place in (first, second))
        return not can_hold(conjunction(guards))

    def _home(self, context: Context, use: Use, model: str) -> cst.CSTNode | None:
        """Where the spelling means the same: the class of a method for what belongs to ``self``, else the function."""
        import libcst as cst

        if model.startswith("self.") and use.function is not None:
            return next(
                (node for node in context.names.ancestors(use.function) if isinstance(node, cst.ClassDef)), None
            )
        return use.function

    def _model(self, context: Context, use: Use) -> str | None:
        """The spelling of the model that is called, if one is."""
        import libcst as cst

        from amplint.operators import Treatment, treatment
        from amplint.precision import Instance, Made

        node = use.node
        if not isinstance(node, cst.Call):
            return None
        from amplint.syntax.names import dotted_name

        name = dotted_name(node.func)
        if name is None:
            return None
        if isinstance(use.callee, Made):
            known = use.callee.name.startswith("torch.nn.") and (
                treatment(use.name) is Treatment.LOWER or use.name == "call"
            )
        else:
            known = isinstance(use.callee, Instance) and use.name == "call"
        if not known and not (use.name == "call" and self._looks_trained(context, node.func)):
            return None
        return name

    def _looks_trained(self, context: Context, function: cst.BaseExpression) -> bool:
        return context.precision.is_module_name(function)

    def _is_frozen(self, context: Context, name: str) -> bool:
        """Whether its weights are not trained: they are not cached then."""
        last = re.escape(name.rpartition(".")[2])
        switched_off = r"requires_grad(?:_\(\s*|\s*=\s*)False"
        each = rf"(?:named_)?parameters\(\)\)?:[^\n]*\n?[^\n]*{switched_off}"
        frozen = rf"\b{last}\.(?:{switched_off}|{each})|(?i:freeze|frozen)\w*\([^)\n]*\b{last}\b|\b{last}\.freeze"
        return re.search(frozen, context.document.text) is not None
