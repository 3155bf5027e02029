"""What the names of a document stand for: Python's scopes, and dotted names through the imports.

One walk over the tree, made without LibCST's visitors and metadata providers, which cost ten times the parse.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

import libcst as cst

from amplint.syntax.fields import NO_CODE
from amplint.syntax.fields import child_fields as child_fields
from amplint.syntax.fields import children as children
from amplint.syntax.fields import within as within
from amplint.syntax.tree import SyntaxTree

_Node = TypeVar("_Node", bound=cst.CSTNode)
ImportStatement: TypeAlias = cst.Import | cst.ImportFrom

#: What ``from MODULE import *`` brings, for the modules whose names amplint speaks about.
STAR_EXPORTS = {
    "torch.amp": ("autocast", "GradScaler", "custom_fwd", "custom_bwd", "is_autocast_available"),
    "torch.cpu.amp": ("autocast", "GradScaler"),
    "torch.cpu.amp.autocast_mode": ("autocast",),
    "torch.cpu.amp.grad_scaler": ("GradScaler",),
    "torch.cuda.amp": ("autocast", "GradScaler", "custom_fwd", "custom_bwd", "amp_definitely_not_available"),
    "torch.cuda.amp.autocast_mode": ("autocast", "custom_fwd", "custom_bwd"),
    "torch.cuda.amp.grad_scaler": ("GradScaler",),
}


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class ImportedName:
    """One name that an import statement binds.

    ``qualified`` is what the name stands for, ``module`` the module that the import loads: ``import torch.cuda.amp``
    binds ``torch`` to ``torch`` and loads ``torch.cuda.amp``. A relative module keeps its leading dots. ``alias`` is
    None for a name that came by a star.
    """

    statement: ImportStatement
    alias: cst.ImportAlias | None
    name: str
    qualified: str
    module: str
    scope: Scope


@dataclasses.dataclass(eq=False, slots=True)
class Binding:
    """All that binds one name in one scope, and the references that find it there, in the order of the text.

    ``others`` are the nodes that bind the name without an import: targets, parameters, definitions.
    """

    name: str
    scope: Scope
    imports: list[ImportedName] = dataclasses.field(default_factory=list)
    others: list[cst.CSTNode] = dataclasses.field(default_factory=list)
    references: list[cst.Name] = dataclasses.field(default_factory=list)

    @property
    def qualified(self) -> frozenset[str]:
        """The dotted names that the imports bind the name to."""
        return frozenset(imported.qualified for imported in self.imports)

    @property
    def ambiguous(self) -> bool:
        """Whether the name can stand for more than one thing."""
        return bool(self.imports) and (bool(self.others) or len(self.qualified) > 1)


class Scope:
    """A module, class, function, lambda, comprehension or list of type parameters, with the names bound in it."""

    __slots__ = ("bindings", "declared", "kind", "node", "parent")

    def __init__(self, kind: str, node: cst.CSTNode, parent: Scope | None) -> None:
        self.kind, self.node, self.parent = kind, node, parent
        self.bindings: dict[str, Binding] = {}
        self.declared: dict[str, str] = {}  # name -> "global" or "nonlocal"

    def lookup(self, name: str) -> Binding | None:
        """The binding that a reference to ``name`` standing in this scope finds, as Python looks names up."""
        scope: Scope | None = self
        first = True
        while scope is not None:
            declared = scope.declared.get(name)
            if declared == "global":
                scope = scope.module
                return scope.bindings.get(name)
            # A class's names are seen in its own body only, not in the functions and comprehensions inside it.
            if declared is None and (first or scope.kind != "class") and (binding := scope.bindings.get(name)):
                return binding
            first = False
            scope = scope.parent
        return None

    @property
    def module(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Names:
    """The scopes of a tree and what its references stand for."""

    def __init__(self, tree: SyntaxTree) -> None:
        self.tree = tree
        self.root = Scope("module", tree.module, None)
        self.imports: list[ImportedName] = []
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self._scopes: dict[cst.Name, Scope] = {}
        self._bound: dict[cst.CSTNode, Binding] = {}
        self._bindings: dict[cst.Name, Binding] = {}
        _Walk(self).run(tree.module)
        for node, scope in self._scopes.items():
            binding = scope.lookup(node.value)
            if binding is not None:
                self._bindings[node] = binding
                binding.references.append(node)

    def qualified(self, node: cst.BaseExpression) -> frozenset[str]:
        """The dotted names that a chain of names and attributes can stand for through the imports.

        Empty where ``node`` is no such chain, or where nothing imported is bound to its root in the scope in which
        it stands. More than one where several imports bind the root.
        """
        attributes: list[str] = []
        while type(node) is cst.Attribute:  # which asks less of LibCST's classes than isinstance
            attributes.append(node.attr.value)
            node = node.value
        if type(node) is not cst.Name:
            return frozenset()
        binding = self._bindings.get(node)
        if binding is None or not binding.imports:
            return frozenset()
        if not attributes:
            return binding.qualified
        tail = ".".join(reversed(attributes))
        return frozenset(f"{root}.{tail}" for root in binding.qualified)

    def ambiguous(self, node: cst.BaseExpression) -> bool:
        """Whether the root of the chain can stand for something else than the one import that binds it."""
        binding = self.binding(node)
        return binding is not None and binding.ambiguous

    def binding(self, node: cst.BaseExpression) -> Binding | None:
        """The binding that the root of a chain of names and attributes finds; None for a built-in or unknown name."""
        while type(node) is cst.Attribute:
            node = node.value
        return self._bindings.get(node) if type(node) is cst.Name else None

    def scope(self, node: cst.Name) -> Scope:
        """The scope in which a reference stands; raises KeyError for a name that is no reference."""
        return self._scopes[node]

    def references(self) -> Iterator[cst.Name]:
        """Every name that reads what is bound to it, in the order of the text."""
        return iter(self._scopes)

    def is_reference(self, node: cst.Name) -> bool:
        """Whether a name reads what is bound to it; attributes, keywords and targets do not."""
        return node in self._scopes

    def bound(self, node: cst.CSTNode) -> Binding | None:
        """The binding that a target, parameter or definition binds; None for anything else."""
        return self._bound.get(node)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds ``node``; None for the module. Whitespace and operators have no recorded parent."""
        return self.parents.get(node)

    def every(self, kind: type[_Node]) -> list[_Node]:
        """The nodes of one kind, in the order of the text."""
        return self._kinds.get(kind, [])

    @functools.cached_property
    def _kinds(self) -> dict[type, list[Any]]:
        found: dict[type, list[Any]] = {}
        for node in self.parents:
            found.setdefault(type(node), []).append(node)
        return found

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around ``node``, from the inside out."""
        above = self.parents.get(node)
        while above is not None:
            yield above
            above = self.parents.get(above)

    @functools.cached_property
    def quote(self) -> str:
        """The quote that most string literals of the document have; the double one where there is no majority."""
        ends = [node.quote for node in self.every(cst.SimpleString)]
        ends += [node.end for node in self.every(cst.FormattedString)]
        balance = ends.count('"') - ends.count("'")
        return "'" if balance < 0 else '"'

    def bindings(self) -> Iterator[Binding]:
        """Every binding that an import takes part in, in the order of the imports."""
        seen: set[Binding] = set()
        for imported in self.imports:
            binding = imported.scope.bindings[imported.name]
            if binding not in seen:
                seen.add(binding)
                yield binding


def dotted_name(node: cst.BaseExpression | None) -> str | None:
    """``a.b.c`` as it is written; None for anything but a chain of names."""
    parts: list[str] = []
    while type(node) is cst.Attribute:
        parts.append(node.attr.value)
        node = node.value
    if type(node) is not cst.Name:
        return None
    parts.append(node.value)
    return ".".join(reversed(parts))


def root_name(node: cst.BaseExpression) -> cst.Name:
    """The name that a chain of names and attributes begins with; raises ValueError for anything else."""
    while isinstance(node, cst.Attribute):
        node = node.value
    if not isinstance(node, cst.Name):
        raise ValueError(f"{type(node).__name__} is no name")
    return node


def module_of(statement: cst.ImportFrom) -> str:
    """The module that ``from MODULE import`` names, with its leading dots."""
    return "." * len(statement.relative) + (dotted_name(statement.module) or "")


class _Walk:
    """Fills a :class:`Names`. Nodes wait on a stack with the scope they stand in, so depth is no limit."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.parents = names.parents
        self.stack: list[tuple[cst.CSTNode, Scope]] = []
        self.nonlocals: list[tuple[Scope, str, cst.CSTNode]] = []

    def run(self, module: cst.Module) -> None:
        stack, parents, scopes = self.stack, self.parents, self.names._scopes
        stack.append((module, self.names.root))
        while stack:
            node, scope = stack.pop()
            kind = type(node)
            if kind is cst.Name:
                scopes[node] = scope  # type: ignore[index]
                continue
            special = _SPECIAL.get(kind)
            if special is not None:
                special(self, node, scope)
                continue
            fields = child_fields(kind)
            for name in reversed(fields):
                value = getattr(node, name)
                kind = type(value)
                if kind is tuple or kind is list:
                    for child in reversed(value):
                        parents[child] = node
                        stack.append((child, scope))
                elif kind not in NO_CODE:
                    parents[value] = node
                    stack.append((value, scope))
        for scope, name, node in self.nonlocals:
            self._bind_nonlocal(scope, name, node)

    def push(self, parent: cst.CSTNode, scope: Scope, *children: Any) -> None:
        """Let ``children`` be walked next, in the order given."""
        for child in reversed(children):
            kind = type(child)
            if kind is tuple or kind is list:
                for node in reversed(child):
                    self.parents[node] = parent
                    self.stack.append((node, scope))
            elif kind not in NO_CODE:
                self.parents[child] = parent
                self.stack.append((child, scope))

    # -- binding -------------------------------------------------------------------------------------------------

    def place(self, scope: Scope, name: str) -> Binding:
        """The binding that binding ``name`` in ``scope`` adds to."""
        if scope.declared.get(name) == "global":
            scope = scope.module
        binding = scope.bindings.get(name)
        if binding is None:
            binding = scope.bindings[name] = Binding(name, scope)
        return binding

    def bind(self, scope: Scope, name: str, node: cst.CSTNode) -> None:
        if scope.declared.get(name) == "nonlocal":
            self.nonlocals.append((scope, name, node))
        else:
            self._bind(self.place(scope, name), node)

    def _bind_nonlocal(self, scope: Scope, name: str, node: cst.CSTNode) -> None:
        above = scope.parent
        while above is not None and (above.kind in ("module", "class") or name not in above.bindings):
            above = above.parent
        if above is not None:
            self._bind(above.bindings[name], node)

    def _bind(self, binding: Binding, node: cst.CSTNode) -> None:
        binding.others.append(node)
        self.names._bound[node] = binding

    def target(self, node: cst.CSTNode, parent: cst.CSTNode, scope: Scope) -> None:
        """Bind the names of an assignment target; what else it holds is read."""
        waiting = [(node, parent)]
        reads: list[cst.CSTNode] = []
        while waiting:
            node, parent = waiting.pop()
            self.parents[node] = parent
            if isinstance(node, cst.Name):
                self.bind(scope, node.value, node)
            elif isinstance(node, (cst.Tuple, cst.List)):
                waiting.extend((element, node) for element in reversed(node.elements))
            elif isinstance(node, (cst.Element, cst.StarredElement)):
                waiting.append((node.value, node))
            else:
                reads.append(node)
        self.stack.extend((read, scope) for read in reversed(reads))

    # -- statements and expressions that bind or open a scope ----------------------------------------------------

    def assign_target(self, node: cst.AssignTarget, scope: Scope) -> None:
        self.target(node.target, node, scope)

    def ann_assign(self, node: cst.AnnAssign, scope: Scope) -> None:
        self.push(node, scope, node.annotation, node.value)
        self.target(node.target, node, scope)

    def aug_assign(self, node: cst.AugAssign, scope: Scope) -> None:
        self.push(node, scope, node.target, node.value)  # it reads its target too
        if isinstance(node.target, cst.Name):
            self.bind(scope, node.target.value, node.target)

    def delete(self, node: cst.Del, scope: Scope) -> None:
        self.target(node.target, node, scope)

    def for_loop(self, node: cst.For, scope: Scope) -> None:
        self.push(node, scope, node.iter, node.body, node.orelse)
        self.target(node.target, node, scope)

    def as_name(self, node: cst.AsName, scope: Scope) -> None:
        self.target(node.name, node, scope)

    def named_expr(self, node: cst.NamedExpr, scope: Scope) -> None:
        holder = scope
        while holder.kind == "comprehension" and holder.parent is not None:
            holder = holder.parent
        self.push(node, scope, node.value)
        self.target(node.target, node, holder)

    def global_statement(self, node: cst.Global, scope: Scope) -> None:
        for item in node.names:
            scope.declared[item.name.value] = "global"

    def nonlocal_statement(self, node: cst.Nonlocal, scope: Scope) -> None:
        for item in node.names:
            scope.declared[item.name.value] = "nonlocal"

    def import_statement(self, node: cst.Import, scope: Scope) -> None:
        for alias in node.names:
            self.parents[alias] = node
            module = dotted_name(alias.name) or ""
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                self.imported(node, alias, alias.asname.name.value, module, module, scope)
            else:
                top = module.partition(".")[0]
                self.imported(node, alias, top, top, module, scope)

    def import_from(self, node: cst.ImportFrom, scope: Scope) -> None:
        module = module_of(node)
        if isinstance(node.names, cst.ImportStar):
            self.parents[node.names] = node
            for name in STAR_EXPORTS.get(module, ()):
                self.imported(node, None, name, f"{module}.{name}", module, scope)
            return
        for alias in node.names:
            self.parents[alias] = node
            name = dotted_name(alias.name) or ""
            asname = alias.asname.name if alias.asname is not None else None
            bound = asname.value if isinstance(asname, cst.Name) else name
            joint = "" if not module or module.endswith(".") else "."
            self.imported(node, alias, bound, f"{module}{joint}{name}", module, scope)

    def imported(
        self,
        statement: ImportStatement,
        alias: cst.ImportAlias | None,
        name: str,
        qualified: str,
        module: str,
        scope: Scope,
    ) -> None:
        binding = self.place(scope, name)
        imported = ImportedName(statement, alias, name, qualified, module, binding.scope)
        binding.imports.append(imported)
        self.names.imports.append(imported)

    def function(self, node: cst.FunctionDef, scope: Scope) -> None:
        self.bind(scope, node.name.value, node)
        outer = self.type_parameters(node, scope)
        inner = Scope("function", node, outer)
        self.push(node, inner, node.body)
        self.push(node, outer, node.returns)
        self.parameters(node, node.params, outer, inner)
        self.push(node, scope, node.decorators)

    def lambda_expression(self, node: cst.Lambda, scope: Scope) -> None:
        inner = Scope("lambda", node, scope)
        self.push(node, inner, node.body)
        self.parameters(node, node.params, scope, inner)

    def parameters(self, owner: cst.CSTNode, params: cst.Parameters, outer: Scope, inner: Scope) -> None:
        self.parents[params] = owner
        every = [*params.posonly_params, *params.params]
        if isinstance(params.star_arg, cst.Param):
            every.append(params.star_arg)
        every.extend(params.kwonly_params)
        if params.star_kwarg is not None:
            every.append(params.star_kwarg)
        for param in reversed(every):
            self.parents[param] = params
            self.bind(inner, param.name.value, param)
            self.push(param, outer, param.annotation, param.default)

    def class_definition(self, node: cst.ClassDef, scope: Scope) -> None:
        self.bind(scope, node.name.value, node)
        outer = self.type_parameters(node, scope)
        inner = Scope("class", node, outer)
        self.push(node, inner, node.body)
        self.push(node, outer, node.bases, node.keywords)
        self.push(node, scope, node.decorators)

    def type_alias(self, node: cst.TypeAlias, scope: Scope) -> None:
        self.bind(scope, node.name.value, node)
        self.push(node, self.type_parameters(node, scope), node.value)

    def type_parameters(self, node: cst.FunctionDef | cst.ClassDef | cst.TypeAlias, scope: Scope) -> Scope:
        if node.type_parameters is None:
            return scope
        inner = Scope("type parameters", node, scope)
        self.parents[node.type_parameters] = node
        for param in node.type_parameters.params:
            self.parents[param] = node.type_parameters
            self.bind(inner, param.param.name.value, param)
            bound = param.param.bound if isinstance(param.param, cst.TypeVar) else None
            self.push(param, inner, bound, param.default)
        return inner

    def comprehension(self, node: cst.BaseComp, scope: Scope) -> None:
        inner = Scope("comprehension", node, scope)
        clauses: list[cst.CompFor] = []
        clause: cst.CompFor | None = node.for_in
        above: cst.CSTNode = node
        while clause is not None:
            self.parents[clause] = above
            clauses.append(clause)
            above, clause = clause, clause.inner_for_in
        parts = (node.key, node.value) if isinstance(node, cst.DictComp) else (getattr(node, "elt", None),)
        self.push(node, inner, *parts)
        for clause in reversed(clauses):
            self.push(clause, inner, clause.ifs)
            self.target(clause.target, clause, inner)
            self.push(clause, scope if clause is node.for_in else inner, clause.iter)

    def attribute(self, node: cst.Attribute, scope: Scope) -> None:
        self.push(node, scope, node.value)

    def argument(self, node: cst.Arg, scope: Scope) -> None:
        self.push(node, scope, node.value)

    def keyword_pattern(self, node: cst.MatchKeywordElement, scope: Scope) -> None:
        self.push(node, scope, node.pattern)

    def capture_pattern(self, node: cst.MatchAs, scope: Scope) -> None:
        self.push(node, scope, node.pattern)
        if node.name is not None:
            self.bind(scope, node.name.value, node)

    def star_pattern(self, node: cst.MatchStar, scope: Scope) -> None:
        if node.name is not None:
            self.bind(scope, node.name.value, node)

    def mapping_pattern(self, node: cst.MatchMapping, scope: Scope) -> None:
        self.push(node, scope, node.elements)
        if node.rest is not None:
            self.bind(scope, node.rest.value, node)


