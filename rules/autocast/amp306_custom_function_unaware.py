"""# custom-function-unaware (AMP306)

## What it does
Finds an `autograd.Function` that multiplies matrices or convolves in its forward and backward, is applied under
autocast, and lacks `custom_fwd` and `custom_bwd`, or the latter; one that multiplies by a weight and has `custom_fwd`
alone, wherever it is applied; and one whose backward has `custom_bwd` while its forward lacks `custom_fwd`. One that
casts by itself, or that may be given half tensors only, is left alone.

## Why is this bad?
Autocast is on in the forward and off in the backward. The gradient comes back in half and meets the float32 tensors
that the forward saved: `RuntimeError: expected m1 and m2 to have the same dtype`. `custom_fwd` and `custom_bwd` run the
backward as the forward ran. `custom_bwd` alone fails in every backward, with autocast or without: `AttributeError: ...
object has no attribute '_fwd_used_autocast'`.

## Example
```python
class Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight.T, x.T @ grad


with torch.autocast("cuda"):
    y = Multiply.apply(x, weight)
```

## Use instead
```python
class Multiply(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight.T, x.T @ grad
```

## Fix safety
The fix is safe: it adds the decorators that are missing, and without autocast they do nothing. It is not offered where
the project supports a torch older than 2.4, which lacks them in `torch.amp`.

## References
- [Autocast and custom autograd functions](https://docs.pytorch.org/docs/stable/notes/amp_examples.html#autocast-and-custom-autograd-functions)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Edit, Finding, Fix, Severity
from amplint.mentions import OF_PRECISION
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.precision import Use

_HARMLESS = {"staticmethod", "once_differentiable"}
_CASTS = re.compile(r"\.(to|type|type_as|half|float|bfloat16)\(|autocast|dtype")
_WEIGHTS = {"weight", "weights", "w", "W", "kernel", "filter", "filters"}
_SINCE_CUSTOM = (2, 4)
#: Of ``torch.nn.grad``.
_GRADIENTS = {f"conv{dims}d_{of}" for dims in (1, 2, 3) for of in ("input", "weight")}


class CustomFunctionUnaware(Rule):
    """A custom function whose backward runs otherwise than its forward."""

    code = "AMP306"
    name = "custom-function-unaware"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "an `autograd.Function` under autocast without `custom_fwd` and `custom_bwd`, or with one of the two"
    fixable = "sometimes"
    mentions = (b"autocast", b"custom_bwd")
    imported_mentions = OF_PRECISION

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the classes of such functions."""
        text = context.document.text
        if "Function" not in text or not ("autocast" in text or "custom_bwd" in text):
            return
        report = context.precision
        applied: dict[cst.ClassDef, Use] = {}
        for cls, use in report.applied():
            region = use.state.active
            if region is not None and region.autocast.known and not use.state.doubtful:
                applied.setdefault(cls, use)
        for cls in report.functions:
            function = _Function(context, cls)
            if function.is_plain:
                yield from self._judge(context, function, applied.get(cls))

    def _judge(self, context: Context, function: _Function, use: Use | None) -> Iterator[Finding]:
        if function.backward_custom is not None and function.forward_custom is None:
            message = (
                f"the backward of `{function.name}` has `custom_bwd` and its forward lacks `custom_fwd`: the backward "
                "raises an AttributeError"
            )
            related = [context.related(function.backward_custom, "this needs `custom_fwd` on the forward")]
        elif use is not None and function.backward_custom is None and function.mixes(use):
            missing = "`custom_bwd`" if function.forward_custom is not None else "`custom_fwd` and `custom_bwd`"
            message = (
                f"`{function.name}` is applied under autocast and lacks {missing}: its backward meets half gradients "
                "and float32 tensors"
            )
            related = [context.related(use.node, "applied under autocast here")]
        elif use is None and function.forward_custom is not None and function.backward_custom is None:
            if not (function.takes_weights and function.meets_saved):
                return
            message = (
                f"`{function.name}` has `custom_fwd` and lacks `custom_bwd`: under autocast its backward meets half "
                "gradients and float32 weights"
            )
            related = [context.related(function.forward_custom, "this is there for autocast")]
        else:
            return
        fix = function.fix()
        yield context.finding(
            self,
            function.node.name,
            message,
            help="Decorate the forward with `torch.amp.custom_fwd` and the backward with `torch.amp.custom_bwd`.",
            related=tuple(related),
            candidates=(fix,) if fix is not None else (),
            no_fix_reason=None if fix else "the decorators are not to be had under a name of this file",
        )


