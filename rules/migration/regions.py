"""Autocast regions that are built, or only named, and never entered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from amplint.rules.migration.api import AmpNames, AmpUse, Api
from amplint.rules.migration.arguments import Arguments
from amplint.syntax.arguments import Change, outer_span
from amplint.syntax.enclosing import last_name
from amplint.syntax.kinds import TENSOR_METHODS, Kind
from amplint.syntax.names import children

_ENTERED_BY = frozenset({"enter_context", "enter_async_context"})
_COMPUTES = re.compile(
    r"(^|_)(model|net|network|module|forward|criterion|loss|loss_fn|encoder|decoder|backbone|head)s?$"
)
_OTHER_CONTEXTS = frozenset({"contextlib.nullcontext", "contextlib.suppress", "contextlib.ExitStack"})


@dataclass(frozen=True, slots=True)
class NotEntered:
    """A region that is not entered at ``node``, and the edits that enter it, or why there are none."""

    node: cst.CSTNode
    message: str
    changes: list[Change] = field(default_factory=list)
    reason: str | None = None
    certain: bool = True


class Regions:
    """Finds the regions of one document that are never entered."""

    def __init__(self, names: AmpNames) -> None:
        self.amp, self.names, self.tree, self.kinds = names, names.names, names.tree, names.kinds
        self.arguments = Arguments(names)

    def not_entered(self) -> Iterator[NotEntered]:
        """Every region that is for certain not entered."""
        for use in self.amp.uses:
            if use.member.api is Api.AUTOCAST:
                found = self._named(use) if use.call is None else self._built(use)
                if found is not None:
                    yield found
        yield from self._makers()

    # -- the class itself ----------------------------------------------------------------------------------------

    def _named(self, use: AmpUse) -> NotEntered | None:
        """``with autocast:``, ``@autocast``, ``stack.enter_context(autocast)``."""
        parent = self.names.parent(use.node)
        if isinstance(parent, cst.WithItem):
            message = "`with {}:` enters the class, not a region: it is not called"
        elif isinstance(parent, cst.Decorator):
            message = "`@{}` takes the function for an argument: it is not called"
        elif isinstance(parent, cst.Arg) and self._enters(parent):
            message = "`{}` is the class, not a region: it is not called"
        else:
            return None
        return self._called(use, message.format(self.tree.code(use.node)))

    def _enters(self, argument: cst.Arg) -> bool:
        call = self.names.parent(argument)
        return (
            isinstance(call, cst.Call)
            and isinstance(call.func, cst.Attribute)
            and call.func.attr.value in _ENTERED_BY
            and call.args[0] is argument
        )

    def _called(self, use: AmpUse, message: str) -> NotEntered:
        """Call the class, the new one with its device."""
        device = "" if use.member.old else self.arguments.device_meant(use)
        if device is None:
            return NotEntered(use.node, message, reason="which device type was meant cannot be seen")
        _, end = outer_span(self.tree, use.node)
        return NotEntered(use.node, message, [Change(end, end, f"({device})")])

    # -- a region that was built ---------------------------------------------------------------------------------

    def _built(self, use: AmpUse) -> NotEntered | None:
        call = use.call
        assert call is not None
        if use.bound or use.inherited:
            return None
        parent = self.names.parent(call)
        first = use.positional[0].value if use.positional and not use.starred else None
        switch = use.keywords["enabled"].value if "enabled" in use.keywords else first
        if not isinstance(parent, (cst.WithItem, cst.Decorator)):
            if first is not None and self._is_function(first):
                return self._wrapping(use, first)
            if switch is not None and self._is_computed(switch) and self._is_taken_for_result(call, switch):
                return self._around(use, switch)
        if self._is_left_out(call):
            message = f"the region of `{self.tree.code(use.node)}` is not entered: `and` and `or` enter one side only"
            return self._both(call, message)
        if self._is_probe(call):
            return None
        if isinstance(parent, cst.Expr):
            message = f"the region of `{self.tree.code(use.node)}` is built and never entered"
            return NotEntered(call, message, reason="which statements belong into the region cannot be seen")
        if isinstance(parent, cst.Assign) and parent.value is call and self._is_forgotten(parent):
            message = f"the region of `{self.tree.code(use.node)}` is built and never entered: nothing uses it"
            return NotEntered(call, message, reason="which statements belong into the region cannot be seen")
        return None

    def _is_left_out(self, call: cst.Call) -> bool:
        """``with autocast() and no_grad():`` enters the second alone, ``no_grad() or autocast()`` the first."""
        parent = self.names.parent(call)
        if not isinstance(parent, cst.BooleanOperation) or not isinstance(self.names.parent(parent), cst.WithItem):
            return False
        if isinstance(parent.operator, cst.And):
            return parent.left is call
        return parent.right is call and isinstance(parent.left, cst.Call) and self._is_context(parent.left)

    def _is_context(self, call: cst.Call) -> bool:
        names = {"torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.set_grad_enabled"}
        return bool(self.names.qualified(call.func) & names) or self._is_region(call)

    def _both(self, call: cst.Call, message: str) -> NotEntered:
        operation = self.names.parent(call)
        assert isinstance(operation, cst.BooleanOperation)
        if self.tree.whole(operation).lpar or not isinstance(operation.right, cst.Call):
            return NotEntered(call, message, reason="what else is entered cannot be seen")
        _, start = outer_span(self.tree, operation.left)
        end, _ = outer_span(self.tree, operation.right)
        return NotEntered(call, message, [Change(start, end, ", ")])

    def _is_probe(self, call: cst.Call) -> bool:
        """Whether a region is built only to see whether it can be, or how it warns."""
        child: cst.CSTNode = call
        for parent in self.names.ancestors(call):
            if isinstance(parent, (cst.Try, cst.TryStar)) and child is parent.body:
                return True
            if isinstance(parent, cst.With) and any(last_name(i.item) == "catch_warnings" for i in parent.items):
                return True
            child = parent
        return False

    def _is_function(self, node: cst.BaseExpression) -> bool:
        """Whether it is a function or model for certain, which ``autocast`` was to wrap."""
        if self.kinds.possible(node).certainly(Kind.FUNCTION):
            return True
        return isinstance(node, cst.Attribute) and node.attr.value == "forward"

    def _wrapping(self, use: AmpUse, function: cst.BaseExpression) -> NotEntered:
        call = use.call
        assert call is not None
        code = self.tree.code
        message = f"`{code(use.node)}` takes `{code(function)}` for an argument, and does not wrap it"
        device = "" if use.member.old else self.arguments.device_meant(use)
        if device is None or len(use.arguments) > 1:
            why = "which device type was meant" if device is None else "what the other arguments were meant to be"
            return NotEntered(call, message, reason=f"{why} cannot be seen")
        _, end = outer_span(self.tree, use.node)
        return NotEntered(call, message, [Change(end, end, f"({device})")])

    def _is_computed(self, node: cst.BaseExpression) -> bool:
        """Whether it is the result of a call with arguments, and no flag, device or dtype."""
        return (
            isinstance(node, cst.Call)
            and any(argument.keyword is None for argument in node.args)
            and self.kinds.possible(node).kinds == {Kind.UNKNOWN}
            and not self.kinds.is_device(node)
        )

    def _is_taken_for_result(self, call: cst.Call, inner: cst.BaseExpression) -> bool:
        """Whether what goes on with a region takes it for the tensor that was computed."""
        assert isinstance(inner, cst.Call)
        computes = bool(_COMPUTES.search(last_name(inner.func)))
        parent = self.names.parent(call)
        if isinstance(parent, cst.Attribute):
            return parent.attr.value in TENSOR_METHODS
        if isinstance(parent, (cst.Return, cst.Arg, cst.Expr)):
            return computes
        if not isinstance(parent, cst.Assign) or parent.value is not call:
            return isinstance(parent, (cst.BinaryOperation, cst.Subscript))
        target = parent.targets[0].target
        if isinstance(target, (cst.Tuple, cst.List)):
            return True
        binding = self.names.bound(target)
        references = binding.references if binding is not None else []
        return computes and not any(self._is_entered(reference) for reference in references)

    def _is_entered(self, reference: cst.Name) -> bool:
        parent = self.names.parent(reference)
        if isinstance(parent, cst.WithItem):
            return True
        if isinstance(parent, cst.Arg):
            return self._enters(parent)
        if isinstance(parent, cst.Call):
            return True  # it decorates something
        return isinstance(parent, cst.Attribute) and parent.attr.value == "__enter__"

    def _is_forgotten(self, statement: cst.Assign) -> bool:
        """Whether a value goes into one local name that nothing reads."""
        target = statement.targets[0].target
        binding = self.names.bound(target)
        return (
            len(statement.targets) == 1
            and isinstance(target, cst.Name)
            and binding is not None
            and binding.scope.kind == "function"
            and not binding.references
        )

    def _around(self, use: AmpUse, inner: cst.BaseExpression) -> NotEntered:
        """``y = autocast(model(x))`` becomes ``with autocast(): y = model(x)`` on two lines."""
        call = use.call
        assert call is not None
        spelled = self.tree.code(use.node)
        message = f"`{spelled}` takes what was computed outside of it for an argument, and is not entered"
        statement = self.names.parent(call)
        line = self.names.parent(statement) if statement is not None else None
        device = "" if use.member.old else self.arguments.device_meant(use)
        given = [argument for argument in use.arguments if argument.value is not inner]
        if not use.member.old and len(given) == 1 and self.kinds.is_device(given[0].value):
            device, given = self.tree.code(given[0].value), []
        whole = (
            isinstance(statement, (cst.Assign, cst.Return, cst.Expr))
            and isinstance(line, cst.SimpleStatementLine)
            and len(line.body) == 1
            and not given
        )
        if device is None or not whole or statement is None:
            return NotEntered(call, message, reason="what belongs into the region cannot be seen")
        start, end = self.tree.span(statement)
        text = self.tree.text
        if "\n" in text[start:end]:
            return NotEntered(call, message, reason="what belongs into the region is spread over several lines")
        call_start, call_end = outer_span(self.tree, call)
        inner_start, inner_end = outer_span(self.tree, inner)
        indent = text[max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1 : start]
        module = self.tree.whole(self.tree.module)
        head = f"with {spelled}({device}):{module.default_newline}{indent}{module.default_indent}"
        changes = [
            Change(start, start, head),
            Change(call_start, inner_start, ""),
            Change(inner_end, call_end, ""),
        ]
        return NotEntered(call, message, changes, certain=False)

    # -- what makes regions --------------------------------------------------------------------------------------

    def _makers(self) -> Iterator[NotEntered]:
        """``with region:`` where ``region`` is a function, lambda or partial that makes one."""
        for node in self.names.every(cst.WithItem):
            if not isinstance(node.item, cst.Name):
                continue
            binding = self.names.binding(node.item)
            if binding is None or binding.imports or len(binding.others) != 1 or self.amp.expected(node):
                continue
            maker = binding.others[0]
            value = maker if isinstance(maker, cst.FunctionDef) else self.kinds.assigned_value(maker)
            if value is not None and self._makes_region(value):
                _, end = outer_span(self.tree, node.item)
                message = f"`with {node.item.value}:` enters what makes a region, not a region: it is not called"
                change = Change(end, end, "()")
                yield NotEntered(node.item, message, [change] if self._without_arguments(value) else [], None)

    def _makes_region(self, value: cst.CSTNode) -> bool:
        if isinstance(value, cst.IfExp):
            arms = [value.body, value.orelse]
            makes = [self._makes_region(arm) or self._is_class(arm) for arm in arms]
            others = [bool(self.names.qualified(arm) & _OTHER_CONTEXTS) for arm in arms]
            return any(makes) and all(one or other for one, other in zip(makes, others, strict=True))
        if isinstance(value, cst.FunctionDef):
            returns = [node.value for node in _own(value.body) if isinstance(node, cst.Return)]
            generates = any(isinstance(node, cst.Yield) for node in _own(value.body))
            if value.decorators or value.asynchronous is not None or generates or not returns:
                return False
            return any(node is not None and self._is_region(node) for node in returns)
        if isinstance(value, cst.Lambda):
            return self._is_region(value.body)
        if isinstance(value, cst.Call) and "functools.partial" in self.names.qualified(value.func) and value.args:
            member = self.amp.member(value.args[0].value)
            return member is not None and member.api is Api.AUTOCAST
        return False

    def _is_class(self, node: cst.BaseExpression) -> bool:
        member = self.amp.member(node)
        return member is not None and member.api is Api.AUTOCAST

    def _is_region(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.IfExp):
            return self._is_region(node.body) or self._is_region(node.orelse)
        member = self.amp.member(node.func) if isinstance(node, cst.Call) else None
        return member is not None and member.api is Api.AUTOCAST

    def _without_arguments(self, value: cst.CSTNode) -> bool:
        if isinstance(value, (cst.FunctionDef, cst.Lambda)):
            params = value.params
            every = [*params.posonly_params, *params.params, *params.kwonly_params]
            return all(param.default is not None for param in every)
        return True


def _own(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The code below ``node`` that is of the same function."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if not isinstance(current, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
            stack.extend(children(current))
