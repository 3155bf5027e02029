"""Code that picks an API by what the installed torch offers: import shims and version gates.

An old name is no fault where it is reached only by a torch that lacks the new one, or where its absence is provided
for. In the arm of a version gate that a torch of today takes it is a fault like any other, but one that cannot be
mended there: older versions take that arm too.
"""

from __future__ import annotations

import enum
import itertools
import re

import libcst as cst

from amplint.syntax.enclosing import leaves, raises, statements_before
from amplint.syntax.names import Binding, Names, dotted_name, module_of, within

_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "AttributeError"}
_SHIM_ERRORS = _IMPORT_ERRORS | {"TypeError"}  # GradScaler("cuda") is a TypeError where its order is the old one
_ANY_ERROR = {"Exception", "BaseException"}

_VERSION_WORDS = set(
    "version ver versions major minor ge geq gt gte le leq lt lte eq greater less least atleast newer older".split()
)
_EITHER = frozenset([True, False])
_OPERATORS = {
    ">=": True,
    ">": True,
    "ge": True,
    "gt": True,
    "<=": False,
    "<": False,
    "le": False,
    "lt": False,
    "==": False,
}
_ABOVE: dict[type, bool] = {
    cst.GreaterThan: True,
    cst.GreaterThanEqual: True,
    cst.LessThan: False,
    cst.LessThanEqual: False,
    cst.Equal: False,
    cst.NotEqual: True,
}
_BELOW: dict[type, bool] = {
    cst.GreaterThan: False,
    cst.GreaterThanEqual: False,
    cst.LessThan: True,
    cst.LessThanEqual: True,
    cst.Equal: False,
    cst.NotEqual: True,
}
_UPWARDS = set("ge geq gt gte greater least atleast newer".split())
_DOWNWARDS = set("le leq lt lte less older".split())
_VERSION_NAMES = {"torch.__version__", "torch.version.__version__", "torch.torch_version.TorchVersion"}
_AMP_WORD = re.compile(r"amp|autocast|GradScaler|custom_(?:f|b)wd", re.IGNORECASE)
_REQUIREMENT = re.compile(r"(?:py)?torch\s*[<>=~!]")
_INTROSPECTION = {"hasattr", "getattr", "dir", "vars", "signature", "getfullargspec"}


class Gate(enum.Enum):
    """How code depends on the installed torch."""

    RIGHT = "an old name is right here: today's torch does not come by, or it may be missing"
    LIVE = "today's torch comes by, and older ones as well"


