"""LibCST trees made by Python's own parser, which is many times faster: nodes with their code and nothing around it.

Of a node only those fields are set that hold code, and what tells operators, stars and literals apart; whitespace,
parentheses and punctuation are not, so that asking for them fails. :class:`amplint.syntax.tree.SyntaxTree` has them
filled in by LibCST when somebody needs them. What is rare, or cannot be told apart without the text's tokens, is not
made at all: see :class:`NoSkeleton`.
"""

from __future__ import annotations

import ast
import dataclasses
import io
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import libcst as cst

from amplint.syntax.fields import child_fields
from amplint.syntax.trust import Unlike

_STRING = re.compile(
    r"""(?:[rRuUbB]|[rR][bB]|[bB][rR])?
    (?:'''(?:[^'\\]|\\.|'(?!''))*'''|\"""(?:[^"\\]|\\.|"(?!""))*\"""|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")""",
    re.DOTALL | re.VERBOSE,
)


class NoSkeleton(Exception):
    """The text holds something that only LibCST tells how to build."""


Places = dict[int, ast.expr | ast.alias | ast.keyword]
"""By the id of a node, the node of Python's parser that tells where it stands."""


def build(tree: ast.Module, text: str) -> tuple[cst.Module, Places]:
    """The tree of ``text`` and the places of its expressions; raises :class:`NoSkeleton`."""
    builder = _Builder(text)
    module = _MODULE(body=builder.lines(tree.body))
    return module, builder.places


def fill(skeleton: cst.Module, whole: cst.Module) -> None:
    """Set what is not set yet in a skeleton as it is in the whole tree of the text; raises :class:`Unlike`."""
    waiting: list[tuple[Any, Any]] = [(skeleton, whole)]
    while waiting:
        bare, node = waiting.pop()
        kind: Any = type(node)
        if type(bare) is not kind:
            raise Unlike
        if kind is tuple:
            if len(bare) != len(node):
                raise Unlike
            waiting += zip(bare, node, strict=True)
        elif isinstance(node, cst.CSTNode):
            code, rest = _fields(kind)
            waiting += [(getattr(bare, name), getattr(node, name)) for name in code]
            for name, field in rest:
                field.__set__(bare, getattr(node, name))
        elif bare != node:
            raise Unlike


_known: dict[object, tuple[tuple[str, ...], tuple[tuple[str, Any], ...]]] = {}


def _fields(kind: Any) -> tuple[tuple[str, ...], tuple[tuple[str, Any], ...]]:
    """The fields of a kind of node that hold code, and the others with what sets them though nodes are frozen."""
    found = _known.get(kind)
    if found is None:
        code = child_fields(kind)
        others = (field.name for field in dataclasses.fields(kind) if field.name not in code)
        found = _known[kind] = code, tuple((name, getattr(kind, name)) for name in others)
    return found


def _maker(kind: type[cst.CSTNode], *fields: str, **constant: Any) -> Callable[..., Any]:
    """What makes a node of a kind out of its fields: a constructor that checks nothing."""
    setters = {f"set_{name}": getattr(kind, name).__set__ for name in (*fields, *constant)}
    lines = [f"def make({', '.join(fields)}):", "    node = new(kind)"]
    lines += [f"    set_{name}(node, {name})" for name in fields]
    lines += [f"    set_{name}(node, constant[{name!r}])" for name in constant]
    namespace: dict[str, Any] = {"new": object.__new__, "kind": kind, "constant": constant, **setters}
    exec("\n".join([*lines, "    return node"]), namespace)  # as the standard library's dataclasses are made
    make: Callable[..., Any] = namespace["make"]
    return make


