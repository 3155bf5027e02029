"""What is given as a device type and is none, and what would be one."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from amplint.rules.migration.api import AmpNames, AmpUse, Api
from amplint.syntax.arguments import Change, outer_span, quoted
from amplint.syntax.kinds import CONFIGURATION, DEVICE_TYPES, Kind, Value
from amplint.syntax.names import dotted_name, within

_TAKES_INDEX = (2, 4)
_MEANT = {"gpu": "cuda", "gpus": "cuda", "cuda": "cuda", "cpu": "cpu", "mps": "mps", "xpu": "xpu"}


@dataclass(frozen=True, slots=True)
class BadDevice:
    """Why a value is no device type, and the edits that make it one, or why there are none."""

    why: str
    changes: list[Change] = field(default_factory=list)
    reason: str | None = None


def device_argument(use: AmpUse) -> cst.BaseExpression | None:
    """What a call of a new AMP name gives as its device type; None where it gives none, or it cannot be seen.

    ``GradScaler`` is left out: it takes a device with an index, and device objects, without harm.
    """
    if use.call is None or use.member.old or use.member.api is Api.GRAD_SCALER:
        return None
    if use.member.api is Api.CUSTOM_FUNCTION:
        argument = use.keywords.get("device_type")
    else:
        argument = use.argument("device_type", 0)
        if use.member.api is Api.SET_ENABLED and len(use.arguments) < 2:
            return None  # set_autocast_enabled(True) is about CUDA
    return argument.value if argument is not None and not argument.star else None


def takes_index(use: AmpUse, torch: tuple[int, int] | None) -> bool:
    """Whether a call, with the lowest ``torch`` that it meets, takes ``"cuda:0"`` for ``"cuda"`` without harm.

    ``autocast`` raised before 2.4; the functions that read and set what it does are as young as that. To
    ``cast_inputs`` no tensor is of such a type, and none is cast.
    """
    if use.member.api is Api.CUSTOM_FUNCTION:
        return "cast_inputs" not in use.keywords and not use.starred
    return use.member.api is not Api.AUTOCAST or (torch is not None and torch >= _TAKES_INDEX)


class Devices:
    """Judges the device types of one document."""

    def __init__(self, names: AmpNames) -> None:
        self.amp, self.names, self.tree, self.kinds = names, names.names, names.tree, names.kinds
        self._takes_index = False

    def bad(self, node: cst.BaseExpression, *, takes_index: bool = False) -> BadDevice | None:
        """What is wrong with ``node`` as a device type; None where nothing is for certain.

        ``takes_index``: a device with an index does no harm.
        """
        self._takes_index = takes_index
        return self._bad(node)

    def _bad(self, node: cst.BaseExpression) -> BadDevice | None:
        if isinstance(node, cst.IfExp) and not self.kinds.narrows(node):
            return self._arms(node)
        if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
            return self._literal(node)
        if isinstance(node, cst.FormattedString):
            return self._formatted(node)
        if isinstance(node, cst.Call) and dotted_name(node.func) == "str" and len(node.args) == 1:
            return self._as_string(node, node.args[0].value)
        return self._value(node)

    def _arms(self, node: cst.IfExp) -> BadDevice | None:
        found = [bad for arm in (node.body, node.orelse) if (bad := self._bad(arm)) is not None]
        if not found:
            return None
        reason = next((bad.reason for bad in found if not bad.changes), None)
        changes = [] if reason is not None else [change for bad in found for change in bad.changes]
        return BadDevice(found[0].why, changes, reason)

    def _literal(self, node: cst.SimpleString | cst.ConcatenatedString) -> BadDevice | None:
        for value in self.kinds.possible(node).values:
            why, meant = self._text(value.text)
            if why is not None:
                if meant is None or not isinstance(node, cst.SimpleString):
                    return BadDevice(why, reason="which device type was meant cannot be seen")
                start, end = self.tree.span(node)
                quoted = f"{node.prefix}{node.quote}{meant}{node.quote}"
                return BadDevice(why, [Change(start, end, quoted)])
        return None

    def _formatted(self, node: cst.FormattedString) -> BadDevice | None:
        """``f"cuda:{index}"``, and ``f"{device}"``."""
        if len(node.parts) == 1 and isinstance(part := node.parts[0], cst.FormattedStringExpression):
            return self._as_string(node, part.expression) if part.format_spec is None else None
        for value in self.kinds.possible(node).values:
            why, meant = self._text(value.text)
            if why is not None and meant is not None:
                start, end = self.tree.span(node)
                quote = node.end
                return BadDevice(why, [Change(start, end, f"{quote}{meant}{quote}")])
        return None

    def _text(self, text: str | None) -> tuple[str | None, str | None]:
        """Why a string is no device type, and which one it means."""
        if text is None or text in DEVICE_TYPES:
            return None, None
        kind, colon, _ = text.partition(":")
        meant = _MEANT.get(kind.lower()) or (kind if kind in DEVICE_TYPES else None)
        shown = text.replace("*", "...")
        if colon and kind in DEVICE_TYPES:
            if self._takes_index:
                return None, None
            return f'"{shown}" is a device with an index, and no device type', meant
        if meant is not None or kind.lower() in DEVICE_TYPES:
            return f'"{shown}" is no device type that PyTorch knows', meant
        return None, None

    def _as_string(self, node: cst.BaseExpression, inner: cst.BaseExpression) -> BadDevice | None:
        """``str(device)``: right only as long as the device has no index, as that of a tensor on a GPU does."""
        if self._takes_index:
            return None
        possible = self.kinds.possible(inner)
        texts = [value.text for value in possible.values]
        if all(text is not None and self._text(text)[0] is None for text in texts):
            return None
        if not possible.kinds <= {Kind.DEVICE, Kind.STRING, Kind.UNKNOWN}:
            return None
        if not any(texts) and self.amp.is_part_of_program and not _is_of_tensor(inner):
            return None  # which device it is, and whether with an index, is decided in another file
        certain = possible.certainly(Kind.DEVICE)
        if not certain and not self._may_have_index(inner, possible.values):
            return None
        change = self._typed(node, inner, certain=certain)
        code = self.tree.code(node)
        why = f'`{code}` holds the index of the device, such as "cuda:0", and no device type'
        if change is None:
            return BadDevice(why, reason="`torch` is not imported under a name here that could read the type")
        return BadDevice(why, [change])

    def _may_have_index(self, node: cst.BaseExpression, values: frozenset[Value]) -> bool:
        """Whether it is a device of which nothing says that it is a plain string without an index."""
        if any(value.kind is Kind.STRING and self._text(value.text)[0] is None for value in values):
            return False
        if isinstance(node, cst.Attribute):
            owner = (dotted_name(node.value) or "").rpartition(".")[2].lower()
            if owner in CONFIGURATION:
                return False
        return self.kinds.is_device(node)

    def _value(self, node: cst.BaseExpression) -> BadDevice | None:
        possible = self.kinds.possible(node)
        bad = {value: why for value in possible.values if (why := self._why(value)) is not None}
        if not bad or (len(bad) < len(possible.values) and not (possible.exact and not self._is_asked_about(node))):
            return None
        value, why = min(bad.items(), key=lambda item: str(item))
        code = self.tree.code(node)
        if value.kind is Kind.DEVICE:
            why = f"`{code}` is a `torch.device`, and no string"
        elif value.kind is Kind.STRING:
            why = f"`{code}` may be {why.replace(' is ', ', which is ', 1)}"
        else:
            return BadDevice(f"`{code}` is {why}", reason="which device type was meant cannot be seen")
        if not possible.kinds <= {Kind.DEVICE, Kind.STRING}:
            return BadDevice(why, reason="it may be of other types as well")
        if any(self._text(v.text)[0] and ":" not in (v.text or "") for v in bad if v.kind is Kind.STRING):
            return BadDevice(why, reason="which device type was meant cannot be seen")
        meant = {self._text(value.text)[1] for value in possible.values if value.kind is Kind.STRING}
        formatted = isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and not dotted_name(node.func)
        spelled = isinstance(node, cst.BinaryOperation) or formatted
        if spelled and possible.certainly(Kind.STRING) and len(meant) == 1:
            return BadDevice(why, [Change(*outer_span(self.tree, node), quoted(self.names, node, str(meant.pop())))])
        change = self._typed(node, node, certain=possible.certainly(Kind.DEVICE))
        if change is None:
            return BadDevice(why, reason="`torch` is not imported under a name here that could read the type")
        return BadDevice(why, [change])

    def _is_asked_about(self, node: cst.BaseExpression) -> bool:
        """Whether a condition around speaks of the same name, and so may leave some of its values only."""
        name = dotted_name(node)
        for parent in self.names.ancestors(node):
            if isinstance(parent, (cst.If, cst.IfExp)):
                parts = (part for part in within(parent.test) if isinstance(part, (cst.Name, cst.Attribute)))
                if name is not None and any(dotted_name(part) == name for part in parts):
                    return True
        return False

    def _why(self, value: Value) -> str | None:
        if value.kind is Kind.DEVICE:
            return "a device"
        if value.kind is Kind.NUMBER:
            return "the index of a device, and no device type"
        return self._text(value.text)[0] if value.kind is Kind.STRING else None

    def _typed(self, node: cst.BaseExpression, device: cst.BaseExpression, *, certain: bool) -> Change | None:
        """Read the type of ``device`` instead of ``node``; one that may be a string becomes a device first."""
        code = self.tree.text[slice(*outer_span(self.tree, device))]
        if certain:
            device = self.tree.whole(device)
            plain = isinstance(device, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or bool(device.lpar)
            return Change(*outer_span(self.tree, node), f"{code if plain else f'({code})'}.type")
        torch = self.amp.torch_seen_from(node)
        return Change(*outer_span(self.tree, node), f"{torch}.device({code}).type") if torch is not None else None


def _is_of_tensor(node: cst.BaseExpression) -> bool:
    """``x.device``, which has an index on every GPU."""
    if not isinstance(node, cst.Attribute) or node.attr.value != "device":
        return False
    owner = (dotted_name(node.value) or "").rpartition(".")[2]
    return owner not in ("self", "cls") and owner.lower() not in CONFIGURATION
