"""Where a document uses PyTorch's AMP names, old and new, and with which arguments.

Made once for a document and shared by the rules of this folder.
"""

from __future__ import annotations

import enum
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

import libcst as cst

from amplint.rule import Context
from amplint.rules.migration.replacements import DEPRECATED
from amplint.rules.migration.usage import is_read
from amplint.syntax.arguments import keywords, positional
from amplint.syntax.enclosing import expects_failure
from amplint.syntax.gates import Gates
from amplint.syntax.kinds import Kinds
from amplint.syntax.names import Binding, Names, dotted_name, within
from amplint.syntax.units import NEVER_LOCAL


class Api(enum.Enum):
    """What an AMP name does, whichever module it comes from."""

    AUTOCAST = "autocast"
    GRAD_SCALER = "GradScaler"
    CUSTOM_FUNCTION = "custom_fwd, custom_bwd"
    GET_DTYPE = "get_autocast_dtype"
    SET_DTYPE = "set_autocast_dtype"
    IS_ENABLED = "is_autocast_enabled"
    SET_ENABLED = "set_autocast_enabled"
    IS_AVAILABLE = "is_autocast_available"


@dataclass(frozen=True, slots=True)
class Member:
    """One AMP name; ``device`` is the device that an old name is about, None for a new name."""

    api: Api
    device: str | None = None

    @property
    def old(self) -> bool:
        """Whether it is one of the deprecated names, whose arguments hold no device."""
        return self.device is not None


_BY_NAME = {
    "autocast": Api.AUTOCAST,
    "GradScaler": Api.GRAD_SCALER,
    "custom_fwd": Api.CUSTOM_FUNCTION,
    "custom_bwd": Api.CUSTOM_FUNCTION,
    "get_autocast_dtype": Api.GET_DTYPE,
    "set_autocast_dtype": Api.SET_DTYPE,
    "is_autocast_enabled": Api.IS_ENABLED,
    "set_autocast_enabled": Api.SET_ENABLED,
}

#: The names that replace the deprecated ones.
NEW = {
    "torch.autocast": Api.AUTOCAST,
    "torch.amp.autocast": Api.AUTOCAST,
    "torch.amp.autocast_mode.autocast": Api.AUTOCAST,
    "torch.GradScaler": Api.GRAD_SCALER,
    "torch.amp.GradScaler": Api.GRAD_SCALER,
    "torch.amp.grad_scaler.GradScaler": Api.GRAD_SCALER,
    "torch.amp.custom_fwd": Api.CUSTOM_FUNCTION,
    "torch.amp.custom_bwd": Api.CUSTOM_FUNCTION,
    "torch.amp.autocast_mode.custom_fwd": Api.CUSTOM_FUNCTION,
    "torch.amp.autocast_mode.custom_bwd": Api.CUSTOM_FUNCTION,
    "torch.get_autocast_dtype": Api.GET_DTYPE,
    "torch.set_autocast_dtype": Api.SET_DTYPE,
    "torch.is_autocast_enabled": Api.IS_ENABLED,
    "torch.set_autocast_enabled": Api.SET_ENABLED,
    "torch.amp.is_autocast_available": Api.IS_AVAILABLE,
    "torch.amp.autocast_mode.is_autocast_available": Api.IS_AVAILABLE,
}

MEMBERS = {name: Member(api) for name, api in NEW.items()} | {
    name: Member(_BY_NAME[replacement.name], replacement.device)
    for name, replacement in DEPRECATED.items()
    if replacement.name in _BY_NAME
}


#: The first torch that has each name that came after ``torch.cuda.amp``.
SINCE = {
    "torch.autocast": (1, 10),
    "torch.amp.autocast": (1, 12),
    "torch.amp.autocast_mode.autocast": (1, 12),
    "torch.GradScaler": (2, 3),
    "torch.amp.GradScaler": (2, 3),
    "torch.amp.grad_scaler.GradScaler": (2, 3),
    "torch.amp.custom_fwd": (2, 4),
    "torch.amp.custom_bwd": (2, 4),
    "torch.amp.autocast_mode.custom_fwd": (2, 4),
    "torch.amp.autocast_mode.custom_bwd": (2, 4),
    "torch.get_autocast_dtype": (2, 4),
    "torch.set_autocast_dtype": (2, 4),
    "torch.cpu.amp.autocast": (1, 10),
    "torch.cpu.amp.GradScaler": (2, 3),
}

