"""Whether code runs only with a torch that has some name: by a test for it, for its version, or by what it catches.

A test that lets a torch without the name pass protects nothing: ``hasattr(torch, "amp")`` is true since long before
``torch.amp.GradScaler``. What a test asks for and cannot be understood is taken to protect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

import libcst as cst

from amplint.syntax.enclosing import expects_failure, leaves, statements_before
from amplint.syntax.gates import Gates, is_for_types_only
from amplint.syntax.names import Binding, Names, dotted_name, within

Version: TypeAlias = tuple[int, int]

_ABOVE = {cst.GreaterThan: 1, cst.GreaterThanEqual: 0}
_BELOW = {cst.LessThan: 0, cst.LessThanEqual: 1}
_MISSING = frozenset(  # TypeError comes from names that took no device at first
    {"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "Exception", "BaseException"}
)
_NEWER_DEVICES = frozenset({"hpu", "xpu", "mtia", "fsdp2"})
_VERSION = re.compile(r"(?<!\d)(\d+)\.(\d+)")
_IN_NAME = re.compile(r"(?<!\d)(\d)[_.]?(\d{1,2})(?!\d)")
_OPERATORS = {">=": (True, 0), ">": (True, 1), "ge": (True, 0), "gt": (True, 1), "<": (False, 0), "<=": (False, 1)}


class Availability:
    """Judges the places of one document; ``since`` says with which torch a name came."""

    def __init__(self, names: Names, gates: Gates, since: Mapping[str, Version]) -> None:
        self.names, self.gates, self.since = names, gates, since

    def protected(self, node: cst.CSTNode, needed: Version, depth: int = 0) -> bool:
        """Whether ``node`` is reached only with a torch of at least ``needed``, as far as can be seen."""
        if is_for_types_only(self.names, node) or expects_failure(self.names, node):
            return True
        child = node
        crossed = False
        for parent in self.names.ancestors(node):
            if isinstance(parent, (cst.If, cst.IfExp)):
                if child is not parent.test and self.guards(parent.test, child is parent.body, needed):
                    return True
            elif isinstance(parent, cst.BooleanOperation):
                if child is parent.right and self.guards(parent.left, isinstance(parent.operator, cst.And), needed):
                    return True
            elif isinstance(parent, (cst.Try, cst.TryStar)):
                if self._caught(parent, child, crossed):
                    return True
            elif isinstance(parent, (cst.IndentedBlock, cst.Module)):
                if self._after(parent, child, needed):
                    return True
            elif isinstance(parent, cst.Annotation):
                return True  # it may never be evaluated
            elif isinstance(parent, cst.FunctionDef):
                crossed = True
                if self._decorated(parent) or self._reached_by_gates(parent, needed, depth):
                    return True
            elif isinstance(parent, cst.ClassDef):
                if self._decorated(parent):
                    return True
            elif isinstance(parent, cst.Lambda):
                crossed = True
            child = parent
        return False

    # -- places --------------------------------------------------------------------------------------------------

    def _caught(self, statement: cst.Try | cst.TryStar, arm: cst.CSTNode, crossed: bool) -> bool:
        """A ``try`` whose handlers answer for what is missing, in any of its parts."""
        answers = any(_answers(handler) for handler in statement.handlers)
        if arm is statement.body:
            return answers and not crossed
        return answers and arm is not statement.finalbody

    def _decorated(self, definition: cst.FunctionDef | cst.ClassDef) -> bool:
        """``@pytest.mark.skipif(torch.__version__ < ...)``, ``@requires_torch_2_3``."""
        return any(self.gates.is_gate(decorator.decorator) for decorator in definition.decorators)

    def _reached_by_gates(self, function: cst.FunctionDef, needed: Version, depth: int) -> bool:
        """Whether every use of a function in the document is protected."""
        binding = self.names.bound(function)
        if binding is None or not binding.references or binding.scope.kind == "class" or depth > 3:
            return False
        return all(self.protected(reference, needed, depth + 1) for reference in binding.references)

    def _after(self, block: cst.IndentedBlock | cst.Module, child: cst.CSTNode, needed: Version) -> bool:
        """Whether a statement before ``child`` lets only newer versions go on."""
        for statement in statements_before(block, child):
            if isinstance(statement, cst.If):
                if leaves(statement.body) and self.guards(statement.test, False, needed):
                    return True
                if isinstance(statement.orelse, cst.Else) and leaves(statement.orelse.body):
                    if self.guards(statement.test, True, needed):
                        return True
            for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
                if isinstance(small, cst.Assert) and self.guards(small.test, True, needed):
                    return True
                value = small.value if isinstance(small, (cst.Expr, cst.Assign)) else None
                if isinstance(value, cst.Call) and self._requires(value, needed):
                    return True
        return False

    def _requires(self, call: cst.Call, needed: Version) -> bool:
        """``pytest.importorskip("torch", "2.3")``, ``require_version("torch>=2.3")``, ``pytestmark = skipif(...)``."""
        name = (dotted_name(call.func) or "").rpartition(".")[2]
        texts = _texts(call)
        if name in ("skipif", "skipIf", "skipUnless"):
            return any(self.gates.is_gate(argument.value) for argument in call.args)
        if not any(text.startswith(("torch", "pytorch")) for text in texts):
            return False
        versions = [version for text in texts if (version := _version(text)) is not None]
        return bool(versions) and max(versions) >= needed

    # -- tests ---------------------------------------------------------------------------------------------------

    def guards(self, test: cst.BaseExpression, truth: bool, needed: Version) -> bool:
        """Whether ``test`` comes out as ``truth`` only with a torch of at least ``needed``."""
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self.guards(test.expression, not truth, needed)
        if isinstance(test, cst.BooleanOperation):
            sides = (self.guards(side, truth, needed) for side in (test.left, test.right))
            return any(sides) if isinstance(test.operator, cst.And) is truth else all(sides)
        if isinstance(test, cst.NamedExpr):
            return self.guards(test.value, truth, needed)
        if not self.gates.is_gate(test):
            return self._looks_into_torch(test)
        if isinstance(test, cst.Comparison):
            return self._compares(test, truth, needed)
        if isinstance(test, cst.Call):
            return self._asks(test, truth, needed)
        if isinstance(test, (cst.Name, cst.Attribute)):
            return self._held(test, truth, needed)
        return True

    def _looks_into_torch(self, test: cst.BaseExpression) -> bool:
        """``hasattr(torch, "accelerator")``, ``is_xpu_available()``: what came with some newer torch."""
        for node in within(test):
            if isinstance(node, cst.Name) and _NEWER_DEVICES & set(node.value.lower().split("_")):
                return True
            if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "hasattr":
                about = self.names.qualified(node.args[0].value) if node.args else ()
                if any(name.split(".")[0] == "torch" for name in about):
                    return True
        return False

    def _compares(self, test: cst.Comparison, truth: bool, needed: Version) -> bool:
        if len(test.comparisons) != 1:
            return True
        operator, right = test.comparisons[0].operator, test.comparisons[0].comparator
        above, below = _ABOVE.get(type(operator)), _BELOW.get(type(operator))
        named = _named_version(right)
        if named is None:
            named = _named_version(test.left)
            above, below = below, above  # it stands on the left
            if above is not None:
                above = 1 - above  # "2.2" < torch: above it, "2.3" <= torch: from it on
            if below is not None:
                below = 1 - below
        if named is None or (above is None and below is None):
            return True
        if truth:
            return above is not None and _next(named, above) >= needed
        return below is not None and _next(named, below) >= needed

    def _asks(self, call: cst.Call, truth: bool, needed: Version) -> bool:
        function = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
        name = function.value if isinstance(function, cst.Name) else ""
        texts = _texts(call)
        if name == "hasattr" and len(call.args) == 2 and texts:
            asked = {f"{module}.{texts[0]}" for module in self.names.qualified(call.args[0].value)}
            known = [self.since[one] for one in asked if one in self.since]
            if known:
                return truth and min(known) >= needed
            return bool(asked) and not all(one.endswith(".amp") or ".cuda.amp" in one for one in asked)
        if name == "find_spec":
            return False
        versions = [version for text in texts if (version := _version(text)) is not None]
        if len(versions) == 1:
            upwards, step = next((_OPERATORS[text] for text in texts if text in _OPERATORS), (None, 0))
            if upwards is not None:
                return upwards is truth and _next(versions[0], step) >= needed
            return not truth or versions[0] >= needed
        binding = self.names.binding(call.func) if isinstance(call.func, cst.Name) else None
        if binding is not None and len(binding.others) == 1 and isinstance(binding.others[0], cst.FunctionDef):
            returned = [n.value for n in within(binding.others[0].body) if isinstance(n, cst.Return)]
            if len(returned) == 1 and returned[0] is not None:
                return self.guards(returned[0], truth, needed)
        return True

    def _held(self, node: cst.Name | cst.Attribute, truth: bool, needed: Version) -> bool:
        """A name that was assigned the answer of a test, that flags an import, or that says what it asks."""
        binding = self.names.binding(node) if isinstance(node, cst.Name) else None
        if binding is not None and not binding.imports:
            flagged = self._flagged(binding, truth, needed)
            if flagged is not None:
                return flagged
            if len(binding.others) == 1:
                parent = self.names.parent(self.names.parents[binding.others[0]])
                if isinstance(parent, cst.Assign) and parent.value is not node:
                    return self.guards(parent.value, truth, needed)
            return True
        name = (dotted_name(node) or "").rpartition(".")[2]
        told = _IN_NAME.search(name)
        if told is None or not re.search(r"(?i)ge|gt|greater|at_?least|min|newer", name):
            return True
        return truth and (int(told[1]), int(told[2])) >= needed

    def _flagged(self, binding: Binding, truth: bool, needed: Version) -> bool | None:
        """``HAS_AMP = True`` beside an import that may fail; None where the name is no such flag."""
        for target in binding.others:
            statement = self.names.parent(self.names.parents[target])
            if not isinstance(statement, cst.Assign) or not isinstance(statement.value, cst.Name):
                continue
            child: cst.CSTNode = statement
            for parent in self.names.ancestors(statement):
                if isinstance(parent, (cst.Try, cst.TryStar)) and child is parent.body:
                    tried = [self.since[name] for name in self._tried(parent) if name in self.since]
                    if statement.value.value not in ("True", "False"):
                        return True
                    return (statement.value.value == "True") is truth and max(tried, default=(0, 0)) >= needed
                child = parent
        return None

    def _tried(self, statement: cst.Try | cst.TryStar) -> set[str]:
        """The dotted names that the body of a ``try`` imports or reaches."""
        found: set[str] = set()
        for node in within(statement.body):
            if isinstance(node, (cst.Name, cst.Attribute)):
                found |= self.names.qualified(node)
        found.update(
            imported.qualified
            for imported in self.names.imports
            if any(parent is statement.body for parent in self.names.ancestors(imported.statement))
        )
        return found


def _answers(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    """Whether a handler catches what a missing name raises."""
    if handler.type is None:
        return True
    return any(isinstance(node, cst.Name) and node.value in _MISSING for node in within(handler.type))


def _named_version(node: cst.BaseExpression) -> Version | None:
    """The version that a side of a comparison names: ``"2.3"``, ``Version("2.3")``, ``(2, 3)``, ``[2, 3]``, ``2``."""
    if isinstance(node, cst.SimpleString):
        text = str(node.raw_value)
        return (int(text), 0) if text.isdigit() else _version(text)
    if isinstance(node, cst.Call) and len(node.args) == 1 and isinstance(node.args[0].value, cst.SimpleString):
        return _version(str(node.args[0].value.raw_value))
    if isinstance(node, (cst.Tuple, cst.List)) and len(node.elements) >= 2:
        numbers = [e.value.evaluated_value for e in node.elements if isinstance(e.value, cst.Integer)]
        return (numbers[0], numbers[1]) if len(numbers) == len(node.elements) else None
    return None


def _version(text: str) -> Version | None:
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2])) if found else None


def _next(version: Version, step: int) -> Version:
    return version[0], version[1] + step


def _texts(call: cst.Call) -> list[str]:
    values = (argument.value for argument in call.args)
    return [str(value.raw_value) for value in values if isinstance(value, cst.SimpleString)]
