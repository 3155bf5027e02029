"""Small questions about code as it is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import libcst as cst

from amplint.syntax.names import children, dotted_name


def leaves(suite: cst.BaseSuite) -> bool:
    """Whether a suite ends by leaving the block."""
    last = suite.body[-1] if suite.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.With):
        return leaves(last.body)
    return isinstance(last, (cst.Return, cst.Raise, cst.Break, cst.Continue))


def defines(cls: cst.ClassDef, method: str) -> bool:
    """Whether a class has a method of this name."""
    return any(isinstance(child, cst.FunctionDef) and child.name.value == method for child in cls.body.body)


#: A method, a statement of it that assigns to an attribute, and what it assigns.
Assignment: TypeAlias = tuple[cst.FunctionDef, cst.CSTNode, cst.BaseExpression | None]


def bindings_of(node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
    """What an assignment binds, and to what; a tuple part by part, None where a part has no expression of its own."""
    if isinstance(node, cst.AnnAssign):
        yield node.target, node.value
    elif isinstance(node, cst.Assign):
        for target in node.targets:
            yield from _parts(target.target, node.value)


def _parts(
    target: cst.BaseExpression, value: cst.BaseExpression | None
) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
    if not isinstance(target, (cst.Tuple, cst.List)):
        yield target, value
        return
    values: list[cst.BaseExpression | None] = [None] * len(target.elements)
    if isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(values):
        if not any(isinstance(e, cst.StarredElement) for e in (*target.elements, *value.elements)):
            values = [element.value for element in value.elements]
    for element, part in zip(target.elements, values, strict=True):
        yield from _parts(element.value, part)


def statements_in(suite: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements in a body, in those of its compound statements too, but not in functions and classes."""
    for child in children(suite):
        if isinstance(child, cst.BaseSmallStatement):
            yield child
        elif not isinstance(child, (cst.FunctionDef, cst.ClassDef, cst.BaseExpression)):
            yield from statements_in(child)


def is_self(node: cst.BaseExpression, function: cst.FunctionDef) -> bool:
    """Whether a name is that of the object whose method this is."""
    first = next(iter((*function.params.posonly_params, *function.params.params)), None)
    return isinstance(node, cst.Name) and first is not None and node.value == first.name.value


def decorators_of(node: cst.FunctionDef | cst.Lambda) -> Sequence[cst.Decorator]:
    """The decorators of a function."""
    return node.decorators if isinstance(node, cst.FunctionDef) else ()


def decorator_name(decorator: cst.Decorator) -> str:
    """The last part of a decorator's name."""
    node = decorator.decorator
    if isinstance(node, cst.Call):
        node = node.func
    return (dotted_name(node) or "").rpartition(".")[2]


def is_static(node: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether it is a static method."""
    return any(decorator_name(decorator) == "staticmethod" for decorator in decorators_of(node))
