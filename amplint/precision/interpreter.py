"""An abstract run of a document that follows dtypes, autocast regions and gradient recording.

Every function is run by itself with unknown arguments, and again wherever a call of it is seen, with what is known
there. Unknown stays unknown: a fact is recorded only where it follows from the code on a feasible path.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from amplint.precision import regions
from amplint.precision.operators import MODULES, Treatment, treatment
from amplint.precision.values import (
    NUMBER,
    UNKNOWN,
    Arguments,
    Autocast,
    Choice,
    Class,
    Constant,
    Contexts,
    DType,
    Entered,
    Expecting,
    Function,
    Gradients,
    Instance,
    Items,
    Limits,
    Made,
    Mapping,
    Named,
    Number,
    Partial,
    Tensor,
    Unknown,
    Value,
    join,
    options,
    promote,
)
from amplint.syntax.names import Names, children, dotted_name
from amplint.syntax.tree import SyntaxTree

_DTYPES = {
    "float16": "float16",
    "half": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float": "float32",
    "float64": "float64",
    "double": "float64",
    "HalfTensor": "float16",
    "FloatTensor": "float32",
    "BFloat16Tensor": "bfloat16",
    **dict.fromkeys(["int8", "uint8", "int16", "int32", "int64", "long", "int", "short", "bool"], "other"),
}
_WIDE = {"float32", "float64"}
_CASTS = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float32"}
_INTEGERS = {"long", "int", "bool", "byte", "short", "argmax", "argmin", "argsort", "eq", "ne", "lt", "le", "gt", "ge"}
_LIMITS = {
    "float16": {"max": 65504.0, "eps": 2.0**-10, "tiny": 2.0**-14},
    "bfloat16": {"max": 3.3895e38, "eps": 2.0**-7, "tiny": 1.1755e-38},
    "float32": {"max": 3.4028e38, "eps": 2.0**-23, "tiny": 1.1755e-38},
    "float64": {"max": 1.797e308, "eps": 2.0**-52, "tiny": 2.2e-308},
}
_CONSTANTS = {name: math.inf for name in ("math.inf", "numpy.inf", "numpy.Inf", "torch.inf")} | {
    "numpy.NINF": -math.inf,
    "math.pi": math.pi,
    "sys.float_info.max": 1.797e308,
    "sys.float_info.epsilon": 2.0**-52,
}
_CREATING = {"zeros", "ones", "rand", "randn", "empty", "eye", "linspace"}
_CREATING_OF_VALUE = {"full", "tensor", "as_tensor", "arange"}
_LIKE = {"zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like"}
_NEW = {"new_zeros", "new_ones", "new_full", "new_tensor", "new_empty"}
_WRAPPERS = {
    "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel",
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
    "torch.compile",
    "torch.jit.script",
}
_SAME_OBJECT = {"to", "cuda", "cpu", "train", "eval", "requires_grad_", "apply", "share_memory"}
_PROPERTIES = {"property", "cached_property"}
_FUNCTION_MODULES = ("torch.", "torch.nn.functional.", "torch.special.", "torch.linalg.", "einops.")
_FUNCTIONS = {"torch.autograd.Function", "torch.autograd.function.Function"}
_EXPECTING = {"pytest.raises", "pytest.warns", "unittest.TestCase.assertRaises"}
_MODULE_NAME = re.compile(
    r"(?i)(^|_)(model|net|network|unet|encoder|decoder|backbone|generator|discriminator|classifier|student|teacher|"
    r"detector|net[gd])(_|\d|$)"
)
_MODULE_METHOD = re.compile(r"(\w+)(?:\.module)?\.(?:train|eval|parameters|named_parameters)\(")
_DEVICE_NAME = re.compile(r"(?i)device|rank|cuda|gpu|(^|[._])dev($|[._])")
_LOSS_NAME = re.compile(r"(?i)(^|_)(loss|losses|cost)(_|\d|$)")
_PRECISION_TEST = re.compile(r"(?i)dtype|half|fp16|float16|bf16|autocast|(^|\W|_)amp(\W|_|$)|mixed|precision|is_cuda")
_MOST_CALLS = 1500
_DEEPEST = 8

_BINARY: dict[type, str] = {
    cst.Add: "__add__",
    cst.Subtract: "__sub__",
    cst.Multiply: "__mul__",
    cst.Divide: "__truediv__",
    cst.MatrixMultiply: "__matmul__",
    cst.Power: "__pow__",
}
_AUGMENTED: dict[type, str] = {
    cst.AddAssign: "__add__",
    cst.SubtractAssign: "__sub__",
    cst.MultiplyAssign: "__mul__",
    cst.DivideAssign: "__truediv__",
    cst.MatrixMultiplyAssign: "__matmul__",
    cst.PowerAssign: "__pow__",
}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "__add__": lambda a, b: a + b,
    "__sub__": lambda a, b: a - b,
    "__mul__": lambda a, b: a * b,
    "__truediv__": lambda a, b: a / b,
    "__pow__": lambda a, b: a**b if abs(b) < 1000 and abs(a) < 1e6 else math.inf,
}


@dataclass(frozen=True)
class State:
    """What surrounds a statement at run time."""

    entered: tuple[Entered, ...] = ()
    gradients: bool | None = True
    doubtful: bool = False
    calls: tuple[cst.CSTNode, ...] = ()
    loops: tuple[tuple[cst.CSTNode, int], ...] = ()

    @property
    def cuda(self) -> Entered | None:
        """The innermost region that decides what CUDA tensors are cast to, one that switches autocast off included."""
        return next((entered for entered in reversed(self.entered) if entered.autocast.may_be_cuda), None)

    @property
    def active(self) -> Entered | None:
        """The region that casts CUDA tensors, if one does."""
        entered = self.cuda
        return entered if entered is not None and entered.autocast.enabled is not False else None


@dataclass(frozen=True)
class Use:
    """One operation or call as it is met on a path.

    ``name`` is the operation's, ``operands`` the tensors it works on, ``arguments`` those of the call without the
    object whose method it is. ``function`` is the function in which it stands.
    """

    node: cst.CSTNode
    name: str
    callee: Value
    operands: tuple[Value, ...]
    arguments: Arguments
    state: State
    function: cst.CSTNode | None


class PrecisionReport:
    """What the run met, in its order."""

    def __init__(self, modules: frozenset[str]) -> None:
        self._modules = modules
        self.uses: list[Use] = []
        self.autocasts: dict[cst.CSTNode, Autocast] = {}
        self.functions: frozenset[cst.ClassDef] = frozenset()
        self.generators: frozenset[cst.FunctionDef] = frozenset()
        self.decorated: dict[cst.FunctionDef, tuple[cst.Decorator, Autocast]] = {}

    def applied(self) -> Iterator[tuple[cst.ClassDef, Use]]:
        """Where the autograd functions of the document are applied."""
        for use in self.uses:
            if use.name == "apply" and isinstance(use.callee, Class):
                yield use.callee.node, use

    def is_module_name(self, node: cst.BaseExpression) -> bool:
        """Whether a callable is known for a model by its name, or by what else is done with that name."""
        name = dotted_name(node)
        if name is None:
            return False
        last = name.removesuffix(".module").rpartition(".")[2]
        return last in self._modules or _MODULE_NAME.search(last) is not None


class Frame:
    """The names of a running function."""

    def __init__(self, function: cst.CSTNode | None, parent: Frame | None) -> None:
        self.function, self.parent = function, parent
        self.values: dict[str, Value] = {}
        self.returned: list[Value] = []

    def get(self, name: str) -> Value | None:
        """The value of a name or of a dotted name that was assigned to; None where it has none here."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.values:
                return frame.values[name]
            frame = frame.parent
        return None