_MODULE = _maker(cst.Module, "body")
_LINE, _SUITE, _BLOCK = (
    _maker(kind, "body") for kind in (cst.SimpleStatementLine, cst.SimpleStatementSuite, cst.IndentedBlock)
)
_NAME = _maker(cst.Name, "value")
_ATTRIBUTE = _maker(cst.Attribute, "value", "attr")
_INTEGER, _FLOAT, _IMAGINARY, _TEXT = (
    _maker(kind, "value") for kind in (cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString)
)
_ELLIPSIS = _maker(cst.Ellipsis)
_CALL = _maker(cst.Call, "func", "args")
_ARG = _maker(cst.Arg, "value", "keyword", "star")
_BINARY = _maker(cst.BinaryOperation, "left", "operator", "right")
_BOOLEAN = _maker(cst.BooleanOperation, "left", "operator", "right")
_UNARY = _maker(cst.UnaryOperation, "operator", "expression")
_COMPARISON = _maker(cst.Comparison, "left", "comparisons")
_COMPARED = _maker(cst.ComparisonTarget, "operator", "comparator")
_IF_EXP = _maker(cst.IfExp, "test", "body", "orelse")
_LAMBDA = _maker(cst.Lambda, "params", "body")
_TUPLE, _LIST, _SET, _DICT = (_maker(kind, "elements") for kind in (cst.Tuple, cst.List, cst.Set, cst.Dict))
_ELEMENT, _STARRED, _STARRED_ITEM = (
    _maker(kind, "value") for kind in (cst.Element, cst.StarredElement, cst.StarredDictElement)
)
_ITEM = _maker(cst.DictElement, "key", "value")
_COMPREHENSIONS: dict[type, Callable[..., Any]] = {
    ast.ListComp: _maker(cst.ListComp, "elt", "for_in"),
    ast.SetComp: _maker(cst.SetComp, "elt", "for_in"),
    ast.GeneratorExp: _maker(cst.GeneratorExp, "elt", "for_in"),
}
_DICT_COMP = _maker(cst.DictComp, "key", "value", "for_in")
_COMP_FOR = _maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
_COMP_IF = _maker(cst.CompIf, "test")
_AWAIT = _maker(cst.Await, "expression")
_YIELD = _maker(cst.Yield, "value")
_FROM = _maker(cst.From, "item")
_WALRUS = _maker(cst.NamedExpr, "target", "value")
_SUBSCRIPT = _maker(cst.Subscript, "value", "slice")
_SUBSCRIPT_ELEMENT = _maker(cst.SubscriptElement, "slice")
_INDEX = _maker(cst.Index, "value", "star")
_SLICE = _maker(cst.Slice, "lower", "upper", "step")

