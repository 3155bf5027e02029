"""Autocast regions, and the dtypes that they may run in."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from amplint.syntax.arguments import keywords
from amplint.syntax.names import Names
from amplint.training.conditions import TRUE, Atom, Conditions, Formula, conjunction, negation
from amplint.training.origins import Origins, Path
from amplint.training.places import Guard, Places, literal

OLD_CUDA = frozenset({"torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast"})
OLD_CPU = frozenset({"torch.cpu.amp.autocast", "torch.cpu.amp.autocast_mode.autocast"})
NEW = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"})
AUTOCASTS = OLD_CUDA | OLD_CPU | NEW

DTYPES = {
    "torch.float16": "float16",
    "torch.half": "float16",
    "torch.bfloat16": "bfloat16",
    "torch.float32": "float32",
    "torch.float": "float32",
    "torch.float64": "float64",
    "torch.double": "float64",
}
_DEFAULTS = {"cuda": "float16", "cpu": "bfloat16"}
_DEFAULT_SETTERS = (
    "set_autocast_dtype",
    "set_autocast_gpu_dtype",
    "set_autocast_cpu_dtype",
)
_NO_GRAD = frozenset(
    {"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode"}
)
_INFERENCE_WORDS = frozenset(
    "eval evaluate evaluation val valid validate validation test infer inference predict prediction sample sampling "
    "generate decode demo score".split()
)


class Choice(NamedTuple):
    """A dtype that may be chosen, None for one that is not to be seen, and when it is."""

    dtype: str | None
    when: Formula


class Region(NamedTuple):
    """Code that runs under an autocast: the body of a ``with`` or of a decorated function.

    ``arguments`` are those of the constructor, ``name`` is what its callee stands for.
    """

    node: cst.With | cst.FunctionDef
    place: cst.CSTNode
    call: cst.Call
    arguments: Sequence[cst.Arg]
    name: str

    def argument(self, keyword: str) -> cst.BaseExpression | None:
        """The argument of this name."""
        return argument_of(self.arguments, _ORDER_NEW if self.name in NEW else _ORDER_OLD, keyword)


_ORDER_NEW = ("device_type", "dtype", "enabled", "cache_enabled")
_ORDER_OLD = ("enabled", "dtype", "cache_enabled")


def argument_of(arguments: Sequence[cst.Arg], order: Sequence[str], keyword: str) -> cst.BaseExpression | None:
    """The argument for a parameter of a function whose parameters are ``order``."""
    named = keywords(arguments).get(keyword)
    if named is not None:
        return named.value
    position = order.index(keyword)
    for index, argument in enumerate(arguments):
        if argument.star or argument.keyword is not None:
            return None
        if index == position:
            return argument.value
    return None


class Autocasts:
    """The autocast regions of one document."""

    def __init__(self, names: Names, places: Places, origins: Origins, conditions: Conditions) -> None:
        self.names, self.places, self.origins, self.conditions = names, places, origins, conditions

    @functools.cached_property
    def regions(self) -> tuple[Region, ...]:
        """The regions that are not switched off for good."""
        return tuple(region for region in self._regions() if not is_constant(region.argument("enabled"), "False"))

    @functools.cached_property
    def default_is_set(self) -> bool:
        """Whether the document changes the dtype that autocast has by default."""
        return any(True for _ in self.places.calls(*_DEFAULT_SETTERS))

    def around(self, node: cst.CSTNode) -> Iterator[Region]:
        """The regions in which ``node`` stands, innermost first; those of callers do not count."""
        by_node: dict[cst.CSTNode, list[Region]] = {}
        for region in self.regions:
            by_node.setdefault(region.node, []).append(region)
        for parent, child in self.places.around(node):
            if isinstance(parent, (cst.With, cst.FunctionDef)) and child is parent.body:
                yield from by_node.get(parent, ())

    def is_inference(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` runs without gradients, or in a function whose name says so."""
        return self.records_nothing(node) or any(
            isinstance(parent, cst.FunctionDef) and _INFERENCE_WORDS & set(parent.name.value.lower().split("_"))
            for parent in (node, *self.names.ancestors(node))
        )

    def records_nothing(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` stands in a region, or a decorated function, without gradients."""
        for parent in (node, *self.names.ancestors(node)):
            if isinstance(parent, cst.With):
                if any(self._is_no_grad(item.item) for item in parent.items):
                    return True
            elif isinstance(parent, cst.FunctionDef):
                if any(self._is_no_grad(decorator.decorator) for decorator in parent.decorators):
                    return True
        return False

    def dtypes(self, region: Region) -> list[Choice]:
        """The dtypes that a region may run in."""
        value = region.argument("dtype")
        if any(argument.star for argument in region.arguments):
            return [Choice(None, TRUE)]
        if value is None:
            return [Choice(self._default(region), TRUE)]
        choices = list(self._choices(value, TRUE, 0))
        return [Choice(self._default(region), choice.when) if choice.dtype == "None" else choice for choice in choices]

    def dtype_of(self, node: cst.BaseExpression) -> frozenset[str | None]:
        """The dtypes that an expression may be; None among them where it may be something unseen."""
        return frozenset(choice.dtype for choice in self._choices(node, TRUE, 0))

    def enabled(self, region: Region) -> Formula:
        """When a region is entered and switched on."""
        value = region.argument("enabled")
        switched = TRUE if value is None else self.conditions.of(value)
        return conjunction([self.conditions.guards(self.guards(region)), switched])

    def guards(self, region: Region) -> list[Guard]:
        """What must hold for a region to be made and entered: the arms of a conditional expression count, too."""
        return [*self.places.guards_of(region.place), *self.places.guards_of(region.call)]

    def device(self, region: Region) -> str | None:
        """The device type of a region, where it is written out."""
        if region.name in OLD_CUDA:
            return "cuda"
        if region.name in OLD_CPU:
            return "cpu"
        value = region.argument("device_type")
        found = {literal(end.node) for end in self.origins.of(value).ends} if value is not None else set()
        only = found.pop() if len(found) == 1 else None
        return only.partition(":")[0] if isinstance(only, str) else None

    # -- how regions are found -----------------------------------------------------------------------------------

    def _regions(self) -> Iterator[Region]:
        for item in self.places.with_items:
            holder = self.names.parent(item)
            if isinstance(holder, cst.With):
                for call, arguments, name in self.constructions(item.item):
                    yield Region(holder, item, call, arguments, name)
        for function in self.places.functions:
            for decorator in function.decorators:
                if isinstance(decorator.decorator, cst.Call):
                    for call, arguments, name in self.constructions(decorator.decorator):
                        yield Region(function, decorator, call, arguments, name)

    def constructions(self, node: cst.BaseExpression) -> Iterator[tuple[cst.Call, Sequence[cst.Arg], str]]:
        """The autocasts that ``node`` may be, with their arguments."""
        for passed in self.origins.of(node).passed:
            if isinstance(passed, cst.Call):
                name = self._autocast(passed.func)
                if name is not None:
                    yield passed, passed.args, name
                    continue
                for maker in self.origins.of(passed.func).passed:  # functools.partial(autocast, ...)()
                    if isinstance(maker, cst.Call) and maker.args and _is_partial(self.names, maker.func):
                        name = self._autocast(maker.args[0].value)
                        if name is not None:
                            yield passed, (*maker.args[1:], *passed.args), name

    def _autocast(self, node: cst.BaseExpression) -> str | None:
        named = self.names.qualified(node) & AUTOCASTS
        if named:
            return min(named)
        if isinstance(node, cst.Name):
            for end in self.origins.of(node).ends:
                if end.node is not node and isinstance(end.node, (cst.Name, cst.Attribute)):
                    named = self.names.qualified(end.node) & AUTOCASTS
                    if named:
                        return min(named)
        return None

    def _is_no_grad(self, node: cst.BaseExpression) -> bool:
        callee = node.func if isinstance(node, cst.Call) else node
        return bool(self.names.qualified(callee) & _NO_GRAD)

    # -- dtypes --------------------------------------------------------------------------------------------------

    def _default(self, region: Region) -> str | None:
        """The dtype of a region that is given none; the new autocast takes that of a region around it."""
        if region.name in NEW and any(True for _ in self.around(region.node)):
            return None
        device = self.device(region)
        return None if self.default_is_set or device is None else _DEFAULTS.get(device)

    def _choices(self, node: cst.CSTNode, when: Formula, depth: int, path: Path = ()) -> Iterator[Choice]:
        if depth > 8:
            yield Choice(None, when)
        elif isinstance(node, cst.IfExp):
            test = self.conditions.of(node.test)
            yield from self._choices(node.body, conjunction([when, test]), depth + 1, path)
            yield from self._choices(node.orelse, conjunction([when, negation(test)]), depth + 1, path)
        elif path:
            yield from self._from_sources(node, when, depth, path)
        elif is_constant(node, "None"):
            yield Choice("None", when)
        elif isinstance(node, cst.Subscript):
            yield from self._from_table(node, when, depth)
        elif isinstance(node, (cst.Name, cst.Attribute)) and (named := self.names.qualified(node)):
            yield Choice(DTYPES.get(next(iter(named))) if len(named) == 1 else None, when)
        else:
            yield from self._from_sources(node, when, depth, path)

    def _from_sources(self, node: cst.CSTNode, when: Formula, depth: int, path: Path) -> Iterator[Choice]:
        """Through one step of assignments, parameters or returns, each under the conditions that it stands under."""
        sources = self.origins.before(node, path)
        for source, rest in sources:
            guards = self.conditions.guards(self.places.guards_of(source))
            yield from self._choices(source, conjunction([when, guards]), depth + 1, rest)
        if not sources:
            yield Choice(None, when)

    def _from_table(self, node: cst.Subscript, when: Formula, depth: int) -> Iterator[Choice]:
        tables = [end.node for end in self.origins.of(node.value).ends if isinstance(end.node, cst.Dict)]
        index = node.slice[0].slice
        if len(tables) != 1 or not isinstance(index, cst.Index) or literal(index.value) is not None:
            yield from self._from_sources(node, when, depth, ())
            return
        asked = self.conditions.text(index.value)
        for element in tables[0].elements:
            if not isinstance(element, cst.DictElement):
                yield Choice(None, when)
                continue
            key = Formula("atom", atom=Atom(f"{asked} == {self.conditions.text(element.key)}", index.value))
            yield from self._choices(element.value, conjunction([when, key]), depth + 1)


def is_constant(node: cst.CSTNode | None, value: str) -> bool:
    """Whether ``node`` is the constant ``True``, ``False`` or ``None`` that ``value`` names."""
    return isinstance(node, cst.Name) and node.value == value


def _is_partial(names: Names, node: cst.BaseExpression) -> bool:
    return bool(names.qualified(node) & {"functools.partial"})
