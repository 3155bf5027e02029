"""What happens in what order: documents lowered to a small program whose feasible paths drive the protocol's automaton.

Importing this package imports LibCST.
"""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from amplint.flow.explorer import Explorer
from amplint.flow.lowering import lower
from amplint.flow.relevance import prune
from amplint.protocol import Violation
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree


@dataclass(frozen=True)
class ProtocolReport:
    """The violations of one document, the syntax nodes of their sites, and the functions that were left unexplored."""

    violations: tuple[Violation, ...]
    sites: tuple[cst.CSTNode, ...]
    left: tuple[str, ...] = ()

    def node(self, site: object) -> cst.CSTNode:
        """The syntax node of a violation's site."""
        assert isinstance(site, int)
        return self.sites[site]


def explore(tree: SyntaxTree, names: Names) -> ProtocolReport:
    """Explore every path of a document."""
    program = lower(tree, names)
    prune(program)
    exploration = Explorer(program, tree.text).run()
    violations = sorted(exploration.violations, key=lambda violation: (violation.site, violation.code))
    return ProtocolReport(tuple(violations), tuple(program.sites), tuple(exploration.left))
