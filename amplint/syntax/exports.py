"""What a module says it exports."""

from __future__ import annotations

import libcst as cst


def exported_names(module: cst.Module) -> frozenset[str] | None:
    """The names in ``__all__``, the empty set without one; None where it is more than literal lists of strings."""
    found: set[str] = set()
    for line in module.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(statement, (cst.Assign, cst.AnnAssign, cst.AugAssign)):
                targets = (
                    [target.target for target in statement.targets]
                    if isinstance(statement, cst.Assign)
                    else [statement.target]
                )
                if any(map(_is_all, targets)):
                    names = _strings(statement.value)
                    if names is None:
                        return None
                    found |= names
            elif isinstance(statement, cst.Expr) and isinstance(call := statement.value, cst.Call):
                if isinstance(call.func, cst.Attribute) and _is_all(call.func.value):  # append, extend, remove
                    for argument in call.args:
                        names = _strings(argument.value)
                        if names is None:
                            return None
                        found |= names
    return frozenset(found)


def _is_all(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "__all__"


def _strings(node: cst.BaseExpression | None) -> set[str] | None:
    if isinstance(node, cst.SimpleString) and isinstance(node.evaluated_value, str):
        return {node.evaluated_value}
    if isinstance(node, (cst.List, cst.Tuple)):
        found: set[str] = set()
        for element in node.elements:
            inner = _strings(element.value)
            if inner is None:
                return None
            found |= inner
        return found
    if isinstance(node, cst.BinaryOperation):
        left, right = _strings(node.left), _strings(node.right)
        return None if left is None or right is None else left | right
    return None
