"""The training loops of a file, cut out of it and rewritten so that what they lack can be stood in for.

Every rewritten node keeps its place, so that what happens is reported at the user's line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

HELPER = "__amplint__"
"""The global through which rewritten code reaches :class:`amplint.harness.standins.helper.Helper`."""
MODULE = "<module>"

Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
RELEVANT = frozenset({"backward", "unscale_", "step", "scale"})
"""What a function that trains calls."""
_KEPT_DECORATORS = re.compile(
    r"(?:^|\.)(?:staticmethod|classmethod|property|cached_property|setter|no_grad|enable_grad|inference_mode|autocast|"
    r"contextmanager)$"
)
OPTIMIZER_NAME = re.compile(r"(?i)(?:^|_)opt(?:im\w*|s)?(?:_|\d|$)|optim")
_NOT_AN_OPTIMIZER = re.compile(r"(?i)sched|lr_|env|prof|pbar|bar$|wrapper|hook|step")


class NothingToRun(Exception):
    """The file cannot be parsed, or has no function of the name asked for; in words for the user."""


@dataclass(frozen=True)
class Root:
    """A function to run by itself: its qualified name, or ``<module>``, and the rows it reaches over."""

    name: str
    rows: range


@dataclass
class Extract:
    """What a file has for running its training loops."""

    filename: str
    text: str
    roots: tuple[Root, ...]
    code: CodeType
    """Defines the functions and classes; runs none of them."""
    module_code: CodeType | None
    """The statements of the module itself, where the loop is among them."""
    names: frozenset[str]
    """Every name that any of it may look up."""
    scalers: frozenset[str]
    optimizers: frozenset[str]
    methods: dict[str, str] = field(default_factory=dict)
    """Qualified name of a method -> how it is bound: to an instance, its class or nothing."""

    def around(self, row: int) -> list[Root]:
        """The functions with ``row`` in them, or else the module itself."""
        around = [root for root in self.roots if row in root.rows]
        return [root for root in around if root.name != MODULE] or around


def extract(text: str, filename: str, wanted: str | None = None) -> Extract:
    """Cut the training loops out of ``text``: those of ``wanted`` only, if that is given.

    Raises :class:`NothingToRun`.
    """
    try:
        tree = ast.parse(text, filename)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NothingToRun(f"it could not be parsed: {error}") from None
    functions = dict(_functions(tree))
    relevant = _relevant(functions)
    classes = _classes_of(tree, relevant)
    loose = [statement for statement in tree.body if not isinstance(statement, (*_FUNCTIONS, ast.ClassDef))]
    module = _calls(loose) & (RELEVANT | {name.rpartition(".")[2] for name in relevant})
    roots = [Root(name, _rows(function)) for name, function in functions.items() if name in relevant]
    if module:
        roots.append(Root(MODULE, range(1, text.count("\n") + 2)))
    if wanted is not None:
        named = [root for root in roots if root.name == wanted]
        roots = named or [root for root in roots if root.name.endswith("." + wanted)]
        if not roots and wanted in functions:
            roots = [Root(wanted, _rows(functions[wanted]))]
        if not roots:
            raise NothingToRun(f"it has no function `{wanted}` that trains")
    scalers, optimizers = _roles(tree)
    kept_classes = set(classes)
    helpers = {name for name, function in functions.items() if name in relevant or _touches_training(function)}
    definitions = _definitions(tree, kept_classes, helpers)
    rewriter = _Rewriter(kept_classes, scalers | optimizers)
    methods = {
        name: _binding(function) for name, function in functions.items() if "." in name and "<locals>" not in name
    }
    names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    code = _compiled(rewriter, definitions, filename)
    module_code = _compiled(rewriter, _whole(tree, kept_classes | helpers), filename) if module else None
    return Extract(filename, text, tuple(roots), code, module_code, names, scalers, optimizers, methods)


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Module-level functions and methods of module-level classes, by qualified name."""

    def of(statements: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Function]]:
        for statement in statements:
            if isinstance(statement, _FUNCTIONS):
                yield prefix + statement.name, statement
            elif isinstance(statement, ast.ClassDef) and not prefix:
                yield from of(statement.body, statement.name + ".")
            elif isinstance(statement, (ast.If, ast.Try)):
                yield from of([*statement.body, *statement.orelse], prefix)

    return of(tree.body, "")


def _relevant(functions: dict[str, Function]) -> set[str]:
    """The functions that train, and those that call them."""
    called = {name: _calls(function.body) for name, function in functions.items()}
    relevant = {name for name, calls in called.items() if calls & RELEVANT}
    while True:
        short = {name.rpartition(".")[2] for name in relevant} - {"__init__", "forward", "__call__"}
        more = {name for name, calls in called.items() if name not in relevant and calls & short}
        if not more:
            return relevant
        relevant |= more


def _calls(statements: list[Any]) -> set[str]:
    """The last names of what is called."""
    found = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Attribute):
                    found.add(node.func.attr)
                elif isinstance(node.func, ast.Name):
                    found.add(node.func.id)
    return found


