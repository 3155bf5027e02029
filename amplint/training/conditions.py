"""Conditions as formulas over the texts of what they ask, and whether several of them can hold together."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

import libcst as cst

from amplint.training.origins import Origins
from amplint.training.places import Guard

_MOST_ATOMS = 10
_LITERAL = re.compile(r"'[^'\\]*'|\d+")


class Atom(NamedTuple):
    """Something that is asked, by its text; ``node`` is where."""

    text: str
    node: cst.BaseExpression


class Formula(NamedTuple):
    """A truth value, an atom, or a negation, conjunction or disjunction of formulas."""

    kind: Literal["constant", "atom", "not", "and", "or"]
    value: bool = True
    atom: Atom | None = None
    parts: tuple[Formula, ...] = ()

    def atoms(self) -> Iterator[Atom]:
        """The atoms of the formula."""
        if self.atom is not None:
            yield self.atom
        for part in self.parts:
            yield from part.atoms()

    def truth(self, world: dict[str, bool]) -> bool:
        """The truth of the formula where each atom's text has the given one."""
        if self.kind == "constant":
            return self.value
        if self.kind == "atom":
            assert self.atom is not None
            return world[self.atom.text]
        if self.kind == "not":
            return not self.parts[0].truth(world)
        return (all if self.kind == "and" else any)(part.truth(world) for part in self.parts)


TRUE = Formula("constant", True)
FALSE = Formula("constant", False)


def conjunction(formulas: Iterable[Formula]) -> Formula:
    """All of ``formulas``."""
    return Formula("and", parts=tuple(formulas))


def negation(formula: Formula) -> Formula:
    """The contrary of ``formula``."""
    return Formula("not", parts=(formula,))


def can_hold(formula: Formula) -> bool:
    """Whether some truth of the atoms makes the formula true; assumed of a formula of very many atoms."""
    texts = sorted({atom.text for atom in formula.atoms()})
    if len(texts) > _MOST_ATOMS:
        return True
    worlds = (dict(zip(texts, truths, strict=True)) for truths in itertools.product([True, False], repeat=len(texts)))
    return any(formula.truth(world) for world in worlds if _is_possible(world))


def _is_possible(world: dict[str, bool]) -> bool:
    """Whether nothing equals two different strings or numbers in it."""
    equal = [text.rpartition(" == ") for text, truth in world.items() if truth]
    compared = [left for left, _, right in equal if left and _LITERAL.fullmatch(right)]
    return len(set(compared)) == len(compared)


_Logic: TypeAlias = cst.BaseExpression


class Conditions:
    """Reads the conditions of one document."""

    def __init__(self, origins: Origins) -> None:
        self.origins = origins
        self.tree = origins.names.tree

    def guards(self, guards: Iterable[Guard]) -> Formula:
        """All of ``guards`` together."""
        return conjunction(self.of(guard.test) if guard.truth else negation(self.of(guard.test)) for guard in guards)

    def of(self, test: _Logic, depth: int = 0) -> Formula:
        """The formula that a condition is; a name for a condition is that condition."""
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return negation(self.of(test.expression, depth))
        if isinstance(test, cst.BooleanOperation):
            kind: Literal["and", "or"] = "and" if isinstance(test.operator, cst.And) else "or"
            return Formula(kind, parts=(self.of(test.left, depth), self.of(test.right, depth)))
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            return self._comparison(test)
        if isinstance(test, cst.Name):
            if test.value in ("True", "False"):
                return TRUE if test.value == "True" else FALSE
            if test.value == "None":
                return FALSE
        if isinstance(test, cst.Call) and isinstance(test.func, cst.Name) and test.func.value == "bool" and test.args:
            return self.of(test.args[0].value, depth)
        if isinstance(test, (cst.Name, cst.Attribute)) and depth < 4:
            meant = self._meaning(test)
            if meant is not None:
                return self.of(meant, depth + 1)
        return self._atom(test, self.text(test))

    def text(self, node: cst.BaseExpression) -> str:
        """The text of an expression without its layout."""
        return " ".join(self.tree.code(node).replace('"', "'").split())

    def _atom(self, node: cst.BaseExpression, text: str) -> Formula:
        return Formula("atom", atom=Atom(text, node))

    def _comparison(self, test: cst.Comparison) -> Formula:
        target = test.comparisons[0]
        left, right = self.text(test.left), self.text(target.comparator)
        operator = target.operator
        if isinstance(operator, (cst.Equal, cst.Is, cst.NotEqual, cst.IsNot)):
            if right == "None":
                found = negation(self._atom(test.left, left))
            elif right in ("True", "False"):
                found = self.of(test.left) if right == "True" else negation(self.of(test.left))
            else:
                found = self._atom(test, f"{left} == {right}")
            return negation(found) if isinstance(operator, (cst.NotEqual, cst.IsNot)) else found
        if isinstance(operator, cst.NotIn):
            return negation(self._atom(test, f"{left} in {right}"))
        return self._atom(test, self.text(test))

    def _meaning(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """The one condition that a name stands for."""
        ends = self.origins.of(node).ends
        if len(ends) != 1 or ends[0].path:
            return None
        meant = ends[0].node
        asks = (cst.Comparison, cst.UnaryOperation, cst.Call)
        if isinstance(meant, asks) or (isinstance(meant, cst.Name) and meant.value in ("True", "False")):
            return meant if meant is not node and isinstance(meant, cst.BaseExpression) else None
        return None
