"""The gradient scalers that a document builds, and what is done with them."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from amplint.flow.vocabulary import GRAD_SCALERS
from amplint.syntax.names import Names
from amplint.training.autocast import argument_of, is_constant
from amplint.training.origins import ANY, Origins, callee_name
from amplint.training.places import Places

OLD_SCALERS = frozenset(name for name in GRAD_SCALERS if name.startswith(("torch.cuda.", "torch.cpu.")))
_ORDER_OLD = ("init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")
_ORDER_NEW = ("device", *_ORDER_OLD)

_METHODS = ("scale", "unscale_", "step", "update", "state_dict", "load_state_dict", "get_scale")
_OPTIMIZER_NAME = re.compile(r"(?i)(^|_)opt(im\w*|s)?(_|\d|$)|optim")
_EXPECTING = re.compile(r"raises|warns|assertRaises\w*|assertWarns\w*|catch_warnings")


class Scaler(NamedTuple):
    """A call that builds one of PyTorch's own gradient scalers; ``name`` is what its callee stands for."""

    call: cst.Call
    name: str

    def argument(self, keyword: str) -> cst.BaseExpression | None:
        """The argument of this name."""
        return argument_of(self.call.args, _ORDER_OLD if self.name in OLD_SCALERS else _ORDER_NEW, keyword)

    @property
    def is_off(self) -> bool:
        """Whether the scaler is disabled for good."""
        return is_constant(self.argument("enabled"), "False")

    @property
    def may_be_off(self) -> bool:
        """Whether it may be disabled among arguments that are not to be seen."""
        return any(argument.star for argument in self.call.args)


class Use(NamedTuple):
    """A call of a scaler's method."""

    method: str
    call: cst.Call

    @property
    def receiver(self) -> cst.BaseExpression:
        """What the method is called on."""
        assert isinstance(self.call.func, cst.Attribute)
        return self.call.func.value

    @property
    def argument(self) -> cst.BaseExpression | None:
        """The first argument."""
        args = self.call.args
        return args[0].value if args and not args[0].star else None


class Scalers:
    """The scalers of one document."""

    def __init__(self, names: Names, places: Places, origins: Origins) -> None:
        self.names, self.places, self.origins = names, places, origins

    @functools.cached_property
    def built(self) -> tuple[Scaler, ...]:
        """The scalers that the document builds, but for those that are meant to fail."""
        found = []
        for call in self.places.every_call():
            named = self.names.qualified(call.func) & GRAD_SCALERS
            if not named and isinstance(call.func, cst.Name) and self.names.binding(call.func) is not None:
                named = self._alias(call.func)
            if named and not self._is_expected_to_fail(call):
                found.append(Scaler(call, min(named)))
        return tuple(found)

    @functools.cached_property
    def _uses(self) -> tuple[dict[cst.CSTNode, list[Use]], list[Use]]:
        built = {scaler.call for scaler in self.built}
        uses: dict[cst.CSTNode, list[Use]] = defaultdict(list)
        others: list[Use] = []
        for method in _METHODS:
            for call in self.places.calls(method):
                if not isinstance(call.func, cst.Attribute) or self.names.qualified(call.func):
                    continue
                owners = self.origins.of(call.func.value).passed & built
                for owner in owners:
                    uses[owner].append(Use(method, call))
                if not owners:
                    others.append(Use(method, call))
        return uses, others

    def uses(self, scaler: Scaler) -> list[Use]:
        """The calls of a scaler's methods that the document shows."""
        return self._uses[0].get(scaler.call, [])

    @property
    def unclaimed(self) -> list[Use]:
        """Calls of methods that scalers have, of objects that no scaler of the document is."""
        return self._uses[1]

    def steps(self, scaler: Scaler) -> Iterator[cst.BaseExpression]:
        """The optimizers that a scaler is seen to step."""
        for use in self.uses(scaler):
            if use.method == "step" and use.argument is not None:
                yield use.argument

    def trained(self, scaler: Scaler) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
        """The optimizers that a scaler steps and that are built beside it, with the models whose parameters they have.

        Beside means in the same function or class: other optimizers may reach the same step on another path.
        """
        for optimizer in self.steps(scaler):
            for built, model in self.parameters(optimizer):
                if self.places.home(built) is self.places.home(scaler.call):
                    yield built, model

    def parameters(self, optimizer: cst.BaseExpression) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
        """The calls that may have built an optimizer, with the models of which it is given the parameters."""
        for end in self.origins.of(optimizer).ends:
            call = end.node
            if isinstance(call, cst.Call) and not end.path and call.args and not call.args[0].star:
                given = call.args[0].value
                for path in ((), (ANY,), (ANY, "params")):
                    for source in self.origins.of(given, path).passed:
                        func = source.func if isinstance(source, cst.Call) else None
                        if isinstance(func, cst.Attribute) and func.attr.value in ("parameters", "named_parameters"):
                            yield call, func.value

    def is_optimizer(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` is an optimizer: built as one, or called one where nothing better is known."""
        ends = self.origins.of(node).ends
        for end in ends:
            if isinstance(end.node, cst.Call):
                for name in self.names.qualified(end.node.func):
                    if name.startswith("torch.optim.") and "lr_scheduler" not in name and "swa_utils" not in name:
                        return True
        if all(self._says_otherwise(end.node) for end in ends):
            return False
        return bool(_OPTIMIZER_NAME.search(last_name(node))) and not _NOT_OPTIMIZER.search(last_name(node))

    def _says_otherwise(self, node: cst.CSTNode) -> bool:
        """Whether a value is built by a class that is no optimizer's."""
        if not isinstance(node, cst.Call):
            return False
        if any("lr_scheduler" in name or name.startswith("torch.nn.") for name in self.names.qualified(node.func)):
            return True
        return bool(_NOT_OPTIMIZER.search(callee_name(node)))

    def _alias(self, node: cst.Name) -> frozenset[str]:
        """What a name that a scaler's class was assigned to stands for."""
        found: set[str] = set()
        for end in self.origins.of(node).ends:
            if end.node is not node and isinstance(end.node, (cst.Name, cst.Attribute)):
                found |= self.names.qualified(end.node)
        return frozenset(found) if found and found <= GRAD_SCALERS else frozenset()

    def _is_expected_to_fail(self, call: cst.Call) -> bool:
        for parent in self.names.ancestors(call):
            if isinstance(parent, cst.With):
                for item in parent.items:
                    if isinstance(item.item, cst.Call) and _EXPECTING.fullmatch(callee_name(item.item)):
                        return True
        return False


_NOT_OPTIMIZER = re.compile(r"(?i)sched|option|_lr(_|$)|^lr_")


def last_name(node: cst.BaseExpression) -> str:
    """The last identifier by which an expression reaches its value."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    if isinstance(node, cst.Name):
        return node.value
    return last_name(node.value) if isinstance(node, cst.Subscript) else ""