_SPECIAL: dict[type, Callable[..., None]] = {
    cst.AnnAssign: _Walk.ann_assign,
    cst.Arg: _Walk.argument,
    cst.AsName: _Walk.as_name,
    cst.AssignTarget: _Walk.assign_target,
    cst.Attribute: _Walk.attribute,
    cst.AugAssign: _Walk.aug_assign,
    cst.ClassDef: _Walk.class_definition,
    cst.Del: _Walk.delete,
    cst.DictComp: _Walk.comprehension,
    cst.For: _Walk.for_loop,
    cst.FunctionDef: _Walk.function,
    cst.GeneratorExp: _Walk.comprehension,
    cst.Global: _Walk.global_statement,
    cst.Import: _Walk.import_statement,
    cst.ImportFrom: _Walk.import_from,
    cst.Lambda: _Walk.lambda_expression,
    cst.ListComp: _Walk.comprehension,
    cst.MatchAs: _Walk.capture_pattern,
    cst.MatchKeywordElement: _Walk.keyword_pattern,
    cst.MatchMapping: _Walk.mapping_pattern,
    cst.MatchStar: _Walk.star_pattern,
    cst.NamedExpr: _Walk.named_expr,
    cst.Nonlocal: _Walk.nonlocal_statement,
    cst.SetComp: _Walk.comprehension,
    cst.TypeAlias: _Walk.type_alias,
}
