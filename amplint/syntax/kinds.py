"""What kind of value an expression has, as far as its document says so: a bool, a string, a device, a dtype.

Names are followed to what is assigned to them, attributes of ``self`` to what the class assigns, parameters to their
annotations, defaults and the calls in the document, calls to what the document's own functions return. Whatever
else an expression may be is :data:`UNKNOWN`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from amplint.syntax.names import Binding, Names, children, dotted_name, within


class Kind(enum.Enum):
    """A type of values that AMP's arguments have, rightly or not."""

    BOOL = "a bool"
    NUMBER = "a number"
    STRING = "a string"
    DEVICE = "a torch.device"
    DTYPE = "a dtype"
    NONE = "None"
    CLASS = "a class"
    FUNCTION = "a function"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Value:
    """One kind of value that an expression may have.

    ``text`` is what a string says, or a device as a string, where the document fixes it; ``*`` stands for a part that
    it leaves open.
    """

    kind: Kind
    text: str | None = None


UNKNOWN = Value(Kind.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Possible:
    """The values that an expression may have.

    They are ``exact`` where each of them is really met, as far as the document's conditions are; where a name is
    assigned several times and the paths were not told apart, they are not.
    """

    values: frozenset[Value]
    exact: bool = True

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of the values."""
        return frozenset(value.kind for value in self.values)

    def certainly(self, *kinds: Kind) -> bool:
        """Whether every possible value is of one of ``kinds``."""
        return bool(self.values) and self.kinds <= frozenset(kinds)


_UNKNOWN = Possible(frozenset([UNKNOWN]))
_DEPTH = 12  # how far names are followed

_DTYPES = frozenset(
    f"torch.{name}"
    for name in "float16 half bfloat16 float32 float float64 double int8 int16 int32 int64 long bool".split()
)
_ANNOTATIONS = {
    "bool": Kind.BOOL,
    "int": Kind.NUMBER,
    "float": Kind.NUMBER,
    "str": Kind.STRING,
    "None": Kind.NONE,
    "torch.device": Kind.DEVICE,
    "torch.dtype": Kind.DTYPE,
}
_BUILTINS = {
    **dict.fromkeys(["bool", "isinstance", "issubclass", "hasattr", "callable", "any", "all"], Kind.BOOL),
    **dict.fromkeys(["float", "int", "len", "abs", "round"], Kind.NUMBER),
    "str": Kind.STRING,
}
_TORCH_CALLS = {
    "torch.is_tensor": Kind.BOOL,
    "torch.is_grad_enabled": Kind.BOOL,
    "torch.is_autocast_enabled": Kind.BOOL,
    "torch.cuda.current_device": Kind.NUMBER,
    "torch.cuda.device_count": Kind.NUMBER,
    "torch.get_autocast_dtype": Kind.DTYPE,
    "torch.get_autocast_gpu_dtype": Kind.DTYPE,
    "torch.get_autocast_cpu_dtype": Kind.DTYPE,
    "torch.get_default_dtype": Kind.DTYPE,
    "torch.get_default_device": Kind.DEVICE,
    "os.getenv": Kind.STRING,
}
_TRUTHS = frozenset({"is_available", "is_built", "startswith", "endswith", "isdigit", "is_bf16_supported"})
_TEXTS = frozenset({"lower", "upper", "strip", "replace", "format", "join"})
#: Methods by which a value shows that it is a tensor or a module.
TENSOR_METHODS = frozenset(
    "float half bfloat16 long int bool dim size view reshape flatten permute transpose unsqueeze squeeze contiguous "
    "detach backward parameters named_parameters modules state_dict train eval numel masked_fill softmax mean sum item "
    "cpu cuda argmax topk".split()
)
_TENSOR_ATTRIBUTES = frozenset("shape ndim requires_grad is_cuda".split())
#: Names of what holds settings, whose attributes are whatever the user gave.
CONFIGURATION = frozenset("args arg cfg config conf opt opts options hparams params flags settings hp".split())
_MODELS = re.compile(r"(^|_)(model|net|network|module|unet|vae|encoder|decoder|pipe|pipeline|transformer|accelerator)$")
_TENSORS = frozenset({"x", "input", "inputs", "tensor", "hidden_states", "image", "images", "logits", "input_ids"})
_MODULE_BASES = re.compile(r"(^|\.)(LightningModule|PreTrainedModel|ModelMixin|DiffusionPipeline)$")

_OPEN = re.compile(r"%\w|\{[^{}]*\}")

_FLAG_WORDS = frozenset("use using enable enables enabled disable disabled is do does with should allow".split())
_NO_FLAG_WORDS = frozenset("dtype type device devices scale kind name precision backend level mode".split())
_FLAGS = frozenset({"amp", "autocast"})
_PRECISION_FLAGS = frozenset({"fp16", "bf16", "half"})
_DEVICE_NAMES = frozenset({"dev"})


class Kinds:
    """The kinds of the expressions of one document."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._following: set[cst.CSTNode] = set()
        self._attributes: dict[cst.ClassDef, dict[str, list[cst.CSTNode]]] | None = None

    def possible(self, node: cst.BaseExpression) -> Possible:
        """The values that ``node`` may have where it stands."""
        if node in self._following or len(self._following) > _DEPTH:
            return _UNKNOWN
        self._following.add(node)
        try:
            found = self._possible(node)
        finally:
            self._following.discard(node)
        if found.kinds == {Kind.UNKNOWN} and isinstance(node, (cst.Name, cst.Attribute)) and self._acts_as_device(node):
            return _one(Value(Kind.DEVICE))
        return found

    def _possible(self, node: cst.BaseExpression) -> Possible:
        if isinstance(node, (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)):
            text = _text(node)
            return _one(Value(Kind.STRING, text)) if text is not None else _UNKNOWN
        if isinstance(node, (cst.Integer, cst.Float)):
            return _one(Value(Kind.NUMBER))
        if isinstance(node, (cst.Comparison, cst.UnaryOperation, cst.BinaryOperation)):
            return self._operation(node)
        if isinstance(node, cst.BooleanOperation):
            return _either([self.possible(node.left), self.possible(node.right)])
        if isinstance(node, cst.IfExp):
            either = _either([self.possible(node.body), self.possible(node.orelse)])
            return Possible(either.values, either.exact and not self.narrows(node))
        if isinstance(node, cst.NamedExpr):
            return self.possible(node.value)
        if isinstance(node, cst.Lambda):
            return _one(Value(Kind.FUNCTION))
        if isinstance(node, cst.Name):
            return self._name(node)
        if isinstance(node, cst.Attribute):
            return self._attribute(node)
        if isinstance(node, cst.Call):
            return self._call(node)
        return self._looked_up(node.value) if isinstance(node, cst.Subscript) else _UNKNOWN

    def _looked_up(self, node: cst.BaseExpression) -> Possible:
        """The values of a dict that is written out, here or where the name is assigned."""
        binding = self.names.binding(node) if isinstance(node, cst.Name) else None
        if binding is not None and len(binding.others) == 1 and not binding.imports:
            node = self.assigned_value(binding.others[0]) or node
        if not isinstance(node, cst.Dict):
            return _UNKNOWN
        elements = [e.value for e in node.elements if isinstance(e, cst.DictElement)]
        return _either(map(self.possible, elements)) if len(elements) == len(node.elements) else _UNKNOWN

    def _operation(self, node: cst.Comparison | cst.UnaryOperation | cst.BinaryOperation) -> Possible:
        if isinstance(node, cst.Comparison):
            return _one(Value(Kind.BOOL))
        if isinstance(node, cst.UnaryOperation):
            return _one(Value(Kind.BOOL)) if isinstance(node.operator, cst.Not) else self.possible(node.expression)
        if isinstance(node.operator, (cst.Add, cst.Modulo)) and (text := _text(node.left)) is not None:
            return _one(Value(Kind.STRING, f"{text}*" if isinstance(node.operator, cst.Add) else _OPEN.sub("*", text)))
        sides = [self.possible(node.left), self.possible(node.right)]
        return _one(Value(Kind.NUMBER)) if all(side.certainly(Kind.NUMBER) for side in sides) else _UNKNOWN

    def narrows(self, node: cst.IfExp) -> bool:
        """Whether a condition asks about what an arm then is, so that the arm is not any value that it may have."""
        asked = set(map(dotted_name, _chains(node.test)))
        if asked & {"isinstance", "hasattr", "type", "callable", "None"}:
            return True
        used = {dotted_name(chain) for arm in (node.body, node.orelse) for chain in _chains(arm)}
        return any(name is not None and name != "self" and not name.startswith("torch") for name in asked & used)

    # -- names ---------------------------------------------------------------------------------------------------

    def _name(self, node: cst.Name) -> Possible:
        binding = self.names.binding(node)
        if binding is None:
            if node.value in ("True", "False"):
                return _one(Value(Kind.BOOL))
            return _one(Value(Kind.NONE)) if node.value == "None" else _UNKNOWN
        if binding.imports:
            return self._imported(node)
        if len(binding.others) == 1:
            return self._bound_by(binding.others[0])
        if self.names.scope(node) is binding.scope and (target := self._last_before(node, binding)) is not None:
            return self._bound_by(target)
        either = _either(map(self._bound_by, binding.others))
        return Possible(either.values, exact=False)

    def _imported(self, node: cst.BaseExpression) -> Possible:
        qualified = self.names.qualified(node)
        if qualified and qualified <= _DTYPES and not self.names.ambiguous(node):
            return _one(Value(Kind.DTYPE))
        return _UNKNOWN

    def _bound_by(self, target: cst.CSTNode) -> Possible:
        """The values that a target, parameter or definition gives its name."""
        if isinstance(target, cst.Param):
            return self._parameter(target)
        if isinstance(target, (cst.FunctionDef, cst.ClassDef)):
            return _one(Value(Kind.CLASS if isinstance(target, cst.ClassDef) else Kind.FUNCTION))
        value = self.assigned_value(target)
        if value is not None:
            return self.possible(value)
        parent = self.names.parent(target)
        if isinstance(parent, cst.AnnAssign) and parent.value is None:
            return self._annotated(parent.annotation)
        return _UNKNOWN

    def assigned_value(self, target: cst.CSTNode) -> cst.BaseExpression | None:
        """The expression whose value an assignment gives to ``target``; None where it is none, or part of one."""
        parent = self.names.parent(target)
        if isinstance(parent, cst.AssignTarget):
            statement = self.names.parent(parent)
            return statement.value if isinstance(statement, cst.Assign) else None
        if isinstance(parent, (cst.AnnAssign, cst.NamedExpr)) and parent.target is target:
            return parent.value
        if isinstance(parent, cst.Element):
            whole = self.names.parent(parent)
            value = self.assigned_value(whole) if isinstance(whole, (cst.Tuple, cst.List)) else None
            if isinstance(whole, (cst.Tuple, cst.List)) and isinstance(value, (cst.Tuple, cst.List)):
                pairs = zip(whole.elements, value.elements, strict=False)
                same = len(whole.elements) == len(value.elements)
                starred = any(isinstance(e, cst.StarredElement) for e in (*whole.elements, *value.elements))
                return next((v.value for w, v in pairs if w is parent), None) if same and not starred else None
        return None

    def _last_before(self, node: cst.Name, binding: Binding) -> cst.CSTNode | None:
        """The one target whose value ``node`` certainly has: an assignment on the straight way to it."""
        child: cst.CSTNode = node
        for parent in self.names.ancestors(node):
            if isinstance(parent, (cst.IndentedBlock, cst.Module)):
                index = parent.body.index(child)
                for statement in reversed(parent.body[:index]):
                    inside = [target for target in binding.others if self._is_within(target, statement)]
                    if inside:
                        plain = isinstance(statement, cst.SimpleStatementLine) and len(inside) == 1
                        return inside[0] if plain else None
            elif isinstance(parent, cst.SimpleStatementLine):
                if any(self._is_within(target, parent) for target in binding.others) and len(parent.body) > 1:
                    return None
            elif isinstance(parent, (cst.For, cst.While)):
                if any(self._is_within(target, parent) for target in binding.others):
                    return None  # an assignment further down is met on the way round
            elif isinstance(parent, (cst.FunctionDef, cst.Lambda)):
                return next((target for target in binding.others if isinstance(target, cst.Param)), None)
            child = parent
        return None

    def _is_within(self, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
        return any(parent is outer for parent in self.names.ancestors(node))

    # -- parameters and annotations ------------------------------------------------------------------------------

    def _parameter(self, param: cst.Param) -> Possible:
        if param.star in ("*", "**"):
            return _UNKNOWN
        annotated = self._annotated(param.annotation) if param.annotation is not None else _UNKNOWN
        if UNKNOWN not in annotated.values:
            default_kinds = self.possible(param.default).kinds if param.default is not None else frozenset()
            return annotated if default_kinds <= annotated.kinds | {Kind.NONE, Kind.UNKNOWN} else _UNKNOWN
        if param.annotation is not None:
            return _UNKNOWN
        given = [self.possible(value) for value in self._given(param)]
        default = [self.possible(param.default)] if param.default is not None else []
        if default and default[0].certainly(Kind.BOOL, Kind.DEVICE):
            return default[0]
        return _either([*given, *default]) if given else _UNKNOWN

    def _given(self, param: cst.Param) -> list[cst.BaseExpression]:
        """What the document's calls give for a parameter of a function; empty where not all of them can be seen."""
        params = self.names.parent(param)
        function = self.names.parent(params) if params is not None else None
        if not isinstance(function, cst.FunctionDef) or not isinstance(params, cst.Parameters) or function.decorators:
            return []
        binding = self.names.bound(function)
        if binding is None or binding.scope.kind == "class" or binding.others != [function] or binding.imports:
            return []
        order = [*params.posonly_params, *params.params]
        found: list[cst.BaseExpression] = []
        for reference in binding.references:
            call = self.names.parent(reference)
            if not isinstance(call, cst.Call) or call.func is not reference or any(a.star for a in call.args):
                return []
            by_keyword = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
            by_position = [a.value for a in call.args if a.keyword is None]
            if param.name.value in by_keyword:
                found.append(by_keyword[param.name.value])
            elif param in order and order.index(param) < len(by_position):
                found.append(by_position[order.index(param)])
            elif param.default is None:
                return []
        return found

    def _annotated(self, annotation: cst.Annotation | None) -> Possible:
        return self._type(annotation.annotation) if annotation is not None else _UNKNOWN

    def _type(self, node: cst.BaseExpression) -> Possible:
        if isinstance(node, cst.SimpleString):
            kind = _ANNOTATIONS.get(str(node.raw_value))
            return _one(Value(kind)) if kind is not None else _UNKNOWN
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitOr):
            return _several([self._type(node.left), self._type(node.right)])
        if isinstance(node, cst.Subscript):
            inner = [e.slice.value for e in node.slice if isinstance(e.slice, cst.Index)]
            head = (dotted_name(node.value) or "").rpartition(".")[2]
            if head == "Optional" and len(inner) == 1:
                return _several([self._type(inner[0]), _one(Value(Kind.NONE))])
            return _several(map(self._type, inner)) if head == "Union" and inner else _UNKNOWN
        spelled = self.names.qualified(node) or ({dotted_name(node)} if isinstance(node, cst.Name) else set())
        kinds = {_ANNOTATIONS.get(name or "") for name in spelled}
        kind = next(iter(kinds)) if len(kinds) == 1 else None
        return _one(Value(kind)) if kind is not None else _UNKNOWN

    # -- attributes ----------------------------------------------------------------------------------------------

    def _attribute(self, node: cst.Attribute) -> Possible:
        if self.names.qualified(node):
            return self._imported(node)
        if isinstance(node.value, cst.Name) and node.value.value == "self":
            found = self._of_self(node)
            if found is not None:
                return found
        if (assigned := self._assigned_before(node)) is not None:
            return assigned
        if node.attr.value == "device" and self._has_torch_device(node.value):
            return _one(Value(Kind.DEVICE))
        if node.attr.value == "type":
            owner = self.possible(node.value)
            if owner.certainly(Kind.DEVICE):
                texts = {value.text.partition(":")[0] if value.text else None for value in owner.values}
                return Possible(frozenset(Value(Kind.STRING, text) for text in texts), owner.exact)
        if node.attr.value == "dtype" and self._has_torch_device(node.value):
            return _one(Value(Kind.DTYPE))
        return self._option(node)

    def _option(self, node: cst.Attribute) -> Possible:
        """``args.device`` where a command line option of this name, and one only, has choices."""
        holder = node.value.value.lower() if isinstance(node.value, cst.Name) else ""
        if holder not in CONFIGURATION or dotted_name(node) in self._attribute_targets:
            return _UNKNOWN
        choices = self._options.get(node.attr.value, [])
        return Possible(_either(map(self.possible, choices[0])).values, exact=False) if len(choices) == 1 else _UNKNOWN

    @cached_property
    def _options(self) -> dict[str, list[list[cst.BaseExpression]]]:
        """The choices of each option that the document gives a command line; none where any value goes."""
        found: dict[str, list[list[cst.BaseExpression]]] = {}
        for node in self.names.parents:
            if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
                continue
            if node.func.attr.value != "add_argument" or not node.args:
                continue
            given = {argument.keyword.value: argument.value for argument in node.args if argument.keyword is not None}
            flags = [_text(argument.value) or "" for argument in node.args if argument.keyword is None]
            names = [
                flag.lstrip("-").replace("-", "_") for flag in flags if not flag.startswith("-") or flag[1:2] == "-"
            ]
            chosen = _text(given["dest"]) if "dest" in given else next(iter(names), None)
            choices, made_by = given.get("choices"), dotted_name(given["type"]) if "type" in given else "str"
            if not isinstance(choices, (cst.List, cst.Tuple)) or made_by != "str":
                values = []
            else:
                values = [element.value for element in choices.elements] + [given.get("default", cst.Name("None"))]
            if chosen:
                found.setdefault(chosen, []).append(values)
        return found

    def _assigned_before(self, node: cst.Attribute) -> Possible | None:
        """``args.device`` after ``args.device = torch.device(args.device)`` in a block around it."""
        name = dotted_name(node)
        binding = self.names.binding(node)
        if name is None or binding is None or name.startswith("self."):
            return None
        targets = self._attribute_targets.get(name)
        if not targets:
            return None
        around = set(self.names.ancestors(node))
        start, _ = self.names.tree.span(node)
        for target in sorted(targets, key=self.names.tree.span, reverse=True):
            statement = self.names.parent(self.names.parents[target])
            line = self.names.parent(statement) if statement is not None else None
            block = self.names.parent(line) if line is not None else None
            if self.names.binding(target) is binding and self.names.tree.span(target)[0] < start:
                value = self.assigned_value(target)
                return self.possible(value) if value is not None and block in around else _UNKNOWN
        return None

    @cached_property
    def _attribute_targets(self) -> dict[str, list[cst.Attribute]]:
        """The targets of assignments that are chains of names."""
        found: dict[str, list[cst.Attribute]] = {}
        for node in self.names.every(cst.Attribute):
            if self._is_target(node) and (name := dotted_name(node)) is not None:
                found.setdefault(name, []).append(node)
        return found

    def assigned_to_self(self, node: cst.Attribute) -> list[cst.BaseExpression]:
        """The values that the class around assigns to an attribute of ``self``."""
        definition = self._class_around(node)
        targets = self._class_attributes(definition).get(node.attr.value, []) if definition is not None else []
        return [value for target in targets if (value := self.assigned_value(target)) is not None]

    def _of_self(self, node: cst.Attribute) -> Possible | None:
        """What the class around assigns to an attribute of ``self``; None where it says nothing."""
        definition = self._class_around(node)
        if definition is None:
            return None
        targets = self._class_attributes(definition).get(node.attr.value, [])
        if targets:
            either = _either(map(self._bound_by, targets))
            return Possible(either.values, either.exact and len(targets) == 1)
        made = self._property(definition, node.attr.value)
        if made is not None:
            return self._returned(made)
        bases = [argument.value for argument in definition.bases]
        if node.attr.value == "device" and any(_MODULE_BASES.search(dotted_name(base) or "") for base in bases):
            return _one(Value(Kind.DEVICE))
        return None

    def _property(self, definition: cst.ClassDef, name: str) -> cst.FunctionDef | None:
        for statement in definition.body.body:
            if isinstance(statement, cst.FunctionDef) and statement.name.value == name:
                decorators = [dotted_name(decorator.decorator) for decorator in statement.decorators]
                return statement if decorators in (["property"], ["cached_property"]) else None
        return None

    def _class_around(self, node: cst.CSTNode) -> cst.ClassDef | None:
        return next((parent for parent in self.names.ancestors(node) if isinstance(parent, cst.ClassDef)), None)

    def _class_attributes(self, definition: cst.ClassDef) -> dict[str, list[cst.CSTNode]]:
        """The targets that bind each attribute of a class's instances."""
        if self._attributes is None:
            self._attributes = {}
            for node in self.names.every(cst.Attribute):
                if (
                    isinstance(node.value, cst.Name)
                    and node.value.value == "self"
                    and self._is_target(node)
                    and (owner := self._class_around(node)) is not None
                ):
                    self._attributes.setdefault(owner, {}).setdefault(node.attr.value, []).append(node)
            for owner in self.names.every(cst.ClassDef):
                for line in owner.body.body:
                    for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                        targets = [t.target for t in small.targets] if isinstance(small, cst.Assign) else []
                        if isinstance(small, cst.AnnAssign):
                            targets = [small.target]
                        for target in targets:
                            if isinstance(target, cst.Name):
                                found = self._attributes.setdefault(owner, {}).setdefault(target.value, [])
                                found.append(target)
        return self._attributes.get(definition, {})

    def _is_target(self, node: cst.CSTNode) -> bool:
        parent = self.names.parent(node)
        if isinstance(parent, (cst.Element, cst.StarredElement)):
            whole = self.names.parent(parent)
            return whole is not None and self._is_target(whole)
        return (
            isinstance(parent, (cst.AssignTarget, cst.AugAssign, cst.For, cst.AsName, cst.Del))
            and (not isinstance(parent, cst.For) or parent.target is node)
            or (isinstance(parent, cst.AnnAssign) and parent.target is node)
        )

    def _has_torch_device(self, node: cst.BaseExpression) -> bool:
        """Whether a value is a tensor or module, whose ``device`` is a ``torch.device`` and no string."""
        if isinstance(node, cst.Call):
            called = dotted_name(node.func) or ""
            return called == "next" or called.startswith("torch.")
        if isinstance(node, cst.Attribute):
            return bool(_MODELS.search(node.attr.value)) or node.attr.value in ("weight", "bias")
        if not isinstance(node, cst.Name) or node.value in ("self", "cls"):
            return False
        binding = self.names.binding(node)
        if binding is None or binding.imports:
            return False
        if node.value in _TENSORS or _MODELS.search(node.value) or self._is_forwarded(binding):
            return True
        if node.value.lower() in CONFIGURATION:
            return False
        for reference in binding.references:
            parent = self.names.parent(reference)
            if isinstance(parent, cst.Attribute) and parent.value is reference:
                call = self.names.parent(parent)
                known = TENSOR_METHODS if isinstance(call, cst.Call) and call.func is parent else _TENSOR_ATTRIBUTES
                if parent.attr.value in known:
                    return True
        return False

    def _is_forwarded(self, binding: Binding) -> bool:
        """Whether it is a parameter of a module's ``forward``."""
        owner = binding.scope.node
        return (
            isinstance(owner, cst.FunctionDef)
            and owner.name.value == "forward"
            and all(isinstance(node, cst.Param) for node in binding.others)
        )

    def _acts_as_device(self, node: cst.Name | cst.Attribute) -> bool:
        """Whether the code around reads ``type`` or ``index`` of what is named a device, whatever type that is."""
        name = dotted_name(node)
        if name is None or not self.is_named_device(node) or name in self._type_checked:
            return False
        owner = cst.ClassDef if name.startswith("self.") else cst.FunctionDef
        around = {parent for parent in self.names.ancestors(node) if isinstance(parent, owner)}
        return any(
            parent in around for reader in self._device_readers.get(name, ()) for parent in self.names.ancestors(reader)
        )

    @cached_property
    def _device_readers(self) -> dict[str, list[cst.Attribute]]:
        found: dict[str, list[cst.Attribute]] = {}
        for node in self.names.every(cst.Attribute):
            if node.attr.value in ("type", "index"):
                name = dotted_name(node.value)
                if name is not None:
                    found.setdefault(name, []).append(node)
        return found

    @cached_property
    def _type_checked(self) -> frozenset[str | None]:
        """What the document asks for its type, so that it may be of several."""
        return frozenset(
            dotted_name(node.args[0].value)
            for node in self.names.every(cst.Call)
            if isinstance(node.func, cst.Name)
            and node.func.value in ("isinstance", "hasattr", "type", "getattr")
            and node.args
        )

    # -- calls ---------------------------------------------------------------------------------------------------

    def _call(self, node: cst.Call) -> Possible:
        qualified = self.names.qualified(node.func)
        if qualified == {"torch.device"} and not self.names.ambiguous(node.func):
            return self._device(node)
        if qualified == {"torch.accelerator.current_accelerator"}:
            return Possible(frozenset(Value(Kind.DEVICE, text) for text in ("cuda", "mps", "xpu")), exact=False)
        if len(qualified) == 1 and (kind := _TORCH_CALLS.get(next(iter(qualified)))) is not None:
            return _one(Value(kind))
        binding = self.names.binding(node.func)
        if isinstance(node.func, cst.Attribute):
            if node.func.attr.value == "get" and node.args:
                return _either([self._looked_up(node.func.value), *(self.possible(a.value) for a in node.args[1:2])])
            if node.func.attr.value in _TRUTHS:
                return _one(Value(Kind.BOOL))
            if node.func.attr.value == "format" and (template := _text(node.func.value)) is not None:
                return _one(Value(Kind.STRING, _OPEN.sub("*", template)))
            return _one(Value(Kind.STRING)) if node.func.attr.value in _TEXTS else _UNKNOWN
        if not isinstance(node.func, cst.Name):
            return _UNKNOWN
        if binding is None:
            kind = _BUILTINS.get(node.func.value)
            if kind is Kind.STRING and len(node.args) == 1:
                return self._as_string(node.args[0].value)
            return _one(Value(kind)) if kind is not None else _UNKNOWN
        if len(binding.others) == 1 and not binding.imports and isinstance(binding.others[0], cst.FunctionDef):
            function = binding.others[0]
            return _UNKNOWN if function.decorators else self._returned(function)
        return _UNKNOWN

    def _device(self, call: cst.Call) -> Possible:
        """``torch.device("cuda", 0)`` and the like."""
        if not call.args or call.args[0].star:
            return _one(Value(Kind.DEVICE))
        texts: set[str | None] = set()
        first = self.possible(call.args[0].value)
        for value in first.values:
            text = value.text if value.kind in (Kind.STRING, Kind.DEVICE) else None
            texts.add(f"{text}:*" if len(call.args) > 1 and text is not None else text)
        return Possible(frozenset(Value(Kind.DEVICE, text) for text in texts), first.exact)

    def _as_string(self, node: cst.BaseExpression) -> Possible:
        """``str(device)``."""
        inner = self.possible(node)
        texts = {v.text if v.kind in (Kind.DEVICE, Kind.STRING) else None for v in inner.values}
        return Possible(frozenset(Value(Kind.STRING, text) for text in texts), inner.exact)

    def _returned(self, function: cst.FunctionDef) -> Possible:
        if function.asynchronous is not None:
            return _UNKNOWN
        returns: list[cst.BaseExpression | None] = []
        stack: list[cst.CSTNode] = [function.body]
        while stack:
            node = stack.pop()
            if isinstance(node, cst.Yield):
                return _UNKNOWN
            if isinstance(node, cst.Return):
                returns.append(node.value)
            if not isinstance(node, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
                stack.extend(children(node))
        if not returns:
            return _UNKNOWN
        return _either(self.possible(value) if value is not None else _one(Value(Kind.NONE)) for value in returns)

    # -- what a name tells ---------------------------------------------------------------------------------------

    def is_flag(self, node: cst.BaseExpression) -> bool:
        """Whether a value is a bool for certain, or by its name and by nothing that speaks against it."""
        possible = self.possible(node)
        if possible.certainly(Kind.BOOL):
            return True
        if not possible.kinds <= {Kind.BOOL, Kind.UNKNOWN, Kind.NONE}:
            return False
        name = dotted_name(node)
        if name is None:
            return False
        words = _words(name.rpartition(".")[2])
        if not words or _NO_FLAG_WORDS & set(words) or self._speaks_of_dtypes(node):
            return False
        if _FLAG_WORDS & set(words) or words[-1] in _FLAGS:
            return True
        return words[-1] in _PRECISION_FLAGS and self._is_tested(name)

    def _speaks_of_dtypes(self, node: cst.BaseExpression) -> bool:
        """Whether what is assigned to a name or attribute of ``self`` speaks of dtypes."""
        binding = self.names.binding(node) if isinstance(node, cst.Name) else None
        values = [self.assigned_value(target) for target in binding.others] if binding is not None else []
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self":
            values += self.assigned_to_self(node)
        found = (part for value in values if value is not None for part in within(value))
        return any(isinstance(part, cst.Name) and ("dtype" in part.value or part.value == "getattr") for part in found)

    def _is_tested(self, name: str) -> bool:
        """Whether what is written as ``name`` is a condition somewhere, or given as ``enabled``."""
        last = name.rpartition(".")[2]
        for node, parent in self.names.parents.items():
            if isinstance(node, (cst.Name, cst.Attribute)) and dotted_name(node) == name:
                if isinstance(parent, (cst.If, cst.IfExp)) and parent.test is node:
                    return True
                if isinstance(parent, cst.Arg) and parent.keyword is not None and parent.keyword.value == "enabled":
                    return True
                if isinstance(parent, (cst.UnaryOperation, cst.BooleanOperation)):
                    return True
            elif isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "action":
                call = parent
                texts = [_text(a.value) for a in call.args] if isinstance(call, cst.Call) else []
                if any(text and text.lstrip("-").replace("-", "_") == last for text in texts):
                    value = _text(node.value)
                    if value in ("store_true", "store_false"):
                        return True
        return False

    def is_scale(self, node: cst.BaseExpression) -> bool:
        """Whether a value is named as a loss scale, and nothing speaks against it."""
        name = dotted_name(node)
        words = _words(name.rpartition(".")[2]) if name is not None else []
        if "scale" not in words or {"device", "type"} & set(words):
            return False
        return self.possible(node).kinds <= {Kind.UNKNOWN, Kind.NUMBER, Kind.NONE}

    def is_device(self, node: cst.BaseExpression) -> bool:
        """Whether a value is a device, or a device's type: for certain, or by its name."""
        possible = self.possible(node)
        if possible.certainly(Kind.DEVICE):
            return True
        if possible.certainly(Kind.STRING) and all(v.text is None or names_device(v.text) for v in possible.values):
            return any(value.text is not None for value in possible.values) or self.is_named_device(node)
        return possible.kinds <= {Kind.UNKNOWN, Kind.NONE, Kind.DEVICE, Kind.STRING} and self.is_named_device(node)

    def is_named_device(self, node: cst.BaseExpression) -> bool:
        """``device``, ``self.device.type``, ``str(device)``: values named as a device."""
        if isinstance(node, cst.Call):
            if (dotted_name(node.func) or "").endswith("device"):
                return True
            return dotted_name(node.func) == "str" and len(node.args) == 1 and self.is_named_device(node.args[0].value)
        name = dotted_name(node)
        if name is None:
            return False
        words = _words(name.removesuffix(".type").rpartition(".")[2])
        return "device" in words or words == ["dev"]


#: Devices that PyTorch, or a package that plugs into it, knows.
DEVICE_TYPES = frozenset(
    "cpu cuda xpu mps hpu xla mtia ipu npu mlu musa privateuseone meta maia hip vulkan dml lazy".split()
)


def names_device(text: str) -> bool:
    """Whether a string names a device, with or without an index."""
    return text.partition(":")[0].lower() in DEVICE_TYPES


def _one(value: Value) -> Possible:
    return Possible(frozenset([value]))


def _either(many: Iterable[Possible]) -> Possible:
    every = list(many)
    if not every:
        return _UNKNOWN
    return Possible(frozenset().union(*(one.values for one in every)), all(one.exact for one in every))


def _several(many: Iterable[Possible]) -> Possible:
    """Values of which an annotation says that there are several: the code will tell them apart."""
    return Possible(_either(many).values, exact=False)


def _chains(node: cst.BaseExpression) -> Iterator[cst.Name | cst.Attribute]:
    return (part for part in within(node) if isinstance(part, (cst.Name, cst.Attribute)))


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.split(r"_+|(?<=[a-z])(?=[A-Z])", name) if word]


def _text(node: cst.BaseExpression) -> str | None:
    """What a string literal says, with ``*`` for what is put into it; None for anything else."""
    if isinstance(node, cst.SimpleString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    if isinstance(node, cst.ConcatenatedString):
        left, right = _text(node.left), _text(node.right)
        return left + right if left is not None and right is not None else None
    if isinstance(node, cst.FormattedString):
        return "".join(p.value if isinstance(p, cst.FormattedStringText) else "*" for p in node.parts)
    return None
