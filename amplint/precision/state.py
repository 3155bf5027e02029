"""What surrounds a statement of the run, and what the run remembers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from amplint.precision.values import (
    Application,
    Arguments,
    Autocast,
    Entered,
    Tensor,
    Value,
)
from amplint.precision.vocabulary import (
    MODULE_NAME,
)
from amplint.syntax.names import dotted_name


@dataclass(frozen=True)
class State:
    """What surrounds a statement at run time.

    ``doubts`` are the conditions around it that ask for a precision or for what switches a region, ``conditions`` the
    names in all conditions around it. It is ``expecting`` where misuse is on purpose.
    """

    entered: tuple[Entered, ...] = ()
    gradients: bool | None = True
    doubts: frozenset[cst.CSTNode] = frozenset()
    conditions: frozenset[str] = frozenset()
    expecting: bool = False
    calls: tuple[cst.CSTNode, ...] = ()
    loops: tuple[tuple[cst.CSTNode, int], ...] = ()

    @property
    def cuda(self) -> Entered | None:
        """The innermost region that decides what CUDA tensors are cast to, one that switches autocast off included."""
        return next((entered for entered in reversed(self.entered) if entered.autocast.may_be_cuda), None)

    @property
    def doubtful(self) -> bool:
        """Whether a condition inside of the innermost region may exclude that region."""
        entered = self.cuda
        return self.expecting or bool(self.doubts - (entered.doubts if entered is not None else frozenset()))

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

    def doubts(self, tensor: Tensor) -> bool:
        """Whether a condition since the tensor was made may exclude that it is what it is."""
        state = self.state
        switches = tensor.entered.autocast.flags if tensor.entered is not None else frozenset()
        flags = tensor.flags | (switches - tensor.conditions)
        return state.expecting or bool(state.doubts - tensor.doubts) or bool(flags & state.conditions)


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
            if use.name == "apply" and isinstance(use.callee, Application):
                yield use.callee.node, use

    def is_module_name(self, node: cst.BaseExpression) -> bool:
        """Whether a callable is known for a model by its name, or by what else is done with that name."""
        name = dotted_name(node)
        if name is None:
            return False
        last = name.removesuffix(".module").rpartition(".")[2]
        return last in self._modules or MODULE_NAME.search(last) is not None


class Frame:
    """The names of a running function."""

    def __init__(self, function: cst.CSTNode | None, parent: Frame | None) -> None:
        self.function, self.parent = function, parent
        self.values: dict[str, Value] = {}
        self.returned: list[Value] = []
        self.pending: list[tuple[Value, cst.CSTNode]] = []  # contexts that are entered by a call

    def get(self, name: str) -> Value | None:
        """The value of a name or of a dotted name that was assigned to; None where it has none here."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.values:
                return frame.values[name]
            frame = frame.parent
        return None


NO_ARGUMENTS = Arguments((), ())
