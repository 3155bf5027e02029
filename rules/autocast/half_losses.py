"""Half tensors that reach an operation outside of the region that made them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.operators import BINARY_LOSSES, LOSSES, Treatment, treatment
from amplint.precision import Constant, Tensor, Use, Value

_LINEAR_ALGEBRA = frozenset("svd svdvals inv inverse cholesky det slogdet logdet solve eigh eig qr pinv lstsq".split())
_FOURIER = frozenset(f"{kind}{of}" for kind in ("", "i", "r", "ir") for of in ("fft", "fft2", "fftn")) | {
    "stft",
    "istft",
}


def island_operands(use: Use) -> list[Tensor]:
    """The float16 operands of an operation that a float32 island is there for."""
    name = use.name
    if treatment(name) is Treatment.LOWER or name in _LINEAR_ALGEBRA | _FOURIER:
        if use.arguments.get(None, "dtype") is not None:
            return []
        tensors = [operand for operand in use.operands if not isinstance(operand, Constant)]  # after einsum's equation
        return [operand for operand in tensors[:1] if isinstance(operand, Tensor) and operand.is_half]
    return half_operands(use)


def half_operands(use: Use) -> list[Tensor]:
    """The float16 operands that autocast would have cast to float32 in this operation, and that nothing else widens."""
    if treatment(use.name) is not Treatment.FLOAT32 and use.name not in LOSSES:
        return []
    if use.arguments.get(None, "dtype") is not None:
        return []
    operands = use.operands[:1]
    if use.name in BINARY_LOSSES:
        operands = use.operands[:2]
        if len(operands) < 2 or not all(map(_is_half, operands)):
            return []  # a float32 target, or one of unknown dtype, makes it float32
        if not all(isinstance(operand, Tensor) and operand.certain for operand in operands):
            return []  # of what an unseen model returns, some may be float32
    elif use.name == "nll_loss" and not (isinstance(operands[0], Tensor) and operands[0].certain):
        return []  # what comes out of log_softmax is float32
    return [operand for operand in operands if isinstance(operand, Tensor) and operand.is_half]


def _is_half(value: Value) -> bool:
    return isinstance(value, Tensor) and value.is_half


def place_within(use: Use, depth: int) -> cst.CSTNode:
    """The call or operation that leads to a use, in the function that stands ``depth`` calls deep."""
    return use.state.calls[depth] if depth < len(use.state.calls) else use.node


def unique(places: Iterator[tuple[cst.CSTNode, Use, Tensor]]) -> Iterator[tuple[cst.CSTNode, Use, Tensor]]:
    """One of each place."""
    seen: set[cst.CSTNode] = set()
    for place, use, tensor in places:
        if place not in seen:
            seen.add(place)
            yield place, use, tensor