#: Functions that took no device at first, and the first torch in which they do.
SINCE_WITH_DEVICE = {"torch.is_autocast_enabled": (2, 4), "torch.set_autocast_enabled": (2, 4)}


_LAST_NAMES = frozenset(name.rpartition(".")[2] for name in MEMBERS)


@dataclass(eq=False, frozen=True, slots=True)
class AmpUse:
    """One place where an AMP name stands: the name or attribute chain ``node``.

    ``call`` is the call that gives it ``arguments``; ``bound`` says that ``functools.partial`` gives them and that
    others may be given later, ``inherited`` that a subclass gives them to the ``__init__`` of its base.
    """

    node: cst.BaseExpression
    member: Member
    call: cst.Call | None
    arguments: Sequence[cst.Arg] = ()
    bound: bool = False
    inherited: bool = False

    @property
    def positional(self) -> list[cst.Arg]:
        """The arguments given by position, starred ones too."""
        return positional(self.arguments)

    @property
    def keywords(self) -> dict[str, cst.Arg]:
        """The arguments given by keyword."""
        return keywords(self.arguments)

    @property
    def starred(self) -> bool:
        """Whether some arguments cannot be seen."""
        return any(argument.star for argument in self.arguments)

    def argument(self, keyword: str, index: int) -> cst.Arg | None:
        """The argument that is given by ``keyword`` or at the position ``index``."""
        if keyword in self.keywords:
            return self.keywords[keyword]
        given = self.positional
        return given[index] if index < len(given) and not any(a.star for a in given[: index + 1]) else None


_documents: weakref.WeakKeyDictionary[Context, AmpNames] = weakref.WeakKeyDictionary()


def amp_names(context: Context) -> AmpNames:
    """The AMP names of the context's document."""
    found = _documents.get(context)
    if found is None:
        found = _documents[context] = AmpNames(context)
    return found


