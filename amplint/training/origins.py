"""Where values come from: through assignments, attributes, parameters, returns and containers of one document.

A question goes from an expression to what it was assigned, handed or returned from, and on. A part of a value, such as
an element of a container or an attribute of an object, is followed as a path: ``trainer.scaler`` is where ``trainer``
comes from with the path ``.scaler``, until the class is met whose methods set that attribute.

Nothing is said about time: a name that is assigned twice may hold either value.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

import libcst as cst

from amplint.syntax.names import Binding, Names, dotted_name
from amplint.training.places import Places, Store, literal, own_parameters


class Member(NamedTuple):
    """A step of a path to an attribute."""

    name: str


#: A step of a path: an index, a key, any element at all (None), or an attribute.
Selector: TypeAlias = int | str | None | Member
Path: TypeAlias = tuple[Selector, ...]
ANY: Selector = None

_LONGEST = 6
_WIDEST = 600

THROUGH_METHODS = frozenset(
    "to cuda cpu half float double bfloat16 train eval requires_grad_ share_memory to_empty apply detach clone".split()
)
"""Methods that give back the module or tensor they are called on, changed at most."""

WRAPPERS = frozenset("DataParallel DistributedDataParallel DDP FullyShardedDataParallel FSDP".split())
"""Modules that are built around a module."""

_DRESSERS = WRAPPERS | {"compile", "convert_sync_batchnorm", "deepcopy", "fully_shard"}
_PREPARERS = frozenset({"prepare", "setup", "setup_optimizers", "setup_module"})
"""Methods of training frameworks that give back what they are given, in the same order."""

_COPIES = frozenset({"list", "tuple", "sorted", "reversed", "iter", "set", "copy", "tqdm"})
_NAMESPACES = frozenset({"dict", "OrderedDict", "SimpleNamespace", "EasyDict", "edict", "Namespace"})


class Origin(NamedTuple):
    """An end at which nothing more is known: of an expression, parameter or definition, or of the part at ``path``.

    Two origins with the same ``key`` are the same object as far as the document says; None is no object of its own.
    """

    node: cst.CSTNode
    path: Path
    key: Hashable


class Sources(NamedTuple):
    """The ends that a value may come from, and every expression whose very value it may be, ends included.

    ``touched`` are, besides, the expressions of which it may be a part.
    """

    ends: tuple[Origin, ...]
    passed: frozenset[cst.CSTNode]
    touched: frozenset[cst.CSTNode]

    @property
    def keys(self) -> frozenset[Hashable]:
        """What identifies the objects among the ends."""
        return frozenset(end.key for end in self.ends if end.key is not None)


_Stop: TypeAlias = tuple[cst.CSTNode, Path]


class Origins:
    """The origins of the expressions of one document."""

    def __init__(self, names: Names, places: Places) -> None:
        self.names, self.places = names, places
        self._known: dict[_Stop, Sources] = {}
        self._callers: dict[cst.CSTNode, tuple[cst.Call, ...]] = {}
        self._methods: dict[cst.Call, frozenset[cst.CSTNode]] = {}
        self._resolve_methods()

    # -- questions -----------------------------------------------------------------------------------------------

    def of(self, node: cst.CSTNode, path: Path = ()) -> Sources:
        """Where the value of ``node`` comes from, or that of the part of it to which ``path`` leads."""
        start = (node, path)
        known = self._known.get(start)
        if known is None:
            known = self._known[start] = self._follow(start)
        return known

    def _follow(self, start: _Stop) -> Sources:
        ends: list[Origin] = []
        seen = {start}
        waiting = [start]
        while waiting:
            stop = waiting.pop()
            steps = self._step(*stop) if len(seen) < _WIDEST and len(stop[1]) <= _LONGEST else None
            if steps is None:
                ends.append(Origin(*stop, self._key(*stop)))
                continue
            for step in steps:
                if step not in seen:
                    seen.add(step)
                    waiting.append(step)
        passed = frozenset(node for node, path in seen if not path)
        return Sources(tuple(ends), passed, frozenset(node for node, _ in seen))

    def before(self, node: cst.CSTNode, path: Path = ()) -> tuple[tuple[cst.CSTNode, Path], ...]:
        """What a value was one step earlier; nothing at an end."""
        return tuple(step for step in self._step(node, path) or () if step != (node, path))

    def same(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """Whether two expressions may well be the same object."""
        return bool(self.of(one).keys & self.of(other).keys)

    def targets(self, call: cst.Call) -> frozenset[cst.CSTNode]:
        """The functions and classes of the document that a call may run."""
        known = self._methods.get(call)
        return known if known is not None else frozenset(self._plain_targets(call.func))

    def classes(self, node: cst.CSTNode) -> frozenset[cst.ClassDef]:
        """The classes of the document that ``node`` may be an instance of."""
        found: set[cst.ClassDef] = set()
        for end in self.of(node).ends:
            if not end.path:
                found.update(self._instance_of(end.node))
        return frozenset(found)

    def callers(self, function: cst.CSTNode) -> tuple[cst.Call, ...]:
        """The calls in the document that run a function; those of its class for an ``__init__``."""
        known = self._callers.get(function)
        if known is None:
            known = self._callers[function] = tuple(self._find_callers(function))
        return known

    def filled(self, call: cst.Call, function: cst.FunctionDef, argument: cst.Arg) -> list[cst.Param]:
        """The parameters of a function that an argument of a call fills, whole."""
        params = own_parameters(function, bound=self._is_bound(call, function))
        return [
            param
            for param in (*params.positional, *params.keyword_only)
            if (argument.value, ()) in self._argument(call, function, param, ())
        ]

    def stores(self, node: cst.BaseExpression) -> Iterator[Store]:
        """What is put into the container that a name or an attribute stands for."""
        return (store for store in self.places.stores(node) if self._same_place(store.container, node))

    def is_self(self, binding: Binding) -> bool:
        """Whether a name is the instance on which a method of the document is called."""
        return self.places.owner_of_self(binding) is not None

    def family(self, cls: cst.ClassDef) -> frozenset[cst.ClassDef]:
        """A class with the classes of the document that it derives from and that derive from it."""
        return self._families.get(cls, frozenset([cls]))

    @functools.cached_property
    def _families(self) -> dict[cst.ClassDef, frozenset[cst.ClassDef]]:
        bases = {cls: self._bases(cls) for cls in self.places.classes}

        def above(cls: cst.ClassDef) -> set[cst.ClassDef]:
            found, waiting = {cls}, [cls]
            while waiting:
                for base in bases.get(waiting.pop(), ()):
                    if base not in found:
                        found.add(base)
                        waiting.append(base)
            return found

        upwards = {cls: above(cls) for cls in bases}
        return {
            cls: frozenset(ups | {other for other in bases if cls in upwards[other]}) for cls, ups in upwards.items()
        }

    # -- one step ------------------------------------------------------------------------------------------------

    def _step(self, node: cst.CSTNode, path: Path) -> Iterable[_Stop] | None:
        """Where a value was before; None at an end."""
        if isinstance(node, cst.Name):
            return self._from_name(node, path)
        if isinstance(node, cst.Attribute):
            return self._from_attribute(node, path)
        if isinstance(node, cst.Call):
            return self._from_call(node, path)
        if isinstance(node, cst.IfExp):
            return [(node.body, path), (node.orelse, path)]
        if isinstance(node, cst.BooleanOperation):
            return [(node.left, path), (node.right, path)]
        if isinstance(node, cst.NamedExpr):
            return [(node.value, path)]
        if isinstance(node, cst.Await):
            return [(node.expression, path)]
        if isinstance(node, cst.Param):
            return self._from_param(node, path)
        if isinstance(node, cst.Subscript):
            return [(node.value, (_selector(node), *path))]
        if path and not isinstance(path[0], Member):
            return self._part(node, path[0], path)
        return None

    def _part(self, node: cst.CSTNode, first: int | str | None, path: Path) -> Iterable[_Stop] | None:
        """The part of a display or comprehension that a path leads to."""
        rest = path[1:]
        if isinstance(node, (cst.Tuple, cst.List, cst.Set)):
            elements = node.elements
            if isinstance(first, int) and not any(isinstance(e, cst.StarredElement) for e in elements):
                return [(elements[first].value, rest)] if -len(elements) <= first < len(elements) else []
            return [(e.value, path if isinstance(e, cst.StarredElement) else rest) for e in elements]
        if isinstance(node, cst.Dict):
            found: list[_Stop] = []
            for element in node.elements:
                if isinstance(element, cst.StarredDictElement):
                    found.append((element.value, path))
                elif isinstance(element, cst.DictElement) and _matches(first, literal(element.key)):
                    found.append((element.value, rest))
            return found
        if isinstance(node, (cst.ListComp, cst.SetComp, cst.GeneratorExp)):
            return [(node.elt, rest)]
        if isinstance(node, cst.DictComp):
            return [(node.value, rest)]
        if isinstance(node, cst.BinaryOperation):  # lists added, dictionaries joined
            return [(node.left, path), (node.right, path)]
        return None

    # -- names and attributes ------------------------------------------------------------------------------------

    def _from_name(self, node: cst.Name, path: Path) -> Iterable[_Stop] | None:
        binding = self.names.binding(node)
        if binding is None or binding.imports or not binding.others:
            return None
        owner = self.places.owner_of_self(binding)
        if owner is not None:
            return self._member(owner, path)
        found: list[_Stop] = []
        for bound in binding.others:
            steps = self._bound(bound, path)
            found.extend([(bound, path)] if steps is None else steps)
        found.extend(self._stored(node, path))
        return found

    def _bound(self, node: cst.CSTNode, path: Path) -> Iterable[_Stop] | None:
        """What an assignment, a loop or a ``with`` binds to its target; None where the target itself is an end."""
        if isinstance(node, cst.Param):
            return [(node, path)]
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            return None
        inner: list[Selector] = []
        child, parent = node, self.names.parent(node)
        while isinstance(parent, (cst.Element, cst.StarredElement, cst.Tuple, cst.List)):
            if isinstance(parent, (cst.Tuple, cst.List)):
                starred = any(isinstance(e, cst.StarredElement) for e in parent.elements)
                inner.insert(0, ANY if starred else next(i for i, e in enumerate(parent.elements) if e is child))
            child, parent = parent, self.names.parent(parent)
        whole = (*inner, *path)
        if isinstance(parent, cst.AssignTarget):
            assign = self.names.parent(parent)
            return [(assign.value, whole)] if isinstance(assign, cst.Assign) else None
        if isinstance(parent, (cst.AnnAssign, cst.NamedExpr)):
            return [(parent.value, whole)] if parent.value is not None else []
        if isinstance(parent, (cst.For, cst.CompFor)):
            return [(parent.iter, (ANY, *whole))]
        if isinstance(parent, cst.AsName):
            item = self.names.parent(parent)
            return [(item.item, whole)] if isinstance(item, cst.WithItem) else None
        return None

    def _from_attribute(self, node: cst.Attribute, path: Path) -> Iterable[_Stop] | None:
        if self.names.qualified(node):
            return None
        found: list[_Stop] = [(node.value, (Member(node.attr.value), *path))]
        for target in self.places.attribute_targets(node.attr.value):
            if target is not node and self._same_place(target, node) and not self._is_of_self(target):
                steps = self._bound(target, path)
                found.extend([(target, path)] if steps is None else steps)
        found.extend(self._stored(node, path))
        return found

    def _is_of_self(self, node: cst.Attribute) -> bool:
        binding = self.names.binding(node)
        return binding is not None and self.is_self(binding)

    def _member(self, owner: cst.ClassDef, path: Path) -> Iterable[_Stop] | None:
        """The attribute of an instance of a class to which a path leads."""
        if not path or not isinstance(path[0], Member):
            return None
        name, rest = path[0].name, path[1:]
        found: list[_Stop] = []
        for member in self._members(owner, name):
            if isinstance(member, cst.FunctionDef):
                if _decorated(member, "property", "cached_property"):
                    found.extend((value, rest) for value in self.places.returned(member))
                continue
            steps = self._bound(member, rest)
            found.extend([(member, rest)] if steps is None else steps)
            if rest and isinstance(member, cst.Attribute):
                found.extend(self._stored(member, rest))
        return found or None

    def _members(self, owner: cst.ClassDef, name: str) -> list[cst.CSTNode]:
        """What binds an attribute of the instances of a class: targets, and the method or name in the class."""
        family = self.family(owner)
        found: list[cst.CSTNode] = []
        for target in self.places.attribute_targets(name):
            binding = self.names.binding(target) if isinstance(target.value, cst.Name) else None
            if binding is not None and self.places.owner_of_self(binding) in family:
                found.append(target)
        for cls in family:
            found.extend(self.places.members(cls, name))
        return found

    def _stored(self, node: cst.BaseExpression, path: Path) -> list[_Stop]:
        """What is put into a container after it was made, where ``path`` leads into it."""
        if not path or isinstance(path[0], Member):
            return []
        first, rest = path[0], path[1:]
        found: list[_Stop] = []
        for store in self.stores(node):
            if isinstance(store.key, tuple):  # the elements of another container
                found.append((store.value, path))
            elif _matches(first, store.key):
                found.append((store.value, rest))
        return found

    def _same_place(self, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
        """Whether two names or attributes are the same variable."""
        if isinstance(one, cst.Name) and isinstance(other, cst.Name):
            binding, second = self.names.binding(one), self.names.binding(other)
            if binding is None or second is None:
                return False
            owner = self.places.owner_of_self(binding)
            return binding is second or (owner is not None and owner is self.places.owner_of_self(second))
        if isinstance(one, cst.Attribute) and isinstance(other, cst.Attribute):
            return one.attr.value == other.attr.value and self._same_place(one.value, other.value)
        return False

    # -- calls and parameters ------------------------------------------------------------------------------------

    def _from_param(self, node: cst.Param, path: Path) -> Iterable[_Stop] | None:
        function = self.places.function_of_param(node)
        found: list[_Stop] = []
        if isinstance(function, cst.FunctionDef):
            handed = [self._argument(call, function, node, path) for call in self.callers(function)]
            found = [value for values in handed for value in values]
            if found and node.default is not None and not all(handed):
                found.append((node.default, path))
        if not found and path:
            for owner in self._instance_of(node):
                found.extend(self._member(owner, path) or ())
        return found or None

    def _argument(self, call: cst.Call, function: cst.FunctionDef, param: cst.Param, path: Path) -> list[_Stop]:
        """What a call hands to a parameter."""
        params = own_parameters(function, bound=self._is_bound(call, function))
        names = [p.name.value for p in (*params.positional, *params.keyword_only)]
        position = next((i for i, p in enumerate(params.positional) if p is param), None)
        found: list[_Stop] = []
        index = 0
        for argument in call.args:
            if argument.star == "*":
                if position is not None and position >= index:
                    found.append((argument.value, (position - index, *path)))
                index = len(params.positional)
            elif argument.star == "**":
                key = param.name.value
                found.append((argument.value, path if param is params.star_kwarg else (key, *path)))
            elif argument.keyword is None:
                if index == position:
                    found.append((argument.value, path))
                elif param is params.star_arg and index >= len(params.positional) and path:
                    if _matches(path[0], index - len(params.positional)):
                        found.append((argument.value, path[1:]))
                index += 1
            else:
                name = argument.keyword.value
                if param.name.value == name and param is not params.star_kwarg:
                    found.append((argument.value, path))
                elif param is params.star_kwarg and name not in names and path and _matches(path[0], name):
                    found.append((argument.value, path[1:]))
        return found

    def _is_bound(self, call: cst.Call, function: cst.FunctionDef) -> bool:
        """Whether a call's own arguments begin after the first parameter."""
        if self.places.class_of(function) is None or _decorated(function, "staticmethod"):
            return False
        if not isinstance(call.func, cst.Attribute) or _decorated(function, "classmethod"):
            return True
        return self._class_named(call.func.value) is None

    def _from_call(self, node: cst.Call, path: Path) -> Iterable[_Stop] | None:
        targets = self.targets(node)
        functions = [target for target in targets if isinstance(target, (cst.FunctionDef, cst.Lambda))]
        if functions:
            return [(value, path) for function in functions for value in self.places.returned(function)] or None
        for cls in targets:
            assert isinstance(cls, cst.ClassDef)
            return self._of_instance(node, cls, path)
        name = callee_name(node)
        positional = [a.value for a in node.args if a.keyword is None and not a.star]
        if path:
            steps = self._part_of_call(node, name, positional, path)
            if steps is not None:
                return steps
        if isinstance(node.func, cst.Attribute) and name in THROUGH_METHODS and not self.names.qualified(node.func):
            return [(node.func.value, path)]
        if positional and (name in _DRESSERS or (path and name in _COPIES)):
            return [(positional[0], path)]
        if name in _PREPARERS and len(positional) == 1 and len(node.args) == 1:
            return [(positional[0], path)]
        if name == "next" and positional:
            return [(positional[0], (ANY, *path))]
        return None

    def _of_instance(self, node: cst.Call, cls: cst.ClassDef, path: Path) -> Iterable[_Stop] | None:
        found = self._member(cls, path)
        if found is None and path and isinstance(path[0], Member):  # a data class
            name = path[0].name
            return [(a.value, path[1:]) for a in node.args if a.keyword is not None and a.keyword.value == name] or None
        return found

    def _part_of_call(
        self, node: cst.Call, name: str, positional: list[cst.BaseExpression], path: Path
    ) -> Iterable[_Stop] | None:
        first, rest = path[0], path[1:]
        if name in _NAMESPACES:
            wanted = first.name if isinstance(first, Member) else first
            found: list[_Stop] = [(value, path) for value in positional]
            for argument in node.args:
                if argument.star == "**":
                    found.append((argument.value, path))
                elif argument.keyword is not None and _matches(wanted, argument.keyword.value):
                    found.append((argument.value, rest))
            return found
        if isinstance(first, Member):
            return None
        if isinstance(node.func, cst.Attribute) and not node.args:
            if name == "values":
                return [(node.func.value, path)]
            if name == "items" and rest:
                return [(node.func.value, (ANY, *rest[1:]))] if rest[0] != 0 else []
        if name == "enumerate" and positional and rest:
            return [(positional[0], (first, *rest[1:]))] if rest[0] != 0 else []
        if name == "zip" and rest and isinstance(rest[0], int) and rest[0] < len(positional):
            return [(positional[rest[0]], (first, *rest[1:]))]
        if name in _PREPARERS and len(positional) == len(node.args) and isinstance(first, int):
            return [(positional[first], rest)] if first < len(positional) else []
        return None

    # -- which function a call runs ------------------------------------------------------------------------------

    def _plain_targets(self, callee: cst.BaseExpression) -> Iterator[cst.CSTNode]:
        """The functions and classes that the names of a callee say, without asking where an object comes from."""
        if isinstance(callee, cst.Name):
            binding = self.names.binding(callee)
            for bound in binding.others if binding is not None and not binding.imports else ():
                if isinstance(bound, (cst.FunctionDef, cst.ClassDef)):
                    yield bound
                elif (value := self._assigned_lambda(bound)) is not None:
                    yield value
        elif isinstance(callee, cst.Attribute):
            owner = self._class_named(callee.value)
            binding = self.names.binding(callee.value) if isinstance(callee.value, cst.Name) else None
            if owner is None and binding is not None:
                owner = self.places.owner_of_self(binding)
            if owner is not None:
                for member in self._members(owner, callee.attr.value):
                    if isinstance(member, (cst.FunctionDef, cst.ClassDef)):
                        yield member

    def _resolve_methods(self) -> None:
        """Find out which methods are called on objects that come from somewhere else in the document."""
        names = self.places.method_names
        for _ in range(2):  # the second time with what the first has found
            found: dict[cst.Call, frozenset[cst.CSTNode]] = {}
            for call in self.places.calls(*names):
                func = call.func
                if isinstance(func, cst.Attribute) and not any(self._plain_targets(func)):
                    methods = self._methods_of(func)
                    if methods:
                        found[call] = methods
            self._known.clear()
            self._callers.clear()
            if found == self._methods:
                break
            self._methods = found

    def _methods_of(self, func: cst.Attribute) -> frozenset[cst.CSTNode]:
        if self.names.qualified(func) or isinstance(func.value, cst.Call) and callee_name(func.value) == "super":
            return frozenset()
        classes = self.classes(func.value)
        if classes:
            return frozenset(
                member
                for cls in classes
                for member in self._members(cls, func.attr.value)
                if isinstance(member, cst.FunctionDef)
            )
        only = self.places.only_method(func.attr.value)
        if only is None or any(isinstance(end.node, cst.Call) for end in self.of(func.value).ends):
            return frozenset()
        return frozenset([only])

    def _assigned_lambda(self, node: cst.CSTNode) -> cst.Lambda | None:
        target = self.names.parent(node)
        assign = self.names.parent(target) if isinstance(target, cst.AssignTarget) else None
        value = assign.value if isinstance(assign, cst.Assign) else None
        return value if isinstance(value, cst.Lambda) else None

    def _find_callers(self, function: cst.CSTNode) -> Iterator[cst.Call]:
        if not isinstance(function, cst.FunctionDef):
            return
        name = function.name.value
        owner = self.places.class_of(function)
        if owner is not None and name == "__init__":
            for cls in self.family(owner):
                if cls is owner or (owner in self._bases(cls) and not self.places.members(cls, "__init__")):
                    for call in self.places.calls(cls.name.value):
                        if cls in self.targets(call):
                            yield call
        for call in self.places.calls(name):
            if owner is not None and _is_super(call):
                inside = self.places.class_around(call)
                if inside is not None and inside is not owner and owner in self.family(inside):
                    yield call
            elif function in self.targets(call):
                yield call

    # -- classes -------------------------------------------------------------------------------------------------

    def _instance_of(self, node: cst.CSTNode) -> Iterator[cst.ClassDef]:
        """The classes of which an end is plainly an instance."""
        if isinstance(node, cst.Call):
            for target in self.targets(node):
                if isinstance(target, cst.ClassDef):
                    yield target
        elif isinstance(node, cst.Name):
            binding = self.names.binding(node)
            owner = self.places.owner_of_self(binding) if binding is not None else None
            if owner is not None:
                yield owner
        elif isinstance(node, cst.Param) and node.annotation is not None:
            owner = self._class_named(node.annotation.annotation)
            if owner is not None:
                yield owner

    def _class_named(self, node: cst.BaseExpression) -> cst.ClassDef | None:
        """The class of the document that a name or a string annotation names."""
        if isinstance(node, cst.SimpleString):
            value = node.evaluated_value
            return next((cls for cls in self.places.classes if cls.name.value == value), None)
        if not isinstance(node, cst.Name):
            return None
        binding = self.names.binding(node)
        others = binding.others if binding is not None else []
        return others[0] if len(others) == 1 and isinstance(others[0], cst.ClassDef) else None

    def _bases(self, cls: cst.ClassDef) -> list[cst.ClassDef]:
        found = (self._class_named(base.value) for base in cls.bases)
        return [base for base in found if base is not None]

    # -- identity ------------------------------------------------------------------------------------------------

    def _key(self, node: cst.CSTNode, path: Path) -> Hashable:
        if isinstance(node, (cst.SimpleString, cst.Integer, cst.Float, cst.ConcatenatedString)):
            return None
        if isinstance(node, (cst.Name, cst.Attribute)):
            binding = self.names.binding(node)
            if binding is None:
                return None
            owner = self.places.owner_of_self(binding)
            dotted = dotted_name(node) or ""
            return ("name", owner or binding, dotted.partition(".")[2], path)
        return ("node", node, path)


def callee_name(call: cst.Call) -> str:
    """The last part of what a call names; empty for anything else than names."""
    func = call.func
    if isinstance(func, cst.Attribute):
        return func.attr.value
    return func.value if isinstance(func, cst.Name) else ""


def _selector(node: cst.Subscript) -> Selector:
    if len(node.slice) == 1 and isinstance(index := node.slice[0].slice, cst.Index):
        return literal(index.value)
    return ANY


def _matches(wanted: Selector, found: int | str | None) -> bool:
    return wanted is ANY or found is ANY or wanted == found


def _decorated(function: cst.FunctionDef, *names: str) -> bool:
    for decorator in function.decorators:
        dotted = dotted_name(decorator.decorator) or ""
        if dotted.rpartition(".")[2] in names:
            return True
    return False


def _is_super(call: cst.Call) -> bool:
    func = call.func
    return isinstance(func, cst.Attribute) and isinstance(func.value, cst.Call) and callee_name(func.value) == "super"
