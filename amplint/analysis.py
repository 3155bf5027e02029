"""The views of one text that rules share, each made once, and the texts that were looked at last.

Whether a fix heals is asked of the text that it makes, by the rule that proposes it and by the fixer. Both find that
text here.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # LibCST is imported only when a document needs a tree
    from amplint.flow import ProtocolReport
    from amplint.modules import Modules
    from amplint.precision import PrecisionReport
    from amplint.syntax.names import Names
    from amplint.syntax.tree import InvalidSyntax, SyntaxTree
    from amplint.training.training import Training

_KEPT_CHARACTERS = 250_000  # a tree takes some hundred bytes for each


class Analysis:
    """One text as the rules see it."""

    def __init__(self, text: str, modules: Modules | None = None) -> None:
        self.text = text
        self.modules = modules
        self._invalid: InvalidSyntax | None = None

    @property
    def tree(self) -> SyntaxTree:
        """The LibCST tree; raises :class:`amplint.syntax.tree.InvalidSyntax`."""
        tree = self._tree
        if tree.invalid is not None:
            raise tree.invalid
        return tree

    @cached_property
    def _tree(self) -> SyntaxTree:
        from amplint.syntax.tree import InvalidSyntax, SyntaxTree

        if self._invalid is not None:
            raise self._invalid
        try:
            return SyntaxTree(self.text)
        except InvalidSyntax as error:
            self._invalid = error
            raise

    @property
    def is_parsed(self) -> bool:
        """Whether anybody has asked for the tree."""
        return "_tree" in self.__dict__ or self._invalid is not None

    @cached_property
    def names(self) -> Names:
        """Qualified names of the tree's references, through its imports."""
        from amplint.syntax.names import Names

        return Names(self.tree)

    @cached_property
    def protocol(self) -> ProtocolReport:
        """What the gradient-scaler automaton rejects on the text's feasible paths."""
        from amplint.flow import explore

        return explore(self.tree, self.names, self.modules)

    @property
    def left(self) -> tuple[str, ...]:
        """The functions that :attr:`protocol` left, if anybody has asked for it yet."""
        report: ProtocolReport | None = self.__dict__.get("protocol")
        return report.left if report else ()

    @cached_property
    def training(self) -> Training:
        """What the text trains with: scalers, regions, and where their values come from."""
        from amplint.training.training import Training

        return Training(self.names)

    @cached_property
    def precision(self) -> PrecisionReport:
        """Where autocast is on, and which operations meet which dtypes."""
        from amplint.precision import interpret

        return interpret(self.tree, self.names)


class Analyses:
    """The analyses of one document's texts that were asked for last, as many as fit into memory.

    ``modules`` are the files around the document, into which its imports are followed.
    """

    def __init__(self, modules: Modules | None = None) -> None:
        self.modules = modules
        self._known: dict[str, Analysis] = {}

    @cached_property
    def of_merged(self) -> Analyses:
        """Those of the document's texts with what they import behind them, in which there is nothing left to follow."""
        return Analyses()

    def of(self, text: str) -> Analysis:
        """The analysis of ``text``."""
        analysis = self._known.pop(text, None) or Analysis(text, self.modules)
        self._known[text] = analysis
        size = sum(map(len, self._known))
        for oldest in list(self._known)[:-1]:
            if size <= _KEPT_CHARACTERS:
                break
            del self._known[oldest]
            size -= len(oldest)
        return analysis
