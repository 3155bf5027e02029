"""What happens in what order: documents lowered to a small program whose feasible paths drive the protocol's automaton.

Importing this package imports LibCST.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import libcst as cst

from amplint.flow.borrowing import settle
from amplint.flow.explorer import Explorer
from amplint.flow.imports import Linker
from amplint.flow.lowering import lower
from amplint.flow.machine import Found
from amplint.flow.program import Scope
from amplint.flow.reach import find_reach
from amplint.flow.relevance import is_concerned, prune
from amplint.flow.values import forget_abbreviations
from amplint.modules import Modules
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree


@dataclass(frozen=True)
class ProtocolReport:
    """The violations of one document, the syntax nodes of their sites, and the functions that were left unexplored."""

    violations: tuple[Found, ...]
    sites: tuple[cst.CSTNode, ...]
    scopes: tuple[Scope, ...]
    uses: dict[Hashable, set[int]]
    """The sites at which each scaler's methods are called."""
    unbound: frozenset[int]
    """The sites at which a scaler's method is called though the scaler is None or not bound there on some path."""
    undefined: frozenset[int] = frozenset()
    """Those of them where some run surely meets a name that is not bound."""
    given: dict[Hashable, set[int]] = field(default_factory=dict)
    """The sites at which each optimizer is given to a scaler."""
    left: tuple[str, ...] = ()

    def scope(self, site: object) -> Scope:
        """The function in which a violation's site stands."""
        assert isinstance(site, int)
        return self.scopes[site]

    def node(self, site: object) -> cst.CSTNode:
        """The syntax node of a violation's site."""
        assert isinstance(site, int)
        return self.sites[site]


def explore(tree: SyntaxTree, names: Names, modules: Modules | None = None) -> ProtocolReport:
    """Explore every path of a document, into what it imports from ``modules`` as well.

    A document that is nested too deep for Python's own stack is left altogether.
    """
    forget_abbreviations()
    try:
        program = lower(tree, names)
        borrowed = [] if modules is None else Linker(modules).link(program, names)
        if not is_concerned(program):
            return ProtocolReport((), (), (), {}, frozenset())
        program.reach = find_reach(program)
        prune(program)
        exploration = Explorer(program, tree.text).run()
        found = settle(exploration.violations, program, borrowed, _alone)
    except RecursionError:
        return ProtocolReport((), (), (), {}, frozenset(), left=("<module>",))
    own = range(program.own_sites)
    violations = sorted(found, key=lambda found: (found.violation.site, found.violation.code))
    return ProtocolReport(
        tuple(violations),
        tuple(program.sites[: program.own_sites]),
        tuple(program.scopes[: program.own_sites]),
        {key: {site for site in sites if site in own} for key, sites in exploration.uses.items()},
        frozenset(exploration.unbound.intersection(own)),
        frozenset(exploration.undefined.intersection(own)),
        {key: {site for site in sites if site in own} for key, sites in exploration.given.items()},
        tuple(exploration.left),
    )


def _alone(text: str) -> set[tuple[str, int]]:
    """What is found in another file by itself: code and row."""
    tree = SyntaxTree(text)
    report = explore(tree, Names(tree))
    return {
        (found.violation.code, tree.row(tree.span(report.node(found.violation.site))[0])) for found in report.violations
    }