_NONE = Arguments((), ())


def interpret(tree: SyntaxTree, names: Names) -> PrecisionReport:
    """Run the document."""
    interpreter = _Interpreter(tree, names)
    interpreter.run()
    return interpreter.report


class _Interpreter:
    def __init__(self, tree: SyntaxTree, names: Names) -> None:
        self.tree, self.names = tree, names
        self.report = PrecisionReport(frozenset(_MODULE_METHOD.findall(tree.text)) - {"self", "super"})
        self.module = Frame(None, None)
        self.entries = itertools.count()
        self.calls_left = _MOST_CALLS
        self.muted = 0
        self.running: list[cst.CSTNode] = []
        self.memory: dict[object, Value] = {}
        self.attributes: dict[tuple[cst.ClassDef, str], Value] = {}
        self._assigned: dict[cst.ClassDef, dict[str, list[tuple[cst.FunctionDef, cst.Assign | cst.AnnAssign]]]] = {}
        self.called: set[cst.CSTNode] = set()
        self.own_models: list[cst.ClassDef] = []
        self._half_models: dict[Autocast, bool] = {}
        self.default_dtype_known = "set_default_dtype" not in tree.text

    def run(self) -> None:
        """Run the module, then every function and method by itself."""
        classes = [node for node in self.names.parents if isinstance(node, cst.ClassDef)]
        self.report.generators = frozenset(self._generators())
        self.own_models = [node for node in classes if _defines(node, "forward") and not _defines(node, "backward")]
        self.block(self.tree.module.body, self.module, State())
        for node in list(self.names.parents):
            if isinstance(node, cst.FunctionDef):
                owner = self._class_of(node)
                if owner is not None:
                    self._note_decorators(node, self.module)
                if owner is not None or self.names.parent(self._line(node)) is None:
                    self._run_alone(node, owner, self.module)
        self.report.functions = frozenset(node for node in classes if self.is_autograd_function(node))

    def _line(self, node: cst.CSTNode) -> cst.CSTNode:
        """The outermost compound statement around a function: only conditions and the like may stand between."""
        for above in self.names.ancestors(node):
            if isinstance(above, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
                return node
            if isinstance(above, cst.Module):
                return above
        return node

    def _generators(self) -> Iterator[cst.FunctionDef]:
        for node in self.names.parents:
            if isinstance(node, cst.Yield):
                for above in self.names.ancestors(node):
                    if isinstance(above, cst.FunctionDef):
                        yield above
                    if isinstance(above, (cst.FunctionDef, cst.Lambda)):
                        break

    def _class_of(self, node: cst.FunctionDef) -> cst.ClassDef | None:
        for above in self.names.ancestors(node):
            if isinstance(above, cst.ClassDef):
                return above
            if isinstance(above, (cst.FunctionDef, cst.Lambda)):
                return None
        return None

    def _run_alone(self, node: cst.FunctionDef, owner: cst.ClassDef | None, frame: Frame) -> None:
        function = Function(node, Instance(owner) if owner is not None else None, frame)
        self._call_function(function, node, None, State())

    # -- statements ----------------------------------------------------------------------------------------------

    def block(self, statements: Sequence[cst.CSTNode], frame: Frame, state: State) -> bool:
        """Run statements; whether the path ends in them."""
        nested: list[cst.FunctionDef] = []
        ended = False
        for statement in statements:
            if isinstance(statement, cst.SimpleStatementLine):
                ended = any([self.small(small, frame, state) for small in statement.body])
            elif isinstance(statement, cst.FunctionDef):
                self.define(statement, frame)
                if frame is not self.module:
                    nested.append(statement)
            else:
                ended = self.compound(statement, frame, state)
                if isinstance(statement, cst.If):
                    state = self._doubt_the_rest(statement, state)
            if ended:
                break
        for node in nested:
            if node not in self.called:
                self._call_function(Function(node, None, frame), node, None, State(calls=state.calls))
        return ended

    def body(self, suite: cst.BaseSuite, frame: Frame, state: State) -> bool:
        if isinstance(suite, cst.SimpleStatementSuite):
            return any([self.small(small, frame, state) for small in suite.body])
        return self.block(suite.body, frame, state)

    def define(self, node: cst.FunctionDef, frame: Frame) -> None:
        frame.values[node.name.value] = Function(node, None, frame)
        self._note_decorators(node, frame)

    def _note_decorators(self, node: cst.FunctionDef, frame: Frame) -> None:
        for decorator in node.decorators:
            value = self.value(decorator.decorator, frame, State())
            if isinstance(value, Autocast) and not self.muted:
                self.report.decorated[node] = decorator, value

    def small(self, node: cst.CSTNode, frame: Frame, state: State) -> bool:
        if isinstance(node, cst.Assign):
            value = self.value(node.value, frame, state)
            for target in node.targets:
                self.assign(target.target, value, frame, state)
        elif isinstance(node, cst.AnnAssign):
            if node.value is not None:
                self.assign(node.target, self.value(node.value, frame, state), frame, state)
        elif isinstance(node, cst.AugAssign):
            self._augment(node, frame, state)
        elif isinstance(node, cst.Return):
            frame.returned.append(self.value(node.value, frame, state) if node.value is not None else Constant(None))
            return True
        elif isinstance(node, cst.Expr):
            self.value(node.value, frame, state)
        elif isinstance(node, (cst.Raise, cst.Break, cst.Continue)):
            return True
        elif isinstance(node, cst.Assert):
            self.value(node.test, frame, state)
        return False

    def _augment(self, node: cst.AugAssign, frame: Frame, state: State) -> None:
        left, right = self.value(node.target, frame, state), self.value(node.value, frame, state)
        name = _AUGMENTED.get(type(node.operator))
        if name is None:
            self.assign(node.target, UNKNOWN, frame, state)
            return
        result = self._binary(node, name, left, right, frame, state)
        if isinstance(left, Tensor):
            result = left  # in place
        self.assign(node.target, result, frame, state, reads=False)

    def compound(self, node: cst.CSTNode, frame: Frame, state: State) -> bool:
        if isinstance(node, cst.If):
            return self._if(node, frame, state)
        if isinstance(node, cst.With):
            return self._with(node, frame, state)
        if isinstance(node, (cst.For, cst.While)):
            return self._loop(node, frame, state)
        if isinstance(node, (cst.Try, cst.TryStar)):
            return self._try(node, frame, state)
        if isinstance(node, cst.ClassDef):
            frame.values[node.name.value] = Class(node)
        elif isinstance(node, cst.Match):
            self.value(node.subject, frame, state)
            self._branches([case.body for case in node.cases], frame, state, may_pass=True)
        return False

    def _if(self, node: cst.If, frame: Frame, state: State) -> bool:
        test = self.value(node.test, frame, state)
        if isinstance(test, Constant):
            if test.value:
                return self.body(node.body, frame, state)
            return self._orelse(node.orelse, frame, state)
        state = self._doubt(node.test, state)
        before = dict(frame.values)
        ended = self.body(node.body, frame, state)
        after = frame.values
        frame.values = dict(before)
        other_ended = self._orelse(node.orelse, frame, state)
        if other_ended and not ended:
            frame.values = after
        elif not ended:
            frame.values = _joined(after, frame.values)
        return ended and other_ended

    def _orelse(self, orelse: cst.If | cst.Else | None, frame: Frame, state: State) -> bool:
        if isinstance(orelse, cst.If):
            return self._if(orelse, frame, state)
        return self.body(orelse.body, frame, state) if orelse is not None else False

    def _doubt(self, test: cst.BaseExpression, state: State) -> State:
        """Inside of a region: a condition on what switches it, or on dtypes, may exclude it."""
        if state.doubtful:
            return state
        flags = {name for entered in state.entered for name in entered.autocast.flags}
        names = set(regions.names_in(test))
        if flags & names or any(map(_PRECISION_TEST.search, names)):
            return replace(state, doubtful=True)
        return state

    def _doubt_the_rest(self, node: cst.If, state: State) -> State:
        """What follows a condition that leaves early is its other branch."""
        branch: cst.If | cst.Else | None = node
        while isinstance(branch, cst.If):
            if _leaves(branch.body) or (isinstance(branch.orelse, cst.Else) and _leaves(branch.orelse.body)):
                state = self._doubt(branch.test, state)
            branch = branch.orelse
        return state

    def _branches(self, suites: Sequence[cst.BaseSuite], frame: Frame, state: State, may_pass: bool) -> None:
        before = dict(frame.values)
        joined = dict(before) if may_pass else None
        for suite in suites:
            frame.values = dict(before)
            if not self.body(suite, frame, state):
                joined = frame.values if joined is None else _joined(joined, frame.values)
        frame.values = joined if joined is not None else before

    def _with(self, node: cst.With, frame: Frame, state: State) -> bool:
        for item in node.items:
            value = self.value(item.item, frame, state)
            state = self.enter(value, item.item, node, state)
            if item.asname is not None:
                self.assign(item.asname.name, value, frame, state)
        return self.body(node.body, frame, state)

    def enter(self, value: Value, text: cst.CSTNode, place: cst.CSTNode, state: State) -> State:
        """The state inside of a context."""
        autocasts = [option for option in options(value) if isinstance(option, Autocast)]
        if autocasts:
            merged = autocasts[0]
            for other in autocasts[1:]:
                merged = regions.merged(merged, other)
            entered = Entered(merged, place, len(state.calls), next(self.entries))
            return replace(state, entered=(*state.entered, entered), doubtful=False)
        if isinstance(value, Contexts):
            for inner in value.inner:
                state = self.enter(inner, text, place, state)
            return state
        recording = [option.enabled for option in options(value) if isinstance(option, Gradients)]
        if recording:
            sure = len(recording) == len(options(value)) and len(set(recording)) == 1
            return replace(state, gradients=recording[0] if sure else None)
        if isinstance(value, Expecting):
            return replace(state, doubtful=True)
        if all(isinstance(option, (Unknown, Named, Tensor)) or option == Constant(None) for option in options(value)):
            if any(map(regions.sounds_like_autocast, regions.names_in(text))):
                entered = Entered(regions.stranger(text), place, len(state.calls), next(self.entries))
                return replace(state, entered=(*state.entered, entered))
        return state

    def _loop(self, node: cst.For | cst.While, frame: Frame, state: State) -> bool:
        before = dict(frame.values)
        inner = replace(state, loops=(*state.loops, (node, len(state.entered))))
        if isinstance(node, cst.For):
            self.assign(node.target, _element(self.value(node.iter, frame, state)), frame, state)
        else:
            self.value(node.test, frame, state)
        ended = self.body(node.body, frame, inner)
        frame.values = before if ended else _joined(before, frame.values, fresh=True)
        if node.orelse is not None:
            self.body(node.orelse.body, frame, state)
        return False

    def _try(self, node: cst.Try | cst.TryStar, frame: Frame, state: State) -> bool:
        before = dict(frame.values)
        ended = self.body(node.body, frame, state)
        if not ended and node.orelse is not None:
            ended = self.body(node.orelse.body, frame, state)
        after = frame.values
        all_ended = ended
        for handler in node.handlers:
            frame.values = dict(before)
            if not self.body(handler.body, frame, state):
                after = frame.values if all_ended else _joined(after, frame.values, fresh=True)
                all_ended = False
        frame.values = after
        if node.finalbody is not None and self.body(node.finalbody.body, frame, state):
            return True
        return all_ended

    def assign(self, target: cst.CSTNode, value: Value, frame: Frame, state: State, reads: bool = True) -> None:
        """Bind a target."""
        if isinstance(target, (cst.Name, cst.Attribute)):
            name = dotted_name(target)
            if name is not None:
                if isinstance(value, Tensor) and not value.certain and _LOSS_NAME.search(name.rpartition(".")[2]):
                    value = UNKNOWN
                stale = f"{name}."
                for known in [known for known in frame.values if known.startswith(stale)]:
                    del frame.values[known]
                frame.values[name] = value
        elif isinstance(target, (cst.Tuple, cst.List)):
            self._unpack(target, value, frame, state)
        elif isinstance(target, cst.Subscript) and reads:
            held = self.value(target.value, frame, state)
            for element in target.slice:
                self._inside(element, frame, state)
            self.use(target, "__setitem__", UNKNOWN, (held, value), _NONE, frame, state)

    def _unpack(self, target: cst.Tuple | cst.List, value: Value, frame: Frame, state: State) -> None:
        elements = target.elements
        exact = isinstance(value, Items) and len(value.values) == len(elements)
        for index, element in enumerate(elements):
            part = value.values[index] if exact and isinstance(value, Items) else _element(value)
            if isinstance(element, cst.StarredElement) and not isinstance(part, Tensor):
                part = UNKNOWN
            self.assign(element.value, part, frame, state)

    # -- expressions ---------------------------------------------------------------------------------------------

    def value(self, node: cst.CSTNode, frame: Frame, state: State) -> Value:
        """What an expression is."""
        evaluate = _EVALUATE.get(type(node))
        if evaluate is not None:
            return evaluate(self, node, frame, state)
        self._inside(node, frame, state)
        return UNKNOWN

    def _operation(self, node: cst.BinaryOperation, frame: Frame, state: State) -> Value:
        left, right = self.value(node.left, frame, state), self.value(node.right, frame, state)
        name = _BINARY.get(type(node.operator))
        if name is not None:
            return self._binary(node, name, left, right, frame, state)
        return NUMBER if isinstance(node.operator, cst.FloorDivide) and not isinstance(left, Tensor) else UNKNOWN

    def _literal(self, node: cst.Integer | cst.Float | cst.SimpleString, frame: Frame, state: State) -> Value:
        return Constant(node.evaluated_value)

    def _conditional(self, node: cst.IfExp, frame: Frame, state: State) -> Value:
        test = self.value(node.test, frame, state)
        if isinstance(test, Constant):
            return self.value(node.body if test.value else node.orelse, frame, state)
        state = self._doubt(node.test, state)
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

    def _inside(self, node: cst.CSTNode, frame: Frame, state: State) -> None:
        """Run the expressions in a node of which nothing more is known."""
        for child in children(node):
            if isinstance(child, cst.BaseExpression):
                self.value(child, frame, state)
            else:
                self._inside(child, frame, state)

    def _name(self, node: cst.Name, frame: Frame, state: State) -> Value:
        value = frame.get(node.value)
        if value is not None:
            return value
        if node.value in ("True", "False", "None"):
            return Constant({"True": True, "False": False, "None": None}[node.value])
        qualified = self.names.qualified(node)
        if len(qualified) == 1 and not self.names.ambiguous(node):
            return _named(next(iter(qualified)))
        if self.names.binding(node) is None:
            return Named(f"builtins.{node.value}")
        return UNKNOWN

    def _attribute(self, node: cst.Attribute, frame: Frame, state: State) -> Value:
        name = dotted_name(node)
        if name is not None and (known := frame.get(name)) is not None:
            return known
        base = self.value(node.value, frame, state)
        found = [self._attribute_of(option, node.attr.value, node, state) for option in options(base)]
        value = found[0]
        for other in found[1:]:
            value = join(value, other)
        return value

    def _attribute_of(self, base: Value, name: str, node: cst.CSTNode, state: State) -> Value:
        if name in ("shape", "ndim"):
            return NUMBER
        if isinstance(base, Named):
            return _named(f"{base.name}.{name}")
        if isinstance(base, Tensor):
            if name == "dtype":
                return DType(base.dtype) if base.dtype != "other" else UNKNOWN
            if name in ("T", "mT", "H", "data", "values") or not base.certain:
                return UNKNOWN if _LOSS_NAME.search(name) or name in ("shape", "device", "ndim") else base
            return UNKNOWN
        if isinstance(base, Limits):
            limits = _LIMITS[base.dtype]
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
                    for decorator in _decorators(value.node)
                ):
                    return self._call_function(value, node, _NONE, state)
            if base.half:
                value = _halved(value)
            if name == "module" and isinstance(value, Unknown):
                return base
            return value
        if isinstance(base, Class):
            return self.attribute(base.node, name)
        return UNKNOWN

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
                if isinstance(small, (cst.Assign, cst.AnnAssign)) and small.value is not None:
                    if any(isinstance(t, cst.Name) and t.value == name for t in _targets(small)):
                        found = self.value(small.value, self.module, State())
        for function, statement in self._assignments(cls).get(name, ()):
            frame = self._frame_before(cls, function, statement)
            value = self.value(statement.value, frame, State()) if statement.value is not None else UNKNOWN
            found = value if found is None or found == Constant(None) else join(found, value)
        if found is not None:
            return found
        for argument in cls.bases:
            base = self.value(argument.value, self.module, State())
            if isinstance(base, Class) and base.node is not cls:
                inherited = self.attribute(base.node, name)
                if not isinstance(inherited, Unknown):
                    return inherited
        return UNKNOWN

    def _assignments(self, cls: cst.ClassDef) -> dict[str, list[tuple[cst.FunctionDef, cst.Assign | cst.AnnAssign]]]:
        if cls not in self._assigned:
            found: dict[str, list[tuple[cst.FunctionDef, cst.Assign | cst.AnnAssign]]] = {}
            for function in cls.body.body:
                if isinstance(function, cst.FunctionDef):
                    for node in _statements(function.body):
                        if isinstance(node, (cst.Assign, cst.AnnAssign)):
                            for target in _targets(node):
                                if isinstance(target, cst.Attribute) and _is_self(target.value, function):
                                    found.setdefault(target.attr.value, []).append((function, node))
            self._assigned[cls] = found
        return self._assigned[cls]

    def _frame_before(self, cls: cst.ClassDef, function: cst.FunctionDef, statement: cst.CSTNode) -> Frame:
        """The names in a method where one of its statements stands, as far as plain assignments tell."""
        frame = Frame(function, self.module)
        self._bind(function, Instance(cls), None, frame)
        for node in _statements(function.body):
            if node is statement:
                break
            if isinstance(node, cst.Assign) and len(node.targets) == 1:
                target = node.targets[0].target
                if isinstance(target, cst.Name):
                    value = self.value(node.value, frame, State())
                    known = frame.values.get(target.value)
                    frame.values[target.value] = value if known is None else join(known, value)
        return frame

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
        if isinstance(base, Tensor):
            named_loss = isinstance(index, Constant) and isinstance(index.value, str) and _LOSS_NAME.search(index.value)
            return UNKNOWN if named_loss else base
        if len(node.slice) == 1 and isinstance(index, Constant):
            if isinstance(base, Items) and isinstance(index.value, int) and abs(index.value) < len(base.values):
                return base.values[index.value]
            if isinstance(base, Mapping):
                return next((value for key, value in base.items if key == index.value), UNKNOWN)
        if isinstance(base, (Items, Mapping)):
            return _element(base if isinstance(base, Items) else Items(base.values))
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
                known = _is_none(left)
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
        right = self.value(node.right, frame, self._doubt(node.left, state))
        if isinstance(left, Constant):
            return right
        if isinstance(right, Constant) and isinstance(right.value, bool):
            return right if right.value is not both else UNKNOWN
        return UNKNOWN if both else join(left, right)

    def _comprehension(self, node: cst.BaseSimpleComp | cst.DictComp, frame: Frame, state: State) -> Value:
        inner = Frame(frame.function, frame)
        clause: cst.CompFor | None = node.for_in
        while clause is not None:
            self.assign(clause.target, _element(self.value(clause.iter, inner, state)), inner, state)
            for condition in clause.ifs:
                self.value(condition.test, inner, state)
            clause = clause.inner_for_in
        if isinstance(node, cst.DictComp):
            self.value(node.key, inner, state)
            value = self.value(node.value, inner, state)
        else:
            value = self.value(node.elt, inner, state)
        return value if isinstance(value, Tensor) else UNKNOWN

    def _binary(self, node: cst.CSTNode, name: str, left: Value, right: Value, frame: Frame, state: State) -> Value:
        if isinstance(left, Constant) and isinstance(right, Constant):
            if left.number is None or right.number is None:
                return UNKNOWN
            try:
                return Constant(_ARITHMETIC[name](left.number, right.number)) if name in _ARITHMETIC else UNKNOWN
            except (ArithmeticError, ValueError):
                return UNKNOWN
        numbers = isinstance(left, (Number, Constant)) and isinstance(right, (Number, Constant))
        if numbers or (self.muted and isinstance(left, Unknown) and name == "__pow__"):
            return NUMBER  # the size of something, where an object is made
        if isinstance(left, Items) and isinstance(right, Items) and name == "__add__":
            return Items(left.values + right.values)
        self.use(node, name, UNKNOWN, (left, right), _NONE, frame, state)
        if name == "__truediv__" and isinstance(left, Constant):
            name = "reciprocal"  # which is how it is done
        return self.result(node, name, (left, right), state)

    # -- operations ----------------------------------------------------------------------------------------------

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
            return _tensor_of(dtype, node)
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
            return _lowered(active, node)
        if kind is Treatment.FLOAT32:
            return Tensor("float32")
        return promote(operands) if kind is Treatment.KEEP else UNKNOWN

    def _call(self, node: cst.Call, frame: Frame, state: State) -> Value:
        receiver: Value | None = None
        if isinstance(node.func, cst.Attribute):
            name = dotted_name(node.func)
            known = frame.get(name) if name is not None else None
            if known is None:
                receiver = self.value(node.func.value, frame, state)
                callee: Value | None = None
                if isinstance(receiver, (Named, Choice, Class)):
                    callee, receiver = self._attribute(node.func, frame, state), receiver
            else:
                callee = known
        else:
            callee = self.value(node.func, frame, state)
        arguments = self._arguments(node, frame, state)
        if callee is None or (isinstance(callee, Unknown) and isinstance(receiver, (Choice, Class))):
            assert receiver is not None and isinstance(node.func, cst.Attribute)
            return self._method(node, node.func.attr.value, receiver, arguments, frame, state)
        value: Value | None = None
        for option in options(callee):
            found = self.call(option, node, arguments, frame, state)
            value = found if value is None else join(value, found)
        return value if value is not None else UNKNOWN

    def _arguments(self, node: cst.Call, frame: Frame, state: State) -> Arguments:
        positional: list[Value] = []
        keywords: list[tuple[str, Value]] = []
        complete = True
        for argument in node.args:
            value = self.value(argument.value, frame, state)
            if argument.star == "*" and isinstance(value, Items):
                positional.extend(value.values)
            elif argument.star == "**" and isinstance(value, Mapping):
                keywords.extend((str(key), item) for key, item in value.items)
            elif argument.star:
                complete = False
            elif argument.keyword is not None:
                keywords.append((argument.keyword.value, value))
            else:
                positional.append(value)
        return Arguments(tuple(positional), tuple(keywords), complete)

    def _method(
        self, node: cst.Call, name: str, receiver: Value, arguments: Arguments, frame: Frame, state: State
    ) -> Value:
        """Call a method of an object."""
        if isinstance(receiver, Choice):
            found = [self._method(node, name, option, arguments, frame, state) for option in receiver.options]
            value = found[0]
            for other in found[1:]:
                value = join(value, other)
            return value
        if isinstance(receiver, Class) and name == "apply" and self.is_autograd_function(receiver.node):
            self.use(node, "apply", receiver, arguments.positional, arguments, frame, state)
            return UNKNOWN
        if isinstance(receiver, Instance):
            value = self._attribute_of(receiver, name, node, state)
            if not isinstance(value, Unknown):
                known = value
                result: Value | None = None
                for option in options(known):
                    found_value = self.call(option, node, arguments, frame, state)
                    result = found_value if result is None else join(result, found_value)
                return result if result is not None else UNKNOWN
        if isinstance(receiver, (Instance, Made)):
            if name in _SAME_OBJECT:
                target = _to_dtype(arguments)
                if name == "to" and target == "float16":
                    return _halved(receiver)
                if name == "to" and target in _WIDE:
                    return replace(receiver, half=False)
                return receiver
            if name in _CASTS:
                return _halved(receiver) if name == "half" else replace(receiver, half=False)
            if isinstance(receiver, Instance) and not _defines(receiver.node, name) and name != "__call__":
                return self._unknown_call(node, UNKNOWN, arguments, frame, state)
            if name == "__call__" or (name == "forward" and isinstance(receiver, Made)):
                return self.call(receiver, node, arguments, frame, state)
            self.use(node, f"method {name}", receiver, arguments.positional, arguments, frame, state)
            return UNKNOWN
        if isinstance(receiver, Items) and name in ("append", "extend", "insert"):
            text = dotted_name(node.func.value) if isinstance(node.func, cst.Attribute) else None
            if text is not None and text in frame.values:
                frame.values[text] = UNKNOWN
            return UNKNOWN
        if isinstance(receiver, Mapping) and name == "get" and arguments.positional:
            key = arguments.positional[0]
            if isinstance(key, Constant):
                return next((v for k, v in receiver.items if k == key.value), UNKNOWN)
            return _element(Items(receiver.values))
        if isinstance(receiver, Constant):
            return UNKNOWN
        return self._tensor_method(node, name, receiver, arguments, frame, state)

    def _tensor_method(
        self, node: cst.Call, name: str, receiver: Value, arguments: Arguments, frame: Frame, state: State
    ) -> Value:
        if isinstance(receiver, Unknown) and isinstance(node.func, cst.Attribute):
            if name == "half" and self.report.is_module_name(node.func.value):
                return Made("torch.nn.Module", half=True)
        if name in _CASTS and not arguments.all:
            return _tensor_of(DType(_CASTS[name]), node)
        if name in ("to", "type"):
            return self._to(node, name, receiver, arguments)
        if name in ("type_as", "to_like"):
            return promote(arguments.positional[:1])
        if name in ("size", "dim", "numel", "item", "tolist", "stride"):
            return NUMBER
        if name in _INTEGERS:
            return Tensor("other") if isinstance(receiver, Tensor) else UNKNOWN
        operands = (receiver, *arguments.positional)
        self.use(node, name, UNKNOWN, operands, arguments, frame, state)
        dtype = arguments.get(None, "dtype")
        if treatment(name) is Treatment.OTHER and name not in _NEW:
            if isinstance(node.func, cst.Attribute) and isinstance(receiver, Unknown):
                return self._unknown_call(node, UNKNOWN, arguments, frame, state)
            return UNKNOWN
        if name in _NEW or (treatment(name) is Treatment.KEEP and name not in _MIXING):
            return (
                _tensor_of(dtype, node)
                if dtype is not None
                else (receiver if isinstance(receiver, Tensor) else UNKNOWN)
            )
        if name in _ALONG_DIM:
            operands = (receiver,)
        return self.result(node, name, operands, state, dtype)

    def _to(self, node: cst.Call, name: str, receiver: Value, arguments: Arguments) -> Value:
        every = [value for value in arguments.all if not isinstance(value, Constant) or isinstance(value.value, str)]
        for value in every:
            for option in options(value):
                if isinstance(option, DType):
                    return _tensor_of(value, node)
                if isinstance(option, Tensor) and name == "to":
                    return option
        doubtful = [argument for argument in node.args if not self._names_device(argument)]
        if doubtful and any(isinstance(value, (Unknown, Choice)) for value in every):
            return UNKNOWN
        return receiver

    def _names_device(self, argument: cst.Arg) -> bool:
        if argument.keyword is not None and argument.keyword.value in (
            "device",
            "non_blocking",
            "memory_format",
            "copy",
        ):
            return True
        if isinstance(argument.value, (cst.SimpleString, cst.Integer)):
            return True
        return any(_DEVICE_NAME.search(name) for name in regions.names_in(argument.value))

    def call(self, callee: Value, node: cst.Call, arguments: Arguments, frame: Frame, state: State) -> Value:
        """Call a value."""
        if isinstance(callee, Named):
            return self._library(callee, node, arguments, frame, state)
        if isinstance(callee, Function):
            return self._call_function(callee, node, arguments, state)
        if isinstance(callee, Partial):
            whole = Arguments(
                (*callee.arguments.positional, *arguments.positional),
                (*callee.arguments.keywords, *arguments.keywords),
                callee.arguments.complete and arguments.complete,
            )
            value = self.call(callee.function, callee.call, whole, frame, state)
            return value
        if isinstance(callee, Class):
            return Instance(callee.node)
        if isinstance(callee, Instance):
            self.use(node, "call", callee, arguments.positional, arguments, frame, state)
            for method in ("forward", "__call__"):
                function = self.attribute(callee.node, method)
                if isinstance(function, Function):
                    return self._call_function(replace(function, owner=callee), node, arguments, state)
            return UNKNOWN
        if isinstance(callee, Made):
            return self._module(callee, node, arguments, frame, state)
        return self._unknown_call(node, callee, arguments, frame, state)

    def _unknown_call(self, node: cst.Call, callee: Value, arguments: Arguments, frame: Frame, state: State) -> Value:
        """A model whose code is not seen returns what the region casts to, presumably."""
        self.use(node, "call", callee, arguments.positional, arguments, frame, state)
        active = state.active
        if active is None or not active.autocast.known or not self.report.is_module_name(node.func):
            return UNKNOWN
        value = _lowered(active, node)
        if not isinstance(value, Tensor) or not self._may_return_half(active):
            return UNKNOWN
        return replace(value, certain=False)

    def _may_return_half(self, region: Entered) -> bool:
        """Whether a model may return half tensors, by those of the document, if there are any."""
        key = region.autocast
        if key not in self._half_models:
            self._half_models[key] = True
            self.muted += 1
            found: list[Value] = []
            for node in self.own_models:
                forward = self.attribute(node, "forward")
                if isinstance(forward, Function):
                    bound = replace(forward, owner=Instance(node))
                    found.append(self._call_function(bound, node, None, State(entered=(region,))))
            self.muted -= 1
            floats = [value for value in found if isinstance(value, Tensor) and not value.is_half]
            self._half_models[key] = not found or len(floats) < len(found)
        return self._half_models[key]

    def _module(self, callee: Made, node: cst.Call, arguments: Arguments, frame: Frame, state: State) -> Value:
        if callee.last == "Sequential" and callee.parts and arguments.positional:
            value = arguments.positional[0]
            for part in callee.parts:
                inner = replace(part, half=True) if callee.half and isinstance(part, Made) else part
                value = self.call(inner, node, Arguments((value,), ()), frame, state)
            return value
        operation = MODULES.get(callee.last) if callee.name.startswith("torch.nn.") else None
        if operation is None:
            if callee.half and state.active is None and callee.name != "torch.nn.Module":
                self.use(node, "call", callee, arguments.positional, arguments, frame, state)
                return UNKNOWN
            return self._unknown_call(node, callee, arguments, frame, state)
        self.use(node, operation, callee, arguments.positional, arguments, frame, state)
        if callee.half and treatment(operation) is Treatment.LOWER and state.cuda is None:
            return Tensor("float16", True, node)
        count = 2 if callee.last.endswith("Loss") else 1
        return self.result(node, operation, arguments.positional[:count], state)

    def _library(self, callee: Named, node: cst.Call, arguments: Arguments, frame: Frame, state: State) -> Value:
        name, last = callee.name, callee.last
        if name in regions.AUTOCASTS:
            made = regions.autocast(name, node, arguments)
            if not self.muted:
                self.report.autocasts.setdefault(node, made)
            return made
        if name.startswith("builtins."):
            return self._builtin(last, arguments, node, frame, state)
        if name == "functools.partial" and arguments.positional:
            rest = replace(arguments, positional=arguments.positional[1:])
            return Partial(arguments.positional[0], node, rest)
        if name in ("torch.no_grad", "torch.autograd.no_grad", "torch.inference_mode", "torch.autograd.inference_mode"):
            return Gradients(False)
        if name in ("torch.enable_grad", "torch.autograd.enable_grad"):
            return Gradients(True)
        if name in ("torch.set_grad_enabled", "torch.autograd.set_grad_enabled"):
            flag = arguments.get(0, "mode")
            return Gradients(bool(flag.value) if isinstance(flag, Constant) else None)
        if name.startswith("math.") or (
            name.startswith("numpy.") and isinstance(arguments.get(0, "x"), (Number, Constant))
        ):
            return NUMBER
        if name in _EXPECTING or last.startswith("assertRaises"):
            return Expecting()
        if name in ("torch.finfo", "numpy.finfo"):
            return _limits(arguments)
        if name == "torch.device" and arguments.positional:
            return arguments.positional[0]
        if name in _WRAPPERS and arguments.positional:
            return arguments.positional[0]
        if name.startswith("torch.nn.") and last[:1].isupper() and last not in ("Parameter",):
            return Made(name, parts=arguments.positional if last == "Sequential" else ())
        if name.startswith(_FUNCTION_MODULES):
            return self._torch_function(callee, node, arguments, frame, state)
        if last[:1].isupper():
            return Made(name)
        return self._unknown_call(node, callee, arguments, frame, state)

    def _torch_function(self, callee: Named, node: cst.Call, arguments: Arguments, frame: Frame, state: State) -> Value:
        last = callee.last
        dtype = arguments.get(None, "dtype")
        operands = tuple(value for value in arguments.all if value is not dtype)
        self.use(node, last, callee, operands, arguments, frame, state)
        if last in _LIKE:
            return _tensor_of(dtype, node) if dtype is not None else promote(operands[:1])
        if last in _CREATING or last in _CREATING_OF_VALUE:
            if dtype is not None and dtype != Constant(None):
                return _tensor_of(dtype, node)
            return Tensor("float32") if last in _CREATING and self.default_dtype_known else UNKNOWN
        if last in _INTEGERS:
            return Tensor("other")
        if last == "where":
            operands = arguments.positional[1:]
        elif last in ("einsum", "rearrange", "repeat"):
            operands = tuple(value for value in operands if not isinstance(value, Constant))
        elif last not in _MIXING and treatment(last) is Treatment.KEEP:
            operands = operands[:1]
        elif last in _ALONG_DIM:
            operands = operands[:1]
        return self.result(node, last, operands, state, dtype)

    def _builtin(self, name: str, arguments: Arguments, node: cst.Call, frame: Frame, state: State) -> Value:
        first = arguments.positional[0] if arguments.positional else UNKNOWN
        if name == "float" and isinstance(first, Constant):
            try:
                return Constant(float(first.value))
            except (TypeError, ValueError):
                return UNKNOWN
        if name in ("len", "int", "float", "round", "abs") and not isinstance(first, (Constant, Tensor)):
            return NUMBER
        if name == "int" and isinstance(first, Constant) and first.number is not None and math.isfinite(first.number):
            return Constant(int(first.number))
        if name == "str":
            return first if all(isinstance(option, Constant) for option in options(first)) else UNKNOWN
        if name == "zip":
            return Items((Items(tuple(_element(value) for value in arguments.positional)),) * 2)
        if name == "enumerate":
            return Items((Items((UNKNOWN, _element(first))),) * 2)
        if name in ("list", "tuple", "reversed", "sorted", "iter"):
            return first
        if name in ("sum", "max", "min", "next") and isinstance(_element(first), Tensor):
            return _element(first)
        return UNKNOWN

    # -- functions -----------------------------------------------------------------------------------------------

    def _call_function(self, function: Function, call: cst.CSTNode, arguments: Arguments | None, state: State) -> Value:
        """Run a function; without ``arguments`` by itself, where nothing is known of them."""
        node = function.node
        frame = Frame(node, function.frame or self.module)
        if isinstance(node, cst.Lambda):
            self._bind(node, None, arguments, frame)
            return self.value(node.body, frame, state)
        if node in self.running or self.calls_left <= 0 or len(self.running) >= _DEEPEST:
            return UNKNOWN
        if arguments is not None:
            self.called.add(node)
        if node in self.report.generators:
            if arguments is not None:
                return self._manager(function, arguments, frame, state)
        self._bind(node, function.owner, arguments, frame)
        given = tuple(sorted(frame.values.items(), key=lambda item: item[0]))
        key = (node, given, replace(state, calls=()), self.muted > 0)
        try:
            if key in self.memory:
                return self.memory[key]
        except TypeError:
            return UNKNOWN
        self.memory[key] = UNKNOWN
        self.calls_left -= 1
        inner = replace(state, calls=(*state.calls, call))
        self.running.append(node)
        try:
            outside = self.module if function.owner else frame.parent or self.module
            for decorator in reversed(node.decorators):
                value = self.value(decorator.decorator, outside, State())
                if isinstance(value, Autocast):
                    if node in self.report.generators or node.asynchronous is not None:
                        continue  # the body runs after it has been left
                if isinstance(value, Named) and value.name in ("torch.no_grad", "torch.inference_mode"):
                    value = Gradients(False)
                if isinstance(value, (Autocast, Gradients)):
                    inner = self.enter(value, decorator, node, inner)
            ended = self.body(node.body, frame, inner)
        finally:
            self.running.pop()
        result: Value | None = None
        for value in frame.returned if ended else (*frame.returned, Constant(None)):
            result = value if result is None else join(result, value)
        self.memory[key] = result if result is not None else UNKNOWN
        return self.memory[key]

    def _manager(self, function: Function, arguments: Arguments, frame: Frame, state: State) -> Value:
        """What a generator that is a context manager enters before it yields."""
        node = function.node
        assert isinstance(node, cst.FunctionDef)
        if not any(decorator_name(decorator) == "contextmanager" for decorator in node.decorators):
            return UNKNOWN
        self._bind(node, function.owner, arguments, frame)
        found: list[Value] = []
        for statement in _statements(node.body):
            if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Yield):
                inner: list[Value] = []
                for above in self.names.ancestors(statement):
                    if above is node:
                        break
                    if isinstance(above, cst.With):
                        inner[:0] = [self.value(item.item, frame, state) for item in above.items]
                found.append(Contexts(tuple(inner)))
        if len(found) != 1:
            return UNKNOWN
        return found[0]

    def _bind(
        self,
        node: cst.FunctionDef | cst.Lambda,
        owner: Value | None,
        arguments: Arguments | None,
        frame: Frame,
    ) -> None:
        params = node.params
        names = [*params.posonly_params, *params.params]
        if owner is not None and names and not _is_static(node):
            is_class = any(decorator_name(decorator) == "classmethod" for decorator in _decorators(node))
            value = Class(owner.node) if is_class and isinstance(owner, Instance) else owner
            frame.values[names.pop(0).name.value] = value
        for index, param in enumerate(names):
            given = arguments.get(index, param.name.value) if arguments is not None else None
            frame.values[param.name.value] = self._parameter(param, given, arguments)
        for param in params.kwonly_params:
            given = arguments.get(None, param.name.value) if arguments is not None else None
            frame.values[param.name.value] = self._parameter(param, given, arguments)
        for star in (params.star_arg, params.star_kwarg):
            if isinstance(star, cst.Param):
                frame.values[star.name.value] = UNKNOWN

    def _parameter(self, param: cst.Param, given: Value | None, arguments: Arguments | None) -> Value:
        if given is not None:
            return given
        if param.default is not None and (arguments is None or arguments.complete):
            value = self.value(param.default, self.module, State())
            if arguments is not None:
                return value
            # by itself, a number or a dtype is what it will mostly be; a flag or None says nothing
            if isinstance(value, DType) or (isinstance(value, Constant) and isinstance(value.value, float)):
                return value
        if param.annotation is not None:
            annotated = self.value(param.annotation.annotation, self.module, State())
            if annotated in (Named("builtins.int"), Named("builtins.float")):
                return NUMBER
            if isinstance(annotated, Named) and annotated.name.startswith("torch.nn.") and annotated.last[:1].isupper():
                return Made(annotated.name)
            if isinstance(annotated, Class) and isinstance(self.attribute(annotated.node, "forward"), Function):
                return Instance(annotated.node)
        return UNKNOWN

    def is_autograd_function(self, cls: cst.ClassDef) -> bool:
        """Whether a class derives from ``torch.autograd.Function``."""
        for argument in cls.bases:
            base = self.value(argument.value, self.module, State())
            if isinstance(base, Named) and base.name in _FUNCTIONS:
                return True
            if isinstance(base, Class) and base.node is not cls and self.is_autograd_function(base.node):
                return True
        return False


