"""Where a program changes gradients by hand, and where their size matters to it.

After a change nobody can tell whether they still carry the loss scale; a use is wrong while they do. Going by the text
alone: what is called ``.grad``, names that such a value was given to, numbers made from the scale.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from amplint.flow import program as ir
from amplint.flow.vocabulary import FINITENESS, HARMLESS_BUILTINS, HARMLESS_FUNCTIONS, PROTOCOL_METHODS

_VIEWS = frozenset({"data", "detach", "view", "view_as", "reshape", "flatten", "coalesce", "values", "to", "float"})
"""Attributes and methods that show the same gradient."""
_REORDERED = frozenset({"list", "tuple", "zip", "enumerate", "filter", "sorted", "reversed", "iter"})
_REPLACING = frozenset({"mul_", "multiply_", "div_", "divide_", "true_divide_", "copy_", "set_", "lerp_"})
"""Methods that can take the scale out of a gradient, or put another in its place."""
_READING = frozenset({"append", "extend", "add", "update", "norm", "info", "debug", "warning", "format", "isinstance"})
_READING_WORDS = ("log", "print", "add_", "set_postfix", "write", "record")


_CLIPPING = frozenset({"clamp_", "clamp", "clip_", "clip", "clamp_min_", "clamp_max_"})
_MEASURING = frozenset(
    """norm abs mean sum std var max min amax amin pow square item tolist dot add_ sub_ nan_to_num nan_to_num_
    addcmul_ addcdiv_ lt gt le ge""".split()
)
"""Methods whose result or effect depends on how large a gradient is. Its sign, and whether it is finite, do not."""
_MEASURING_FUNCTIONS = frozenset(
    """torch.norm torch.linalg.norm torch.linalg.vector_norm torch.nan_to_num torch.nan_to_num_ torch.abs torch.mean
    torch.sum torch.nn.utils.get_total_norm torch._foreach_norm torch._foreach_add_""".split()
)
_COPIES = frozenset({"cpu", "numpy", "clone", "abs", "tolist", "detach", "float", "flatten", "view"})
_HISTOGRAMS = frozenset({"add_histogram", "Histogram"})
"""What draws how large values are."""
_PARAMETER = re.compile(r"^(p|w|params?|parameters?|weights?|bias)\d*$|_params?$|_parameters?$|^param_", re.IGNORECASE)


def using_nodes(nodes: list[Any]) -> dict[int, str]:
    """Of one function's nodes, the ids of those to which the size of a parameter's gradient matters, with the kind."""
    if not any(isinstance(node, ir.Attribute) and node.attr == "grad" for node in nodes):
        return {}
    finder = _Finder(nodes)
    if any(finder.is_scale(node) for node in nodes if isinstance(node, (ir.Name, ir.Attribute))):
        return {}  # it takes the scale out itself
    indifferent = {id(inner) for node in nodes if _is_indifferent(node) for inner in ir.walk(node)}
    return {id(node): kind for node in nodes if id(node) not in indifferent and (kind := finder.use(node))}


def _is_indifferent(node: Any) -> bool:
    """Whether a node asks what the scale changes nothing about: is it finite, or nothing at all."""
    if isinstance(node, ir.Compare):
        return any(isinstance(part, ir.Constant) and part.value == 0 for part in (node.left, node.right))
    return isinstance(node, ir.Call) and _last_name(node.func) in FINITENESS


def changing_nodes(nodes: list[Any]) -> frozenset[int]:
    """The ids of the assignments and calls that change gradients."""
    if _attributes(nodes).isdisjoint(_SPEAKING):
        return frozenset()
    finder = _Finder(nodes)
    return frozenset(id(node) for node in nodes if type(node) in _CHANGING and finder.changes(node))


def _attributes(nodes: list[Any]) -> set[str]:
    return {node.attr for node in nodes if type(node) is ir.Attribute}


_SCALES = frozenset({"get_scale", "_scale"})
"""Attributes that tell how large the scale is."""
_SPEAKING = _SCALES | {"grad"}
_CHANGING = frozenset({ir.Assign, ir.Augment, ir.Call})


class _Finder:
    def __init__(self, nodes: list[Any]) -> None:
        self.aliases: set[str] = set()
        """Names of gradients."""
        self.scales: set[str] = set()
        """Names of numbers made from a scaler's scale."""
        assigned = [*ir.bindings(nodes), *(n for n in nodes if isinstance(n, (ir.For, ir.Each)))]
        self.own: set[str] = set()
        """Names of parameters: what loops over ``parameters()`` bind."""
        for node in assigned:
            if isinstance(node, (ir.For, ir.Each)) and _is_over_parameters(node.source):
                self.own.update(_names(node.target))
        size = -1
        while size != len(self.aliases) + len(self.scales):
            size = len(self.aliases) + len(self.scales)
            for node in assigned:
                value = node.value if isinstance(node, ir.Assign) else node.source
                targets = node.targets if isinstance(node, ir.Assign) else [node.target]
                if self.is_gradient(value):
                    self.aliases.update(*(_names(target) for target in targets))
                elif isinstance(node, ir.Assign) and self.is_scale(value):
                    self.scales.update(*(_names(target) for target in targets))

    def is_gradient(self, node: Any) -> bool:
        """Whether an expression is a gradient, a view of one, or a collection of some."""
        if isinstance(node, ir.Attribute):
            return node.attr == "grad" or (node.attr in _VIEWS and self.is_gradient(node.base))
        if isinstance(node, ir.Name):
            return node.id in self.aliases
        if isinstance(node, ir.Item):
            return self.is_gradient(node.base)
        if isinstance(node, ir.Each):
            return self.is_gradient(node.element)
        if isinstance(node, (ir.Sequence, ir.Either)):
            return any(self.is_gradient(part) for part in node.parts)
        if isinstance(node, ir.Choice):
            return self.is_gradient(node.then) or self.is_gradient(node.other)
        if isinstance(node, ir.Call):
            if isinstance(node.func, ir.Attribute):
                return node.func.attr in _VIEWS and self.is_gradient(node.func.base)
            if isinstance(node.func, ir.Name) and node.func.id in _REORDERED:
                return any(self.is_gradient(argument.value) for argument in node.args)
        return False

    def use(self, node: Any) -> str:
        """The kind of use that a node makes of a gradient's size, or nothing."""
        if isinstance(node, ir.Augment):
            adds = node.operator in ("AddAssign", "SubtractAssign")
            return "use" if adds and node.target is not None and self.is_parameters_gradient(node.target) else ""
        if not isinstance(node, ir.Call):
            return ""
        if node.func_externals() & _MEASURING_FUNCTIONS:
            return "use" if any(self.is_parameters_gradient(argument.value) for argument in node.args) else ""
        if _last_name(node.func) in _HISTOGRAMS:
            return "use" if any(self.shows_gradient(argument.value) for argument in node.args) else ""
        if isinstance(node.func, ir.Attribute) and self.is_parameters_gradient(node.func.base):
            return "clip" if node.func.attr in _CLIPPING else "use" if node.func.attr in _MEASURING else ""
        return ""

    def shows_gradient(self, node: Any) -> bool:
        """Whether a value has the sizes of a parameter's gradient, a copy of it as well."""
        while isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.func.attr in _COPIES:
            node = node.func.base
        return self.is_parameters_gradient(node)

    def is_parameters_gradient(self, node: Any) -> bool:
        """Whether a gradient is that of a parameter, not of an input."""
        if not self.is_gradient(node):
            return False
        owners = [inner.base for inner in ir.walk(node) if isinstance(inner, ir.Attribute) and inner.attr == "grad"]
        if not owners:
            return isinstance(node, (ir.Name, ir.Attribute, ir.Item)) or any(
                isinstance(inner, ir.Name) and inner.id in self.own for inner in ir.walk(node)
            )
        return all(self.is_parameter(owner) for owner in owners)

    def is_parameter(self, node: Any) -> bool:
        if isinstance(node, ir.Item):
            return self.is_parameter(node.base)
        if isinstance(node, ir.Attribute):
            return bool(_PARAMETER.search(node.attr)) or (node.attr in _VIEWS and self.is_parameter(node.base))
        return isinstance(node, ir.Name) and (node.id in self.own or bool(_PARAMETER.search(node.id)))

    def is_scale(self, node: Any) -> bool:
        """Whether a number is made from a scaler's scale."""
        for inner in ir.walk(node):
            if isinstance(inner, ir.Attribute) and inner.attr in _SCALES:
                return True
            if isinstance(inner, ir.Name) and inner.id in self.scales:
                return True
        return False

    def changes(self, node: Any) -> bool:
        if isinstance(node, ir.Assign):
            return any(_is_place(target) and self.is_gradient(target) for target in node.targets)
        if isinstance(node, ir.Augment):
            return node.target is not None and self.is_gradient(node.target)
        return isinstance(node, ir.Call) and self.call_changes(node)

    def call_changes(self, node: ir.Call) -> bool:
        func = node.func
        name = func.attr if isinstance(func, ir.Attribute) else func.id if isinstance(func, ir.Name) else ""
        if isinstance(func, ir.Attribute) and self.is_gradient(func.base):
            varies = any(not isinstance(argument.value, ir.Constant) for argument in node.args)
            return name == "zero_" or (name in _REPLACING and varies)
        given = [argument.value for argument in node.args]
        if not any(self.is_gradient(value) or self.is_scale_number(value) for value in given):
            return False
        if name in _REORDERED | _READING | HARMLESS_BUILTINS | PROTOCOL_METHODS or name.startswith(_READING_WORDS):
            return False
        externals = node.func_externals()
        if any(external.startswith(("torch.", "numpy.", "math.", *HARMLESS_FUNCTIONS)) for external in externals):
            return name.endswith("_") and not name.startswith("clip_grad")
        return True

    def is_scale_number(self, node: Any) -> bool:
        return isinstance(node, (ir.Name, ir.Attribute, ir.Call, ir.Operation)) and self.is_scale(node)


