"""Where a document uses ``apex.amp``."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.syntax.gates import absence_is_provided_for, is_for_types_only
from amplint.syntax.names import Binding, ImportedName, Names, within

_MODULE = "apex.amp"
_FINDERS = ("find_spec", "hasattr", "getattr")


def uses_of_apex_amp(names: Names, *, native: bool) -> Iterator[tuple[cst.CSTNode, str]]:
    """The imports of ``apex.amp``, and its uses through ``apex``, each with its dotted name.

    A use is left out where its absence is provided for: by a ``try``, or by a test for ``apex.amp`` itself. So is one
    on some way through a document only that has PyTorch's own AMP as well (``native``): it is an option there.
    """
    for binding in names.bindings():
        direct = [imported for imported in binding.imports if _is_amp(imported.module) or _is_amp(imported.qualified)]
        if any(_provided(names, imported.statement) for imported in binding.imports if _is_apex(imported)):
            continue
        for imported in direct:
            if imported.alias is not None and not (native and _is_optional(names, imported.statement)):
                yield imported.alias.name, imported.qualified if _is_amp(imported.qualified) else imported.module
        if not direct and "apex" in binding.qualified:
            uses = _through_package(names, binding)
            yield from ((node, name) for node, name in uses if not (native and _is_optional(names, node)))


def _through_package(names: Names, binding: Binding) -> Iterator[tuple[cst.CSTNode, str]]:
    """``apex.amp.initialize(...)``: one use each."""
    for reference in binding.references:
        node: cst.BaseExpression = reference
        while isinstance(parent := names.parent(node), cst.Attribute) and parent.value is node:
            node = parent
        for name in names.qualified(node):
            if _is_amp(name) and not binding.others and not _provided(names, node):
                yield node, name


def _is_optional(names: Names, node: cst.CSTNode) -> bool:
    """Whether an import stands in a function, or anything in an arm of a condition."""
    above = (cst.If, cst.IfExp, *((cst.FunctionDef,) if isinstance(node, (cst.Import, cst.ImportFrom)) else ()))
    return any(isinstance(parent, above) for parent in names.ancestors(node))


def _provided(names: Names, node: cst.CSTNode) -> bool:
    return absence_is_provided_for(names, node) or is_for_types_only(names, node) or _is_tested_for(names, node)


def _is_tested_for(names: Names, node: cst.CSTNode) -> bool:
    """Whether a condition around asks for ``apex.amp`` itself: ``find_spec("apex.amp")``, ``hasattr(apex, "amp")``."""
    for parent in names.ancestors(node):
        if isinstance(parent, (cst.If, cst.IfExp)) and any(map(_asks_for_amp, within(parent.test))):
            return True
    return False


def _asks_for_amp(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.Call):
        return False
    function = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    texts = {argument.value.raw_value for argument in node.args if isinstance(argument.value, cst.SimpleString)}
    return isinstance(function, cst.Name) and function.value in _FINDERS and bool(texts & {"amp", _MODULE})


def _is_amp(name: str) -> bool:
    return name == _MODULE or name.startswith(f"{_MODULE}.")


def _is_apex(imported: ImportedName) -> bool:
    return imported.qualified.split(".")[0] == "apex"