def _classes_of(tree: ast.Module, relevant: set[str]) -> set[str]:
    """The classes that are run as they are written: those with a relevant method, and their bases in the file."""
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    kept = {name.partition(".")[0] for name in relevant if "." in name}
    size = -1
    while size != len(kept):
        size = len(kept)
        for name in list(kept & classes.keys()):
            kept |= {base.id for base in classes[name].bases if isinstance(base, ast.Name) and base.id in classes}
    return kept & classes.keys()


_TRAINING = re.compile(r"optim|[sS]caler$|clip_grad|^(?:zero_grad|grad|update|parameters|requires_grad)$")


def _touches_training(function: Function) -> bool:
    """Whether a function may have to do with gradients, optimizers or scalers, so that its body matters."""
    for node in ast.walk(function):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name and _TRAINING.search(name):
            return True
    return False


def _rows(function: Function) -> range:
    return range(function.lineno, (function.end_lineno or function.lineno) + 1)


def _binding(function: Function) -> str:
    decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in function.decorator_list}
    return next((kind for kind in ("staticmethod", "classmethod", "property") if kind in decorators), "method")


def _roles(tree: ast.Module) -> tuple[frozenset[str], frozenset[str]]:
    """The names that the file uses as gradient scalers and as optimizers."""
    used: dict[str, set[str]] = {}
    stepped: dict[str, set[str]] = {}
    made: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if name_of(node.value.func) == "GradScaler":
                made |= {name_of(target) for target in node.targets}
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        name = name_of(node.func.value)
        if name:
            used.setdefault(name, set()).add(node.func.attr)
            if node.func.attr in ("step", "unscale_") and node.args:
                stepped.setdefault(name, set()).add(name_of(node.args[0]))
    scalers = {
        name
        for name, methods in used.items()
        if "unscale_" in methods
        or ("scale" in methods and (methods & {"step", "update"} or "scaler" in name.lower()))
        or (name in stepped and "update" in methods and (name in made or "scaler" in name.lower()))
    }
    optimizers = {optimizer for scaler in scalers for optimizer in stepped.get(scaler, ()) if optimizer}
    optimizers |= {name for name, methods in used.items() if {"step", "zero_grad"} <= methods and is_optimizer(name)}
    return frozenset(scalers), frozenset(optimizers - scalers)


def is_optimizer(name: str) -> bool:
    """Whether ``name`` is what people call an optimizer."""
    return bool(OPTIMIZER_NAME.search(name)) and not _NOT_AN_OPTIMIZER.search(name)


def name_of(node: ast.expr) -> str:
    """The identifier by which an expression is reached."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _definitions(tree: ast.Module, classes: set[str], functions: set[str]) -> list[ast.stmt]:
    """Imports, plain constants, the kept functions and the kept classes of the module."""
    found: list[ast.stmt] = []

    def collect(statements: list[ast.stmt]) -> None:
        for statement in statements:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                found.append(statement)
            elif isinstance(statement, _FUNCTIONS) and statement.name in functions:
                found.append(statement)
            elif isinstance(statement, ast.ClassDef) and statement.name in classes:
                found.append(statement)
            elif isinstance(statement, ast.Assign) and _is_constant(statement.value):
                found.append(statement)
            elif isinstance(statement, ast.Try):
                collect(statement.body)
            elif isinstance(statement, ast.If):
                collect([s for s in (*statement.body, *statement.orelse) if not isinstance(s, ast.Assign)])

    collect(tree.body)
    return found


def _whole(tree: ast.Module, kept: set[str]) -> list[ast.stmt]:
    return [s for s in tree.body if not isinstance(s, (ast.ClassDef, *_FUNCTIONS)) or s.name in kept]


def _is_constant(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _compiled(rewriter: _Rewriter, statements: list[ast.stmt], filename: str) -> CodeType:
    import copy

    module = ast.Module([copy.deepcopy(statement) for statement in statements], [])
    module = ast.fix_missing_locations(rewriter.visit(module))
    return compile(module, filename, "exec", dont_inherit=True)


INSIDES = frozenset(
    "__globals__ __builtins__ __subclasses__ __code__ __closure__ __loader__ __spec__ __getattribute__ __reduce__ "
    "__reduce_ex__ tb_frame gi_frame cr_frame ag_frame f_back f_globals f_locals f_builtins".split()
)
"""Attributes that lead from an object to what is none of its program's business."""


def _is_inside(name: str) -> bool:
    return name in INSIDES or name.startswith("_si_")


_REAL_ATTRIBUTES = {"grad": "tensor", "requires_grad": "truth"}
"""Attributes of tensors -> what makes something real of their values."""