_EVALUATE: dict[type, Callable[..., Value]] = {
    cst.Attribute: _Interpreter._attribute,
    cst.Await: _Interpreter._await,
    cst.BinaryOperation: _Interpreter._operation,
    cst.BooleanOperation: _Interpreter._boolean,
    cst.Call: _Interpreter._call,
    cst.Comparison: _Interpreter._comparison,
    cst.ConcatenatedString: _Interpreter._literal,
    cst.Dict: _Interpreter._dict,
    cst.DictComp: _Interpreter._comprehension,
    cst.Float: _Interpreter._literal,
    cst.GeneratorExp: _Interpreter._comprehension,
    cst.IfExp: _Interpreter._conditional,
    cst.Integer: _Interpreter._literal,
    cst.Lambda: _Interpreter._lambda,
    cst.List: _Interpreter._sequence,
    cst.ListComp: _Interpreter._comprehension,
    cst.Name: _Interpreter._name,
    cst.NamedExpr: _Interpreter._named_expression,
    cst.SetComp: _Interpreter._comprehension,
    cst.SimpleString: _Interpreter._literal,
    cst.Subscript: _Interpreter._subscript,
    cst.Tuple: _Interpreter._sequence,
    cst.UnaryOperation: _Interpreter._unary,
}
_ALONG_DIM = frozenset(
    "softmax log_softmax sum prod cumsum cumprod norm logsumexp normalize mean max min layer_norm group_norm".split()
)
_MIXING = frozenset(
    """
    __add__ __sub__ __mul__ __truediv__ add sub mul div div_ mul_ sub_ true_divide divide multiply subtract maximum
    minimum where cat concat concatenate stack hstack vstack column_stack lerp addcdiv addcmul atan2 bilinear cross dot
    grid_sample index_put scatter_add tensordot
    """.split()
)