def mark_descaled(nodes: list[Any]) -> None:
    """Note the calls whose result is divided by a scale at once, or only asked whether it is finite."""
    speaks = not _attributes(nodes).isdisjoint(_SCALES)
    finder = _Finder(nodes if speaks else [])
    for node in nodes if speaks else [node for node in nodes if type(node) is ir.Call]:
        grade = 0
        if isinstance(node, ir.Operation) and node.tag in ("Divide", "Multiply") and finder.is_scale(node):
            grade = 1
        elif isinstance(node, ir.Call) and _last_name(node.func) in FINITENESS:
            grade = 2
        elif isinstance(node, ir.Call) and _last_name(node.func) in ("item", "tolist", "numpy", "float"):
            grade = int(any(_divides(inner) and finder.is_scale(inner) for inner in ir.walk(node)))
        for inner in ir.walk(node) if grade else ():
            if isinstance(inner, ir.Call):
                inner.descales = max(grade, inner.descales)


def _divides(node: Any) -> bool:
    if isinstance(node, ir.Operation):
        return node.tag in ("Divide", "Multiply")
    return isinstance(node, ir.Call) and _last_name(node.func) in (
        "div",
        "div_",
        "mul",
        "mul_",
        "true_divide",
        "multiply",
    )


def _last_name(node: Any) -> str:
    return str(getattr(node, "attr", "") or getattr(node, "id", ""))


def _is_over_parameters(source: Any) -> bool:
    return any(
        _last_name(inner) in ("parameters", "named_parameters", "param_groups", "params")
        or (isinstance(inner, ir.Constant) and inner.value == "params")
        for inner in ir.walk(source)
    )


def _is_place(target: Any) -> bool:
    return isinstance(target, (ir.Attribute, ir.Item))


def _names(target: Any) -> Iterable[str]:
    if isinstance(target, ir.Sequence):
        return [name for part in target.parts for name in _names(part)]
    return [target.id] if isinstance(target, ir.Name) else []