class _Rewriter(ast.NodeTransformer):
    """Puts the helper where Python would insist on real things."""

    def __init__(self, classes: set[str], roles: frozenset[str]) -> None:
        self._classes = classes
        self._roles = roles
        self._loops = 0

    # Definitions

    def _visit_function(self, node: Any) -> Any:
        node.decorator_list = [d for d in node.decorator_list if _KEPT_DECORATORS.search(_callee(d))]
        node.returns = None
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        for starred in (node.args.vararg, node.args.kwarg):
            if starred is not None:
                starred.annotation = None
        if hasattr(node, "type_params"):
            node.type_params = []
        return self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Bases of the file stay; all others become the stand-in's."""
        bases = [base for base in node.bases if isinstance(base, ast.Name) and base.id in self._classes]
        node.bases, node.keywords, node.decorator_list = [], [], []
        if hasattr(node, "type_params"):
            node.type_params = []
        self.generic_visit(node)
        node.bases = [*bases] or [_helper("Base")]
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.module == "__future__":
            return ast.copy_location(ast.Pass(), node)
        node.names = [alias for alias in node.names if alias.name != "*"]
        return node if node.names else ast.copy_location(ast.Pass(), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    # Unpacking and loops

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        for target in node.targets:
            shape = self._shape(target)
            if shape is not None:
                node.value = _call_helper("unpack", node.value, node.value, _constant(shape))
        return self._filled(node, node.targets)

    def _shape(self, target: ast.expr) -> Any:
        """How a target unpacks: None for not at all, ``*`` for what takes the rest, a tuple of shapes.

        A name stands for itself where it says what it is the name of.
        """
        if isinstance(target, ast.Starred):
            return "*"
        if isinstance(target, (ast.Tuple, ast.List)):
            return tuple(map(self._shape, target.elts))
        name = name_of(target) if isinstance(target, (ast.Name, ast.Attribute)) else ""
        return name if name in self._roles or is_optimizer(name) else None

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        return self._filled(node, [node.target])

    def _filled(self, node: Any, targets: list[ast.expr]) -> Any:
        """What becomes an attribute of a real tensor must be real."""
        for target in targets:
            if isinstance(target, ast.Attribute) and target.attr in _REAL_ATTRIBUTES:
                node.value = _call_helper(_REAL_ATTRIBUTES[target.attr], node.value, node.value)
        return node

    def _visit_loop(self, node: Any) -> Any:
        self.generic_visit(node)
        node.iter = _call_helper("items", node.iter, node.iter, _constant(self._shape(node.target)))
        if isinstance(node, ast.AsyncFor):
            return ast.copy_location(ast.For(node.target, node.iter, node.body, node.orelse), node)
        return node

    visit_For = visit_AsyncFor = _visit_loop

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        self.generic_visit(node)
        node.iter = _call_helper("all_items", node.iter, node.iter, _constant(self._shape(node.target)))
        node.is_async = 0
        return node

    def visit_While(self, node: ast.While) -> Any:
        self.generic_visit(node)
        self._loops += 1
        number = self._loops
        enter = ast.copy_location(ast.Expr(_call_helper("enter", node.test, _constant(number))), node)
        more = _call_helper("more", node.test, _constant(number))
        node.test = ast.copy_location(ast.BoolOp(ast.And(), [more, node.test]), node.test)
        return [enter, node]

    # Expressions

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        for keyword in node.keywords:
            if keyword.arg is None:
                keyword.value = _call_helper("mapping", keyword.value, keyword.value)
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "globals"):
            return node
        return ast.copy_location(ast.Call(_helper("call"), [node.func, *node.args], node.keywords), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """What leads from an object to the interpreter's insides is stood in for."""
        self.generic_visit(node)
        if _is_inside(node.attr):
            if isinstance(node.ctx, ast.Load):
                return _call_helper("inside", node, node.value)
            node.attr = "inside"
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id == HELPER:
            node.id = "inside"
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        self.generic_visit(node)
        node.kwd_attrs = ["inside" if _is_inside(name) else name for name in node.kwd_attrs]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and not any(isinstance(part, ast.Slice) for part in ast.walk(node.slice)):
            return _call_helper("element", node, node.value, node.slice)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod):
            return _call_helper("modulo", node, node.left, node.right)
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None:
            if isinstance(node.ops[0], (ast.Is, ast.Eq)):
                return _call_helper("is_none", node, node.left)
            if isinstance(node.ops[0], (ast.IsNot, ast.NotEq)):
                return ast.copy_location(ast.UnaryOp(ast.Not(), _call_helper("is_none", node, node.left)), node)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        self.generic_visit(node)
        if node.type is not None:
            node.type = _call_helper("exceptions", node.type, node.type)
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        """What is asserted is taken to hold."""
        return ast.copy_location(ast.Pass(), node)


def _callee(node: ast.expr) -> str:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


def _helper(name: str) -> ast.expr:
    return ast.Attribute(ast.Name(HELPER, ast.Load()), name, ast.Load())


def _call_helper(name: str, place: ast.AST, *arguments: ast.expr) -> Any:
    return ast.copy_location(ast.Call(_helper(name), list(arguments), []), place)


def _constant(value: Any) -> ast.expr:
    """``value``, a nest of tuples, as an expression."""
    if isinstance(value, tuple):
        return ast.Tuple([_constant(part) for part in value], ast.Load())
    return ast.Constant(value)
