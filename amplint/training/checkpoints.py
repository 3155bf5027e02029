"""The checkpoints that a document writes: what is saved, and whose states are in it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from amplint.training.origins import ANY, Origins, callee_name
from amplint.training.places import Places
from amplint.training.scalers import Scalers, last_name

_SAVERS = re.compile(r"(?i)(^|_)(save|dump)|^save|^write_checkpoint|checkpoint$|_save$")
_NOT_SAVERS = re.compile(r"(?i)load|model_only|weights|onnx|pretrained|fig|image|plot|video|json|csv|yaml|text")
_STATE_METHODS = frozenset({"state_dict", "get_state", "get_checkpoint", "snapshot", "checkpoint"})


_WHATEVER_IS_HELD = frozenset({"vars", "locals", "globals", "getattr"})


class Checkpoint(NamedTuple):
    """What is saved, with the objects whose states it holds: a dictionary, a call that makes one, one state alone.

    ``open`` says that more may be in it than is to be seen, ``alone`` that it is one state in a file of its own.
    """

    node: cst.BaseExpression
    states: tuple[cst.BaseExpression, ...]
    open: bool
    alone: bool = False


class Checkpoints:
    """The checkpoints of one document."""

    def __init__(self, places: Places, origins: Origins, scalers: Scalers) -> None:
        self.places, self.origins, self.scalers = places, origins, scalers

    @functools.cached_property
    def written(self) -> tuple[Checkpoint, ...]:
        """The dictionaries of states that the document saves, or returns as its own state, and states in own files."""
        found: dict[cst.CSTNode, Checkpoint] = {}
        for value in self._saved():
            for passed in self.origins.of(value).passed:
                if self._is_display(passed) and passed not in found:
                    assert isinstance(passed, cst.BaseExpression)
                    found[passed] = self._read(passed, value)
        for call in self.places.calls("save"):
            for argument in call.args[:1]:
                alone = argument.value
                if isinstance(alone, cst.Call) and callee_name(alone) == "state_dict" and not argument.star:
                    found[alone] = Checkpoint(alone, tuple(self._states(alone)), open=False, alone=True)
        return tuple(found.values())

    def _saved(self) -> Iterator[cst.BaseExpression]:
        for call in self.places.every_call():
            name = callee_name(call)
            if _SAVERS.search(name) and not _NOT_SAVERS.search(name):
                for argument in call.args:
                    if not argument.star:
                        yield argument.value
        for function in self.places.functions:
            if function.name.value in _STATE_METHODS and self.places.class_of(function) is not None:
                yield from self.places.returned(function)

    def _is_display(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.Dict, cst.DictComp)):
            return True
        return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "dict"

    def _read(self, node: cst.BaseExpression, value: cst.BaseExpression) -> Checkpoint:
        """What is in a dictionary, and in the names by which it reaches the place where it is saved."""
        states: list[cst.BaseExpression] = []
        unseen = False
        whole: list[cst.CSTNode] = [node]
        whole.extend(
            passed for passed in self.origins.of(value).passed if isinstance(passed, (cst.Name, cst.Attribute))
        )
        if isinstance(node, cst.Dict):
            unseen = any(
                isinstance(element, cst.StarredDictElement) and not isinstance(element.value, cst.Dict)
                for element in node.elements
            )
        elif isinstance(node, cst.Call):
            unseen = any(argument.star for argument in node.args) or any(not a.keyword for a in node.args)
        seen: set[cst.CSTNode] = set()
        for part in whole:
            for store in self.origins.stores(part) if isinstance(part, (cst.Name, cst.Attribute)) else ():
                if isinstance(store.key, tuple) and not isinstance(store.value, (cst.Dict, cst.Call)):
                    unseen = True
            for content in self.origins.of(part, (ANY,)).passed:
                for state in self._states(content):
                    if state not in seen:
                        seen.add(state)
                        states.append(state)
        return Checkpoint(node, tuple(states), unseen or any(map(self._is_of_all, states)))

    def _is_of_all(self, state: cst.BaseExpression) -> bool:
        """Whether a state is that of whatever an object or a scope holds, by ``__dict__``, ``vars`` or ``getattr``."""
        return any(
            (isinstance(passed, cst.Attribute) and passed.attr.value == "__dict__")
            or (isinstance(passed, cst.Call) and callee_name(passed) in _WHATEVER_IS_HELD)
            for passed in self.origins.of(state).touched
        )

    def _states(self, content: cst.CSTNode) -> Iterator[cst.BaseExpression]:
        """The objects whose state ``content`` is: directly, in a list, or copied first."""
        waiting = [content]
        while waiting:
            node = waiting.pop()
            if isinstance(node, cst.Call):
                func = node.func
                if isinstance(func, cst.Attribute) and func.attr.value == "state_dict":
                    yield from self._members(func.value)
                else:
                    waiting.extend(argument.value for argument in node.args)
            elif isinstance(node, (cst.ListComp, cst.GeneratorExp)):
                waiting.append(node.elt)
            elif isinstance(node, cst.DictComp):
                waiting.append(node.value)
            elif isinstance(node, (cst.List, cst.Tuple)):
                waiting.extend(element.value for element in node.elements)
            elif isinstance(node, cst.Dict):
                waiting.extend(
                    e.value for e in node.elements if isinstance(e, (cst.DictElement, cst.StarredDictElement))
                )
            elif isinstance(node, cst.IfExp):
                waiting.extend([node.body, node.orelse])

    def _members(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """An object that is saved; those of a collection where it is the variable of a loop over one."""
        yield node
        for passed in self.origins.of(node).passed:
            if passed is not node and isinstance(passed, (cst.Name, cst.Attribute)) and last_name(passed):
                yield passed
