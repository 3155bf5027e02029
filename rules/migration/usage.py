"""How the new name must be used where the old one stands: the edits of one use, or why there are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

import libcst as cst

from amplint.documents import Document
from amplint.rules.migration.replacements import AUTOCAST_PARAMETERS, DEPRECATED, Replacement, Signature
from amplint.syntax.arguments import (
    Change,
    insert_argument,
    insert_keyword,
    keywords,
    name_argument,
    outer_span,
    positional,
    quoted,
)
from amplint.syntax.names import Names, dotted_name, root_name

_TYPE_CHECKS = ("isinstance", "issubclass")
_TYPE_ASSERTIONS = ("assertIsInstance", "assertNotIsInstance")
_FACTORIES = {"collections.defaultdict": 0, "dataclasses.field": "default_factory", "pydantic.Field": "default_factory"}
_DEFAULT_DEVICES = {"GradScaler": "cuda"}  # the new names that may be called without a device
_IN_BRACKETS = (cst.Subscript, cst.SubscriptElement, cst.Index, cst.List, cst.Tuple, cst.Element)
_GENERIC_BUILTINS = ("dict", "frozenset", "list", "set", "tuple", "type")
_AUTOCASTS = {name for name, replacement in DEPRECATED.items() if replacement.name == "autocast"} | {
    "torch.autocast",
    "torch.amp.autocast",
    "torch.amp.autocast_mode.autocast",
}


class Unfixable(Exception):
    """Why a use cannot be rewritten with certainty, in words for the user."""


class Use:
    """One place where a deprecated name stands: the name or attribute chain ``node``.

    ``checks_type`` says that an object's class is compared with it, ``builds`` that objects are made of it, ``doubt``
    what may differ after the edits.
    """

    def __init__(self, document: Document, names: Names, node: cst.BaseExpression, replacement: Replacement) -> None:
        self.document, self.names, self.tree = document, names, names.tree
        self.node, self.replacement = node, replacement
        self.checks_type = self.builds = False
        self.doubt: str | None = None
        self.spelling = self.tree.code(node)

    def changes(self) -> list[Change]:
        """The edits around the name; raises :class:`Unfixable`."""
        return self._changes(self.node)

    def note_check(self) -> None:
        """Find out whether it checks a type, whatever else there is to say about it."""
        self.checks_type = self.checks_type or (self.replacement.is_class and self._checked(self.node))

    def _changes(self, node: cst.BaseExpression) -> list[Change]:
        parent = self.names.parent(node)
        if isinstance(parent, cst.Call) and parent.func is node:
            return self._call(parent, parent.args, 0)
        if isinstance(parent, cst.Decorator):
            return self._decorator(node)
        if isinstance(parent, cst.Attribute):
            return self._attribute(parent)
        if isinstance(parent, cst.WithItem):
            raise Unfixable(f"{self._where(node)} enters `{self.spelling}` without calling it, which fails")
        if self.replacement.is_class:
            if isinstance(parent, cst.Arg) and isinstance(above := self.names.parent(parent), cst.ClassDef):
                return self._base(parent, above)
            if self._checked(node):
                self.checks_type = True
                return []
            if self._in_type(node):
                return []
        if isinstance(parent, cst.Arg) and isinstance(call := self.names.parent(parent), cst.Call):
            if call.args[0] is parent and "functools.partial" in self.names.qualified(call.func):
                return self._partial(call)
            if self.replacement.device == _DEFAULT_DEVICES.get(self.replacement.name) and self._is_factory(
                parent, call
            ):
                self.builds = True
                return []
        if isinstance(parent, (cst.Comparison, cst.ComparisonTarget)):
            if self._compared_with_none(parent):
                return []
            self.checks_type = True
            raise Unfixable(f"{self._where(node)} compares with exactly this class")
        if isinstance(parent, (cst.Assign, cst.AnnAssign)) and parent.value is node:
            return self._alias(node, parent)
        raise Unfixable(f"{self._where(node)} passes `{self.spelling}` on, and what calls it cannot be seen")

    # -- calls ---------------------------------------------------------------------------------------------------

    def _call(self, call: cst.Call, arguments: Sequence[cst.Arg], first: int) -> list[Change]:
        """The edits of a call whose arguments for the deprecated name begin at index ``first``."""
        self.builds = self.replacement.is_class
        if self._speaks_new(arguments):
            return []
        device = quoted(self.names, call, self.replacement.device)
        signature = self.replacement.signature
        if signature is Signature.DEVICE_KEYWORD:
            return [insert_keyword(self.tree, call, f"{self.replacement.device_keyword}={device}")]
        if signature is Signature.DEVICE_SECOND:
            if not positional(arguments):
                return [insert_keyword(self.tree, call, f"{self.replacement.device_keyword}={device}")]
            if any(argument.star for argument in arguments[:2]):
                raise Unfixable(f"{self._where(call)} gives its arguments by a star")
            return [insert_argument(self.tree, call, first + 1, device)]
        prepended = insert_argument(self.tree, call, first, device)
        if signature is Signature.AUTOCAST:
            self._doubt_nested_dtype(call, arguments)
            return [prepended, *self._named(arguments)]
        if self.replacement.name == "GradScaler" and _is_boolean(arguments):
            raise Unfixable(f"{self._where(call)} gives a bool as `init_scale`, where `enabled=` was probably meant")
        return [prepended]

    def _speaks_new(self, arguments: Sequence[cst.Arg]) -> bool:
        """Whether the arguments are those of the new signature already, which is certain for a literal device."""
        keyword = self.replacement.device_keyword
        by_position, by_keyword = positional(arguments), keywords(arguments)
        if keyword in by_keyword:
            if by_position and self.replacement.signature is not Signature.DEVICE_KEYWORD:
                raise Unfixable(f"{self._where(self.node)} mixes arguments of the old and the new signature")
            return True
        if not by_position or self.replacement.signature in (Signature.DEVICE_KEYWORD, Signature.DEVICE_SECOND):
            return False
        value = by_position[0].value
        if by_position[0].star:
            return False
        if isinstance(value, (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)):
            literal = value.raw_value if isinstance(value, cst.SimpleString) else None
            if literal == self.replacement.device and self._rest_is_new(by_position[1:]):
                return True
            raise Unfixable(f"{self._where(self.node)} gives a string where the old signature takes none")
        if _names_device(value):
            raise Unfixable(
                f"{self._where(self.node)} gives `{self.tree.code(value)}`, which looks like a device, "
                "where the old signature takes none"
            )
        return False

    def _rest_is_new(self, rest: Sequence[cst.Arg]) -> bool:
        if self.replacement.signature is not Signature.AUTOCAST:
            return True
        if not rest:
            return True
        dtype = dotted_name(rest[0].value)
        return (
            len(rest) == 1
            and dtype is not None
            and any(name.startswith("torch.") for name in self.names.qualified(rest[0].value))
        )

    def _named(self, arguments: Sequence[cst.Arg]) -> list[Change]:
        """Old positional arguments of ``autocast`` become keywords."""
        changes: list[Change] = []
        for index, argument in enumerate(positional(arguments)):
            if argument.star:
                raise Unfixable(
                    f"{self._where(self.node)} gives its arguments by a star, and their order differs in the new name"
                )
            if index >= len(AUTOCAST_PARAMETERS):
                raise Unfixable(f"{self._where(self.node)} gives more arguments than `{self.spelling}` takes")
            change = name_argument(self.tree, argument, AUTOCAST_PARAMETERS[index])
            if change is None:
                raise Unfixable(f"{self._where(self.node)} gives an argument that cannot become a keyword as it stands")
            changes.append(change)
        return changes

    def _doubt_nested_dtype(self, call: cst.Call, arguments: Sequence[cst.Arg]) -> None:
        """The old ``autocast()`` went back to its own dtype; the new one keeps that of a region around it."""
        enabled = self._argument(arguments, "enabled", 0)
        if self._argument(arguments, "dtype", 1) is not None or _is_name(enabled, "False"):
            return
        default = "torch.float16" if self.replacement.device == "cuda" else "torch.bfloat16"
        for region in self._regions_around(call):
            dtype = keywords(region.args).get("dtype")
            if dtype is not None and default not in self.names.qualified(dtype.value):
                self.doubt = f"the region around it has a dtype, which the new name takes over instead of {default}"
                return

    def _argument(self, arguments: Sequence[cst.Arg], name: str, index: int) -> cst.BaseExpression | None:
        by_position = positional(arguments)
        if index < len(by_position):
            return by_position[index].value
        named = keywords(arguments).get(name)
        return named.value if named is not None else None

    def _regions_around(self, call: cst.Call) -> Iterator[cst.Call]:
        child: cst.CSTNode = call
        for parent in self.names.ancestors(call):
            candidates: list[cst.BaseExpression] = []
            if isinstance(parent, cst.With):
                items = list(parent.items)
                before = items[: items.index(child)] if child in items else items  # type: ignore[arg-type]
                candidates = [item.item for item in before]
            elif isinstance(parent, cst.FunctionDef) and child is parent.body:
                candidates = [decorator.decorator for decorator in parent.decorators]
            for candidate in candidates:
                if isinstance(candidate, cst.Call) and self.names.qualified(candidate.func) & _AUTOCASTS:
                    yield candidate
            child = parent

    # -- other uses ----------------------------------------------------------------------------------------------

    def _decorator(self, node: cst.BaseExpression) -> list[Change]:
        if self.replacement.signature is not Signature.DEVICE_KEYWORD:
            raise Unfixable(f"{self._where(node)} decorates with `{self.spelling}` without calling it, which fails")
        _, end = outer_span(self.tree, node)
        device = quoted(self.names, node, self.replacement.device)
        return [Change(end, end, f"({self.replacement.device_keyword}={device})")]

    def _attribute(self, attribute: cst.Attribute) -> list[Change]:
        """``GradScaler.step`` is inherited; ``GradScaler.__init__`` has another order; a patched class is another."""
        if not self.replacement.is_class or not is_read(self.names, attribute):
            raise Unfixable(f"{self._where(attribute)} reaches into `{self.spelling}`")
        if attribute.attr.value not in ("__init__", "__new__"):
            return []
        call = self.names.parent(attribute)
        if attribute.attr.value == "__init__" and isinstance(call, cst.Call) and call.func is attribute and call.args:
            if not call.args[0].star and call.args[0].keyword is None:
                return self._call(call, call.args[1:], 1)
        raise Unfixable(f"{self._where(attribute)} reaches into `{self.spelling}`")

    def _base(self, argument: cst.Arg, definition: cst.ClassDef) -> list[Change]:
        """A subclass: its calls of the old ``__init__`` have the old order."""
        where = f"{self._where(argument)} derives a class from `{self.spelling}`"
        if argument.keyword is not None or len(definition.bases) != 1:
            raise Unfixable(f"{where} and from others, and which `__init__` it reaches cannot be seen")
        init = next((node for node in _methods(definition) if node.name.value == "__init__"), None)
        if init is None:
            raise Unfixable(f"{where} that has no `__init__`: the arguments of its instances would shift")
        calls = [node for node in self._calls_within(init) if self._reaches_init(node)]
        by_super = [
            call for call in calls if isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Call)
        ]
        if not calls:
            raise Unfixable(f"{where} whose `__init__` does not visibly call that of its base")
        return [change for call in by_super for change in self._call(call, call.args, 0)]

    def _calls_within(self, node: cst.CSTNode) -> Iterator[cst.Call]:
        for candidate in self.names.every(cst.Call):
            if node in self.names.ancestors(candidate):
                yield candidate

    def _reaches_init(self, call: cst.Call) -> bool:
        function = call.func
        if not isinstance(function, cst.Attribute) or function.attr.value != "__init__":
            return False
        if isinstance(function.value, cst.Call):
            return isinstance(function.value.func, cst.Name) and function.value.func.value == "super"
        return self.names.qualified(function.value) == self.names.qualified(self.node)

    def _partial(self, call: cst.Call) -> list[Change]:
        arguments = call.args[1:]
        if self.replacement.signature is Signature.AUTOCAST and "enabled" not in keywords(arguments):
            given = positional(arguments)
            if not given and not self._only_called_by_keywords(call, call.args[0].value):
                raise Unfixable(f"{self._where(call)} binds arguments, and what it is called with later cannot be seen")
        if self.replacement.signature is Signature.DEVICE_SECOND:
            raise Unfixable(f"{self._where(call)} binds arguments, and what it is called with later cannot be seen")
        return self._call(call, arguments, 1)

    def _only_called_by_keywords(self, value: cst.BaseExpression, near: cst.BaseExpression) -> bool:
        """Whether a value is kept in one local name that is only ever called, and without positional arguments."""
        references = self._references_of(value, near)
        return references is not None and all(
            isinstance(call := self.names.parent(reference), cst.Call)
            and call.func is reference
            and not positional(call.args)
            for reference in references
        )

    def _references_of(self, value: cst.BaseExpression, near: cst.BaseExpression) -> list[cst.Name] | None:
        """All reads of the one function-local name that ``value`` is assigned to; None where there is no such name.

        ``near`` is a chain inside of ``value``.
        """
        statement = self.names.parent(value)
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            target: cst.BaseExpression = statement.targets[0].target
        elif isinstance(statement, cst.AnnAssign):
            target = statement.target
        else:
            return None
        scope = self.names.scope(root_name(near))
        if not isinstance(target, cst.Name) or scope.kind != "function":
            return None
        binding = scope.bindings.get(target.value)
        return binding.references if binding is not None and binding.others == [target] else None

    def _alias(self, node: cst.BaseExpression, statement: cst.CSTNode) -> list[Change]:
        """A local second name for it, all of whose uses can be seen."""
        references = self._references_of(node, node)
        if references is None:
            raise Unfixable(
                f"{self._where(statement)} gives `{self.spelling}` another name, and not all of its uses can be seen"
            )
        changes: list[Change] = []
        for reference in references:
            changes += self._changes(reference)
        return changes

    def _compared_with_none(self, node: cst.Comparison | cst.ComparisonTarget) -> bool:
        comparison = node if isinstance(node, cst.Comparison) else self.names.parent(node)
        assert isinstance(comparison, cst.Comparison)
        sides = [comparison.left, *(target.comparator for target in comparison.comparisons)]
        return len(sides) == 2 and any(_is_name(side, "None") for side in sides)

    # -- types ---------------------------------------------------------------------------------------------------

    def _checked(self, node: cst.BaseExpression) -> bool:
        """The second argument of ``isinstance``, alone, in a tuple or in a union; or a class pattern."""
        child, parent = node, self.names.parent(node)
        while isinstance(parent, (cst.Tuple, cst.Element)) or _is_union(parent):
            child, parent = parent, self.names.parent(parent)
        if isinstance(parent, cst.MatchClass):
            return parent.cls is child
        call = self.names.parent(parent) if isinstance(parent, cst.Arg) else None
        return isinstance(call, cst.Call) and len(call.args) >= 2 and call.args[1] is parent and self._checks(call.func)

    def _checks(self, function: cst.BaseExpression) -> bool:
        if isinstance(function, cst.Attribute):
            return function.attr.value in _TYPE_ASSERTIONS
        return (
            isinstance(function, cst.Name) and function.value in _TYPE_CHECKS and self.names.binding(function) is None
        )

    def _is_factory(self, argument: cst.Arg, call: cst.Call) -> bool:
        """Whether it is given where it will be called without arguments, as in ``field(default_factory=...)``."""
        for name in self.names.qualified(call.func):
            place = _FACTORIES.get(name)
            if place == 0 and call.args[0] is argument:
                return True
            if place is not None and argument.keyword is not None and argument.keyword.value == place:
                return True
        return False

    def _in_type(self, node: cst.BaseExpression) -> bool:
        """Whether it stands in an annotation, in a generic type's brackets, or in a union with another type."""
        child, parent = node, self.names.parent(node)
        while isinstance(parent, _IN_BRACKETS):
            if isinstance(parent, cst.Subscript) and child is not parent.value and self._is_generic(parent.value):
                return True
            child, parent = parent, self.names.parent(parent)
        if isinstance(parent, cst.Arg) and isinstance(call := self.names.parent(parent), cst.Call):
            called = self.names.qualified(call.func)
            return "typing.TypeVar" in called or ("typing.cast" in called and call.args[0] is parent)
        return isinstance(parent, (cst.Annotation, cst.TypeAlias)) or _is_union(parent)

    def _is_generic(self, node: cst.BaseExpression) -> bool:
        if any(
            name.startswith(("typing.", "typing_extensions.", "collections.abc."))
            for name in self.names.qualified(node)
        ):
            return True
        return isinstance(node, cst.Name) and node.value in _GENERIC_BUILTINS and self.names.binding(node) is None

    def _where(self, node: cst.CSTNode) -> str:
        start, _ = self.tree.span(node)
        return self.document.place(self.document.location(start)).line


