"""Running expressions that call nothing."""

from __future__ import annotations

import builtins
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

import libcst as cst

from amplint.operators import Treatment, treatment
from amplint.precision import regions
from amplint.precision.code import Assignment
from amplint.precision.dtypes import element_of, is_none, lowered, named, tensor_of
from amplint.precision.state import NO_ARGUMENTS, Frame, PrecisionReport, State, Use
from amplint.precision.values import (
    NUMBER,
    UNKNOWN,
    Arguments,
    Autocast,
    Constant,
    Function,
    Instance,
    Items,
    Made,
    Mapping,
    Named,
    Number,
    Tensor,
    Unknown,
    Value,
    join,
    options,
    promote,
)
from amplint.precision.vocabulary import (
    ARITHMETIC,
    BINARY,
    LOSS_NAME,
    MODULE_METHOD,
    MOST_CALLS,
    PRECISION_TEST,
)
from amplint.syntax.literals import value_of
from amplint.syntax.names import Names, children, dotted_name
from amplint.syntax.tree import SyntaxTree

_EVALUATE: dict[type, str] = {
    cst.Attribute: "_attribute",
    cst.Await: "_await",
    cst.BinaryOperation: "_operation",
    cst.BooleanOperation: "_boolean",
    cst.Call: "_call",
    cst.Comparison: "_comparison",
    cst.ConcatenatedString: "_literal",
    cst.Dict: "_dict",
    cst.DictComp: "_comprehension",
    cst.Float: "_literal",
    cst.GeneratorExp: "_comprehension",
    cst.IfExp: "_conditional",
    cst.Integer: "_literal",
    cst.Lambda: "_lambda",
    cst.List: "_sequence",
    cst.ListComp: "_comprehension",
    cst.Name: "_name",
    cst.NamedExpr: "_named_expression",
    cst.SetComp: "_comprehension",
    cst.SimpleString: "_literal",
    cst.Subscript: "_subscript",
    cst.Tuple: "_sequence",
    cst.UnaryOperation: "_unary",
}


