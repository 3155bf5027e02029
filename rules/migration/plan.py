"""What a document uses of the deprecated AMP API, and the bundles of edits that move it to the new one.

Made once for a document and shared by the rules of this folder: a bundle can hold names of several of them, since an
imported module moves with everything that is reached through it, or not at all.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from amplint.findings import Applicability, Finding, Fix
from amplint.rule import Context, Rule
from amplint.rules.migration.replacements import DEPRECATED, MODULES, Home, Replacement, is_new
from amplint.rules.migration.usage import Unfixable, Use, is_read
from amplint.syntax.arguments import Change
from amplint.syntax.exports import exported_names
from amplint.syntax.gates import Gate, Gates, is_for_types_only
from amplint.syntax.imports import Imports
from amplint.syntax.names import Binding, ImportedName


@dataclass(eq=False)
class Bundle:
    """Edits that belong together.

    ``doubts`` say what may differ after them, ``builds`` names the classes of which they make the new kind.
    """

    changes: list[Change] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    builds: set[str] = field(default_factory=set)

    def take(self, use: Use, changes: Iterable[Change]) -> None:
        """Add the edits of one use."""
        self.changes += changes
        if use.doubt is not None:
            self.doubts.append(use.doubt)
        if use.builds:
            self.builds.add(use.replacement.name)

    def merge(self, other: Bundle) -> None:
        """Add all of another bundle."""
        self.changes += other.changes
        self.doubts += other.doubts
        self.builds |= other.builds


@dataclass(eq=False)
class Place:
    """One finding to be: the deprecated name at ``node``, and what its fix must change or why there is none."""

    node: cst.CSTNode
    qualified: str
    bundle: Bundle | None = None
    reason: str | None = None
    checks: set[str] = field(default_factory=set)  # classes that are compared with in what the bundle changes

    @property
    def replacement(self) -> Replacement:
        """What replaces the name."""
        return DEPRECATED[self.qualified]


_plans: weakref.WeakKeyDictionary[Context, Plan] = weakref.WeakKeyDictionary()


def plan_of(context: Context) -> Plan:
    """What is to be done about the deprecated names of the context's document."""
    plan = _plans.get(context)
    if plan is None:
        plan = _plans[context] = Plan(context)
    return plan


def findings(rule: Rule, context: Context) -> Iterator[Finding]:
    """The deprecated names of ``rule``'s code in the document."""
    plan = plan_of(context)
    for place in plan.places:
        if place.replacement.code == rule.code:
            yield plan.finding(rule, place, context)


