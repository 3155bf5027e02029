"""Attributes of objects, by what the classes of the document assign to them."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from amplint.precision.code import Assignment, bindings_of, decorator_name, decorators_of, is_self, statements_in
from amplint.precision.dtypes import halved, named
from amplint.precision.expressions import Expressions
from amplint.precision.state import NO_ARGUMENTS, Frame, State
from amplint.precision.values import (
    NUMBER,
    UNKNOWN,
    Application,
    Arguments,
    Class,
    Constant,
    DType,
    Function,
    Instance,
    Limits,
    Made,
    Named,
    Tensor,
    Unknown,
    Value,
    join,
)
from amplint.precision.vocabulary import (
    FUNCTIONS,
    LIMITS,
    LOSS_NAME,
)


class Objects(Expressions):
    """Expressions, and the attributes of objects."""

    @abstractmethod
    def bind(
        self, node: cst.FunctionDef | cst.Lambda, owner: Value | None, arguments: Arguments | None, frame: Frame
    ) -> None:
        """Give the parameters of a function their values."""

    def attribute(self, cls: cst.ClassDef, name: str) -> Value:
        """What the attribute of a class's objects is, by every assignment to it in the class."""
        key = cls, name
        if key not in self.attributes:
            self.attributes[key] = UNKNOWN
            self.muted += 1
            try:
                self.attributes[key] = self._find_attribute(cls, name)
            finally:
                self.muted -= 1
        return self.attributes[key]

    def _find_attribute(self, cls: cst.ClassDef, name: str) -> Value:
        found: Value | None = None
        for line in cls.body.body:
            if isinstance(line, cst.FunctionDef) and line.name.value == name:
                return Function(line, None, self.module)
            for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                for target, assigned in bindings_of(small):
                    if isinstance(target, cst.Name) and target.value == name and assigned is not None:
                        found = self.value(assigned, self.module, State())
        for function, statement, assigned in self._assignments(cls).get(name, ()):
            frame = self._frame_before(cls, function, statement)
            value = self.value(assigned, frame, State()) if assigned is not None else UNKNOWN
            found = value if found is None or found == Constant(None) else join(found, value)
        if isinstance(found, Made) and found.last == "ModuleList":
            found = replace(found, parts=(*found.parts, *self._appended(cls, name)))
        if found is not None:
            return found
        for argument in cls.bases:
            base = self.value(argument.value, self.module, State())
            if isinstance(base, Class) and base.node is not cls:
                inherited = self.attribute(base.node, name)
                if not isinstance(inherited, Unknown):
                    return inherited
        return UNKNOWN

    def _appended(self, cls: cst.ClassDef, name: str) -> Iterator[Value]:
        """What the class's methods append to a list of modules."""
        for function in cls.body.body:
            if not isinstance(function, cst.FunctionDef):
                continue
            for statement in statements_in(function.body):
                call = statement.value if isinstance(statement, cst.Expr) else None
                if isinstance(call, cst.Call) and len(call.args) == 1 and isinstance(call.func, cst.Attribute):
                    held = call.func.value
                    if call.func.attr.value != "append" or not isinstance(held, cst.Attribute):
                        continue
                    if held.attr.value == name and is_self(held.value, function):
                        frame = self._frame_before(cls, function, statement)
                        yield self.value(call.args[0].value, frame, State())

    def library_base(self, cls: cst.ClassDef) -> str | None:
        """The module of a library that a class derives from."""
        for argument in cls.bases:
            base = self.value(argument.value, self.module, State())
            if isinstance(base, Named) and base.name.startswith("torch.nn."):
                return base.name
        return None

    def _assignments(self, cls: cst.ClassDef) -> dict[str, list[Assignment]]:
        if cls not in self._assigned:
            found: dict[str, list[Assignment]] = {}
            for function in cls.body.body:
                if isinstance(function, cst.FunctionDef):
                    for node in statements_in(function.body):
                        for target, value in bindings_of(node):
                            if isinstance(target, cst.Attribute) and is_self(target.value, function):
                                found.setdefault(target.attr.value, []).append((function, node, value))
            self._assigned[cls] = found
        return self._assigned[cls]

    def _frame_before(self, cls: cst.ClassDef, function: cst.FunctionDef, statement: cst.CSTNode) -> Frame:
        """The names in a method where one of its statements stands, as far as plain assignments tell."""
        frame = Frame(function, self.module)
        self.bind(function, Instance(cls), None, frame)
        for node in itertools.takewhile(lambda node: node is not statement, statements_in(function.body)):
            for target, assigned in bindings_of(node):
                if isinstance(target, cst.Name):
                    value = self.value(assigned, frame, State()) if assigned is not None else UNKNOWN
                    known = frame.values.get(target.value)
                    frame.values[target.value] = value if known is None else join(known, value)
        return frame

    def attribute_of(self, base: Value, name: str, node: cst.CSTNode, state: State) -> Value:
        if name in ("shape", "ndim"):
            return NUMBER
        if isinstance(base, Named):
            return named(f"{base.name}.{name}")
        if isinstance(base, Tensor):
            if name == "dtype":
                return DType(base.dtype) if base.dtype != "other" else UNKNOWN
            if name in ("T", "mT", "H", "data", "values") or not base.certain:
                return UNKNOWN if LOSS_NAME.search(name) or name in ("shape", "device", "ndim") else base
            return UNKNOWN
        if isinstance(base, Limits):
            limits = LIMITS[base.dtype]
            if name == "min":
                return Constant(-limits["max"])
            number = limits.get("tiny" if name == "smallest_normal" else name)
            return Constant(number) if number is not None else UNKNOWN
        if isinstance(base, Constant) and name == "type" and isinstance(base.value, str):
            return Constant(base.value.partition(":")[0])
        if isinstance(base, Instance):
            value = self.attribute(base.node, name)
            if isinstance(value, Function):
                value = replace(value, owner=base)
                if any(
                    decorator_name(decorator) in ("property", "cached_property")
                    for decorator in decorators_of(value.node)
                ):
                    return self.call_function(value, node, NO_ARGUMENTS, state)
            if base.half:
                value = halved(value)
            if name == "module" and isinstance(value, Unknown):
                return base
            return value
        if isinstance(base, Class):
            if name == "apply" and self.is_autograd_function(base.node):
                return Application(base.node)
            return self.attribute(base.node, name)
        return UNKNOWN

    def is_autograd_function(self, cls: cst.ClassDef) -> bool:
        """Whether a class derives from ``torch.autograd.Function``."""
        for argument in cls.bases:
            base = self.value(argument.value, self.module, State())
            if isinstance(base, Named) and base.name in FUNCTIONS:
                return True
            if isinstance(base, Class) and base.node is not cls and self.is_autograd_function(base.node):
                return True
        return False
