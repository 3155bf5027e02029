"""From LibCST trees to the explorer's program."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from amplint.flow import program as ir
from amplint.flow.vocabulary import AUTOCASTS, ERRORS_OF_MISUSE, NO_RETURN
from amplint.syntax.decorators import keeps_what_it_makes
from amplint.syntax.fields import children
from amplint.syntax.literals import value_of
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree


def lower(tree: SyntaxTree, names: Names) -> ir.Program:
    """The whole document as a program."""
    program = ir.Program()
    lower_into(program, tree, names, 0)
    program.own_sites = len(program.sites)
    return program


def lower_into(program: ir.Program, tree: SyntaxTree, names: Names, number: int) -> None:
    """Add a module to ``program`` under its number."""
    _Lowering(program, tree, names, number)


class _Scope:
    """The function being lowered, and what its locals, flags and yields turn out to be."""

    def __init__(self, place: ir.Scope, is_class: bool = False) -> None:
        self.place, self.is_class = place, is_class
        self.bound: dict[str, int] = {}
        self.bool_bound: set[str] = set()
        self.shared: set[str] = set()
        self.yields = False

    def bind(self, name: str, value: ir.Expression | None = None) -> None:
        self.bound[name] = self.bound.get(name, 0) + 1
        if isinstance(value, ir.Constant) and isinstance(value.value, bool):
            self.bool_bound.add(name)

    @property
    def flags(self) -> frozenset[str]:
        return frozenset(name for name in self.bool_bound if self.bound[name] == 1)


class _Lowering:
    def __init__(self, program: ir.Program, tree: SyntaxTree, names: Names, number: int) -> None:
        self.tree, self.names = tree, names
        self.sites, self.scopes = program.sites, program.scopes
        self.functions, self.classes = program.functions, program.classes
        self.home = number
        self.count = max((scope.number for scope in program.scopes), default=-1) + 1
        self.scope = _Scope(ir.Scope(self.count))
        body = self.block(tree.module.body)
        program.modules[number] = ir.Function(
            "<module>",
            [],
            body,
            tree.module,
            locals=frozenset(self.scope.bound),
            flags=self.scope.flags,
            home=number,
        )

    def site(self, node: cst.CSTNode) -> int:
        self.sites.append(node)
        self.scopes.append(self.scope.place)
        return len(self.sites) - 1

    # statements

    def block(self, statements: Sequence[cst.CSTNode]) -> list[ir.Statement]:
        lowered: list[ir.Statement] = []
        for statement in statements:
            if isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    self.small(small, lowered)
            else:
                _COMPOUND[type(statement)](self, statement, lowered)
        return lowered

    def suite(self, suite: cst.BaseSuite) -> list[ir.Statement]:
        if isinstance(suite, cst.SimpleStatementSuite):
            lowered: list[ir.Statement] = []
            for small in suite.body:
                self.small(small, lowered)
            return lowered
        return self.block(suite.body)

    def small(self, node: cst.BaseSmallStatement, out: list[ir.Statement]) -> None:
        method = _SMALL.get(type(node))
        if method is not None:
            method(self, node, out)

    def assign(self, node: cst.Assign, out: list[ir.Statement]) -> None:
        value = self.expression(node.value)
        out.append(ir.Assign([self.target(target.target, value) for target in node.targets], value))

    def annotated_assign(self, node: cst.AnnAssign, out: list[ir.Statement]) -> None:
        if node.value is not None:
            value = self.expression(node.value)
            out.append(ir.Assign([self.target(node.target, value)], value))

    def augmented_assign(self, node: cst.AugAssign, out: list[ir.Statement]) -> None:
        target, value = self.target(node.target), self.expression(node.value)
        out.append(ir.Augment(target, value, self.site(node), type(node.operator).__name__))

    def expression_statement(self, node: cst.Expr, out: list[ir.Statement]) -> None:
        if not isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString)):
            value = self.expression(node.value)
            out.append(ir.Raise(value) if _does_not_return(value) else ir.Do(value))

    def return_(self, node: cst.Return, out: list[ir.Statement]) -> None:
        out.append(ir.Return(None if node.value is None else self.expression(node.value)))

    def raise_(self, node: cst.Raise, out: list[ir.Statement]) -> None:
        out.append(ir.Raise(None if node.exc is None else self.expression(node.exc)))

    def assert_(self, node: cst.Assert, out: list[ir.Statement]) -> None:
        site = self.site(node)
        out.append(ir.If(self.expression(node.test), [], [ir.Raise(None)], (site, site), site))

    def delete(self, node: cst.Del, out: list[ir.Statement]) -> None:
        out.append(ir.Forget([self.target(node.target)]))

    def shared(self, node: cst.Global | cst.Nonlocal, out: list[ir.Statement]) -> None:
        self.scope.shared |= {item.name.value for item in node.names}

    def if_(self, node: cst.If, out: list[ir.Statement]) -> None:
        test, body = self.expression(node.test), self.suite(node.body)
        orelse: list[ir.Statement] = []
        if isinstance(node.orelse, cst.If):
            self.if_(node.orelse, orelse)
        elif node.orelse is not None:
            orelse = self.suite(node.orelse.body)
        arms = (self.first_site(node.body), self.first_site(node.orelse or node))
        out.append(ir.If(test, body, orelse, arms, self.site(node.test)))

    def first_site(self, arm: cst.CSTNode) -> int:
        """Where an arm begins: at its first statement, or at its test where it has another."""
        if isinstance(arm, cst.If):
            return self.site(arm.test)
        suite = arm.body if isinstance(arm, cst.Else) else arm
        assert isinstance(suite, cst.BaseSuite)
        return self.site(suite.body[0] if suite.body else suite)

    def for_(self, node: cst.For, out: list[ir.Statement]) -> None:
        source = self.expression(node.iter)
        target = self.target(node.target)
        body = self.suite(node.body)
        orelse = [] if node.orelse is None else self.suite(node.orelse.body)
        out.append(ir.For(target, source, body, orelse, self.site(node)))

    def while_(self, node: cst.While, out: list[ir.Statement]) -> None:
        orelse = [] if node.orelse is None else self.suite(node.orelse.body)
        out.append(ir.While(self.expression(node.test), self.suite(node.body), orelse))

    def try_(self, node: cst.Try | cst.TryStar, out: list[ir.Statement]) -> None:
        body = self.suite(node.body)
        handlers = []
        for handler in node.handlers:
            if handler.name is not None:
                self.target(handler.name.name)
            handlers.append(self.suite(handler.body))
        orelse = [] if node.orelse is None else self.suite(node.orelse.body)
        final = [] if node.finalbody is None else self.suite(node.finalbody.body)
        out.append(ir.Try(body, handlers, orelse, final, _catches_misuse(node)))

    def with_(self, node: cst.With, out: list[ir.Statement]) -> None:
        items = []
        for item in node.items:
            context = self.expression(item.item)
            target = None if item.asname is None else self.target(item.asname.name)
            items.append((context, target, self.site(item)))
        body = self.suite(node.body)
        for context, target, site in reversed(items):
            body = [ir.With(context, target, body, site)]
        out += body

    def match(self, node: cst.Match, out: list[ir.Statement]) -> None:
        subject = self.expression(node.subject)
        cases = []
        for case in node.cases:
            pattern = self.tree.code(case.pattern) + ("" if case.guard is None else self.tree.code(case.guard))
            test = self.pattern_test(subject, case.pattern) if case.guard is None else None
            captured: list[ir.Target] = []
            for name in _captures(case.pattern):
                self.scope.bind(name)
                captured.append(ir.Name(name))
            if case.guard is None and isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None:
                pattern = "_"  # a capture takes anything
            body = self.suite(case.body)
            cases.append(ir.Case(test, pattern, [ir.Forget(captured), *body] if captured else body))
        out.append(ir.Match(subject, cases))

    def pattern_test(self, subject: ir.Expression, pattern: cst.MatchPattern) -> ir.Expression | None:
        """The comparison that a pattern of values makes; None for any other pattern."""
        if isinstance(pattern, (cst.MatchValue, cst.MatchSingleton)):
            return _compare(cst.Equal, subject, self.expression(pattern.value), self.site(pattern))
        if isinstance(pattern, cst.MatchOr):
            tests = [self.pattern_test(subject, part.pattern) for part in pattern.patterns]
            return None if None in tests else ir.Either([test for test in tests if test is not None])
        return None

    def function_definition(self, node: cst.FunctionDef, out: list[ir.Statement]) -> None:
        function = self.function(node)
        self.scope.bind(function.name)
        out.append(ir.Define(function.name, ir.Closure(function)))

    def class_definition(self, node: cst.ClassDef, out: list[ir.Statement]) -> None:
        name = node.name.value
        self.scope.bind(name)
        bases = [self.expression(base.value) for base in node.bases]
        lowered = ir.Class(name, bases, is_kept=keeps_what_it_makes(node), home=self.home)
        self.classes.append(lowered)
        outer, self.scope = self.scope, _Scope(ir.Scope(self.scope.place.number, name), is_class=True)
        for statement in self.block(node.body.body):
            if isinstance(statement, ir.Define) and isinstance(statement.value, ir.Closure):
                method = statement.value.function
                method.owner = lowered
                lowered.methods[method.name] = method
                for attribute in _assigned_attributes(method):
                    lowered.assigned.setdefault(attribute, set()).add(method.name)
            else:
                lowered.body.append(statement)
        self.scope = outer
        out.append(ir.Define(name, lowered))

    def function(self, node: cst.FunctionDef | cst.Lambda) -> ir.Function:
        parameters = self.parameters(node.params)
        outer, self.scope = self.scope, _Scope(self.place(parameters))
        for parameter in parameters:
            self.scope.bind(parameter.name)
        decorators: set[str] = set()
        region = None
        if isinstance(node, cst.FunctionDef):
            body = self.suite(node.body)
            name = node.name.value
            for decorator in node.decorators:
                names = self.decorator_names(decorator.decorator)
                decorators |= names
                if names <= AUTOCASTS.keys():
                    region = ir.Region(self.expression(decorator.decorator), self.site(decorator))
        else:
            body = [ir.Return(self.expression(node.body))]
            name = "<lambda>"
        returns = any(isinstance(n, ir.Return) and n.value is not None for s in body for n in ir.walk(s))
        function = ir.Function(
            name,
            parameters,
            body,
            node,
            frozenset(decorators),
            is_generator=self.scope.yields,
            shared_names=frozenset(self.scope.shared),
            locals=frozenset(self.scope.bound) - self.scope.shared,
            flags=self.scope.flags,
            returns_value=returns,
            region=region,
            is_kept=isinstance(node, cst.FunctionDef) and keeps_what_it_makes(node),
            home=self.home,
        )
        self.scope = outer
        self.functions.append(function)
        return function

    def place(self, parameters: list[ir.Parameter]) -> ir.Scope:
        self.count += 1
        if self.scope.is_class and parameters:
            return ir.Scope(self.count, self.scope.place.owner, parameters[0].name)
        return ir.Scope(self.count)

    def decorator_names(self, node: cst.BaseExpression) -> frozenset[str]:
        if isinstance(node, cst.Call):
            node = node.func
        found = self.names.qualified(node) if isinstance(node, (cst.Name, cst.Attribute)) else frozenset()
        return found or frozenset({self.tree.code(node)})

    def parameters(self, node: cst.Parameters) -> list[ir.Parameter]:
        lowered = [self.parameter(p) for p in (*node.posonly_params, *node.params)]
        if isinstance(node.star_arg, cst.Param):
            lowered.append(self.parameter(node.star_arg, "*"))
        elif node.kwonly_params:
            lowered.append(ir.Parameter("", star="*"))
        lowered += [self.parameter(p) for p in node.kwonly_params]
        if node.star_kwarg is not None:
            lowered.append(self.parameter(node.star_kwarg, "**"))
        return lowered

    def parameter(self, node: cst.Param, star: str = "") -> ir.Parameter:
        default = None if node.default is None else self.expression(node.default)
        annotation: frozenset[str] = frozenset()
        if node.annotation is not None:
            annotation = self.annotation_names(node.annotation.annotation)
        return ir.Parameter(node.name.value, default, annotation, star)

    def annotation_names(self, node: cst.BaseExpression) -> frozenset[str]:
        """Every dotted name in an annotation, such as both of ``Optional[torch.amp.GradScaler]``."""
        if isinstance(node, (cst.Name, cst.Attribute)):
            return self.names.qualified(node) or frozenset({self.tree.code(node)})
        if isinstance(node, cst.SimpleString):
            return frozenset(re.findall(r"[\w.]+", node.raw_value))
        if isinstance(node, cst.Subscript):
            found = self.annotation_names(node.value)
            for element in node.slice:
                if isinstance(element.slice, cst.Index):
                    found |= self.annotation_names(element.slice.value)
            return found
        if isinstance(node, cst.BinaryOperation):
            return self.annotation_names(node.left) | self.annotation_names(node.right)
        return frozenset()

    # targets

    def target(self, node: cst.BaseExpression, value: ir.Expression | None = None) -> ir.Target:
        if isinstance(node, cst.Name):
            self.scope.bind(node.value, value)
            return ir.Name(node.value)
        if isinstance(node, (cst.Tuple, cst.List)):
            return ir.Sequence([self.target(e.value) for e in node.elements])  # type: ignore[misc]
        if isinstance(node, cst.StarredElement):
            return self.target(node.value)
        lowered = self.expression(node)
        return lowered if isinstance(lowered, (ir.Attribute, ir.Item)) else None

    # expressions

    def expression(self, node: cst.BaseExpression) -> ir.Expression:
        method = _EXPRESSIONS.get(type(node))
        if method is not None:
            return method(self, node)
        return self.operation(type(node).__name__, node)

    def operation(self, tag: str, node: cst.CSTNode) -> ir.Expression:
        parts = [self.expression(part) for part in _subexpressions(node)]
        return ir.Operation(tag, parts, self.site(node))

    def name(self, node: cst.Name) -> ir.Expression:
        if node.value in ("True", "False", "None"):
            return ir.Constant({"True": True, "False": False, "None": None}[node.value])
        return ir.Name(node.value, self.names.qualified(node))

    def attribute(self, node: cst.Attribute) -> ir.Expression:
        base = self.expression(node.value)
        return ir.Attribute(base, node.attr.value, self.site(node), self.names.qualified(node))

    def literal(self, node: cst.Integer | cst.Float | cst.SimpleString) -> ir.Expression:
        return ir.Constant(value_of(node))

    def concatenated(self, node: cst.ConcatenatedString) -> ir.Expression:
        parts: list[ir.Expression] = []
        rest: cst.BaseExpression = node
        while isinstance(rest, cst.ConcatenatedString):
            parts.append(self.expression(rest.left))
            rest = rest.right
        return ir.Operation("text", [*parts, self.expression(rest)], self.site(node))

    def text(self, node: cst.CSTNode) -> ir.Expression:
        return ir.Operation("text", [self.expression(part) for part in _subexpressions(node)], self.site(node))

    def call(self, node: cst.Call) -> ir.Expression:
        func = self.expression(node.func)
        args = [
            ir.Argument(self.expression(a.value), None if a.keyword is None else a.keyword.value, a.star)
            for a in node.args
        ]
        return ir.Call(func, args, self.site(node))

    def subscript(self, node: cst.Subscript) -> ir.Expression:
        base = self.expression(node.value)
        if len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
            return ir.Item(base, self.expression(node.slice[0].slice.value))
        parts = [self.expression(part) for element in node.slice for part in _subexpressions(element)]
        return ir.Operation("slice", [base, *parts], self.site(node))

    def unary(self, node: cst.UnaryOperation) -> ir.Expression:
        part = self.expression(node.expression)
        if isinstance(node.operator, cst.Not):
            return ir.Not(part)
        if (
            isinstance(node.operator, cst.Minus)
            and isinstance(part, ir.Constant)
            and isinstance(part.value, (int, float))
        ):
            return ir.Constant(-part.value)
        return ir.Operation(type(node.operator).__name__, [part], self.site(node))

    def binary(self, node: cst.BinaryOperation) -> ir.Expression:
        parts = [self.expression(part) for part in _chain(node)]
        return ir.Operation(type(node.operator).__name__, parts, self.site(node))

    def boolean(self, node: cst.BooleanOperation) -> ir.Expression:
        parts = [self.expression(part) for part in _chain(node)]
        return ir.All(parts) if isinstance(node.operator, cst.And) else ir.Either(parts)

    def comparison(self, node: cst.Comparison) -> ir.Expression:
        left, compares = self.expression(node.left), []
        for target in node.comparisons:
            right = self.expression(target.comparator)
            compares.append(_compare(type(target.operator), left, right, self.site(node)))
            left = right
        return compares[0] if len(compares) == 1 else ir.All(compares)

    def choice(self, node: cst.IfExp) -> ir.Expression:
        return ir.Choice(self.expression(node.test), self.expression(node.body), self.expression(node.orelse))

    def sequence(self, node: cst.Tuple | cst.List | cst.Set) -> ir.Expression:
        if any(isinstance(e, cst.StarredElement) for e in node.elements):
            parts: list[ir.Expression] = [self.expression(e.value) for e in node.elements]
            return ir.Operation("unpacked", parts, self.site(node))
        return ir.Sequence([self.expression(e.value) for e in node.elements])

    def mapping(self, node: cst.Dict) -> ir.Expression:
        keys: list[ir.Expression | None] = []
        for element in node.elements:
            keys.append(self.expression(element.key) if isinstance(element, cst.DictElement) else None)
        return ir.Mapping(keys, [self.expression(element.value) for element in node.elements])

    def comprehension(self, node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> ir.Expression:
        return self.each(node.for_in, lambda: self.expression(node.elt), node)

    def dict_comprehension(self, node: cst.DictComp) -> ir.Expression:
        return self.each(node.for_in, lambda: self.expression(node.value), node)

    def each(self, clause: cst.CompFor, element: Callable[[], ir.Expression], node: cst.CSTNode) -> ir.Expression:
        source = self.expression(clause.iter)
        target = self.target(clause.target)
        conditions = [self.expression(condition.test) for condition in clause.ifs]
        inner = element() if clause.inner_for_in is None else self.each(clause.inner_for_in, element, node)
        return ir.Each(target, source, conditions, inner, self.site(node))

    def bind(self, node: cst.NamedExpr) -> ir.Expression:
        value = self.expression(node.value)
        assert isinstance(node.target, cst.Name)  # Python has no other
        self.scope.bind(node.target.value)
        return ir.Bind(node.target.value, value)

    def lambda_(self, node: cst.Lambda) -> ir.Expression:
        return ir.Closure(self.function(node))

    def yield_(self, node: cst.Yield) -> ir.Expression:
        self.scope.yields = True
        return self.operation("yield", node)

    def await_(self, node: cst.Await) -> ir.Expression:
        return self.expression(node.expression)


def _chain(node: cst.BinaryOperation | cst.BooleanOperation) -> list[cst.BaseExpression]:
    """The operands of a chain of one operator: a long one, walked part in part, would go too deep."""
    operator, parts = type(node.operator), [node.right]
    left = node.left
    while isinstance(left, type(node)) and type(left.operator) is operator and operator in _ASSOCIATIVE:
        parts.append(left.right)
        left = left.left
    return [left, *reversed(parts)]


def _does_not_return(value: ir.Expression) -> bool:
    if not isinstance(value, ir.Call):
        return False
    func = value.func
    if isinstance(func, ir.Attribute) and func.attr == "error" and isinstance(func.base, ir.Name):
        return "parser" in func.base.id.lower()
    return bool(value.func_externals() & NO_RETURN) or (isinstance(func, ir.Name) and func.id in NO_RETURN)


def _captures(pattern: cst.CSTNode) -> list[str]:
    """The variables that a pattern binds."""
    found = []
    if isinstance(pattern, (cst.MatchAs, cst.MatchStar)) and pattern.name is not None:
        found.append(pattern.name.value)
    elif isinstance(pattern, cst.MatchMapping) and pattern.rest is not None:
        found.append(pattern.rest.value)
    if not isinstance(pattern, cst.BaseExpression):
        found += [name for child in children(pattern) for name in _captures(child)]
    return found


def _compare(operator: type[cst.BaseCompOp], left: ir.Expression, right: ir.Expression, site: int) -> ir.Expression:
    """Comparisons in few forms, so that opposite spellings of one condition are seen to be opposite."""
    if operator is cst.NotEqual:
        return ir.Not(ir.Compare("==", left, right, site))
    if operator is cst.IsNot:
        return ir.Not(ir.Compare("is", left, right, site))
    if operator is cst.NotIn:
        return ir.Not(ir.Compare("in", left, right, site))
    if operator is cst.GreaterThan:
        return ir.Compare("<", right, left, site)
    if operator is cst.LessThanEqual:
        return ir.Not(ir.Compare("<", right, left, site))
    if operator is cst.GreaterThanEqual:
        return ir.Not(ir.Compare("<", left, right, site))
    return ir.Compare({cst.Equal: "==", cst.Is: "is", cst.LessThan: "<", cst.In: "in"}[operator], left, right, site)


def _subexpressions(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """The expressions nearest below ``node``."""
    found: list[cst.BaseExpression] = []
    for child in children(node):
        if isinstance(child, cst.BaseExpression):
            found.append(child)
        else:
            found += _subexpressions(child)
    return found


def _assigned_attributes(method: ir.Function) -> set[str]:
    """The attributes of the method's first parameter that it assigns."""
    if not method.parameters:
        return set()
    me, found = method.parameters[0].name, set()
    for statement in method.body:
        for node in ir.walk(statement):
            targets: list[Any] = []
            if isinstance(node, ir.Assign):
                targets = list(node.targets)
            elif isinstance(node, ir.Augment):
                targets = [node.target]
            while targets:
                target = targets.pop()
                if isinstance(target, ir.Sequence):
                    targets += target.parts
                elif isinstance(target, ir.Attribute) and isinstance(target.base, ir.Name) and target.base.id == me:
                    found.add(target.attr)
    return found


