"""AMP names that a torch of some version lacks, where nothing protects their use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from amplint.rule import Context
from amplint.rules.migration.api import SINCE, SINCE_WITH_DEVICE, AmpNames, amp_names
from amplint.syntax.availability import Availability, Version
from amplint.syntax.names import Binding

#: A name that tells much of the torch under a file, though it has nothing to do with AMP.
_ALSO_SINCE: Mapping[str, Version] = {"torch.accelerator": (2, 6)}


def least_torch(context: Context) -> Version | None:
    """The lowest torch with which a document can run: that of its project, or what it uses without a test for it."""
    found = [context.target_torch.version] if context.target_torch is not None else []
    found += [since for _, _, since in newer_names(context, (0, 0), {**SINCE, **_ALSO_SINCE})]
    return max(found, default=None)


def newer_names(
    context: Context, target: Version, names_since: Mapping[str, Version] = SINCE
) -> Iterator[tuple[cst.CSTNode, str, Version]]:
    """The imports of names that a torch of ``target`` lacks, and their uses through a module: each once.

    An import in a function is left out: it is made late because it is known where the name is there.
    """
    if all(since <= target for since in (*names_since.values(), *SINCE_WITH_DEVICE.values())):
        return
    amp = amp_names(context)
    available = Availability(amp.names, amp.gates, names_since)
    for binding in amp.names.bindings():
        for imported in binding.imports:
            since = names_since.get(imported.qualified)
            if since is not None and since > target and imported.alias is not None:
                if imported.scope.kind == "module" and not available.protected(imported.statement, since):
                    yield imported.alias.name, imported.qualified, since
        yield from _reached(amp, binding, available, target, names_since)


def _reached(
    amp: AmpNames, binding: Binding, available: Availability, target: Version, names_since: Mapping[str, Version]
) -> Iterator[tuple[cst.CSTNode, str, Version]]:
    names = amp.names
    if binding.others or binding.qualified & names_since.keys():
        return
    for reference in binding.references:
        node: cst.BaseExpression = reference
        while isinstance(parent := names.parent(node), cst.Attribute) and parent.value is node:
            node = parent
            qualified = names.qualified(node)
            found = {name: since for name in qualified if (since := names_since.get(name)) is not None}
            if _takes_device(names.parent(node), node):
                found |= {name: SINCE_WITH_DEVICE[name] for name in qualified & SINCE_WITH_DEVICE.keys()}
            if len(found) != len(qualified) or not found:
                continue
            name, since = min(found.items(), key=lambda item: item[1])
            if since > target and not available.protected(node, since):
                yield node, name, since
            break


def _takes_device(call: cst.CSTNode | None, function: cst.BaseExpression) -> bool:
    """``is_autocast_enabled("cuda")`` and ``set_autocast_enabled("cuda", True)``, for certain."""
    if not isinstance(call, cst.Call) or call.func is not function or any(argument.star for argument in call.args):
        return False
    least = 1 if isinstance(function, cst.Attribute) and function.attr.value.startswith("is_") else 2
    return len(call.args) >= least