def _named(name: str) -> Value:
    if name in _CONSTANTS:
        return Constant(_CONSTANTS[name])
    module, _, last = name.rpartition(".")
    if module in ("torch", "torch.cuda", "numpy") and last in _DTYPES:
        return DType(_DTYPES[last])
    return Named(name)


def _limits(arguments: Arguments) -> Value:
    dtype = arguments.get(0, "type") or arguments.get(None, "dtype")
    if dtype is None:
        return Limits("float32")
    if isinstance(dtype, DType) and dtype.name in _LIMITS:
        return Limits(dtype.name)
    return UNKNOWN


def _tensor_of(dtype: Value, node: cst.CSTNode) -> Value:
    names = {option.name if isinstance(option, DType) else None for option in options(dtype)}
    if "float16" in names:
        return Tensor("float16", None not in names, node)
    if len(names) == 1:
        name = names.pop()
        if name is not None:
            return Tensor("float32" if name in _WIDE else name, True, node)
    return UNKNOWN


def _to_dtype(arguments: Arguments) -> str | None:
    for value in arguments.all:
        if isinstance(value, DType):
            return value.name
    return None


def _lowered(entered: Entered, node: cst.CSTNode) -> Value:
    dtypes = entered.autocast.dtypes
    if dtypes is None or not entered.autocast.known:
        return UNKNOWN
    for dtype in ("float16", "bfloat16"):
        if dtype in dtypes:
            return Tensor(dtype, True, node, entered)
    return UNKNOWN


