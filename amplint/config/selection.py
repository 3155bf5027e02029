"""Which rules are chosen: layers of selectors, later ones over earlier ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from amplint.registry import Registry
from amplint.rule import Rule


@dataclass(frozen=True, slots=True)
class Selection:
    """One layer of choosing rules: a ``select`` starts afresh, the rest changes what the layer below chose."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()


def select_rules(registry: Registry, layers: Iterable[Selection]) -> tuple[type[Rule], ...]:
    """The rules that ``layers`` choose, later ones over earlier ones, starting from those that are on by default.

    Within a layer the longer prefix wins, and ``ignore`` over ``select`` where they are the same. Rules that are not
    selectable are always among them. Raises :class:`amplint.registry.UnknownRule`.
    """
    chosen = {rule.code: rule.default for rule in registry.rules}
    for layer in layers:
        if layer.select is not None:
            chosen = dict.fromkeys(chosen, False)
        wishes = [(word, True) for word in (*(layer.select or ()), *layer.extend_select)]
        wishes += [(word, False) for word in layer.ignore]
        for word, wanted in sorted(wishes, key=lambda wish: 0 if wish[0] == "ALL" else len(wish[0])):
            chosen.update({rule.code: wanted for rule in registry.matching(word)})
    return tuple(rule for rule in registry.rules if chosen[rule.code] or not rule.selectable)