class Gates:
    """The gates of a document."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._tests: dict[cst.CSTNode, bool] = {}
        self._nodes: dict[cst.CSTNode, Gate | None] = {}
        self._held: dict[Binding, bool] = {}
        self._attributes: frozenset[str] | None = None

    def gate(self, node: cst.CSTNode) -> Gate | None:
        """How ``node`` is gated: by the arm it stands in, by a test around it, or by one that left early."""
        if node not in self._nodes:
            self._nodes[node] = self._gate(node)
        return self._nodes[node]

    def _gate(self, node: cst.CSTNode) -> Gate | None:
        found: Gate | None = None
        crossed = False  # whether a function lies between the node and the ancestor
        child = node
        for parent in self.names.ancestors(node):
            gate: Gate | None = None
            if isinstance(parent, (cst.If, cst.IfExp)):
                if self.is_gate(parent.test):
                    gate = self._arm(parent.test, None if child is parent.test else child is parent.body)
            elif isinstance(parent, cst.BooleanOperation):
                if self.is_gate(parent.left if child is parent.right else parent.right):
                    gate = Gate.RIGHT
            elif isinstance(parent, cst.Call):
                gate = Gate.RIGHT if self._looks_into_torch(parent) else None
            elif isinstance(parent, (cst.Try, cst.TryStar)):
                gate = Gate.RIGHT if self._shim(parent, child, node, crossed) else None
            elif isinstance(parent, (cst.IndentedBlock, cst.Module)):
                gate = self._after_early_exit(parent, child)
            elif isinstance(parent, (cst.FunctionDef, cst.Lambda)):
                crossed = True
            if gate is Gate.RIGHT:
                return gate
            found = found or gate
            child = parent
        return found

    def _arm(self, test: cst.BaseExpression, arm: bool | None) -> Gate:
        """The gate that the arm for the truth ``arm`` of ``test`` is; None for the test itself."""
        outcomes = self._outcomes(test)
        if arm is None or outcomes is None or arm not in outcomes:
            return Gate.RIGHT
        return Gate.LIVE

    def _outcomes(self, test: cst.BaseExpression) -> frozenset[bool] | None:
        """The truths that ``test`` can have with a torch of today; None where it is not plain what it asks."""
        if not self.is_gate(test):
            return _EITHER
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            inner = self._outcomes(test.expression)
            return None if inner is None else frozenset(not truth for truth in inner)
        if isinstance(test, cst.BooleanOperation):
            left, right = self._outcomes(test.left), self._outcomes(test.right)
            if left is None or right is None:
                return None
            join = all if isinstance(test.operator, cst.And) else any
            return frozenset(join(pair) for pair in itertools.product(left, right))
        if isinstance(test, cst.Comparison):
            return self._compared(test)
        if isinstance(test, (cst.Name, cst.Attribute)):
            return self._held_outcomes(test)
        if isinstance(test, cst.Call):
            return self._called_outcomes(test)
        return None

    def _compared(self, test: cst.Comparison) -> frozenset[bool] | None:
        """Today's version is taken to be above every version that a test names."""
        truths: list[bool] = []
        left = test.left
        for target in test.comparisons:
            right = target.comparator
            ours, theirs = self._tells_version(left), self._tells_version(right)
            above = _ABOVE.get(type(target.operator)) if ours else _BELOW.get(type(target.operator))
            if ours == theirs or above is None:
                return None
            truths.append(above)
            left = right
        return frozenset([all(truths)])

    def _tells_version(self, node: cst.BaseExpression) -> bool:
        """Whether a side of a comparison is the installed version, not one that is named."""
        return self.is_gate(node)

    def _held_outcomes(self, node: cst.Name | cst.Attribute) -> frozenset[bool] | None:
        """What a name tells by itself, as ``is_torch_greater_or_equal_than_2_0`` does, or by what it is assigned."""
        told = _told_by(node.attr.value if isinstance(node, cst.Attribute) else node.value)
        if told is not None:
            return told
        binding = self.names.binding(node) if isinstance(node, cst.Name) else None
        if binding is None or len(binding.others) != 1 or binding.imports:
            return None
        assignment = self.names.parent(self.names.parents[binding.others[0]])
        value = assignment.value if isinstance(assignment, cst.Assign) else None
        return self._outcomes(value) if value is not None and value is not node else None

    def _called_outcomes(self, call: cst.Call) -> frozenset[bool] | None:
        operators = [_OPERATORS[text] for text in _texts(call) if text in _OPERATORS]
        if len(operators) == 1:
            return frozenset(operators)
        told = _told_by(self._function_name(call) or "")
        if told is not None:
            return told
        binding = self.names.binding(call.func) if isinstance(call.func, cst.Name) else None
        if binding is None or len(binding.others) != 1 or not isinstance(binding.others[0], cst.FunctionDef):
            return None
        values = [
            node.value
            for node in within(binding.others[0].body)
            if isinstance(node, cst.Return) and node.value is not None
        ]
        return self._outcomes(values[0]) if len(values) == 1 else None

    # -- tests ---------------------------------------------------------------------------------------------------

    def is_gate(self, test: cst.BaseExpression) -> bool:
        """Whether ``test`` asks which torch is installed, or whether it has some AMP name."""
        known = self._tests.get(test)
        if known is None:
            self._tests[test] = False  # a name that is assigned from itself asks nothing more
            known = self._tests[test] = any(map(self._asks, within(test)))
        return known

    def _asks(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Call):
            return self._asks_torch(node) or self._returns_gate(node)
        if isinstance(node, cst.Name):
            return _speaks_of_version(node.value) or self._holds_gate(node)
        if isinstance(node, cst.Attribute):
            if _speaks_of_version(node.attr.value) or self.names.qualified(node) & _VERSION_NAMES:
                return True
            return node.attr.value in self._gate_attributes() and not self.names.qualified(node)
        return False

    def _asks_torch(self, call: cst.Call) -> bool:
        """``version("torch")``, ``is_installed("torch>=2.4")``, ``find_spec("torch.amp")``."""
        function = (self._function_name(call) or "").lower()
        for text in _texts(call):
            if _REQUIREMENT.match(text) or (text in ("torch", "pytorch") and "version" in function):
                return True
            if function == "find_spec" and text.startswith("torch.") and _AMP_WORD.search(text):
                return True
        return self._looks_into_torch(call)

    def _looks_into_torch(self, call: cst.Call) -> bool:
        """``hasattr(torch.amp, "GradScaler")``, ``getattr`` with a default, and the like."""
        function = self._function_name(call)
        if function not in _INTROSPECTION or not call.args or (function == "getattr" and len(call.args) < 3):
            return False
        about = self.names.qualified(call.args[0].value)
        return any(
            name.split(".")[0] == "torch" and any(map(_AMP_WORD.search, [name, *_texts(call)])) for name in about
        )

    def _function_name(self, call: cst.Call) -> str | None:
        if isinstance(call.func, cst.Attribute):
            return call.func.attr.value
        return call.func.value if isinstance(call.func, cst.Name) else None

    def _returns_gate(self, call: cst.Call) -> bool:
        binding = self.names.binding(call.func) if isinstance(call.func, cst.Name) else None
        for definition in binding.others if binding else ():
            if isinstance(definition, cst.FunctionDef):
                for node in within(definition.body):
                    if isinstance(node, cst.Return) and node.value is not None and self.is_gate(node.value):
                        return True
        return False

    def _holds_gate(self, node: cst.Name) -> bool:
        """Whether a name was assigned the answer of a gate."""
        binding = self.names.binding(node)
        if binding is None or binding.imports:
            return False
        known = self._held.get(binding)
        if known is None:
            self._held[binding] = False
            known = self._held[binding] = any(map(self._binds_gate, binding.others))
        return known

    def _binds_gate(self, target: cst.CSTNode) -> bool:
        parts = (cst.AssignTarget, cst.Tuple, cst.List, cst.Element)
        holder = next(parent for parent in self.names.ancestors(target) if not isinstance(parent, parts))
        value = holder.value if isinstance(holder, (cst.Assign, cst.AnnAssign, cst.NamedExpr)) else None
        if value is None:
            return False
        return self.is_gate(value) or (_is_constant(value) and self._flags_shim(holder))

    def _flags_shim(self, assignment: cst.CSTNode) -> bool:
        """``HAS_AMP = True`` beside the import that may fail."""
        for parent in self.names.ancestors(assignment):
            if isinstance(parent, (cst.Try, cst.TryStar)):
                return bool(_caught(parent) & _IMPORT_ERRORS) and self._tries_amp(parent)
            if isinstance(parent, (cst.FunctionDef, cst.ClassDef)):
                return False
        return False

    def _tries_amp(self, statement: cst.Try | cst.TryStar) -> bool:
        """Whether the body of a ``try`` imports or reaches AMP names of torch."""
        for node in within(statement.body):
            if isinstance(node, cst.ImportFrom):
                names = (
                    [] if isinstance(node.names, cst.ImportStar) else [dotted_name(a.name) or "" for a in node.names]
                )
                if module_of(node).split(".")[0] == "torch" and any(map(_AMP_WORD.search, [module_of(node), *names])):
                    return True
            elif isinstance(node, cst.Import):
                modules = [dotted_name(alias.name) or "" for alias in node.names]
                if any(module.startswith("torch.") and _AMP_WORD.search(module) for module in modules):
                    return True
            elif isinstance(node, cst.Attribute):
                if any(name.startswith("torch.") and _AMP_WORD.search(name) for name in self.names.qualified(node)):
                    return True
        return False

    def _gate_attributes(self) -> frozenset[str]:
        """Attributes such as ``self.new_api`` that are assigned the answer of a gate somewhere in the document."""
        if self._attributes is None:
            self._attributes = frozenset()
            self._attributes = frozenset(
                target.target.attr.value
                for node in self.names.every(cst.Assign)
                if self.is_gate(node.value)
                for target in node.targets
                if isinstance(target.target, cst.Attribute)
            )
            self._tests.clear()  # answers given while the attributes were unknown
            self._held.clear()
        return self._attributes

    # -- statements ----------------------------------------------------------------------------------------------

    def _shim(self, statement: cst.Try | cst.TryStar, arm: cst.CSTNode, node: cst.CSTNode, crossed: bool) -> bool:
        """Whether a ``try`` provides for an AMP name that torch lacks, and ``node`` stands where it does.

        What stands in a function inside its body runs later, when nothing is caught any more.
        """
        if arm is statement.finalbody or not self._tries_amp(statement):
            return False
        caught = _caught(statement)
        if isinstance(node, (cst.Import, cst.ImportFrom)):
            return bool(caught & (_IMPORT_ERRORS | _ANY_ERROR)) and (arm is not statement.body or not crossed)
        if arm is statement.body or arm is statement.orelse:
            return not crossed and bool(caught & _IMPORT_ERRORS)
        return bool(caught & (_SHIM_ERRORS | _ANY_ERROR))

    def _after_early_exit(self, block: cst.IndentedBlock | cst.Module, child: cst.CSTNode) -> Gate | None:
        """The gate that the statements after ``if new: return ...`` stand in."""
        found: Gate | None = None
        for statement in statements_before(block, child):
            if isinstance(statement, cst.If) and self.is_gate(statement.test):
                left = [
                    leaves(statement.body, raising=False),
                    isinstance(statement.orelse, cst.Else) and leaves(statement.orelse.body, raising=False),
                ]
                if isinstance(statement.orelse, cst.If):
                    gate = Gate.RIGHT if left[0] or _any_arm_leaves(statement.orelse) else None
                elif left[0] or left[1]:
                    gate = self._arm(statement.test, not left[0])
                else:
                    gate = None
                if gate is Gate.RIGHT:
                    return gate
                found = found or gate
        return found


