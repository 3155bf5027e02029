"""Code that picks an API by what the installed torch offers: import shims and version gates.

Both arms of a gate are right as they stand, so the old name in one of them is no fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from amplint.syntax.names import Binding, Names, child_fields

_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "AttributeError"}
_SHIM_ERRORS = _IMPORT_ERRORS | {"TypeError"}  # GradScaler("cuda") is a TypeError where its order is the old one
_ANY_ERROR = {"Exception", "BaseException"}

_VERSION_WORDS = set(
    "version ver versions major minor ge geq gt gte le leq lt lte eq greater less least atleast newer older".split()
)
_VERSION_NAMES = {"torch.__version__", "torch.version.__version__", "torch.torch_version.TorchVersion"}
_AMP_WORD = re.compile(r"amp|autocast|GradScaler|custom_(?:f|b)wd", re.IGNORECASE)
_REQUIREMENT = re.compile(r"(?:py)?torch\s*[<>=~!]")
_INTROSPECTION = {"hasattr", "getattr", "dir", "vars", "signature", "getfullargspec"}


class Gates:
    """The gates of a document."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._tests: dict[cst.CSTNode, bool] = {}
        self._held: dict[Binding, bool] = {}
        self._attributes: frozenset[str] | None = None

    def gated(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` stands in an arm of a gate, in its test, or after one that left early."""
        crossed = False  # whether a function lies between the node and the ancestor
        child = node
        for parent in self.names.ancestors(node):
            if isinstance(parent, (cst.If, cst.IfExp)):
                if self.is_gate(parent.test):
                    return True
            elif isinstance(parent, cst.BooleanOperation):
                if self.is_gate(parent.left if child is parent.right else parent.right):
                    return True
            elif isinstance(parent, cst.Call):
                if self._looks_into_torch(parent):
                    return True
            elif isinstance(parent, (cst.Try, cst.TryStar)):
                if self._shim(parent, child, node, crossed):
                    return True
            elif isinstance(parent, (cst.IndentedBlock, cst.Module)):
                if self._after_early_exit(parent, child):
                    return True
            elif isinstance(parent, (cst.FunctionDef, cst.Lambda)):
                crossed = True
            child = parent
        return False

    # -- tests ---------------------------------------------------------------------------------------------------

    def is_gate(self, test: cst.BaseExpression) -> bool:
        """Whether ``test`` asks which torch is installed, or whether it has some AMP name."""
        known = self._tests.get(test)
        if known is None:
            self._tests[test] = False  # a name that is assigned from itself asks nothing more
            known = self._tests[test] = any(map(self._asks, _within(test)))
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
                for node in _within(definition.body):
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
        for parent in self.names.ancestors(target):
            if isinstance(parent, (cst.Assign, cst.AnnAssign, cst.NamedExpr)):
                if parent.value is None:
                    return False
                return self.is_gate(parent.value) or (_is_constant(parent.value) and self._flags_shim(parent))
            if not isinstance(parent, (cst.AssignTarget, cst.Tuple, cst.List, cst.Element)):
                return False
        return False

    def _flags_shim(self, assignment: cst.CSTNode) -> bool:
        """``HAS_AMP = True`` beside the import that may fail."""
        for parent in self.names.ancestors(assignment):
            if isinstance(parent, (cst.Try, cst.TryStar)):
                return bool(_caught(parent) & _IMPORT_ERRORS) and any(
                    isinstance(node, (cst.Attribute, cst.ImportFrom, cst.Import)) and _mentions_amp(node)
                    for node in _within(parent.body)
                )
            if isinstance(parent, (cst.FunctionDef, cst.ClassDef)):
                return False
        return False

    def _gate_attributes(self) -> frozenset[str]:
        """Attributes such as ``self.new_api`` that are assigned the answer of a gate somewhere in the document."""
        if self._attributes is None:
            self._attributes = frozenset()
            self._attributes = frozenset(
                target.target.attr.value
                for node in list(self.names.parents)
                if isinstance(node, cst.Assign) and self.is_gate(node.value)
                for target in node.targets
                if isinstance(target.target, cst.Attribute)
            )
            self._tests.clear()  # answers given while the attributes were unknown
            self._held.clear()
        return self._attributes

    # -- statements ----------------------------------------------------------------------------------------------

    def _shim(self, statement: cst.Try | cst.TryStar, arm: cst.CSTNode, node: cst.CSTNode, crossed: bool) -> bool:
        if arm is statement.finalbody:
            return False
        caught = _caught(statement)
        if isinstance(node, (cst.Import, cst.ImportFrom)):
            return bool(caught & (_IMPORT_ERRORS | _ANY_ERROR)) and (arm is not statement.body or not crossed)
        if arm is statement.body or arm is statement.orelse:
            return not crossed and bool(caught & _IMPORT_ERRORS)
        if caught & _SHIM_ERRORS:
            return True
        return any(
            isinstance(inner, (cst.Attribute, cst.ImportFrom)) and _mentions_amp(inner)
            for inner in _within(statement.body)
        )

    def _after_early_exit(self, block: cst.IndentedBlock | cst.Module, child: cst.CSTNode) -> bool:
        for statement in block.body:
            if statement is child:
                return False
            if isinstance(statement, cst.If) and _arm_leaves(statement) and self.is_gate(statement.test):
                return True
        return False


def _within(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        for name in child_fields(type(current)):
            value = getattr(current, name)
            if isinstance(value, cst.CSTNode):
                stack.append(value)
            elif isinstance(value, (tuple, list)):
                stack.extend(value)


def _texts(call: cst.Call) -> list[str]:
    """The string literals among the arguments."""
    values = (argument.value for argument in call.args)
    return [value.raw_value for value in values if isinstance(value, cst.SimpleString)]


def _speaks_of_version(name: str) -> bool:
    """``TORCH_VERSION``, ``is_torch_2_4``, ``torch_greater_equal``, but not ``torch_dtype``."""
    if "torchver" in name.lower():
        return True
    words = [word.lower() for word in re.split(r"_+|(?<=[a-z])(?=[A-Z])", name) if word]
    stems = [word.rstrip("0123456789") for word in words]
    if not {"torch", "pytorch"} & set(stems):
        return False
    return any(word in _VERSION_WORDS or word[-1].isdigit() for word in words)


def _mentions_amp(node: cst.CSTNode) -> bool:
    return any(isinstance(inner, cst.Name) and _AMP_WORD.search(inner.value) for inner in _within(node))


def _is_constant(value: cst.BaseExpression) -> bool:
    return isinstance(value, (cst.Name, cst.Integer)) and value.value in ("True", "False", "None", "0", "1")


def _caught(statement: cst.Try | cst.TryStar) -> set[str]:
    """The names of the exceptions that the handlers catch; a bare ``except`` catches everything."""
    names: set[str] = set()
    for handler in statement.handlers:
        if handler.type is None:
            names.add("BaseException")
            continue
        elements = handler.type.elements if isinstance(handler.type, cst.Tuple) else [cst.Element(handler.type)]
        names.update(element.value.value for element in elements if isinstance(element.value, cst.Name))
    return names


def _arm_leaves(statement: cst.If) -> bool:
    """Whether an arm returns or goes on with the next iteration. One that raises only states a requirement."""
    arm: cst.BaseSuite | cst.If | None = statement.body
    while arm is not None:
        body = arm.body if isinstance(arm, (cst.IndentedBlock, cst.SimpleStatementSuite)) else ()
        last = body[-1] if body else None
        if isinstance(last, cst.SimpleStatementLine):
            last = last.body[-1]
        if isinstance(last, (cst.Return, cst.Continue, cst.Break)):
            return True
        orelse = statement.orelse
        if isinstance(orelse, cst.If):
            statement, arm = orelse, orelse.body
        elif isinstance(orelse, cst.Else) and arm is not orelse.body:
            arm = orelse.body
        else:
            arm = None
    return False