def _catches_misuse(node: cst.Try | cst.TryStar) -> bool:
    """Whether a ``try`` holds nothing but one call of the protocol and catches what PyTorch raises for misuse."""
    line = node.body.body[0] if len(node.body.body) == 1 else None
    call = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(call, cst.Expr) or not isinstance(call.value, cst.Call):
        return False
    func = call.value.func
    if not isinstance(func, cst.Attribute) or func.attr.value not in ("step", "unscale_", "update"):
        return False
    return any(isinstance(h.type, cst.Name) and h.type.value in ERRORS_OF_MISUSE for h in node.handlers)


_ASSOCIATIVE = (cst.Add, cst.Multiply, cst.BitOr, cst.BitAnd, cst.And, cst.Or)
_COMPOUND: dict[type, Callable[[_Lowering, Any, list[ir.Statement]], None]] = {
    cst.If: _Lowering.if_,
    cst.For: _Lowering.for_,
    cst.While: _Lowering.while_,
    cst.Try: _Lowering.try_,
    cst.TryStar: _Lowering.try_,
    cst.With: _Lowering.with_,
    cst.Match: _Lowering.match,
    cst.FunctionDef: _Lowering.function_definition,
    cst.ClassDef: _Lowering.class_definition,
}
_SMALL: dict[type, Callable[[_Lowering, Any, list[ir.Statement]], None]] = {
    cst.Assign: _Lowering.assign,
    cst.AnnAssign: _Lowering.annotated_assign,
    cst.AugAssign: _Lowering.augmented_assign,
    cst.Expr: _Lowering.expression_statement,
    cst.Return: _Lowering.return_,
    cst.Raise: _Lowering.raise_,
    cst.Assert: _Lowering.assert_,
    cst.Del: _Lowering.delete,
    cst.Global: _Lowering.shared,
    cst.Nonlocal: _Lowering.shared,
    cst.Break: lambda self, node, out: out.append(ir.Break()),
    cst.Continue: lambda self, node, out: out.append(ir.Continue()),
}
_EXPRESSIONS: dict[type, Callable[[_Lowering, Any], ir.Expression]] = {
    cst.Name: _Lowering.name,
    cst.Attribute: _Lowering.attribute,
    cst.Integer: _Lowering.literal,
    cst.Float: _Lowering.literal,
    cst.SimpleString: _Lowering.literal,
    cst.FormattedString: _Lowering.text,
    cst.ConcatenatedString: _Lowering.concatenated,
    cst.Call: _Lowering.call,
    cst.Subscript: _Lowering.subscript,
    cst.UnaryOperation: _Lowering.unary,
    cst.BinaryOperation: _Lowering.binary,
    cst.BooleanOperation: _Lowering.boolean,
    cst.Comparison: _Lowering.comparison,
    cst.IfExp: _Lowering.choice,
    cst.Tuple: _Lowering.sequence,
    cst.List: _Lowering.sequence,
    cst.Set: _Lowering.sequence,
    cst.Dict: _Lowering.mapping,
    cst.ListComp: _Lowering.comprehension,
    cst.SetComp: _Lowering.comprehension,
    cst.GeneratorExp: _Lowering.comprehension,
    cst.DictComp: _Lowering.dict_comprehension,
    cst.NamedExpr: _Lowering.bind,
    cst.Lambda: _Lowering.lambda_,
    cst.Yield: _Lowering.yield_,
    cst.Await: _Lowering.await_,
}