def _methods(definition: cst.ClassDef) -> Iterator[cst.FunctionDef]:
    for statement in definition.body.body:
        if isinstance(statement, cst.FunctionDef):
            yield statement


def _is_union(node: cst.CSTNode | None) -> TypeGuard[cst.BinaryOperation]:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitOr)


def _is_name(node: cst.BaseExpression | None, value: str) -> bool:
    return isinstance(node, cst.Name) and node.value == value


def _is_boolean(arguments: Sequence[cst.Arg]) -> bool:
    """Whether the first positional argument is a bool for certain."""
    given = positional(arguments)
    if not given or given[0].star:
        return False
    value = given[0].value
    if isinstance(value, cst.UnaryOperation):
        return isinstance(value.operator, cst.Not)
    return _is_name(value, "True") or _is_name(value, "False") or isinstance(value, cst.Comparison)


def _names_device(value: cst.BaseExpression) -> bool:
    """``device``, ``self.device.type``, ``str(device)``, ``torch.device("cuda")``: values named as a device."""
    if isinstance(value, cst.Call):
        if isinstance(value.func, (cst.Name, cst.Attribute)) and (dotted_name(value.func) or "").endswith("device"):
            return True
        return _is_name(value.func, "str") and len(value.args) == 1 and _names_device(value.args[0].value)
    name = dotted_name(value)
    if name is None:
        return False
    last = name.removesuffix(".type").rpartition(".")[2].lower()
    return "device" in last.split("_") or last == "dev"


def is_read(names: Names, node: cst.BaseExpression) -> bool:
    """Whether a name or attribute is neither assigned to nor deleted."""
    parent = names.parent(node)
    if isinstance(parent, (cst.AssignTarget, cst.AugAssign, cst.Del)):
        return False
    return not (isinstance(parent, cst.AnnAssign) and parent.target is node)