class AmpNames:
    """The uses of AMP names in one document; ``kinds`` tells what their arguments are."""

    def __init__(self, context: Context) -> None:
        self.names: Names = context.names
        self.tree = context.tree
        self._folders = PurePath(context.document.filename).parts[:-1]

    @cached_property
    def kinds(self) -> Kinds:
        """The kinds of the document's expressions."""
        return Kinds(self.names)

    @cached_property
    def gates(self) -> Gates:
        """The gates of the document."""
        return Gates(self.names)

    @cached_property
    def is_part_of_program(self) -> bool:
        """Whether the document imports from its own project, where it is told what reaches its functions."""
        folders = {*self._folders, ""} - NEVER_LOCAL  # a relative import begins with a dot
        return any(imported.module.partition(".")[0] in folders for imported in self.names.imports)

    @cached_property
    def every(self) -> tuple[AmpUse, ...]:
        """Every use whose name stands for one AMP name only.

        What the document puts in the place of an AMP name, as tests do, is no longer that name.
        """
        found = [use for binding in self.names.bindings() for use in self._of(binding)]
        written = (self.names.qualified(use.node) for use in found if not is_read(self.names, use.node))
        replaced = frozenset().union(*written)
        return tuple(use for use in found if not self.names.qualified(use.node) & replaced)

    @cached_property
    def uses(self) -> tuple[AmpUse, ...]:
        """The uses that nothing expects to fail."""
        return tuple(use for use in self.every if not self.expected(use.node))

    def called(self, *apis: Api, old: bool | None = None) -> Iterator[AmpUse]:
        """The uses of ``apis`` that are called, or bound by ``functools.partial``."""
        for use in self.uses:
            if use.call is not None and use.member.api in apis and old in (None, use.member.old):
                yield use

    def member(self, node: cst.BaseExpression) -> Member | None:
        """The AMP name that a chain stands for, where it can stand for nothing else."""
        qualified = self.names.qualified(node)
        members = {MEMBERS.get(name) for name in qualified}
        binding = self.names.binding(node)
        if len(members) != 1 or binding is None or binding.others:
            return None
        return members.pop()

    def torch_seen_from(self, node: cst.CSTNode) -> str | None:
        """A name for the module ``torch`` where ``node`` stands; None where it has none there, or another meaning."""
        reference = next((n for n in within(node) if isinstance(n, cst.Name) and self.names.is_reference(n)), None)
        if reference is None:
            return None
        scope = self.names.scope(reference)
        for name in dict.fromkeys(["torch", *(i.name for i in self.names.imports if i.qualified == "torch")]):
            binding = scope.lookup(name)
            if binding is not None and binding.qualified == {"torch"} and not binding.others:
                return name
        return None

    def expected(self, node: cst.CSTNode) -> bool:
        """Whether a failure at ``node`` is expected: by a test, or by a ``try`` that goes on with another AMP name."""
        return expects_failure(self.names, node) or self._tried(node)

    def _tried(self, node: cst.CSTNode) -> bool:
        child = node
        for parent in self.names.ancestors(node):
            if isinstance(parent, (cst.FunctionDef, cst.Lambda)):
                return False
            if isinstance(parent, (cst.Try, cst.TryStar)) and child is parent.body:
                for handler in parent.handlers:
                    chains = (n for n in within(handler.body) if isinstance(n, (cst.Name, cst.Attribute)))
                    if any(self.names.qualified(chain) & MEMBERS.keys() for chain in chains):
                        return True
            child = parent
        return False

    def _of(self, binding: Binding) -> Iterator[AmpUse]:
        for reference in binding.references:
            node: cst.BaseExpression = reference
            while True:
                last = node.attr.value if isinstance(node, cst.Attribute) else None
                member = self.member(node) if last is None or last in _LAST_NAMES else None
                if member is not None:
                    yield self._use(node, member)
                    yield from self._aliased(node, member)
                    yield from self._inherited(node, member)
                    break
                parent = self.names.parent(node)
                if not isinstance(parent, cst.Attribute) or parent.value is not node:
                    break
                node = parent

    def _use(self, node: cst.BaseExpression, member: Member) -> AmpUse:
        parent = self.names.parent(node)
        if isinstance(parent, cst.Call) and parent.func is node:
            return AmpUse(node, member, parent, parent.args)
        if isinstance(parent, cst.Arg) and isinstance(call := self.names.parent(parent), cst.Call):
            if call.args[0] is parent and "functools.partial" in self.names.qualified(call.func):
                return AmpUse(node, member, call, call.args[1:], bound=True)
        return AmpUse(node, member, None)

    def _aliased(self, node: cst.BaseExpression, member: Member) -> Iterator[AmpUse]:
        """The uses of a second name that is assigned once, and stands for nothing else."""
        statement = self.names.parent(node)
        if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
            return
        target = statement.targets[0].target
        if not isinstance(target, cst.Name):
            return
        binding = self.names.bound(target)
        if binding is not None and binding.others == [target] and not binding.imports:
            for reference in binding.references:
                yield self._use(reference, member)

    def _inherited(self, node: cst.BaseExpression, member: Member) -> Iterator[AmpUse]:
        """``super().__init__(...)`` in a class that derives from it alone."""
        argument = self.names.parent(node)
        definition = self.names.parent(argument) if isinstance(argument, cst.Arg) else None
        if not isinstance(definition, cst.ClassDef) or [base.value for base in definition.bases] != [node]:
            return
        for call in within(definition.body):
            if (
                isinstance(call, cst.Call)
                and isinstance(call.func, cst.Attribute)
                and isinstance(call.func.value, cst.Call)
            ):
                if call.func.attr.value == "__init__" and dotted_name(call.func.value.func) == "super":
                    yield AmpUse(node, member, call, call.args, inherited=True)
