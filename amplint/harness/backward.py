"""Backward passes: which optimizers' gradients each adds to, and whose scale these carry."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from amplint.harness.patches import Patches
from amplint.harness.sites import Site, user_site

OnBackward = Callable[[Site, frozenset[int], frozenset[int]], None]


@dataclass
class _Pass:
    """One call of backward; ``scalers`` are those whose scaled results it has come through."""

    scalers: set[int]
    optimizers: set[int] = field(default_factory=set)


class BackwardPasses:
    """Calls ``before`` ahead of each backward, and ``after`` it with its site, its scalers and its optimizers.

    What a scaler returned carries a hook, so a backward through it is known to be scaled whatever was computed from
    it in between. ``torch.autograd.grad`` adds to no gradient and is no backward.
    """

    def __init__(self, before: Callable[[], None], after: OnBackward) -> None:
        self._before, self._after = before, after
        self._passes: list[_Pass] = []  # a checkpointed block runs a backward inside a backward

    def install(self, patches: Patches) -> None:
        """Watch every backward, which all go through ``torch.autograd.backward``."""
        backward = torch.autograd.backward

        @functools.wraps(backward)
        def watched(*args: Any, **kwargs: Any) -> None:
            site = user_site()
            self._before()
            current = _Pass(set(self._passes[-1].scalers) if self._passes else set())
            self._passes.append(current)
            try:
                backward(*args, **kwargs)
            finally:
                self._passes.remove(current)
                self._after(site, frozenset(current.scalers), frozenset(current.optimizers))

        patches.set(torch.autograd, "backward", watched)

    def grown(self, optimizers: Iterable[int]) -> None:
        """The running backward has added to gradients of ``optimizers``."""
        if self._passes:
            self._passes[-1].optimizers.update(optimizers)

    def scaled(self, outputs: Any, scaler: int) -> Any:
        """``outputs`` of ``scaler.scale``, marked as its own."""
        if isinstance(outputs, torch.Tensor):
            if outputs.requires_grad:
                _nodes_metadata(outputs)[_SCALED] = True
                register_hook: Callable[..., Any] = outputs.register_hook
                register_hook(lambda gradient: self._met(scaler))
        elif isinstance(outputs, (list, tuple)):
            for output in outputs:
                self.scaled(output, scaler)
        else:  # an iterator, which must not be used up here
            return (self.scaled(output, scaler) for output in outputs)
        return outputs

    def is_scaled(self, inputs: Iterable[Any]) -> bool:
        """Whether a loss among ``inputs`` was made, by arithmetic alone, of what a scaler returned."""
        return any(isinstance(loss, torch.Tensor) and _comes_scaled(loss) for loss in inputs)

    def _met(self, scaler: int) -> None:
        if self._passes:
            self._passes[-1].scalers.add(scaler)


_SCALED = "amplint.scaled"
_ARITHMETIC = re.compile(r"(Add|Sub|Mul|Div|Neg|Sum|Mean|Stack|Select|Unbind|Squeeze|View|Clone|ToCopy)\w*Backward")
_MOST_NODES = 64


def _nodes_metadata(loss: torch.Tensor) -> dict[Any, Any]:
    """What is noted beside the operation that made ``loss``."""
    return _metadata(loss.grad_fn) if loss.grad_fn is not None else {}


def _metadata(node: Any) -> dict[Any, Any]:
    metadata: dict[Any, Any] = node.metadata
    return metadata


def _comes_scaled(loss: torch.Tensor) -> bool:
    waiting, seen = [loss.grad_fn], 0
    while waiting and seen < _MOST_NODES:
        node, seen = waiting.pop(), seen + 1
        if node is None:
            continue
        if _metadata(node).get(_SCALED):
            return True
        if _ARITHMETIC.match(node.name()):
            waiting += [following for following, _ in node.next_functions]
    return False
