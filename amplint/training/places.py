"""Where things stand in a document: calls by name, methods by class, what functions return, what loops surround.

One pass over the nodes that :class:`amplint.syntax.names.Names` has visited.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import libcst as cst

from amplint.syntax.enclosing import statements_before
from amplint.syntax.literals import value_of
from amplint.syntax.names import Binding, Names, child_fields

Function: TypeAlias = cst.FunctionDef | cst.Lambda
Loop: TypeAlias = cst.For | cst.While


class Store(NamedTuple):
    """A value put into a container: under a literal key, under any (None), or all elements of ``value`` (a tuple)."""

    container: cst.BaseExpression
    key: int | str | None | tuple[()]
    value: cst.BaseExpression


class Parameters(NamedTuple):
    """The parameters of a function as its callers see them."""

    positional: tuple[cst.Param, ...]
    keyword_only: tuple[cst.Param, ...]
    star_arg: cst.Param | None
    star_kwarg: cst.Param | None


class Guard(NamedTuple):
    """A condition that must have the given truth for some code to run."""

    test: cst.BaseExpression
    truth: bool


class Places:
    """The index of one document."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.classes: list[cst.ClassDef] = []
        self.functions: list[cst.FunctionDef] = []
        self.with_items: list[cst.WithItem] = []
        self.declared: set[str] = set()
        """The names that some function declares global or nonlocal."""
        self._calls: dict[str, list[cst.Call]] = defaultdict(list)
        self._targets: dict[str, list[cst.Attribute]] = defaultdict(list)
        self._returned: dict[cst.CSTNode, list[cst.BaseExpression]] = defaultdict(list)
        self._owners: dict[cst.Param, Function] = {}
        self._stores: dict[str, list[Store]] = defaultdict(list)
        self._members: dict[cst.ClassDef, dict[str, list[cst.CSTNode]]] = defaultdict(lambda: defaultdict(list))
        self._methods: dict[str, list[cst.FunctionDef]] = defaultdict(list)
        self._selves: dict[Binding, cst.ClassDef | None] = {}
        self._class_of: dict[cst.CSTNode, cst.ClassDef] = {}
        for node in names.parents:
            visit = _VISITS.get(type(node))
            if visit is not None:
                visit(self, node)

    # -- what there is -------------------------------------------------------------------------------------------

    def calls(self, *callees: str) -> Iterator[cst.Call]:
        """The calls whose callee's last name is one of ``callees``."""
        for name in callees:
            yield from self._calls.get(name, ())

    def every_call(self) -> Iterator[cst.Call]:
        """All calls of something that has a name."""
        for calls in self._calls.values():
            yield from calls

    def attribute_targets(self, name: str) -> list[cst.Attribute]:
        """The attributes of this name that are assigned to."""
        return self._targets.get(name, [])

    def returned(self, function: cst.CSTNode) -> list[cst.BaseExpression]:
        """What a function may return."""
        if isinstance(function, cst.Lambda):
            return [function.body]
        return self._returned.get(function, [])

    def function_of_param(self, param: cst.Param) -> Function | None:
        """The function that a parameter is of."""
        return self._owners.get(param)

    def class_of(self, function: cst.CSTNode) -> cst.ClassDef | None:
        """The class of which a function is a method."""
        return self._class_of.get(function)

    def owner_of_self(self, binding: Binding) -> cst.ClassDef | None:
        """The class of which a name is the instance that a method is called on."""
        if binding not in self._selves:
            self._selves[binding] = self._owner_of_self(binding)
        return self._selves[binding]

    def _owner_of_self(self, binding: Binding) -> cst.ClassDef | None:
        for bound in binding.others:
            function = self._owners.get(bound) if isinstance(bound, cst.Param) else None
            owner = self._class_of.get(function) if isinstance(function, cst.FunctionDef) else None
            if owner is not None and isinstance(function, cst.FunctionDef):
                first = next(iter((*function.params.posonly_params, *function.params.params)), None)
                static = any(
                    isinstance(d.decorator, cst.Name) and d.decorator.value == "staticmethod"
                    for d in function.decorators
                )
                if first is bound and not static:
                    return owner
        return None

    @property
    def method_names(self) -> tuple[str, ...]:
        """The names of the methods of the document's classes."""
        return tuple(self._methods)

    def members(self, cls: cst.ClassDef, name: str) -> list[cst.CSTNode]:
        """What a class's own body binds to a name."""
        return self._members[cls][name] if cls in self._members else []

    def only_method(self, name: str) -> cst.FunctionDef | None:
        """The method of this name, where only one class of the document has one and the name says what it does."""
        methods = self._methods.get(name, [])
        return methods[0] if len(methods) == 1 and name not in _COMMON_METHODS else None

    def stores(self, container: cst.BaseExpression) -> list[Store]:
        """What is put into containers that are called the same as ``container``."""
        return self._stores.get(_last_name(container), [])

    @functools.cached_property
    def _bindings(self) -> dict[cst.CSTNode, Binding]:
        found: dict[cst.CSTNode, Binding] = {}
        for node in self.names.every(cst.Name):
            binding = self.names.binding(node)
            if binding is not None:
                for bound in binding.others:
                    found[bound] = binding
        return found

    @functools.cached_property
    def identifiers(self) -> frozenset[str]:
        """The names, attributes and parameters that the document refers to or defines."""
        found = {node.value for node in self.names.every(cst.Name)}
        found |= {node.attr.value for node in self.names.every(cst.Attribute)}
        found |= {param.name.value for param in self._owners}
        return frozenset(found | {imported.name for imported in self.names.imports})

    def binding(self, target: cst.CSTNode) -> Binding | None:
        """What a node binds, such as the target of an assignment; None where nothing refers to it."""
        return self._bindings.get(target)

    # -- around a node -------------------------------------------------------------------------------------------

    def around(self, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
        """The nodes around ``node`` from the inside out, each with the child by which it holds ``node``."""
        child = node
        for parent in self.names.ancestors(node):
            yield parent, child
            child = parent

    def function_around(self, node: cst.CSTNode) -> Function | None:
        """The function in whose body ``node`` stands."""
        for parent, child in self.around(node):
            if isinstance(parent, (cst.FunctionDef, cst.Lambda)) and child is parent.body:
                return parent
        return None

    def class_around(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """The class in whose body, or in whose methods, ``node`` stands."""
        for parent, child in self.around(node):
            if isinstance(parent, cst.ClassDef) and child is parent.body:
                return parent
        return None

    def home(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The class in which ``node`` stands, or else the function; None for the module."""
        return self.class_around(node) or self.function_around(node)

    def loops_around(self, node: cst.CSTNode) -> Iterator[Loop]:
        """The loops of the same function that run ``node`` again and again, innermost first."""
        for parent, child in self.around(node):
            if isinstance(parent, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
                if child is parent.body:
                    return
            elif isinstance(parent, cst.For):
                if child is parent.body:
                    yield parent
            elif isinstance(parent, cst.While) and child is not parent.orelse:
                yield parent

    def guards_of(self, node: cst.CSTNode, within: cst.CSTNode | None = None) -> list[Guard]:
        """What must hold for ``node`` to run once its function runs, or the body of ``within`` does."""
        found: list[Guard] = []
        for parent, child in self.around(node):
            if isinstance(parent, (cst.If, cst.IfExp)):
                if child is not parent.test:
                    found.append(Guard(parent.test, child is parent.body))
            elif isinstance(parent, cst.While) and child is parent.body:
                found.append(Guard(parent.test, True))
            elif isinstance(parent, cst.BooleanOperation) and child is parent.right:
                found.append(Guard(parent.left, isinstance(parent.operator, cst.And)))
            elif isinstance(parent, (cst.IndentedBlock, cst.Module)):
                found.extend(_left_early(parent, child))
            elif isinstance(parent, (cst.FunctionDef, cst.Lambda)) and child is parent.body:
                break
            if parent is within:
                break
        return found

    def references(self, node: cst.CSTNode) -> Iterator[cst.Name | cst.Attribute]:
        """The names, and the chains of attributes of names, in an expression."""
        for part in self._parts(node):
            if isinstance(part, (cst.Name, cst.Attribute)):
                yield part

    def calls_in(self, node: cst.CSTNode) -> Iterator[cst.Call]:
        """The calls in an expression, itself included."""
        for part in self._parts(node):
            if isinstance(part, cst.Call):
                yield part

    def _parts(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes of an expression that hold code."""
        waiting = [node]
        while waiting:
            current = waiting.pop()
            yield current
            if isinstance(current, cst.Attribute):
                waiting.append(current.value)
            elif isinstance(current, cst.Arg):
                waiting.append(current.value)
            elif not isinstance(current, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
                for field in child_fields(type(current)):
                    value = getattr(current, field)
                    if isinstance(value, cst.CSTNode):
                        waiting.append(value)
                    elif isinstance(value, (tuple, list)):
                        waiting.extend(value)

    def holds(self, outer: cst.CSTNode, node: cst.CSTNode) -> bool:
        """Whether ``outer`` is ``node`` or one of the nodes around it."""
        return outer is node or any(parent is outer for parent in self.names.ancestors(node))

    # -- the pass ------------------------------------------------------------------------------------------------

    def _call(self, node: cst.Call) -> None:
        func = node.func
        if isinstance(func, cst.Attribute):
            name = func.attr.value
            self._calls[name].append(node)
            if name in _PUTTERS:
                self._put(name, func.value, node)
        elif isinstance(func, cst.Name):
            self._calls[func.value].append(node)

    def _put(self, name: str, container: cst.BaseExpression, call: cst.Call) -> None:
        stores = self._stores[_last_name(container)]
        values = [a.value for a in call.args if a.keyword is None and not a.star]
        if name in ("append", "add", "appendleft"):
            stores.extend(Store(container, None, value) for value in values)
        elif name in ("setdefault", "__setitem__", "register"):
            if len(values) == 2:
                stores.append(Store(container, literal(values[0]), values[1]))
        else:
            stores.extend(Store(container, (), value) for value in values)
            for argument in call.args:
                if argument.keyword is not None:
                    stores.append(Store(container, argument.keyword.value, argument.value))
                elif argument.star == "**":
                    stores.append(Store(container, (), argument.value))

    def _assign_target(self, node: cst.AssignTarget) -> None:
        assign = self.names.parent(node)
        value = assign.value if isinstance(assign, cst.Assign) else None
        self._target(node.target, node, value)

    def _ann_assign(self, node: cst.AnnAssign) -> None:
        self._target(node.target, node, node.value)

    def _aug_assign(self, node: cst.AugAssign) -> None:
        if isinstance(node.operator, (cst.AddAssign, cst.BitOrAssign)):
            self._stores[_last_name(node.target)].append(Store(node.target, (), node.value))

    def _loop(self, node: cst.For) -> None:
        self._target(node.target, node, None)

    def _with_item(self, node: cst.WithItem) -> None:
        self.with_items.append(node)
        if node.asname is not None:
            self._target(node.asname.name, node, None)

    def _target(self, target: cst.BaseExpression, holder: cst.CSTNode, value: cst.BaseExpression | None) -> None:
        if isinstance(target, cst.Attribute):
            self._targets[target.attr.value].append(target)
        elif isinstance(target, cst.Name):
            owner = self._nearest(holder)
            if isinstance(owner, cst.ClassDef):
                self._members[owner][target.value].append(target)
        elif isinstance(target, cst.Subscript):
            if value is not None and len(target.slice) == 1:
                index = target.slice[0].slice
                key = literal(index.value) if isinstance(index, cst.Index) else None
                self._stores[_last_name(target.value)].append(Store(target.value, key, value))
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._target(element.value, holder, None)

    def _class(self, node: cst.ClassDef) -> None:
        self.classes.append(node)

    def _function(self, node: cst.FunctionDef) -> None:
        self.functions.append(node)
        self._parameters(node)
        owner = self._nearest(node)
        if isinstance(owner, cst.ClassDef):
            self._class_of[node] = owner
            self._members[owner][node.name.value].append(node)
            self._methods[node.name.value].append(node)

    def _lambda(self, node: cst.Lambda) -> None:
        self._parameters(node)

    def _parameters(self, node: Function) -> None:
        params = node.params
        for param in (*params.posonly_params, *params.params, *params.kwonly_params):
            self._owners[param] = node
        for star in (params.star_arg, params.star_kwarg):
            if isinstance(star, cst.Param):
                self._owners[star] = node

    def _declaration(self, node: cst.Global | cst.Nonlocal) -> None:
        self.declared.update(item.name.value for item in node.names)

    def _return(self, node: cst.Return) -> None:
        function = self.function_around(node)
        if function is not None and node.value is not None:
            self._returned[function].append(node.value)

    def _nearest(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The function, class or module in whose body ``node`` stands."""
        for parent, child in self.around(node):
            if isinstance(parent, (cst.FunctionDef, cst.ClassDef)) and child is parent.body:
                return parent
        return None


_COMMON_METHODS = frozenset(
    "step update forward backward save load state_dict load_state_dict fit train eval test run main log get set add "
    "append extend pop register close open read write reset start stop scale to cuda zero_grad parameters items keys "
    "values copy setup prepare configure build create".split()
)
"""Methods that too many classes have for the name to tell which one is meant."""

_PUTTERS = frozenset("append add appendleft setdefault __setitem__ register extend update".split())


def own_parameters(function: cst.FunctionDef | cst.Lambda, *, bound: bool) -> Parameters:
    """The parameters that a call fills; without the first one where the call is ``bound`` to an object."""
    params = function.params
    positional = (*params.posonly_params, *params.params)
    return Parameters(
        positional[1:] if bound else positional,
        tuple(params.kwonly_params),
        params.star_arg if isinstance(params.star_arg, cst.Param) else None,
        params.star_kwarg,
    )


def _left_early(block: cst.IndentedBlock | cst.Module, child: cst.CSTNode) -> Iterator[Guard]:
    """What the statements before ``child`` in its block rule out by leaving."""
    for statement in statements_before(block, child):
        if isinstance(statement, cst.If) and statement.orelse is None and _leaves(statement.body):
            yield Guard(statement.test, False)


def _leaves(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1] if last.body else None
    if isinstance(last, cst.With):
        return _leaves(last.body)
    return isinstance(last, (cst.Return, cst.Raise, cst.Continue, cst.Break))


def literal(node: cst.CSTNode | None) -> int | str | None:
    """The string or whole number that ``node`` is as written; None for anything else."""
    if not isinstance(node, (cst.SimpleString, cst.Integer)):
        return None
    value = value_of(node)
    return value if isinstance(value, (int, str)) else None


def _last_name(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


_VISITS: dict[type, Callable[..., None]] = {
    cst.AnnAssign: Places._ann_assign,
    cst.AssignTarget: Places._assign_target,
    cst.AugAssign: Places._aug_assign,
    cst.Call: Places._call,
    cst.ClassDef: Places._class,
    cst.For: Places._loop,
    cst.FunctionDef: Places._function,
    cst.Global: Places._declaration,
    cst.Lambda: Places._lambda,
    cst.Nonlocal: Places._declaration,
    cst.Return: Places._return,
    cst.WithItem: Places._with_item,
}
