"""Which class of the document is meant where a model or a loss is handed in: by its name and by how it is called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import libcst as cst

from amplint.precision.code import defines
from amplint.precision.values import Arguments
from amplint.syntax.names import within

_ANY_MODEL = frozenset({"model", "net", "network", "module"})
_ANY_LOSS = frozenset({"criterion", "criteria", "loss", "loss_fn", "loss_func", "loss_function"})
_LOSS_CLASS = re.compile(r"Loss|Criterion")


def outermost(models: Iterable[cst.ClassDef], classes: Iterable[cst.ClassDef]) -> list[cst.ClassDef]:
    """The models that no other class speaks of, as a part or as a base."""
    spoken_of = {(node.value, outer) for outer in classes for node in within(outer) if isinstance(node, cst.Name)}
    return [
        model
        for model in models
        if not any(name == model.name.value and outer is not model for name, outer in spoken_of)
    ]


def meant(models: Sequence[cst.ClassDef], name: str, arguments: Arguments) -> cst.ClassDef | None:
    """The one of several models, the outermost of a document, that is called by this name with these arguments."""
    losses = [model for model in models if _LOSS_CLASS.search(model.name.value)]
    if name in _ANY_LOSS:
        found = losses
    elif name in _ANY_MODEL:
        found = [model for model in models if model not in losses]
    else:
        found = []
    return found[0] if len(found) == 1 and defines(found[0], "forward") and _takes(found[0], arguments) else None


def _takes(model: cst.ClassDef, arguments: Arguments) -> bool:
    """Whether a model's forward can be called with such arguments."""
    forward = next(
        child for child in model.body.body if isinstance(child, cst.FunctionDef) and child.name.value == "forward"
    )
    params = forward.params
    if isinstance(params.star_arg, cst.Param) or params.star_kwarg is not None or not arguments.complete:
        return False
    ordered = [*params.posonly_params, *params.params][1:]
    keywords = {name for name, _ in arguments.keywords}
    by_position = {param.name.value for param in ordered[: len(arguments.positional)]}
    every = {param.name.value for param in (*ordered, *params.kwonly_params)}
    needed = {param.name.value for param in (*ordered, *params.kwonly_params) if param.default is None}
    return (
        len(arguments.positional) <= len(ordered)
        and keywords <= every
        and not keywords & by_position
        and needed <= by_position | keywords
    )
