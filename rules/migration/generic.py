"""Code that runs on whatever device it is given, and asks or sets AMP for CUDA only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from amplint.rules.migration.api import AmpNames, AmpUse, Api
from amplint.rules.migration.devices import Devices, device_argument
from amplint.syntax.arguments import Change, insert_argument
from amplint.syntax.enclosing import leaves, statements_before
from amplint.syntax.kinds import Kind, Possible
from amplint.syntax.names import dotted_name, within

_OTHER_ACCELERATORS = frozenset({"mps", "xpu", "npu", "hpu", "xla", "mlu", "musa"})
_CPU_QUERIES = frozenset({"is_autocast_cpu_enabled", "set_autocast_cpu_enabled"})


@dataclass(frozen=True, slots=True)
class Fixed:
    """A call that is about CUDA whatever the device, and the edits that give it the chosen one."""

    use: AmpUse
    device: str
    changes: list[Change] = field(default_factory=list)


class Generic:
    """Finds what is about CUDA only in the device-generic code of one document."""

    def __init__(self, names: AmpNames) -> None:
        self.amp, self.names, self.tree, self.kinds = names, names.names, names.tree, names.kinds
        self.devices = Devices(names)

    # -- queries -------------------------------------------------------------------------------------------------

    def queries(self) -> Iterator[AmpUse]:
        """``is_autocast_enabled()`` and ``set_autocast_enabled(b)`` beside regions of a device that is not fixed."""
        generic = [use for use in self.amp.called(*Api) if self._is_generic(use)]
        for use in self.amp.called(Api.IS_ENABLED, Api.SET_ENABLED, old=False):
            least = 0 if use.member.api is Api.IS_ENABLED else 1
            if use.bound or use.starred or len(use.arguments) != least or self._under_cuda(use.node):
                continue
            home, function = self._class_of(use), self._function_of(use.node)
            if any(self._function_of(other) is function for other in self._other_queries()):
                continue
            if home is None and self._is_about_cuda(function, generic):
                continue
            if any(home is None or self._class_of(other) is home for other in generic):
                yield use

    def _is_about_cuda(self, function: cst.CSTNode | None, generic: list[AmpUse]) -> bool:
        """Whether all regions and dtypes that a function is about are CUDA's."""
        about = [use for use in self.amp.every if self._function_of(use.node) is function]
        regions = [use for use in about if use.member.api not in (Api.IS_ENABLED, Api.SET_ENABLED)]
        return bool(regions) and not any(use in generic or use.member.device not in (None, "cuda") for use in regions)

    def _is_generic(self, use: AmpUse) -> bool:
        """Whether a call is about a device that the code does not fix, or that is not CUDA."""
        device = device_argument(use)
        if device is None:
            return False
        texts = {value.text for value in self.kinds.possible(device).values}
        return not all(text is not None and text.partition(":")[0] == "cuda" for text in texts)

    def _other_queries(self) -> Iterator[cst.CSTNode]:
        """Queries that are about other devices than CUDA."""
        for use in self.amp.every:
            asks = use.member.api in (Api.IS_ENABLED, Api.SET_ENABLED)
            if asks and (use.member.old or device_argument(use) is not None):
                yield use.node

    def _class_of(self, use: AmpUse) -> cst.ClassDef | None:
        return next((parent for parent in self.names.ancestors(use.node) if isinstance(parent, cst.ClassDef)), None)

    def _function_of(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return next((parent for parent in self.names.ancestors(node) if isinstance(parent, cst.FunctionDef)), None)

    # -- a fixed device ------------------------------------------------------------------------------------------

    def fixed(self) -> Iterator[Fixed]:
        """``autocast("cuda")`` and ``GradScaler()`` where the device is chosen among several accelerators."""
        for use in self.amp.called(Api.AUTOCAST, Api.GRAD_SCALER, old=False):
            if use.starred or use.bound or not self._is_cuda(use) or self._on_purpose(use):
                continue
            chosen = self._chosen_near(use)
            if chosen is not None:
                device, possible = chosen
                yield Fixed(use, self.tree.code(device), self._changes(use, device, possible))

    def _is_cuda(self, use: AmpUse) -> bool:
        argument = self._device(use)
        if argument is None:
            return use.member.api is Api.GRAD_SCALER
        return isinstance(argument.value, cst.SimpleString) and argument.value.raw_value == "cuda"

    def _device(self, use: AmpUse) -> cst.Arg | None:
        return use.argument("device" if use.member.api is Api.GRAD_SCALER else "device_type", 0)

    def _on_purpose(self, use: AmpUse) -> bool:
        """Whether it is switched off, or may be, where the device is not CUDA."""
        enabled = use.keywords.get("enabled")
        if enabled is not None and not (isinstance(enabled.value, cst.Name) and enabled.value.value == "True"):
            if self._may_ask_for_cuda(enabled.value):
                return True
        return self._under_cuda(use.node)

    def _under_cuda(self, node: cst.CSTNode) -> bool:
        """Whether a condition around, or one before that left, may ask for CUDA."""
        child = node
        for parent in self.names.ancestors(node):
            if isinstance(parent, (cst.If, cst.IfExp)) and child is not parent.test:
                if self._may_ask_for_cuda(parent.test):
                    return True
            elif isinstance(parent, cst.BooleanOperation):
                if self._may_ask_for_cuda(parent.left):
                    return True
            elif isinstance(parent, cst.IndentedBlock):
                for statement in statements_before(parent, child):
                    if isinstance(statement, cst.If) and self._may_ask_for_cuda(statement.test):
                        if leaves(statement.body):
                            return True
            child = parent
        return False

    def _may_ask_for_cuda(self, test: cst.BaseExpression, depth: int = 0) -> bool:
        """Whether a condition speaks of CUDA or of a device, or is given from elsewhere."""
        for node in within(test):
            if isinstance(node, cst.SimpleString) and "cuda" in str(node.raw_value):
                return True
            if isinstance(node, cst.Attribute) and ("cuda" in node.attr.value.lower() or "device" in node.attr.value):
                return True
            if isinstance(node, cst.Name) and self.names.is_reference(node):
                name = node.value.lower()
                if "cuda" in name or "device" in name or "gpu" in name:
                    return True
                binding = self.names.binding(node)
                for target in binding.others if binding is not None else ():
                    value = self.kinds.assigned_value(target)
                    if isinstance(target, cst.Param) and name not in ("self", "args", "cfg", "config", "opt"):
                        return True
                    if value is not None and (depth > 3 or self._may_ask_for_cuda(value, depth + 1)):
                        return True
            if isinstance(node, cst.Attribute) and (dotted_name(node) or "").startswith("self."):
                if depth > 3 or any(self._may_ask_for_cuda(v, depth + 1) for v in self.kinds.assigned_to_self(node)):
                    return True
        return False

    def _chosen_near(self, use: AmpUse) -> tuple[cst.Name | cst.Attribute, Possible] | None:
        """A device that is chosen among CUDA and other accelerators, as the code around the call speaks of it."""
        function = self._function_of(use.node)
        for node, possible in self._chosen:
            if self._function_of(node) in (function, None) and self._is_bound_before(node, use.node):
                return node, possible
        return None

    @cached_property
    def _chosen(self) -> list[tuple[cst.Name | cst.Attribute, Possible]]:
        """What is named a device and may be CUDA or another accelerator."""
        if not any(word in self.tree.text for word in (*_OTHER_ACCELERATORS, "accelerator")):
            return []
        found: list[tuple[cst.Name | cst.Attribute, Possible]] = []
        for node, parent in self.names.parents.items():
            if not isinstance(node, (cst.Name, cst.Attribute)) or isinstance(parent, cst.Attribute):
                continue
            if self.kinds.is_named_device(node) and self._is_read(node):
                possible = self.kinds.possible(node)
                kinds = {(value.text or "").partition(":")[0] for value in possible.values}
                if "cuda" in kinds and kinds & _OTHER_ACCELERATORS:
                    found.append((node, possible))
        return found

    def _is_read(self, node: cst.Name | cst.Attribute) -> bool:
        if isinstance(node, cst.Name):
            return self.names.is_reference(node)
        return self.names.bound(node) is None and not isinstance(self.names.parent(node), cst.AssignTarget)

    def _is_bound_before(self, node: cst.Name | cst.Attribute, use: cst.CSTNode) -> bool:
        """Whether what ``node`` reads has its value before ``use``, in the order of the text."""
        start, _ = self.tree.span(use)
        if isinstance(node, cst.Attribute):
            return (dotted_name(node) or "").startswith("self.")
        binding = self.names.binding(node)
        return binding is not None and all(
            isinstance(target, cst.Param) or self.tree.span(target)[0] < start for target in binding.others
        )

    def _changes(self, use: AmpUse, device: cst.Name | cst.Attribute, possible: Possible) -> list[Change]:
        code = self.tree.code(device)
        if possible.certainly(Kind.DEVICE):
            code = f"{code}.type"
        elif not possible.certainly(Kind.STRING) or any(":" in (value.text or ":") for value in possible.values):
            torch = self.amp.torch_seen_from(use.node)
            if torch is None:
                return []
            code = f"{torch}.device({code}).type"
        argument = self._device(use)
        if argument is not None:
            return [Change(*self.tree.span(argument.value), code)]
        assert use.call is not None
        return [insert_argument(self.tree, use.call, 0, code)]
