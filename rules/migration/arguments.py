"""Arguments of the old signature on a new AMP name, and of the new one on an old name: what half a migration leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from amplint.rules.migration.api import AmpNames, AmpUse, Api
from amplint.rules.migration.devices import Devices
from amplint.rules.migration.replacements import AUTOCAST_PARAMETERS
from amplint.syntax.arguments import (
    Change,
    insert_argument,
    insert_keyword,
    name_argument,
    outer_span,
    quoted,
    remove_argument,
)
from amplint.syntax.kinds import Kind
from amplint.syntax.names import dotted_name, root_name

_MOST_ARGUMENTS = {Api.GET_DTYPE: 0, Api.SET_DTYPE: 1, Api.IS_ENABLED: 0, Api.SET_ENABLED: 1}  # of the old queries


@dataclass(frozen=True, slots=True)
class Mistake:
    """A call with an argument that its signature takes for something else, and the edits that mend it.

    Without ``changes``, ``reason`` says why there are none. ``moves`` says that moving to the new name is the better
    fix, since the arguments are those of the new name already.
    """

    message: str
    changes: list[Change] = field(default_factory=list)
    reason: str | None = None
    moves: bool = False


class Arguments:
    """Judges the arguments of the AMP calls of one document."""

    def __init__(self, names: AmpNames) -> None:
        self.amp, self.names, self.tree, self.kinds = names, names.names, names.tree, names.kinds
        self.devices = Devices(names)

    def mistake(self, use: AmpUse) -> Mistake | None:
        """What is wrong with the arguments of ``use``; None where nothing is for certain."""
        api = use.member.api
        if use.call is None:
            return self._decorated(use) if api is Api.CUSTOM_FUNCTION and not use.member.old else None
        if use.member.old:
            return self._of_old_name(use)
        if api is Api.AUTOCAST:
            return self._autocast(use)
        if api is Api.GRAD_SCALER:
            return self._scaler(use)
        if api is Api.CUSTOM_FUNCTION:
            return self._custom_function(use)
        return self._query(use)

    # -- new names -----------------------------------------------------------------------------------------------

    def _autocast(self, use: AmpUse) -> Mistake | None:
        given, named = use.positional, use.keywords
        if use.starred:
            if given or use.bound or "device_type" in named or not self._unpacks_no_device(use):
                return None
            return self._without_device(use, "`autocast` is called without its `device_type`")
        if "device" in named and "device_type" not in named:
            return self._renamed(use, "device", "device_type")
        if not given:
            if use.bound or "device_type" in named:
                return None
            return self._without_device(use, "`autocast` is called without its `device_type`")
        first = given[0].value
        if self.kinds.is_flag(first):
            message = f"`{self._code(first)}` is given as the `device_type` of `autocast`, not as `enabled`"
            if "device_type" in named:
                return Mistake(message, *self._named(given, AUTOCAST_PARAMETERS, named))
            return self._without_device(use, message)
        if self.kinds.possible(first).certainly(Kind.DTYPE):
            message = f"`{self._code(first)}` is given as the `device_type` of `autocast`"
            if len(given) > 1 or "device_type" in named or "dtype" in named:
                return Mistake(message, reason="what the arguments were meant to be cannot be seen")
            return self._without_device(use, message)
        if len(given) > 1 and "dtype" not in named and "device_type" not in named:
            second, third = given[1].value, given[2].value if len(given) > 2 else None
            late_dtype = third is not None and self.kinds.possible(third).certainly(Kind.DTYPE)
            if self.kinds.is_flag(second) or late_dtype:
                message = f"`{self._code(second)}` is given as the `dtype` of `autocast`, not as `enabled`"
                return Mistake(message, *self._named(given[1:], AUTOCAST_PARAMETERS, named))
        return None

    def _unpacks_no_device(self, use: AmpUse) -> bool:
        """Whether it is to be seen of what a call unpacks that no device is among it."""
        keys = [self._keys(argument.value) for argument in use.arguments if argument.star]
        return all(found is not None and not found & {"device", "device_type"} for found in keys)

    def _keys(self, node: cst.BaseExpression) -> set[str] | None:
        """The keys of a dictionary that is written out, for a name that is bound once; None where there may be more."""
        if isinstance(node, cst.Name):
            binding = self.names.binding(node)
            if binding is None or binding.imports or len(binding.others) != 1:
                return None
            parents = [self.names.parent(reference) for reference in binding.references]
            if not all(isinstance(parent, cst.Arg) and parent.star == "**" for parent in parents):
                return None  # something may be put into it
            value = self.kinds.assigned_value(binding.others[0])
            return self._keys(value) if value is not None and not isinstance(value, cst.Name) else None
        if isinstance(node, cst.Dict):
            keys = [element.key for element in node.elements if isinstance(element, cst.DictElement)]
            plain = [str(key.raw_value) for key in keys if isinstance(key, cst.SimpleString)]
            return set(plain) if len(plain) == len(node.elements) else None
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "dict":
            if self.names.binding(node.func) is None and all(argument.keyword for argument in node.args):
                return {argument.keyword.value for argument in node.args if argument.keyword is not None}
        return None

    def _scaler(self, use: AmpUse) -> Mistake | None:
        given, named = use.positional, use.keywords
        if use.starred:
            return None
        if "device_type" in named and "device" not in named:
            return self._renamed(use, "device_type", "device")
        if not given:
            return None
        first = given[0].value
        if self.kinds.is_flag(first):
            message = f"`{self._code(first)}` is given as the `device` of `GradScaler`, not as `enabled`"
            return Mistake(message, *self._enabled(given, named))
        if self.kinds.possible(first).certainly(Kind.NUMBER) or self.kinds.is_scale(first):
            message = f"`{self._code(first)}` is given as the `device` of `GradScaler`, not as `init_scale`"
            if "device" in named or use.call is None:
                return Mistake(message, reason="what the arguments were meant to be cannot be seen")
            return Mistake(message, [self._insert_device(use, quoted(self.names, use.call, "cuda"))])
        if len(given) > 1 and self.kinds.is_flag(given[1].value):
            message = f"`{self._code(given[1].value)}` is given as the `init_scale` of `GradScaler`, not as `enabled`"
            return Mistake(message, *self._enabled(given[1:], named))
        return None

    def _custom_function(self, use: AmpUse) -> Mistake | None:
        if use.bound or use.starred or "device_type" in use.keywords or use.call is None:
            return None
        name = self._code(use.node).rpartition(".")[2]
        if "device" in use.keywords:
            return self._renamed(use, "device", "device_type")
        message = f"`{name}` is called without its `device_type`"
        given = use.positional
        if given and self.kinds.possible(given[0].value).certainly(Kind.STRING):
            change = name_argument(self.tree, given[0], "device_type")
            return Mistake(message, [change] if change else [], None if change else "it cannot become a keyword")
        device = quoted(self.names, use.call, "cuda")
        return Mistake(message, [insert_keyword(self.tree, use.call, f"device_type={device}")])

    def _decorated(self, use: AmpUse) -> Mistake | None:
        """``@custom_bwd`` of the new kind, which needs its device."""
        if not isinstance(self.names.parent(use.node), cst.Decorator):
            return None
        name = self._code(use.node).rpartition(".")[2]
        _, end = outer_span(self.tree, use.node)
        call = f"(device_type={quoted(self.names, use.node, 'cuda')})"
        return Mistake(f"`{name}` decorates without its `device_type`", [Change(end, end, call)])

    def _query(self, use: AmpUse) -> Mistake | None:
        """``get_autocast_dtype()`` and ``set_autocast_dtype(dtype)`` lack the device that they are about."""
        api = use.member.api
        if api not in (Api.GET_DTYPE, Api.SET_DTYPE) or use.bound or use.starred or use.keywords or use.call is None:
            return None
        if len(use.positional) != (1 if api is Api.SET_DTYPE else 0):
            return None
        return self._without_device(use, f"`{api.value}` is called without its `device_type`")

    # -- old names -----------------------------------------------------------------------------------------------

    def _of_old_name(self, use: AmpUse) -> Mistake | None:
        api = use.member.api
        for keyword in ("device_type", "device"):
            if keyword in use.keywords:
                message = f"the old `{self._code(use.node)}` takes no `{keyword}`"
                argument = use.keywords[keyword]
                return Mistake(message, *self._without(use, argument), moves=True)
        given = use.positional
        if use.starred or not given or api is Api.CUSTOM_FUNCTION:
            return None
        first = given[0].value
        most = _MOST_ARGUMENTS.get(api)
        if most is not None:
            if len(given) <= most:
                return None
            return Mistake(
                f"the old `{self._code(use.node)}` takes no device", *self._without(use, given[0]), moves=True
            )
        if self.kinds.is_device(first):
            taken = "enabled" if api is Api.AUTOCAST else "init_scale"
            old = self._code(use.node)
            message = f"`{self._code(first)}` is given as the `{taken}` of the old `{old}`, which takes no device"
            return Mistake(message, *self._without(use, given[0]), moves=True)
        if api is Api.GRAD_SCALER and self.kinds.is_flag(first):
            message = (
                f"`{self._code(first)}` is given as the `init_scale` of `{self._code(use.node)}`, not as `enabled`"
            )
            return Mistake(message, *self._enabled(given, use.keywords))
        return None

    def _without(self, use: AmpUse, argument: cst.Arg) -> tuple[list[Change], str | None]:
        """Leave out a device that the old name stands for already."""
        device = use.member.device
        texts = {value.text for value in self.kinds.possible(argument.value).values}
        literal = isinstance(argument.value, (cst.SimpleString, cst.FormattedString))
        if not literal or use.call is None or any((text or "").partition(":")[0] != device for text in texts):
            return (
                [],
                f"whether `{self._code(argument.value)}` is the device that the old name is about cannot be seen",
            )
        changes = remove_argument(self.tree, use.call, argument)
        rest = use.positional[1:] if argument.keyword is None else []
        if use.member.api is Api.AUTOCAST and rest and not self.kinds.is_flag(rest[0].value):
            change = name_argument(self.tree, rest[0], "dtype")
            if len(rest) > 1 or change is None or not self.kinds.possible(rest[0].value).certainly(Kind.DTYPE):
                return [], "what the arguments were meant to be cannot be seen"
            changes.append(change)
        return changes, None

    def _code(self, node: cst.CSTNode) -> str:
        return self.tree.code(node)

    # -- edits ---------------------------------------------------------------------------------------------------

    def _named(
        self, given: Sequence[cst.Arg], parameters: Sequence[str], named: dict[str, cst.Arg]
    ) -> tuple[list[Change], str | None]:
        """Positional arguments in the order of ``parameters`` become keywords."""
        if len(given) > len(parameters) or named.keys() & set(parameters[: len(given)]):
            return [], "what the arguments were meant to be cannot be seen"
        changes: list[Change] = []
        for argument, parameter in zip(given, parameters, strict=False):
            change = name_argument(self.tree, argument, parameter)
            if change is None:
                return [], "an argument cannot become a keyword as it stands"
            changes.append(change)
        return changes, None

    def _enabled(self, given: Sequence[cst.Arg], named: dict[str, cst.Arg]) -> tuple[list[Change], str | None]:
        """The last positional argument is ``enabled``."""
        if len(given) > 1:
            return [], "what the arguments after it were meant to be cannot be seen"
        return self._named(given, ("enabled",), named)

    def _renamed(self, use: AmpUse, old: str, new: str) -> Mistake:
        """A device that is given by the keyword of another signature."""
        argument = use.keywords[old]
        assert argument.keyword is not None
        name = self._code(use.node).rpartition(".")[2]
        message = f"`{name}` takes its device as `{new}`, not as `{old}`"
        if use.positional and use.member.api is not Api.CUSTOM_FUNCTION:
            return Mistake(message, reason="what the arguments were meant to be cannot be seen")
        changes = [Change(*self.tree.span(argument.keyword), new)]
        bad = self.devices.bad(argument.value) if new == "device_type" else None
        if bad is not None:
            if not bad.changes:
                return Mistake(message, reason=f"{bad.why}: {bad.reason}")
            changes += bad.changes
        return Mistake(message, changes)

    def _without_device(self, use: AmpUse, message: str) -> Mistake:
        """A device type is put first, and old positional arguments of ``autocast`` become keywords."""
        device = self.device_meant(use)
        if device is None:
            return Mistake(message, reason="which device type was meant cannot be seen")
        changes: list[Change] = []
        if use.member.api is Api.AUTOCAST and use.positional:
            if not self.kinds.possible(use.positional[0].value).certainly(Kind.DTYPE):
                changes, reason = self._named(use.positional, AUTOCAST_PARAMETERS, use.keywords)
                if reason is not None:
                    return Mistake(message, reason=reason)
        return Mistake(message, [self._insert_device(use, device), *changes])

    def _insert_device(self, use: AmpUse, device: str) -> Change:
        assert use.call is not None
        return insert_argument(self.tree, use.call, len(use.call.args) - len(use.arguments), device)

    def device_meant(self, use: AmpUse) -> str | None:
        """The device type that the document's other calls give, where they all give the same; else what it is about.

        A gradient scaler without a device, or ``torch.cuda`` where nothing speaks of other devices, is about CUDA.
        """
        spelled: dict[str, cst.BaseExpression | None] = {}
        for other in self.amp.called(Api.AUTOCAST, Api.GRAD_SCALER, Api.GET_DTYPE, Api.SET_DTYPE):
            if other is use or other.starred:
                continue
            if other.member.device is not None:
                spelled[quoted(self.names, use.node, other.member.device)] = None
                continue
            argument = other.argument("device" if other.member.api is Api.GRAD_SCALER else "device_type", 0)
            if argument is None or not self.kinds.is_device(argument.value):
                if other.member.api is Api.GRAD_SCALER:
                    spelled[quoted(self.names, use.node, "cuda")] = None
            elif isinstance(argument.value, cst.SimpleString):
                spelled[quoted(self.names, use.node, str(argument.value.raw_value))] = None
            else:
                spelled[self._code(argument.value)] = argument.value
        if not spelled and self._speaks_of_cuda_only():
            return quoted(self.names, use.node, "cuda")
        if len(spelled) != 1:
            return None
        ((code, device),) = spelled.items()
        return code if device is None or self._means_the_same(device, use.node) else None

    def _means_the_same(self, device: cst.BaseExpression, near: cst.BaseExpression) -> bool:
        """Whether a chain of names stands for the same thing where ``near`` stands, and is a device type."""
        if dotted_name(device) is None or self.devices.bad(device) is not None:
            return False
        binding = self.names.binding(device)
        return binding is not None and self.names.scope(root_name(near)).lookup(binding.name) is binding

    def _speaks_of_cuda_only(self) -> bool:
        found = False
        for node in self.names.every(cst.SimpleString):
            kind = str(node.raw_value).partition(":")[0]
            if kind in ("cpu", "mps", "xpu", "npu", "hpu", "xla"):
                return False
            found = found or kind == "cuda"
        for attribute in self.names.every(cst.Attribute):
            name = attribute.attr.value
            if name in ("mps", "xpu", "type") and (dotted_name(attribute) or "").endswith(
                (".mps", ".xpu", "device.type")
            ):
                return False
            found = found or name == "cuda"
        return found