def _halved(value: Value) -> Value:
    return replace(value, half=True) if isinstance(value, (Made, Instance)) else value


def _element(value: Value) -> Value:
    if isinstance(value, (Tensor, Number)):
        return value
    if isinstance(value, Items) and value.values:
        result = value.values[0]
        for other in value.values[1:]:
            result = join(result, other)
        return result
    return UNKNOWN


def _joined(first: dict[str, Value], second: dict[str, Value], fresh: bool = False) -> dict[str, Value]:
    """Names after one of two paths; ``fresh`` names, which only the second has, keep what they have there."""
    joined: dict[str, Value] = {}
    for name in first.keys() | second.keys():
        if name in first and name in second:
            joined[name] = join(first[name], second[name])
        else:
            joined[name] = first[name] if name in first else second[name]
    return joined


def _is_none(value: Value) -> bool | None:
    if isinstance(value, Constant):
        return value.value is None
    if isinstance(value, (Tensor, Function, Class, Instance, Made, Autocast, Named, DType, Items, Mapping)):
        return False
    return None


def _leaves(suite: cst.BaseSuite) -> bool:
    """Whether a suite ends by leaving the block."""
    last = suite.body[-1] if suite.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.With):
        return _leaves(last.body)
    return isinstance(last, (cst.Return, cst.Raise, cst.Break, cst.Continue))


