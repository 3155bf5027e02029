"""How often code runs, and how long values live: the loops around code, also those around the calls that lead to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from amplint.syntax.decorators import keeps_what_it_makes
from amplint.training.origins import Member, Origin, Origins
from amplint.training.places import Loop, Places


class Repetition(NamedTuple):
    """A loop that runs some code again and again, and what stands in the loop's function: the code, or a call."""

    loop: Loop
    place: cst.CSTNode


class Lifetimes:
    """How long the values of one document live."""

    def __init__(self, places: Places, origins: Origins) -> None:
        self.places, self.origins = places, origins

    def repetitions(self, node: cst.CSTNode) -> Iterator[Repetition]:
        """The loops that run ``node`` again, innermost first: around it, then around the calls that lead to it."""
        for place in self.ways_to(node):
            for loop in self.places.loops_around(place):
                yield Repetition(loop, place)

    def ways_to(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """``node``, then the calls of its function, then the calls of the functions in which those stand, and on."""
        seen: set[cst.CSTNode] = set()
        waiting = [node]
        while waiting:
            place = waiting.pop(0)
            yield place
            function = self.places.function_around(place)
            if function is not None and function not in seen and not self._runs_once(function):
                seen.add(function)
                waiting.extend(self.origins.callers(function))

    def _runs_once(self, function: cst.CSTNode) -> bool:
        """Whether calls of a function, or the making of its object, may come to what the first one made."""
        owner = self._made_by(function)
        if owner is not None and keeps_what_it_makes(owner):
            return True
        return isinstance(function, cst.FunctionDef) and keeps_what_it_makes(function)

    def runs_in(self, node: cst.CSTNode, loop: Loop) -> bool:
        """Whether ``node`` may run as part of ``loop``: as code in it or in a function called from there."""
        return any(again.loop is loop for again in self.repetitions(node))

    def outlives(self, node: cst.CSTNode, loop: Loop) -> bool:
        """Whether the value of ``node`` is certainly made before ``loop`` begins."""
        ends = self.origins.of(node).ends
        return bool(ends) and not any(self._may_be_made_in(end, loop) for end in ends)

    def varies(self, node: cst.CSTNode, loop: Loop) -> bool:
        """Whether ``node``, an expression that runs in ``loop``, may have another value each time."""
        return any(self._changes(reference, loop) for reference in self.places.references(node))

    def _changes(self, reference: cst.BaseExpression, loop: Loop) -> bool:
        sources = self.origins.of(reference)
        if isinstance(loop, cst.For) and loop.iter in sources.touched:
            return True
        for end in sources.ends:
            if any(isinstance(step, Member) and self._is_set_in(step.name, loop) for step in end.path):
                return True
            if end.node is not reference and not self._is_mere_root(end) and self.runs_in(end.node, loop):
                return True
        return False

    def _may_be_made_in(self, end: Origin, loop: Loop) -> bool:
        node = end.node
        if any(isinstance(step, Member) and self._is_set_in(step.name, loop) for step in end.path):
            return True
        if isinstance(node, cst.Param):  # handed in, so it was there before the function's own loops began
            function = self.places.function_of_param(node)
            return function is None or not (self.places.holds(function, loop) or self._makes_the_owner(function, loop))
        if self._is_mere_root(end):
            return False
        return self.runs_in(node, loop)

    def _makes_the_owner(self, function: cst.CSTNode, loop: Loop) -> bool:
        """Whether a function makes the object in whose method ``loop`` stands."""
        owner = self._made_by(function)
        return owner is not None and self.places.class_around(loop) is owner

    def _made_by(self, function: cst.CSTNode) -> cst.ClassDef | None:
        """The class whose ``__init__`` a function is."""
        makes_object = isinstance(function, cst.FunctionDef) and function.name.value == "__init__"
        return self.places.class_of(function) if makes_object else None

    def _is_mere_root(self, end: Origin) -> bool:
        """Whether an end is but a reference to something that was there all the time: imported, ``self``, None."""
        if not isinstance(end.node, (cst.Name, cst.Attribute)):
            return False
        if isinstance(end.node, cst.Name) and end.node.value == "None":
            return True
        binding = self.origins.names.binding(end.node)
        return binding is not None and (bool(binding.imports) or self.origins.is_self(binding))

    def _is_set_in(self, attribute: str, loop: Loop) -> bool:
        return any(self.runs_in(target, loop) for target in self.places.attribute_targets(attribute))
