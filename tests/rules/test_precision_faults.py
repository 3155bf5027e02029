"""The harm that AMP304 to AMP308, AMP401 and AMP402 speak of, by PyTorch itself."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from amplint.harness.virtual_cuda import virtual_cuda

FIXTURES = Path(__file__).parents[2] / "rules" / "autocast" / "fixtures"
HALF = torch.zeros(2, 4, dtype=torch.float16)
MASK = torch.ones(2, 4, dtype=torch.bool)


def assigned() -> torch.Tensor:
    scores = HALF.clone()
    scores[MASK] = -1e9
    return scores


@pytest.mark.parametrize(
    "fill",
    [
        lambda: HALF.masked_fill(MASK, -1e9),
        lambda: HALF.clone().fill_(1e9),
        lambda: HALF.index_fill(0, torch.tensor([0]), -1e9),
        lambda: torch.full((2,), -1e9, dtype=torch.float16),
        lambda: torch.full_like(HALF, -1e9),
        lambda: HALF.new_full((2,), -1e9),
        lambda: F.pad(HALF, (1, 1), value=-1e9),
    ],
)
def test_filling_with_a_constant_beyond_half_raises(fill: Callable[[], torch.Tensor]) -> None:
    with pytest.raises(RuntimeError, match="without overflow"):
        fill()


@pytest.mark.parametrize(
    "compute",
    [
        lambda: HALF + -1e9,
        lambda: torch.where(MASK, -1e9, HALF),
        lambda: torch.tensor(-1e9, dtype=torch.float16),
        lambda: (1 - HALF) * -1e9,
        assigned,
    ],
)
def test_arithmetic_with_it_is_silently_infinite(compute: Callable[[], torch.Tensor]) -> None:
    assert compute().isinf().any()


@pytest.mark.parametrize("value", [-65504.0, -1e4, float("-inf"), torch.finfo(torch.float16).min])
def test_what_fits_is_filled(value: float) -> None:
    assert (HALF.masked_fill(MASK, value) == value).all()


@pytest.mark.parametrize(
    "compute",
    [
        lambda: HALF / (HALF + 1e-8),
        lambda: HALF / HALF.clamp(min=2.9e-8),
        lambda: torch.log(HALF + 1e-8),
        lambda: F.normalize(HALF, dim=-1),
        lambda: F.cosine_similarity(HALF, HALF),
    ],
)
def test_an_epsilon_of_zero_guards_nothing(compute: Callable[[], torch.Tensor]) -> None:
    assert not compute().isfinite().any()


@pytest.mark.parametrize(
    "compute",
    [
        lambda: HALF / (HALF + 6e-8),
        lambda: F.layer_norm(HALF, (4,), eps=1e-12),
        lambda: F.group_norm(HALF, 2, eps=1e-12),
        lambda: F.normalize(HALF.bfloat16(), dim=-1),
    ],
)
def test_what_the_rule_leaves_alone_is_finite(compute: Callable[[], torch.Tensor]) -> None:
    assert compute().isfinite().all()


@torch.autocast("cpu", dtype=torch.bfloat16)
def generated() -> Iterator[bool]:
    yield torch.is_autocast_enabled("cpu")


@torch.autocast("cpu", dtype=torch.bfloat16)
async def awaited() -> bool:
    return torch.is_autocast_enabled("cpu")


@torch.autocast("cpu", dtype=torch.bfloat16)
async def generated_later() -> AsyncIterator[bool]:
    yield torch.is_autocast_enabled("cpu")


def test_the_decorator_is_off_in_a_body_that_runs_later() -> None:
    async def first() -> bool:
        return await anext(generated_later())

    assert [*generated(), asyncio.run(awaited()), asyncio.run(first())] == [False] * 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cpu_autocast_switches_itself_off(dtype: torch.dtype) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autocast("cpu", dtype=dtype):
            assert not torch.is_autocast_enabled("cpu")
    assert caught


@pytest.mark.parametrize("name", ["cholesky", "svd", "inv", "eigh", "qr"])
def test_linear_algebra_does_not_know_half(name: str) -> None:
    with pytest.raises(RuntimeError):
        getattr(torch.linalg, name)(torch.eye(4).half())


@pytest.mark.parametrize("name", ["bmm", "matmul", "cdist"])
def test_one_operand_cast_alone_is_refused(name: str) -> None:
    x = torch.ones(1, 2, 2).half()
    with pytest.raises(RuntimeError):
        getattr(torch, name)(x.float(), x)
    assert getattr(torch, name)(x.float(), x.float()).dtype is torch.float32


def program(fixture: str) -> dict[str, Any]:
    """The names of a fixture that was run."""
    space: dict[str, Any] = {"__name__": "program"}
    exec(compile((FIXTURES / "custom-function-unaware" / fixture).read_text(), fixture, "exec"), space)
    return space


def backward_of(fixture: str) -> None:
    """Run the backward of the custom function in a fixture, applied under autocast."""
    x = torch.randn(8, 8, requires_grad=True)
    with virtual_cuda():
        space = program(fixture)
        with torch.autocast("cuda", dtype=torch.float16):
            y = space["Multiply"].apply(x, torch.randn(8, 8, requires_grad=True))
        y.float().sum().backward()
        if "Scale" in space:
            space["Scale"].apply(x).sum().backward()


@pytest.mark.parametrize("name", ["unaware", "one_of_the_two", "forward_alone"])
def test_a_custom_function_fails_before_the_fix_and_works_after_it(name: str) -> None:
    with pytest.raises(RuntimeError, match="same dtype"):
        backward_of(f"{name}.py")
    backward_of(f"{name}.fixed.py")


def test_custom_bwd_alone_fails() -> None:
    with virtual_cuda(), pytest.raises(AttributeError, match="_fwd_used_autocast"):
        program("one_of_the_two.py")["Scale"].apply(torch.ones(2, requires_grad=True)).sum().backward()
