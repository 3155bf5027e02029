"""An abstract run of a document that follows dtypes, autocast regions and gradient recording.

Every function is run by itself with unknown arguments, and again wherever a call of it is seen, with what is known
there. Unknown stays unknown: a fact is recorded only where it follows from the code on a feasible path.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import libcst as cst

from amplint.precision.code import defines
from amplint.precision.state import Frame, PrecisionReport, State
from amplint.precision.statements import Statements
from amplint.precision.values import (
    Function,
    Instance,
)
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree


def interpret(tree: SyntaxTree, names: Names) -> PrecisionReport:
    """Run the document."""
    interpreter = Interpreter(tree, names)
    interpreter.run()
    return interpreter.report


class Interpreter(Statements):
    """Runs a whole document."""

    def run(self) -> None:
        """Run the module, then every function and method by itself."""
        self.classes = classes = self.names.every(cst.ClassDef)
        self.report.generators = frozenset(self._generators())
        self.own_models = [node for node in classes if defines(node, "forward") and not defines(node, "backward")]
        try:
            self.block(self.tree.module.body, self.module, State())
        except RecursionError:  # one statement is nested too deep for Python's own stack
            for statement in self.tree.module.body:
                with contextlib.suppress(RecursionError):
                    self.block([statement], self.module, State())
        for node in self.names.every(cst.FunctionDef):
            with contextlib.suppress(RecursionError):
                self._run_root(node)
        self.report.functions = frozenset(node for node in classes if self.is_autograd_function(node))

    def _run_root(self, node: cst.FunctionDef) -> None:
        owner = self._class_of(node)
        if owner is not None:
            self.note_decorators(node, self.module)
        inside = (cst.FunctionDef, cst.ClassDef, cst.Lambda)
        if owner is not None or not any(isinstance(above, inside) for above in self.names.ancestors(node)):
            self._run_alone(node, owner, self.module)

    def _generators(self) -> Iterator[cst.FunctionDef]:
        for node in self.names.every(cst.Yield):
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
        self.call_function(function, node, None, State())