class Plan:
    """The deprecated names of one document."""

    def __init__(self, context: Context) -> None:
        self.document, self.target = context.document, context.target_torch
        self.names, self.tree = context.names, context.tree
        self.gates = Gates(self.names)
        self.imports = Imports(self.names)
        self.places: list[Place] = []
        self.supports_older: str | None = None  # the line of a gate that lets older versions of torch pass
        starred: list[Binding] = []
        moving: list[tuple[Binding, Bundle]] = []
        for binding in self.names.bindings():
            if binding.qualified <= DEPRECATED.keys():
                if any(imported.alias is None for imported in binding.imports):
                    starred.append(binding)
                else:
                    moving += self._imported_name(binding)
            elif not binding.qualified & DEPRECATED.keys():
                self._reached(binding)
            elif not any(map(is_new, binding.qualified)):
                moving += self._imported_name(binding)
        self._starred(starred)
        self._move_imports(moving)
        self._leave_replaced()
        self._keep_checks_true()
        if self.supports_older is not None:
            for place in self.places:
                if place.bundle is not None:
                    place.bundle = None
                    place.reason = (
                        f"{self.supports_older} lets older versions of torch pass: "
                        "the option target-torch says that they need no longer work"
                    )

    def finding(self, rule: Rule, place: Place, context: Context) -> Finding:
        """What to say about ``place``."""
        fix = self.fix(place, context)
        return context.finding(
            rule,
            place.node,
            f"`{place.qualified}` is deprecated since PyTorch 2.4",
            help=f"Use `{place.replacement.example(self.target.version if self.target else None)}`",
            candidates=(fix,) if fix is not None else (),
            no_fix_reason=place.reason,
        )

    def fix(self, place: Place, context: Context) -> Fix | None:
        """What moves the name at ``place`` to the new one, with all that must move along."""
        if place.bundle is None:
            return None
        doubt = "; ".join(dict.fromkeys(place.bundle.doubts))
        home = self._home(place.replacement)
        return Fix(
            f"Replace by `{home.module}.{place.replacement.name}`" + (f": {doubt}" if doubt else ""),
            context.edits(place.bundle.changes),
            Applicability.UNSAFE if doubt else Applicability.SAFE,
        )

    def place(self, node: cst.BaseExpression) -> Place | None:
        """The finding that speaks for a use of a deprecated name: its own, or that of the import it comes by."""
        binding = self.names.binding(node)
        imports = [i.alias.name for i in binding.imports if i.alias is not None] if binding is not None else []
        return next((place for place in self.places if place.node is node or place.node in imports), None)

    # -- names imported from a deprecated module -----------------------------------------------------------------

    def _imported_name(self, binding: Binding) -> Iterator[tuple[Binding, Bundle]]:
        """``from torch.cuda.amp import autocast``: every use moves with the import, or nothing does."""
        imports = [imported for imported in binding.imports if imported.qualified in DEPRECATED]
        if any(self._right(imported.statement) for imported in imports):
            return
        right = [reference for reference in binding.references if self._right(reference)]
        if right and len(right) == len(binding.references):
            return
        replacement = DEPRECATED[imports[0].qualified]
        uses = [Use(self.document, self.names, reference, replacement) for reference in binding.references]
        bundle: Bundle | None = Bundle()
        reason: str | None = None
        try:
            assert bundle is not None
            self._home(replacement)
            self._may_change(binding)
            for node in (*(imported.statement for imported in imports), *binding.references):
                self._may_move(node)
            reachable = self.document.importable and binding.scope.kind == "module"
            if not binding.references and reachable and not self._only_for_types(binding):
                raise Unfixable("nothing uses it in this file: another module may import it from here")
            renamed = self._renamed(binding, replacement)
            for use in uses:
                bundle.take(use, use.changes())
                if renamed:
                    bundle.changes.append(Change(*self.tree.span(use.node), renamed))
            yield binding, bundle
        except Unfixable as error:
            bundle, reason = None, str(error)
            for use in uses:
                use.note_check()
        checks = {use.replacement.name for use in uses if use.checks_type}
        for imported in imports:
            assert imported.alias is not None
            self.places.append(Place(imported.alias.name, imported.qualified, bundle, reason, checks))

    def _move_imports(self, moving: Sequence[tuple[Binding, Bundle]]) -> None:
        """Add the edits of the imports: names of one statement that go to one place go there together."""
        groups: dict[tuple[cst.CSTNode, str], list[tuple[ImportedName, Bundle]]] = {}
        for binding, bundle in moving:
            for imported in binding.imports:
                replacement = DEPRECATED[imported.qualified]
                key = imported.statement, self._home(replacement).module
                groups.setdefault(key, []).append((imported, bundle))
        owners: dict[Bundle, Bundle] = {}  # what each bundle has become a part of
        for (_, module), members in groups.items():
            changes: list[Change]
            if members[0][0].module == module:
                changes = self.imports.rename(
                    (imported, DEPRECATED[imported.qualified].name) for imported, _ in members
                )
            else:
                changes = self.imports.move([imported for imported, _ in members], module)
            whole = Bundle(changes)
            parts = {owners.get(bundle, bundle): None for _, bundle in members}
            for part in parts:
                whole.merge(part)
            for _, bundle in moving:
                if owners.get(bundle, bundle) in parts:
                    owners[bundle] = whole
        for place in self.places:
            if place.bundle is not None:
                place.bundle = owners.get(place.bundle, place.bundle)

    def _renamed(self, binding: Binding, replacement: Replacement) -> str | None:
        """The new name that the uses must take over, where the old name is imported under itself."""
        new = replacement.name
        if binding.name == new or any(imported.alias and imported.alias.asname for imported in binding.imports):
            return None
        wanted = {f"{self._home(replacement).module}.{new}"}
        scopes = {self.names.scope(reference) for reference in binding.references} | {binding.scope}
        for scope in scopes:
            other = scope.lookup(new)
            if other is not None and (other.qualified != wanted or other.others):
                raise Unfixable(f"the new name `{new}` already stands for something else in this file")
        return new

    def _may_change(self, binding: Binding) -> None:
        """Raise where the name is seen from elsewhere, or is not only what its import makes it."""
        if binding.others or len(binding.qualified) > 1:
            raise Unfixable(f"`{binding.name}` is bound to more than one thing")
        if self._exported(binding):
            raise Unfixable(f"`{binding.name}` is exported from this module: its importers would get the new signature")

    def _exported(self, binding: Binding) -> bool:
        """Whether other modules plainly are to import the name from here."""
        if binding.scope.kind == "class":
            return True
        if binding.scope.kind != "module":
            return False
        public = exported_names(self.tree.module)
        return os.path.basename(self.document.filename) == "__init__.py" or public is None or binding.name in public

    def _only_for_types(self, binding: Binding) -> bool:
        """Whether it is imported under ``if TYPE_CHECKING:``, where nothing can be imported from."""
        return all(is_for_types_only(self.names, imported.statement) for imported in binding.imports)

    def _starred(self, bindings: Iterable[Binding]) -> None:
        """``from torch.cuda.amp import *``: one finding a name that is used, at the star."""
        for binding in bindings:
            used = not all(map(self._right, binding.references))
            for imported in binding.imports:
                if imported.alias is None and used and not self._right(imported.statement):
                    assert isinstance(imported.statement, cst.ImportFrom)
                    star = imported.statement.names
                    assert isinstance(star, cst.ImportStar)
                    reason = f"`{imported.name}` comes by a star import: import it by its name first"
                    self.places.append(Place(star, imported.qualified, None, reason))

    # -- names reached through a module --------------------------------------------------------------------------

    def _reached(self, binding: Binding) -> None:
        """``amp.autocast``, ``torch.cuda.amp.autocast``: one finding a use."""
        direct = binding.qualified != {"torch"}
        if direct and any(self._right(imported.statement) for imported in binding.imports):
            return
        reached: list[_Reached] = []
        others: list[cst.Name] = []  # references that do not lead to a deprecated name, or that stay
        for reference in binding.references:
            found = self._deprecated_in(reference)
            if found is None:
                others.append(reference)
                continue
            node, qualified = found
            if self._right(node):
                others.append(reference)
                continue
            reached.append(self._reach(reference, node, qualified))
        if not reached:
            return
        fixable = [one for one in reached if one.reason is None]
        complete = not others and len(fixable) == len(reached)
        try:
            if direct:
                bundles = self._through_module(binding, fixable, complete)
            else:
                bundles = self._through_torch(binding, fixable, [*others, *(o.root for o in reached if o.reason)])
        except Unfixable as error:
            bundles = {}
            for one in fixable:
                one.reason = str(error)
        for one in reached:
            checks = {one.use.replacement.name} if one.use is not None and one.use.checks_type else set()
            self.places.append(Place(one.node, one.qualified, bundles.get(one), one.reason, checks))

    def _deprecated_in(self, reference: cst.Name) -> tuple[cst.BaseExpression, str] | None:
        """The part of the chain from ``reference`` on that is a deprecated name; also by ``getattr``."""
        node: cst.BaseExpression = reference
        while isinstance(parent := self.names.parent(node), cst.Attribute) and parent.value is node:
            node = parent
            qualified = self.names.qualified(node)
            old = qualified & DEPRECATED.keys()
            if old and not any(map(is_new, qualified)):
                return node, min(old)
        argument = self.names.parent(node)
        call = self.names.parent(argument) if isinstance(argument, cst.Arg) else None
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value == "getattr":
            name = call.args[1].value if len(call.args) == 2 else None
            if call.args[0] is argument and isinstance(name, cst.SimpleString):
                for module in self.names.qualified(node):
                    if f"{module}.{name.raw_value}" in DEPRECATED:
                        return call, f"{module}.{name.raw_value}"
        return None

    def _reach(self, root: cst.Name, node: cst.BaseExpression, qualified: str) -> _Reached:
        one = _Reached(root, node, qualified)
        if isinstance(node, cst.Call):
            one.reason = "it is looked up by `getattr`"
            return one
        use = one.use = Use(self.document, self.names, node, DEPRECATED[qualified])
        try:
            self._home(use.replacement)
            if len(self.names.qualified(node)) > 1:
                raise Unfixable(f"`{root.value}` is bound to more than one thing")
            self._may_move(node)
            if "#" in self.tree.code(node):
                raise Unfixable("a comment stands inside the name")
            one.bundle.take(use, use.changes())
        except Unfixable as error:
            one.reason = str(error)
            use.note_check()
        return one

    def _through_torch(
        self, binding: Binding, fixable: Sequence[_Reached], staying: Sequence[cst.Name]
    ) -> dict[_Reached, Bundle]:
        """``torch.cuda.amp.autocast`` becomes ``torch.amp.autocast``, each use for itself.

        An ``import torch.cuda.amp`` that nothing else needs goes along, and then all of them move together.
        """
        for one in fixable:
            home = self._home(DEPRECATED[one.qualified])
            path = [*home.module.split(".")[1:], DEPRECATED[one.qualified].name]
            one.bundle.changes += self._respelled(one.node, path)
        stale = [i for i in binding.imports if i.module in MODULES and self.gates.gate(i.statement) is None]
        still_needed = any(
            name.startswith(f"{imported.module}.") or name == imported.module
            for imported in stale
            for reference in staying
            for name in self.names.qualified(self._chain(reference))
        )
        if not stale or still_needed or not fixable:
            return {one: one.bundle for one in fixable}
        whole = Bundle()
        for one in fixable:
            whole.merge(one.bundle)
        plain = len(stale) < len(binding.imports)
        for imported in stale:
            statement = imported.statement
            assert isinstance(statement, cst.Import) and imported.alias is not None
            if plain and self._alone_removable(statement):
                whole.changes += self._without(statement, imported)
            else:
                whole.changes.append(Change(*self.tree.span(imported.alias.name), MODULES[imported.module]))
        return {one: whole for one in fixable}

    def _through_module(self, binding: Binding, fixable: Sequence[_Reached], complete: bool) -> dict[_Reached, Bundle]:
        """``amp.autocast``: the module ``amp`` moves if all that is reached through it can, else the uses leave it."""
        if binding.others or len(binding.qualified) > 1:
            raise Unfixable(f"`{binding.name}` is bound to more than one thing")
        whole = Bundle()
        for one in fixable:
            whole.merge(one.bundle)
        (old,) = binding.qualified
        exported = self._exported(binding)
        module = MODULES.get(old)
        imported = binding.imports[0]
        statement = imported.statement
        moves = module is not None and all(
            self._home(DEPRECATED[one.qualified]).module.startswith("torch.amp") for one in fixable
        )
        if complete and moves and module is not None and not exported and len(binding.imports) == 1:
            if isinstance(statement, cst.ImportFrom):
                whole.changes += self.imports.move([imported], module.rpartition(".")[0])
            else:
                assert imported.alias is not None
                whole.changes.append(Change(*self.tree.span(imported.alias.name), module))
            return {one: whole for one in fixable}
        torch, imports_torch = self._torch_for(binding, fixable)
        for one in fixable:
            home = self._home(DEPRECATED[one.qualified])
            path = [torch, *home.module.split(".")[1:], DEPRECATED[one.qualified].name]
            whole.changes.append(Change(*self.tree.span(one.node), ".".join(path)))
        if imports_torch:
            whole.changes += [self.imports.insert_before(i.statement, "import torch") for i in binding.imports]
        if (
            complete
            and not exported
            and len(binding.imports) == 1
            and (imports_torch or self._alone_removable(statement))
        ):
            whole.changes += self._without(statement, imported)
        return {one: whole for one in fixable}

    def _torch_for(self, binding: Binding, reached: Sequence[_Reached]) -> tuple[str, bool]:
        """A name for the module ``torch`` that all of the uses see, and whether it must be imported for them."""
        names = [imported.name for imported in self.names.imports if imported.qualified == "torch"]
        for name in dict.fromkeys([*names, "torch"]):
            seen = {self.names.scope(one.root).lookup(name) for one in reached}
            known = [other for other in seen if other is not None]
            if not all(other.qualified == {"torch"} and not other.others for other in known):
                continue
            if len(known) == len(seen) and all(self._bound_before(one, name) for one in reached):
                return name, False
            if name == "torch" and all(other.scope is binding.scope for other in known):
                return name, True
        raise Unfixable("`torch` is not the module of that name wherever this is used")

    def _bound_before(self, one: _Reached, name: str) -> bool:
        """Whether an import of ``name`` stands before a use, in a block around it."""
        binding = self.names.scope(one.root).lookup(name)
        around = set(self.names.ancestors(one.root))
        start, _ = self.tree.span(one.root)
        for imported in binding.imports if binding is not None else ():
            line = self.names.parent(imported.statement)
            block = self.names.parent(line) if isinstance(line, cst.SimpleStatementLine) else line
            if block in around and self.tree.span(imported.statement)[1] <= start:
                return True
        return False

    def _respelled(self, node: cst.BaseExpression, path: Sequence[str]) -> list[Change]:
        """Make the attributes of a chain those of ``path``, by leaving out what is not in it where that is enough."""
        chain: list[cst.Attribute] = []
        while isinstance(node, cst.Attribute):
            chain.insert(0, node)
            node = node.value
        wanted = list(path)
        changes: list[Change] = []
        for attribute in chain:
            if wanted and attribute.attr.value == wanted[0]:
                del wanted[0]
            else:
                changes.append(Change(self.tree.span(attribute.value)[1], self.tree.span(attribute.attr)[1], ""))
        if not wanted:
            return changes
        return [
            Change(self.tree.span(node)[1], self.tree.span(chain[-1].attr)[1], "".join(f".{name}" for name in path))
        ]

    def _chain(self, reference: cst.Name) -> cst.BaseExpression:
        node: cst.BaseExpression = reference
        while isinstance(parent := self.names.parent(node), cst.Attribute) and parent.value is node:
            node = parent
        return node

    def _alone_removable(self, statement: cst.Import | cst.ImportFrom) -> bool:
        return (not isinstance(statement.names, cst.ImportStar) and len(statement.names) > 1) or self.imports.removable(
            statement
        )

    def _without(self, statement: cst.Import | cst.ImportFrom, imported: ImportedName) -> list[Change]:
        """Drop one name of an import, or all of the statement."""
        assert not isinstance(statement.names, cst.ImportStar) and imported.alias is not None
        if len(statement.names) > 1:
            return self.imports.remove(statement, [imported.alias])
        return self.imports.remove_statement(statement)

    # -- the document as a whole ---------------------------------------------------------------------------------

    def _leave_replaced(self) -> None:
        """What the file puts in the place of an old name, such as a context of its own, is used by the old name."""
        replaced: dict[str, str] = {}
        for place in self.places:
            if self._is_written(place):
                reason = f"{self._line(place.node)} gives `{place.qualified}` another value"
                replaced.setdefault(place.qualified, reason)
        reasons = {id(p.bundle): replaced[p.qualified] for p in self.places if p.bundle and p.qualified in replaced}
        for place in self.places:
            why = reasons.get(id(place.bundle), replaced.get(place.qualified))
            if why is not None:
                place.bundle, place.reason = None, why
        # to put something in its place is no use of it
        self.places = [place for place in self.places if not self._is_written(place)]

    def _is_written(self, place: Place) -> bool:
        return isinstance(place.node, cst.BaseExpression) and not is_read(self.names, place.node)

    def _keep_checks_true(self) -> None:
        """An object of the new class is no instance of the old one: no such object while a check for the old stays."""
        while True:
            staying = {name for place in self.places if place.bundle is None for name in place.checks}
            dropped = [place for place in self.places if place.bundle is not None and place.bundle.builds & staying]
            if not dropped:
                return
            for place in dropped:
                place.bundle = None
                place.reason = (
                    f"a check for the old `{place.replacement.name}` stays in this file, "
                    "and objects of the new class would not pass it"
                )

    def _home(self, replacement: Replacement) -> Home:
        """Where the new name is to come from; raises where the project's lowest torch has it nowhere."""
        home = replacement.home(self.target.version if self.target is not None else None)
        if home is None:
            first = replacement.homes[-1]
            major, minor = first.since
            raise Unfixable(
                f"`{first.module}.{replacement.name}` needs torch {major}.{minor}, "
                f"and this project supports torch {self.target} ({self.target.source if self.target else ''})"
            )
        return home

    def _right(self, node: cst.CSTNode) -> bool:
        return self.gates.gate(node) is Gate.RIGHT

    def _may_move(self, node: cst.CSTNode) -> None:
        """Raise where ``node`` must go on working with an older torch."""
        gate = self.gates.gate(node)
        if gate is Gate.RIGHT:
            raise Unfixable(f"{self._line(node)} uses it where the installed torch may be one without the new name")
        if gate is Gate.LIVE and self.target is None:
            self.supports_older = self._line(node)
            raise Unfixable(f"{self._line(node)} stands in a version gate that older versions of torch pass too")

    def _line(self, node: cst.CSTNode) -> str:
        return self.document.place(self.document.location(self.tree.span(node)[0])).line


@dataclass(eq=False)
class _Reached:
    """A deprecated name reached through a module: the root of its chain, and what its use must change."""

    root: cst.Name
    node: cst.BaseExpression
    qualified: str
    use: Use | None = None
    reason: str | None = None
    bundle: Bundle = field(default_factory=Bundle)