class _Function:
    """The two methods of a custom function and their decorators."""

    def __init__(self, context: Context, node: cst.ClassDef) -> None:
        import libcst as cst

        self.context, self.node, self.name = context, node, node.name.value
        methods = {child.name.value: child for child in node.body.body if isinstance(child, cst.FunctionDef)}
        self.forward, self.backward = methods.get("forward"), methods.get("backward")
        self.forward_custom = self._custom(self.forward, "custom_fwd")
        self.backward_custom = self._custom(self.backward, "custom_bwd")
        self.is_plain = (
            self.forward is not None
            and self.backward is not None
            and not {"setup_context", "vmap", "jvp"} & methods.keys()
            and self._only_known(self.forward, "custom_fwd")
            and self._only_known(self.backward, "custom_bwd")
            and "_fwd_used_autocast" not in context.tree.code(node)
        )

    def _custom(self, method: cst.FunctionDef | None, name: str) -> cst.Decorator | None:
        from amplint.precision import decorator_name

        decorators = method.decorators if method is not None else ()
        return next((decorator for decorator in decorators if decorator_name(decorator) == name), None)

    def _only_known(self, method: cst.FunctionDef, name: str) -> bool:
        from amplint.precision import decorator_name

        return all(decorator_name(decorator) in {*_HARMLESS, name} for decorator in method.decorators)

    def mixes(self, use: Use) -> bool:
        """Whether half gradients meet what the forward saved in float32."""
        from amplint.precision import Constant, Number, Tensor

        assert self.forward is not None and self.backward is not None
        tensors = [value for value in use.operands if not isinstance(value, (Constant, Number))]
        if all(isinstance(value, Tensor) and value.is_half and value.certain for value in tensors):
            return False
        if not any(isinstance(value, Tensor) and value.dtype == "float32" for value in tensors):
            if not self.takes_weights and not self._is_given_weights(use):
                return False  # all of them may be half
        return self.meets_saved

    @property
    def takes_weights(self) -> bool:
        """Whether a parameter of the forward is named as a weight, which autocast leaves in float32."""
        assert self.forward is not None
        return any(param.name.value in _WEIGHTS for param in self.forward.params.params)

    def _is_given_weights(self, use: Use) -> bool:
        import libcst as cst

        from amplint.syntax.names import within

        assert isinstance(use.node, cst.Call)
        parts = (part for argument in use.node.args for part in within(argument.value))
        return any(isinstance(part, cst.Attribute) and part.attr.value in _WEIGHTS for part in parts)

    @property
    def meets_saved(self) -> bool:
        """Whether the backward multiplies its gradients with what the forward saved, uncast."""
        assert self.forward is not None and self.backward is not None
        forward, backward = (self.context.tree.code(method.body) for method in (self.forward, self.backward))
        if self.forward_custom is not None and "cast_inputs" in self.context.tree.code(self.forward_custom):
            return False
        if _CASTS.search(forward) or _CASTS.search(backward):
            return False
        return _lowers(self.forward) and _lowers(self.backward)

    def fix(self) -> Fix | None:
        """Add the decorators that are missing."""
        edits: list[Edit] = []
        for method, own, other, name in (
            (self.forward, self.forward_custom, self.backward_custom, "custom_fwd"),
            (self.backward, self.backward_custom, self.forward_custom, "custom_bwd"),
        ):
            if own is not None:
                continue
            assert method is not None
            spelled = self._spelled(name, other)
            if spelled is None:
                return None
            decorator, imported = spelled
            document, tree = self.context.document, self.context.tree
            # before the first word of the definition, which may be `async`
            start = tree.span(method)[0] if not method.decorators else None
            if start is None:
                _, last = tree.span(method.decorators[-1].decorator)
                line_end = document.text.find("\n", last)
                if line_end < 0:
                    return None
                begin, _ = tree.span(method.decorators[-1])
                indent = document.text[document.text.rfind("\n", 0, begin) + 1 : begin]
                edits.append(document.edit(line_end + 1, line_end + 1, f"{indent}@{decorator}\n"))
            else:
                indent = document.text[document.text.rfind("\n", 0, start) + 1 : start]
                edits.append(document.edit(start, start, f"@{decorator}\n{indent}"))
            edits.extend(imported)
        return Fix("Add the missing decorators", tuple(edits)) if edits else None

    def _spelled(self, name: str, other: cst.Decorator | None) -> tuple[str, list[Edit]] | None:
        """How the decorator of this name is written here, and what must be imported for it."""
        import libcst as cst

        from amplint.syntax.imports import Imports
        from amplint.syntax.names import dotted_name

        names, tree = self.context.names, self.context.tree
        if other is None:
            target = self.context.target_torch
            binding = names.root.bindings.get("torch")
            if binding is None or binding.qualified != {"torch"} or binding.ambiguous:
                return None
            if target is not None and target.version < _SINCE_CUSTOM:
                return None
            return f"torch.amp.{name}(device_type={names.quote}cuda{names.quote})", []
        call = other.decorator if isinstance(other.decorator, cst.Call) else None
        spelling = dotted_name(call.func if call is not None else other.decorator)
        if spelling is None:
            return None
        owner, _, old = spelling.rpartition(".")
        arguments = [
            tree.code(argument.keyword) + "=" + tree.code(argument.value)
            for argument in (call.args if call is not None else ())
            if argument.keyword is not None and argument.keyword.value == "device_type"
        ]
        code = (f"{owner}." if owner else "") + name + (f"({', '.join(arguments)})" if arguments else "")
        if owner or name in names.root.bindings:
            return code, []
        binding = names.root.bindings.get(old)
        imported = binding.imports[0] if binding is not None and len(binding.imports) == 1 else None
        if imported is None or imported.alias is None or imported.alias.asname is not None:
            return None
        if not isinstance(imported.statement, cst.ImportFrom) or isinstance(imported.statement.names, cst.ImportStar):
            return None
        return code, list(self.context.edits(Imports(names).add(imported.statement, [name])))


def _lowers(method: cst.FunctionDef) -> bool:
    """Whether a method multiplies matrices or convolves."""
    import libcst as cst

    from amplint.operators import LOWER
    from amplint.syntax.names import children, dotted_name

    waiting: list[cst.CSTNode] = [method.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.MatrixMultiply):
            return True
        if isinstance(node, cst.Call) and isinstance(node.func, (cst.Name, cst.Attribute)):
            last = (
                node.func.attr.value
                if isinstance(node.func, cst.Attribute)
                else (dotted_name(node.func) or "").rpartition(".")[2]
            )
            if last in LOWER or last in _GRADIENTS:
                return True
        waiting.extend(children(node))
    return False