def absence_is_provided_for(names: Names, node: cst.CSTNode) -> bool:
    """Whether ``node`` stands in the body of a ``try`` that goes on where a name is missing.

    A handler that ends by raising only says in other words that it is missing.
    """
    child = node
    for parent in names.ancestors(node):
        if isinstance(parent, (cst.Try, cst.TryStar)) and child is parent.body:
            for handler in parent.handlers:
                if _caught_by(handler) & (_IMPORT_ERRORS | _ANY_ERROR):
                    return not raises(handler.body)
        if isinstance(parent, (cst.FunctionDef, cst.Lambda)):
            return False
        child = parent
    return False


def is_for_types_only(names: Names, node: cst.CSTNode) -> bool:
    """Whether ``node`` stands under ``if TYPE_CHECKING:``, where nothing runs."""
    child = node
    for parent in names.ancestors(node):
        if isinstance(parent, cst.If) and child is parent.body:
            if (dotted_name(parent.test) or "").endswith("TYPE_CHECKING"):
                return True
        child = parent
    return False


def _texts(call: cst.Call) -> list[str]:
    """The string literals among the arguments."""
    values = (argument.value for argument in call.args)
    return [value.raw_value for value in values if isinstance(value, cst.SimpleString)]


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.split(r"_+|(?<=[a-z])(?=[A-Z])", name) if word]