_EXPR = _maker(cst.Expr, "value")
_ASSIGN = _maker(cst.Assign, "targets", "value")
_TARGET = _maker(cst.AssignTarget, "target")
_ANN_ASSIGN = _maker(cst.AnnAssign, "target", "annotation", "value")
_AUG_ASSIGN = _maker(cst.AugAssign, "target", "operator", "value")
_ANNOTATION = _maker(cst.Annotation, "annotation")
_RETURN = _maker(cst.Return, "value")
_RAISE = _maker(cst.Raise, "exc", "cause")
_ASSERT = _maker(cst.Assert, "test", "msg")
_DELETE = _maker(cst.Del, "target")
_SIMPLE: dict[type, Callable[..., Any]] = {
    ast.Pass: _maker(cst.Pass),
    ast.Break: _maker(cst.Break),
    ast.Continue: _maker(cst.Continue),
}
_SHARED: dict[type, Callable[..., Any]] = {
    ast.Global: _maker(cst.Global, "names"),
    ast.Nonlocal: _maker(cst.Nonlocal, "names"),
}
_NAME_ITEM = _maker(cst.NameItem, "name")
_IMPORT = _maker(cst.Import, "names")
_IMPORT_FROM = _maker(cst.ImportFrom, "module", "names", "relative")
_ALIAS = _maker(cst.ImportAlias, "name", "asname")
_AS_NAME = _maker(cst.AsName, "name")
_STAR = _maker(cst.ImportStar)
_FUNCTION = _maker(
    cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous", type_parameters=None
)
_CLASS = _maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators", type_parameters=None)
_DECORATOR = _maker(cst.Decorator, "decorator")
_PARAMETERS = _maker(cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params")
_PARAM = _maker(cst.Param, "name", "annotation", "default", "star")
_PARAM_STAR = _maker(cst.ParamStar)
_IF = _maker(cst.If, "test", "body", "orelse")
_ELSE, _FINALLY = (_maker(kind, "body") for kind in (cst.Else, cst.Finally))
_FOR = _maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
_WHILE = _maker(cst.While, "test", "body", "orelse")
_WITH = _maker(cst.With, "items", "body", "asynchronous")
_WITH_ITEM = _maker(cst.WithItem, "item", "asname")
_TRY = _maker(cst.Try, "body", "handlers", "orelse", "finalbody")
_HANDLER = _maker(cst.ExceptHandler, "body", "type", "name")

# What holds no code is shared by all nodes: nobody asks for its place before LibCST has made others.
_ASYNC, _DOT = cst.Asynchronous(), cst.Dot()
_OPERATORS: dict[type, cst.CSTNode] = {
    ast.Add: cst.Add(), ast.Sub: cst.Subtract(), ast.Mult: cst.Multiply(), ast.MatMult: cst.MatrixMultiply(),
    ast.Div: cst.Divide(), ast.Mod: cst.Modulo(), ast.Pow: cst.Power(), ast.LShift: cst.LeftShift(),
    ast.RShift: cst.RightShift(), ast.BitOr: cst.BitOr(), ast.BitXor: cst.BitXor(), ast.BitAnd: cst.BitAnd(),
    ast.FloorDiv: cst.FloorDivide(), ast.And: cst.And(), ast.Or: cst.Or(), ast.Invert: cst.BitInvert(),
    ast.Not: cst.Not(), ast.UAdd: cst.Plus(), ast.USub: cst.Minus(), ast.Eq: cst.Equal(), ast.NotEq: cst.NotEqual(),
    ast.Lt: cst.LessThan(), ast.LtE: cst.LessThanEqual(), ast.Gt: cst.GreaterThan(), ast.GtE: cst.GreaterThanEqual(),
    ast.Is: cst.Is(), ast.IsNot: cst.IsNot(), ast.In: cst.In(), ast.NotIn: cst.NotIn(),
}  # fmt: skip
_AUGMENTED: dict[type, cst.CSTNode] = {
    ast.Add: cst.AddAssign(), ast.Sub: cst.SubtractAssign(), ast.Mult: cst.MultiplyAssign(),
    ast.MatMult: cst.MatrixMultiplyAssign(), ast.Div: cst.DivideAssign(), ast.Mod: cst.ModuloAssign(),
    ast.Pow: cst.PowerAssign(), ast.LShift: cst.LeftShiftAssign(), ast.RShift: cst.RightShiftAssign(),
    ast.BitOr: cst.BitOrAssign(), ast.BitXor: cst.BitXorAssign(), ast.BitAnd: cst.BitAndAssign(),
    ast.FloorDiv: cst.FloorDivideAssign(),
}  # fmt: skip


class Offsets:
    """Where rows begin, and at which character the bytes stand that Python's parser counts."""

    def __init__(self, text: str) -> None:
        self._lines = io.StringIO(text, newline="").readlines()  # rows as Python's parser counts them
        self._starts = [0, *itertools.accumulate(map(len, self._lines))]
        self._is_ascii = text.isascii()

    def at(self, row: int, column: int) -> int:
        """The character at a row and a column that counts the bytes of UTF-8."""
        if not self._is_ascii:
            line = self._lines[row - 1]
            if not line.isascii():
                column = len(line.encode()[:column].decode(errors="replace"))
        return self._starts[row - 1] + column

    def span(self, node: Any) -> tuple[int, int]:
        """Where a node of Python's parser begins and ends."""
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def is_first(self, node: Any) -> bool:
        """Whether a node is the first in its line; raises :class:`NoSkeleton` where that may begin above its row."""
        row = node.lineno - 1
        if self._lines[row].encode()[: node.col_offset].strip():
            return False
        if row and self._lines[row - 1].rstrip("\r\n").endswith("\\"):
            raise NoSkeleton
        return True


class _Builder:
    def __init__(self, text: str) -> None:
        self.text = text
        self.offsets = Offsets(text)
        self.places: Places = {}
        self.has_semicolons = ";" in text

    def source(self, node: Any) -> str:
        start, end = self.offsets.span(node)
        return self.text[start:end]

    # statements

    def lines(self, body: Sequence[ast.stmt]) -> tuple[Any, ...]:
        """Statements, the small ones with those that share their line."""
        found: list[Any] = []
        line: list[Any] = []
        last: ast.stmt | None = None
        for statement in body:
            compound = _COMPOUND.get(type(statement))
            if compound is not None:
                if line:
                    found.append(_LINE(tuple(line)))
                    line = []
                found.append(compound(self, statement))
                last = None
                continue
            if line and not (self.has_semicolons and last is not None and self.share_line(last, statement)):
                found.append(_LINE(tuple(line)))
                line = []
            line.append(self.small(statement))
            last = statement
        if line:
            found.append(_LINE(tuple(line)))
        return tuple(found)

    def share_line(self, one: ast.stmt, other: ast.stmt) -> bool:
        between = self.text[self.offsets.span(one)[1] : self.offsets.span(other)[0]]
        if not between.strip(" \t\f;"):
            return True
        if "\\" in between.partition("#")[0]:
            raise NoSkeleton
        return False

    def suite(self, body: Sequence[ast.stmt]) -> Any:
        first: ast.AST = body[0]
        decorators = getattr(first, "decorator_list", None)
        if decorators or self.offsets.is_first(first):
            return _BLOCK(self.lines(body))
        return _SUITE(tuple(self.small(statement) for statement in body))

    def small(self, statement: ast.stmt) -> Any:
        kind = type(statement)
        method = _SMALL.get(kind)
        if method is not None:
            return method(self, statement)
        if kind in _SIMPLE:
            return _SIMPLE[kind]()
        raise NoSkeleton

    def expr(self, node: ast.Expr) -> Any:
        return _EXPR(self.expression(node.value))

    def assign(self, node: ast.Assign) -> Any:
        return _ASSIGN(tuple(_TARGET(self.expression(t)) for t in node.targets), self.expression(node.value))

    def annotated(self, node: ast.AnnAssign) -> Any:
        annotation = _ANNOTATION(self.expression(node.annotation))
        return _ANN_ASSIGN(self.expression(node.target), annotation, self.optional(node.value))

    def augmented(self, node: ast.AugAssign) -> Any:
        return _AUG_ASSIGN(self.expression(node.target), _AUGMENTED[type(node.op)], self.expression(node.value))

    def return_(self, node: ast.Return) -> Any:
        return _RETURN(self.optional(node.value))

    def raise_(self, node: ast.Raise) -> Any:
        cause = None if node.cause is None else _FROM(self.expression(node.cause))
        return _RAISE(self.optional(node.exc), cause)

    def assert_(self, node: ast.Assert) -> Any:
        return _ASSERT(self.expression(node.test), self.optional(node.msg))

    def delete(self, node: ast.Delete) -> Any:
        if len(node.targets) > 1:
            return _DELETE(_TUPLE(self.elements(node.targets)))
        if self.offsets.span(node)[1] != self.offsets.span(node.targets[0])[1]:
            raise NoSkeleton  # in parentheses, or with a comma behind it
        return _DELETE(self.expression(node.targets[0]))

    def shared(self, node: ast.Global | ast.Nonlocal) -> Any:
        return _SHARED[type(node)](tuple(_NAME_ITEM(_NAME(name)) for name in node.names))

    def import_(self, node: ast.Import) -> Any:
        return _IMPORT(self.aliases(node.names))

    def import_from(self, node: ast.ImportFrom) -> Any:
        module = None if node.module is None else self.dotted(node.module)
        names = _STAR() if node.names[0].name == "*" else self.aliases(node.names)
        return _IMPORT_FROM(module, names, (_DOT,) * node.level)

    def aliases(self, names: Iterable[ast.alias]) -> tuple[Any, ...]:
        found = []
        for alias in names:
            made = _ALIAS(self.dotted(alias.name), None if alias.asname is None else _AS_NAME(_NAME(alias.asname)))
            self.places[id(made)] = alias
            found.append(made)
        return tuple(found)

    def dotted(self, name: str) -> Any:
        first, *rest = name.split(".")
        node = _NAME(first)
        for part in rest:
            node = _ATTRIBUTE(node, _NAME(part))
        return node

    # statements with blocks

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        if getattr(node, "type_params", None):
            raise NoSkeleton
        returns = None if node.returns is None else _ANNOTATION(self.expression(node.returns))
        return _FUNCTION(
            _NAME(node.name),
            self.parameters(node.args),
            self.suite(node.body),
            self.decorators(node.decorator_list),
            returns,
            _ASYNC if type(node) is ast.AsyncFunctionDef else None,
        )

    def class_(self, node: ast.ClassDef) -> Any:
        if getattr(node, "type_params", None):
            raise NoSkeleton
        return _CLASS(
            _NAME(node.name),
            self.suite(node.body),
            tuple(self.argument(base) for base in node.bases),
            tuple(self.keyword(keyword) for keyword in node.keywords),
            self.decorators(node.decorator_list),
        )

    def decorators(self, decorators: Iterable[ast.expr]) -> tuple[Any, ...]:
        return tuple(_DECORATOR(self.expression(decorator)) for decorator in decorators)

    def parameters(self, node: ast.arguments) -> Any:
        plain = [*node.posonlyargs, *node.args]
        defaults = [None] * (len(plain) - len(node.defaults)) + [*node.defaults]
        params = [self.parameter(arg, default) for arg, default in zip(plain, defaults, strict=True)]
        star: Any = cst.MaybeSentinel.DEFAULT
        if node.vararg is not None:
            star = self.parameter(node.vararg, None, "*")
        elif node.kwonlyargs:
            star = _PARAM_STAR()
        named = (self.parameter(arg, d) for arg, d in zip(node.kwonlyargs, node.kw_defaults, strict=True))
        others = None if node.kwarg is None else self.parameter(node.kwarg, None, "**")
        first = len(node.posonlyargs)
        return _PARAMETERS(tuple(params[first:]), star, tuple(named), others, tuple(params[:first]))

    def parameter(self, node: ast.arg, default: ast.expr | None, star: str = "") -> Any:
        annotation = None if node.annotation is None else _ANNOTATION(self.expression(node.annotation))
        return _PARAM(_NAME(node.arg), annotation, self.optional(default), star)

    def if_(self, node: ast.If) -> Any:
        orelse: Any = None
        if node.orelse:
            inner = node.orelse[0]
            if type(inner) is ast.If and self.text.startswith("elif", self.offsets.span(inner)[0]):
                orelse = self.if_(inner)
            else:
                orelse = _ELSE(self.suite(node.orelse))
        return _IF(self.expression(node.test), self.suite(node.body), orelse)

    def orelse(self, body: Sequence[ast.stmt]) -> Any:
        return _ELSE(self.suite(body)) if body else None

    def for_(self, node: ast.For | ast.AsyncFor) -> Any:
        asynchronous = _ASYNC if type(node) is ast.AsyncFor else None
        target, source = self.expression(node.target), self.expression(node.iter)
        return _FOR(target, source, self.suite(node.body), self.orelse(node.orelse), asynchronous)

    def while_(self, node: ast.While) -> Any:
        return _WHILE(self.expression(node.test), self.suite(node.body), self.orelse(node.orelse))

    def with_(self, node: ast.With | ast.AsyncWith) -> Any:
        items = []
        for item in node.items:
            name = None if item.optional_vars is None else _AS_NAME(self.expression(item.optional_vars))
            items.append(_WITH_ITEM(self.expression(item.context_expr), name))
        return _WITH(tuple(items), self.suite(node.body), _ASYNC if type(node) is ast.AsyncWith else None)

    def try_(self, node: ast.Try) -> Any:
        handlers = []
        for handler in node.handlers:
            name = None if handler.name is None else _AS_NAME(_NAME(handler.name))
            handlers.append(_HANDLER(self.suite(handler.body), self.optional(handler.type), name))
        final = _FINALLY(self.suite(node.finalbody)) if node.finalbody else None
        return _TRY(self.suite(node.body), tuple(handlers), self.orelse(node.orelse), final)

    # expressions

    def optional(self, node: ast.expr | None) -> Any:
        return None if node is None else self.expression(node)

    def expression(self, node: ast.expr) -> Any:
        method = _EXPRESSIONS.get(type(node))
        if method is None:
            raise NoSkeleton
        made = method(self, node)
        if type(node) not in _IN_PARENTHESES:
            self.places[id(made)] = node
        return made

    def name(self, node: ast.Name) -> Any:
        return _NAME(node.id)

    def attribute(self, node: ast.Attribute) -> Any:
        return _ATTRIBUTE(self.expression(node.value), _NAME(node.attr))

    def constant(self, node: ast.Constant) -> Any:
        value = node.value
        if isinstance(value, (str, bytes)):
            source = self.source(node)
            return _TEXT(source) if _STRING.fullmatch(source) else self.parsed(source)
        if value is Ellipsis:
            return _ELLIPSIS()
        if value is None or isinstance(value, bool):
            return _NAME(repr(value))
        make = _INTEGER if isinstance(value, int) else _FLOAT if isinstance(value, float) else _IMAGINARY
        return make(self.source(node))

    def formatted(self, node: ast.JoinedStr) -> Any:
        return self.parsed(self.source(node))

    def parsed(self, source: str) -> Any:
        """Strings in several pieces, or with expressions in them, of which Python's parser does not tell enough."""
        try:
            return cst.parse_expression(f"({source})")
        except Exception:
            raise NoSkeleton from None

    def call(self, node: ast.Call) -> Any:
        args: list[Any] = node.args
        if node.keywords:
            args = [*args, *node.keywords]
            if node.args and isinstance(node.args[-1], ast.Starred):
                args.sort(key=lambda each: (each.lineno, each.col_offset))
        made = [self.keyword(a) if type(a) is ast.keyword else self.argument(a) for a in args]
        return _CALL(self.expression(node.func), tuple(made))

    def argument(self, node: ast.expr) -> Any:
        if type(node) is ast.Starred:
            return _ARG(self.expression(node.value), None, "*")
        return _ARG(self.expression(node), None, "")

    def keyword(self, node: ast.keyword) -> Any:
        value = self.expression(node.value)
        made = _ARG(value, None, "**") if node.arg is None else _ARG(value, _NAME(node.arg), "")
        self.places[id(made)] = node
        return made

    def binary(self, node: ast.BinOp) -> Any:
        return _BINARY(self.expression(node.left), _OPERATORS[type(node.op)], self.expression(node.right))

    def boolean(self, node: ast.BoolOp) -> Any:
        operator = _OPERATORS[type(node.op)]
        made = self.expression(node.values[0])
        for value in node.values[1:]:
            made = _BOOLEAN(made, operator, self.expression(value))
        return made

    def unary(self, node: ast.UnaryOp) -> Any:
        return _UNARY(_OPERATORS[type(node.op)], self.expression(node.operand))

    def comparison(self, node: ast.Compare) -> Any:
        compared = zip(node.ops, node.comparators, strict=True)
        targets = tuple(_COMPARED(_OPERATORS[type(op)], self.expression(other)) for op, other in compared)
        return _COMPARISON(self.expression(node.left), targets)

    def choice(self, node: ast.IfExp) -> Any:
        return _IF_EXP(self.expression(node.test), self.expression(node.body), self.expression(node.orelse))

    def lambda_(self, node: ast.Lambda) -> Any:
        return _LAMBDA(self.parameters(node.args), self.expression(node.body))

    def element(self, node: ast.expr) -> Any:
        if type(node) is ast.Starred:
            made = _STARRED(self.expression(node.value))
            self.places[id(made)] = node
            return made
        return _ELEMENT(self.expression(node))

    def elements(self, nodes: Iterable[ast.expr]) -> tuple[Any, ...]:
        return tuple(self.element(node) for node in nodes)

    def tuple_(self, node: ast.Tuple) -> Any:
        return _TUPLE(self.elements(node.elts))

    def list_(self, node: ast.List) -> Any:
        return _LIST(self.elements(node.elts))

    def set_(self, node: ast.Set) -> Any:
        return _SET(self.elements(node.elts))

    def dict_(self, node: ast.Dict) -> Any:
        return _DICT(tuple(map(self.item, node.keys, node.values)))

    def item(self, key: ast.expr | None, value: ast.expr) -> Any:
        made = self.expression(value)
        return _STARRED_ITEM(made) if key is None else _ITEM(self.expression(key), made)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Any:
        return _COMPREHENSIONS[type(node)](self.expression(node.elt), self.clauses(node.generators))

    def dict_comprehension(self, node: ast.DictComp) -> Any:
        return _DICT_COMP(self.expression(node.key), self.expression(node.value), self.clauses(node.generators))

    def clauses(self, generators: Sequence[ast.comprehension]) -> Any:
        made: Any = None
        for clause in reversed(generators):
            ifs = tuple(_COMP_IF(self.expression(test)) for test in clause.ifs)
            asynchronous = _ASYNC if clause.is_async else None
            made = _COMP_FOR(self.expression(clause.target), self.expression(clause.iter), ifs, made, asynchronous)
        return made

    def await_(self, node: ast.Await) -> Any:
        return _AWAIT(self.expression(node.value))

    def yield_(self, node: ast.Yield) -> Any:
        return _YIELD(self.optional(node.value))

    def yield_from(self, node: ast.YieldFrom) -> Any:
        return _YIELD(_FROM(self.expression(node.value)))

    def walrus(self, node: ast.NamedExpr) -> Any:
        return _WALRUS(self.expression(node.target), self.expression(node.value))

    def subscript(self, node: ast.Subscript) -> Any:
        value, inner = self.expression(node.value), node.slice
        if type(inner) is not ast.Tuple:
            return _SUBSCRIPT(value, (_SUBSCRIPT_ELEMENT(self.index(inner)),))
        source = self.source(inner)
        if source.startswith("(") and source.endswith(")"):
            raise NoSkeleton  # one tuple, or several parts
        return _SUBSCRIPT(value, tuple(_SUBSCRIPT_ELEMENT(self.index(part)) for part in inner.elts))

    def index(self, node: ast.expr) -> Any:
        if type(node) is ast.Slice:
            return _SLICE(self.optional(node.lower), self.optional(node.upper), self.optional(node.step))
        if type(node) is ast.Starred:
            return _INDEX(self.expression(node.value), "*")
        return _INDEX(self.expression(node), None)


_IN_PARENTHESES = frozenset({ast.Tuple, ast.GeneratorExp})
"""What Python's parser takes to begin at the parentheses around it, LibCST behind them."""
_COMPOUND: dict[type, Callable[[_Builder, Any], Any]] = {
    ast.FunctionDef: _Builder.function,
    ast.AsyncFunctionDef: _Builder.function,
    ast.ClassDef: _Builder.class_,
    ast.If: _Builder.if_,
    ast.For: _Builder.for_,
    ast.AsyncFor: _Builder.for_,
    ast.While: _Builder.while_,
    ast.With: _Builder.with_,
    ast.AsyncWith: _Builder.with_,
    ast.Try: _Builder.try_,
}
_SMALL: dict[type, Callable[[_Builder, Any], Any]] = {
    ast.Expr: _Builder.expr,
    ast.Assign: _Builder.assign,
    ast.AnnAssign: _Builder.annotated,
    ast.AugAssign: _Builder.augmented,
    ast.Return: _Builder.return_,
    ast.Raise: _Builder.raise_,
    ast.Assert: _Builder.assert_,
    ast.Delete: _Builder.delete,
    ast.Global: _Builder.shared,
    ast.Nonlocal: _Builder.shared,
    ast.Import: _Builder.import_,
    ast.ImportFrom: _Builder.import_from,
}
_EXPRESSIONS: dict[type, Callable[[_Builder, Any], Any]] = {
    ast.Name: _Builder.name,
    ast.Attribute: _Builder.attribute,
    ast.Constant: _Builder.constant,
    ast.JoinedStr: _Builder.formatted,
    ast.Call: _Builder.call,
    ast.BinOp: _Builder.binary,
    ast.BoolOp: _Builder.boolean,
    ast.UnaryOp: _Builder.unary,
    ast.Compare: _Builder.comparison,
    ast.IfExp: _Builder.choice,
    ast.Lambda: _Builder.lambda_,
    ast.Tuple: _Builder.tuple_,
    ast.List: _Builder.list_,
    ast.Set: _Builder.set_,
    ast.Dict: _Builder.dict_,
    ast.ListComp: _Builder.comprehension,
    ast.SetComp: _Builder.comprehension,
    ast.GeneratorExp: _Builder.comprehension,
    ast.DictComp: _Builder.dict_comprehension,
    ast.Await: _Builder.await_,
    ast.Yield: _Builder.yield_,
    ast.YieldFrom: _Builder.yield_from,
    ast.NamedExpr: _Builder.walrus,
    ast.Subscript: _Builder.subscript,
}