def _defines(cls: cst.ClassDef, method: str) -> bool:
    return any(isinstance(child, cst.FunctionDef) and child.name.value == method for child in cls.body.body)


def _targets(node: cst.Assign | cst.AnnAssign) -> Iterator[cst.BaseExpression]:
    if isinstance(node, cst.AnnAssign):
        yield node.target
    else:
        yield from (target.target for target in node.targets)


def _statements(suite: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements in a body, in those of its compound statements too, but not in functions and classes."""
    for child in children(suite):
        if isinstance(child, cst.BaseSmallStatement):
            yield child
        elif not isinstance(child, (cst.FunctionDef, cst.ClassDef, cst.BaseExpression)):
            yield from _statements(child)


def _is_self(node: cst.BaseExpression, function: cst.FunctionDef) -> bool:
    first = next(iter((*function.params.posonly_params, *function.params.params)), None)
    return isinstance(node, cst.Name) and first is not None and node.value == first.name.value


def _decorators(node: cst.FunctionDef | cst.Lambda) -> Sequence[cst.Decorator]:
    return node.decorators if isinstance(node, cst.FunctionDef) else ()


def decorator_name(decorator: cst.Decorator) -> str:
    """The last part of a decorator's name."""
    node = decorator.decorator
    if isinstance(node, cst.Call):
        node = node.func
    return (dotted_name(node) or "").rpartition(".")[2]


def _is_static(node: cst.FunctionDef | cst.Lambda) -> bool:
    return any(decorator_name(decorator) == "staticmethod" for decorator in _decorators(node))