def _speaks_of_version(name: str) -> bool:
    """``TORCH_VERSION``, ``is_torch_2_4``, ``torch_greater_equal``, but not ``torch_dtype``."""
    if "torchver" in name.lower():
        return True
    words = _words(name)
    stems = [word.rstrip("0123456789") for word in words]
    if not {"torch", "pytorch"} & set(stems):
        return False
    return any(word in _VERSION_WORDS or word[-1].isdigit() for word in words)


def _told_by(name: str) -> frozenset[bool] | None:
    """The truth today of a flag or function that says what it asks of the version of torch."""
    if not _speaks_of_version(name):
        return None
    words = set(_words(name))
    if bool(words & _UPWARDS) == bool(words & _DOWNWARDS):
        return None
    return frozenset([bool(words & _UPWARDS)])


def _is_constant(value: cst.BaseExpression) -> bool:
    return isinstance(value, (cst.Name, cst.Integer)) and value.value in ("True", "False", "None", "0", "1")


def _caught(statement: cst.Try | cst.TryStar) -> set[str]:
    """The names of the exceptions that the handlers catch; a bare ``except`` catches everything."""
    return set().union(*map(_caught_by, statement.handlers))


def _caught_by(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> set[str]:
    if handler.type is None:
        return {"BaseException"}
    elements = handler.type.elements if isinstance(handler.type, cst.Tuple) else [cst.Element(handler.type)]
    return {element.value.value for element in elements if isinstance(element.value, cst.Name)}


def _any_arm_leaves(statement: cst.If) -> bool:
    arm: cst.If | cst.Else | None = statement
    while isinstance(arm, cst.If):
        if leaves(arm.body, raising=False):
            return True
        arm = arm.orelse
    return arm is not None and leaves(arm.body, raising=False)