class Expressions(ABC):
    """What an expression is in the names of a frame."""

    def __init__(self, tree: SyntaxTree, names: Names) -> None:
        self.tree, self.names = tree, names
        self._evaluate: dict[type, Callable[..., Value]] = {
            kind: getattr(self, name) for kind, name in _EVALUATE.items()
        }
        self.report = PrecisionReport(frozenset(MODULE_METHOD.findall(tree.text)) - {"self", "super"})
        self.module = Frame(None, None)
        self.entries = itertools.count()
        self.calls_left = MOST_CALLS
        self.muted = 0
        self.running: list[cst.CSTNode] = []
        self.memory: dict[object, Value] = {}
        self.attributes: dict[tuple[cst.ClassDef, str], Value] = {}
        self._assigned: dict[cst.ClassDef, dict[str, list[Assignment]]] = {}
        self._names_of: dict[cst.CSTNode, frozenset[str]] = {}
        self.called: set[cst.CSTNode] = set()
        self.classes: list[cst.ClassDef] = []
        self.own_models: list[cst.ClassDef] = []
        self._half_models: dict[Autocast, bool] = {}
        self.default_dtype_known = "set_default_dtype" not in tree.text

    @abstractmethod
    def assign(self, target: cst.CSTNode, value: Value, frame: Frame, state: State, reads: bool = True) -> None:
        """Bind a target."""

    @abstractmethod
    def call_function(self, function: Function, call: cst.CSTNode, arguments: Arguments | None, state: State) -> Value:
        """Run a function; without ``arguments`` by itself, where nothing is known of them."""

    @abstractmethod
    def attribute_of(self, base: Value, name: str, node: cst.CSTNode, state: State) -> Value:
        """What an attribute of a value is."""

    def value(self, node: cst.CSTNode, frame: Frame, state: State) -> Value:
        """What an expression is."""
        evaluate = self._evaluate.get(type(node))
        if evaluate is not None:
            value = evaluate(node, frame, state)
            if isinstance(value, Tensor) and value.origin is node and (state.doubts or state.conditions):
                value = replace(value, doubts=state.doubts, conditions=state.conditions)
            return value
        self._inside(node, frame, state)
        return UNKNOWN

    def _inside(self, node: cst.CSTNode, frame: Frame, state: State) -> None:
        """Run the expressions in a node of which nothing more is known."""
        for child in children(node):
            if isinstance(child, cst.BaseExpression):
                self.value(child, frame, state)
            else:
                self._inside(child, frame, state)

    def _operation(self, node: cst.BinaryOperation, frame: Frame, state: State) -> Value:
        left, right = self.value(node.left, frame, state), self.value(node.right, frame, state)
        name = BINARY.get(type(node.operator))
        if name is not None:
            return self.binary(node, name, left, right, frame, state)
        return NUMBER if isinstance(node.operator, cst.FloorDivide) and not isinstance(left, Tensor) else UNKNOWN

    def _literal(
        self, node: cst.Integer | cst.Float | cst.SimpleString | cst.ConcatenatedString, frame: Frame, state: State
    ) -> Value:
        return Constant(value_of(node))

    def _conditional(self, node: cst.IfExp, frame: Frame, state: State) -> Value:
        test = self.value(node.test, frame, state)
        if isinstance(test, Constant):
            return self.value(node.body if test.value else node.orelse, frame, state)
        state = self.doubt(node.test, state)
        return join(self.value(node.body, frame, state), self.value(node.orelse, frame, state))

    def _sequence(self, node: cst.Tuple | cst.List, frame: Frame, state: State) -> Value:
        if any(isinstance(element, cst.StarredElement) for element in node.elements):
            self._inside(node, frame, state)
            return UNKNOWN
        return Items(tuple(self.value(element.value, frame, state) for element in node.elements))

    def _lambda(self, node: cst.Lambda, frame: Frame, state: State) -> Value:
        return Function(node, None, frame)

    def _named_expression(self, node: cst.NamedExpr, frame: Frame, state: State) -> Value:
        value = self.value(node.value, frame, state)
        self.assign(node.target, value, frame, state)
        return value

    def _await(self, node: cst.Await, frame: Frame, state: State) -> Value:
        return self.value(node.expression, frame, state)

    def _name(self, node: cst.Name, frame: Frame, state: State) -> Value:
        value = frame.get(node.value)
        if value is not None:
            return value
        if node.value in ("True", "False", "None"):
            return Constant({"True": True, "False": False, "None": None}[node.value])
        qualified = self.names.qualified(node)
        if len(qualified) == 1 and not self.names.ambiguous(node):
            return named(next(iter(qualified)))
        if self.names.binding(node) is None and hasattr(builtins, node.value):
            return Named(f"builtins.{node.value}")
        return UNKNOWN

    def _attribute(self, node: cst.Attribute, frame: Frame, state: State) -> Value:
        name = dotted_name(node)
        if name is not None and (known := frame.get(name)) is not None:
            return known
        base = self.value(node.value, frame, state)
        found = [self.attribute_of(option, node.attr.value, node, state) for option in options(base)]
        value = found[0]
        for other in found[1:]:
            value = join(value, other)
        return value

    def _subscript(self, node: cst.Subscript, frame: Frame, state: State) -> Value:
        base = self.value(node.value, frame, state)
        index: Value = UNKNOWN
        for element in node.slice:
            if isinstance(element.slice, cst.Index):
                index = self.value(element.slice.value, frame, state)
            else:
                self._inside(element, frame, state)
        if isinstance(base, Number):
            return base
        if isinstance(base, Made) and base.parts:
            base = Items(base.parts)
        if isinstance(base, Tensor):
            named_loss = isinstance(index, Constant) and isinstance(index.value, str) and LOSS_NAME.search(index.value)
            return UNKNOWN if named_loss else base
        if len(node.slice) == 1 and isinstance(index, Constant):
            if isinstance(base, Items) and isinstance(index.value, int) and abs(index.value) < len(base.values):
                return base.values[index.value]
            if isinstance(base, Mapping):
                return next((value for key, value in base.items if key == index.value), UNKNOWN)
        if isinstance(base, (Items, Mapping)):
            return element_of(base if isinstance(base, Items) else Items(base.values))
        return UNKNOWN

    def _dict(self, node: cst.Dict, frame: Frame, state: State) -> Value:
        items: list[tuple[object, Value]] = []
        for element in node.elements:
            value = self.value(element.value, frame, state)
            if isinstance(element, cst.DictElement):
                key = self.value(element.key, frame, state)
                items.append((key.value if isinstance(key, Constant) else None, value))
        return Mapping(tuple(items))

    def _unary(self, node: cst.UnaryOperation, frame: Frame, state: State) -> Value:
        value = self.value(node.expression, frame, state)
        if isinstance(node.operator, cst.Not):
            return Constant(not value.value) if isinstance(value, Constant) else UNKNOWN
        if isinstance(node.operator, cst.Minus):
            if isinstance(value, Constant):
                return Constant(-value.number) if value.number is not None else UNKNOWN
            return value if isinstance(value, (Tensor, Number)) else UNKNOWN
        return value if isinstance(value, Tensor) and value.dtype == "other" else UNKNOWN

    def _comparison(self, node: cst.Comparison, frame: Frame, state: State) -> Value:
        left = self.value(node.left, frame, state)
        rights = [self.value(target.comparator, frame, state) for target in node.comparisons]
        if len(rights) == 1:
            operator, right = node.comparisons[0].operator, rights[0]
            if isinstance(operator, (cst.Is, cst.IsNot)) and right == Constant(None):
                known = is_none(left)
                if known is not None:
                    return Constant(known is isinstance(operator, cst.Is))
            if isinstance(operator, (cst.Equal, cst.NotEqual)):
                if isinstance(left, Constant) and isinstance(right, Constant):
                    return Constant((left.value == right.value) is isinstance(operator, cst.Equal))
        return UNKNOWN

    def _boolean(self, node: cst.BooleanOperation, frame: Frame, state: State) -> Value:
        left = self.value(node.left, frame, state)
        both = isinstance(node.operator, cst.And)
        if isinstance(left, Constant) and bool(left.value) is not both:
            return left
        right = self.value(node.right, frame, self.doubt(node.left, state))
        if isinstance(left, Constant):
            return right
        if isinstance(right, Constant) and isinstance(right.value, bool):
            return right if right.value is not both else UNKNOWN
        return UNKNOWN if both else join(left, right)

    def _comprehension(self, node: cst.BaseSimpleComp | cst.DictComp, frame: Frame, state: State) -> Value:
        inner = Frame(frame.function, frame)
        clause: cst.CompFor | None = node.for_in
        while clause is not None:
            self.assign(clause.target, element_of(self.value(clause.iter, inner, state)), inner, state)
            for condition in clause.ifs:
                self.value(condition.test, inner, state)
            clause = clause.inner_for_in
        if isinstance(node, cst.DictComp):
            self.value(node.key, inner, state)
            value = self.value(node.value, inner, state)
        else:
            value = self.value(node.elt, inner, state)
        if isinstance(value, Tensor) or not isinstance(node, cst.ListComp):
            return value if isinstance(value, Tensor) else UNKNOWN
        return Items((value,)) if isinstance(value, (Made, Instance)) else UNKNOWN

    def binary(self, node: cst.CSTNode, name: str, left: Value, right: Value, frame: Frame, state: State) -> Value:
        if isinstance(left, Constant) and isinstance(right, Constant):
            if left.number is None or right.number is None:
                return UNKNOWN
            try:
                return Constant(ARITHMETIC[name](left.number, right.number)) if name in ARITHMETIC else UNKNOWN
            except (ArithmeticError, ValueError):
                return UNKNOWN
        numbers = isinstance(left, (Number, Constant)) and isinstance(right, (Number, Constant))
        if numbers or (self.muted and isinstance(left, Unknown) and name == "__pow__"):
            return NUMBER  # the size of something, where an object is made
        if isinstance(left, Items) and isinstance(right, Items) and name == "__add__":
            return Items(left.values + right.values)
        self.use(node, name, UNKNOWN, (left, right), NO_ARGUMENTS, frame, state)
        if name == "__truediv__" and isinstance(left, Constant):
            name = "reciprocal"  # which is how it is done
        return self.result(node, name, (left, right), state)

    def use(
        self,
        node: cst.CSTNode,
        name: str,
        callee: Value,
        operands: tuple[Value, ...],
        arguments: Arguments,
        frame: Frame,
        state: State,
    ) -> None:
        """Record that the path comes by an operation."""
        if self.muted:
            return
        self.report.uses.append(Use(node, name, callee, operands, arguments, state, frame.function))

    def result(
        self, node: cst.CSTNode, name: str, operands: tuple[Value, ...], state: State, dtype: Value | None = None
    ) -> Value:
        """What an operation on these operands returns."""
        if dtype is not None and dtype != Constant(None):
            return tensor_of(dtype, node)
        kind = treatment(name)
        decides = state.cuda
        if decides is not None and not decides.autocast.known:
            return promote(operands) if kind is Treatment.KEEP else UNKNOWN
        active = state.active
        if active is None:
            if kind is Treatment.LOWER:
                return next((o for o in operands if isinstance(o, Tensor) and o.is_half), UNKNOWN)
            return promote(operands) if kind in (Treatment.KEEP, Treatment.FLOAT32) else UNKNOWN
        if kind is Treatment.LOWER:
            return lowered(active, node)
        if kind is Treatment.FLOAT32:
            return Tensor("float32")
        return promote(operands) if kind is Treatment.KEEP else UNKNOWN

    def names_of(self, test: cst.BaseExpression) -> frozenset[str]:
        """The names that decide a condition."""
        if test not in self._names_of:
            self._names_of[test] = frozenset(regions.names_in(test)) - {"None", "True", "False"}
        return self._names_of[test]

    def doubt(self, test: cst.BaseExpression, state: State) -> State:
        """Inside of a condition. In a region, one on what switches it, or on dtypes, may exclude the region."""
        names = self.names_of(test)
        flags = {name for entered in state.entered for name in entered.autocast.flags}
        doubtful = bool(flags & names) or any(map(PRECISION_TEST.search, names))
        doubts = state.doubts | {test} if doubtful else state.doubts
        return replace(state, doubts=doubts, conditions=state.conditions | names)
