"""The virtual region gives every operation the dtype that CUDA's own rules give it (asked through fake tensors)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F
from runs import new_torch
from torch._subclasses.fake_tensor import FakeTensorMode

from amplint.harness import virtual_cuda

HALF = torch.float16
Operation = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def row(x: torch.Tensor) -> torch.Tensor:
    return x.select(0, 0)  # an index would ask the driver, which fake tensors do not have


def image(x: torch.Tensor) -> torch.Tensor:
    return x.unsqueeze(0).unsqueeze(0)


# each takes a matrix of the input dtype and one of the other
OPERATIONS: dict[str, Operation] = {
    "mm": torch.mm,
    "matmul": lambda x, y: x @ y,
    "linear": F.linear,
    "bmm": lambda x, y: torch.bmm(x.unsqueeze(0), y.unsqueeze(0)),
    "addmm": lambda x, y: torch.addmm(x, x, y),
    "addmv": lambda x, y: torch.addmv(row(x), x, row(y)),
    "addr": lambda x, y: torch.addr(x, row(x), row(y)),
    "mv": lambda x, y: torch.mv(x, row(y)),
    "einsum": lambda x, y: torch.einsum("ij,jk->ik", x, y),
    "prelu": lambda x, y: F.prelu(x, row(y).narrow(0, 0, 1)),
    "conv1d": lambda x, y: F.conv1d(x.unsqueeze(0), y.unsqueeze(2)),
    "attention": lambda x, y: F.scaled_dot_product_attention(image(x), image(y), image(x)),
    "exp": lambda x, y: x.exp(),
    "expm1": lambda x, y: torch.expm1(x),
    "log": lambda x, y: x.log(),
    "log1p": lambda x, y: torch.log1p(x),
    "pow": lambda x, y: x.pow(2),
    "pow_operator": lambda x, y: x**2,
    "rpow": lambda x, y: 2**x,
    "rdiv": lambda x, y: 1 / x,
    "reciprocal": lambda x, y: x.reciprocal(),
    "rsqrt": lambda x, y: x.rsqrt(),
    "sqrt": lambda x, y: x.sqrt(),
    "sinh": lambda x, y: x.sinh(),
    "tan": lambda x, y: x.tan(),
    "acos": lambda x, y: x.acos(),
    "erfinv": lambda x, y: x.erfinv(),
    "softplus": lambda x, y: F.softplus(x),
    "softmax": lambda x, y: F.softmax(x, -1),
    "softmax_method": lambda x, y: x.softmax(-1),
    "softmax_with_dtype": lambda x, y: F.softmax(x, -1, dtype=torch.float64),
    "log_softmax": lambda x, y: F.log_softmax(x, -1),
    "logsumexp": lambda x, y: torch.logsumexp(x, -1),
    "sum": lambda x, y: x.sum(),
    "mean": lambda x, y: x.mean(),
    "prod": lambda x, y: x.prod(),
    "cumsum": lambda x, y: x.cumsum(0),
    "cumprod": lambda x, y: x.cumprod(0),
    "norm": lambda x, y: x.norm(),
    "vector_norm": lambda x, y: torch.linalg.vector_norm(x),
    "normalize": lambda x, y: F.normalize(x),
    "var": lambda x, y: x.var(),
    "layer_norm": lambda x, y: F.layer_norm(x, (4,)),
    "group_norm": lambda x, y: F.group_norm(x.unsqueeze(0), 2),
    "cosine_similarity": F.cosine_similarity,
    "cdist": torch.cdist,
    "dist": torch.dist,
    "cross_entropy": lambda x, y: F.cross_entropy(x, torch.zeros(4, dtype=torch.long, device=x.device)),
    "nll_loss": lambda x, y: F.nll_loss(x, torch.zeros(4, dtype=torch.long, device=x.device)),
    "mse_loss": F.mse_loss,
    "l1_loss": F.l1_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "huber_loss": F.huber_loss,
    "kl_div": lambda x, y: F.kl_div(x, y, reduction="batchmean"),
    "binary_cross_entropy_with_logits": F.binary_cross_entropy_with_logits,
    "hinge_embedding_loss": F.hinge_embedding_loss,
    "margin_ranking_loss": lambda x, y: F.margin_ranking_loss(x, y, x),
    "soft_margin_loss": F.soft_margin_loss,
    "triplet_margin_loss": lambda x, y: F.triplet_margin_loss(x, y, x),
    "cosine_embedding_loss": lambda x, y: F.cosine_embedding_loss(x, y, row(x)),
    "poisson_nll_loss": F.poisson_nll_loss,
    "sigmoid": lambda x, y: x.sigmoid(),
    "tanh": lambda x, y: x.tanh(),
    "gelu": lambda x, y: F.gelu(x),
    "relu": lambda x, y: x.relu(),
    "add": lambda x, y: x + y,
    "mul_scalar": lambda x, y: x * 0.5,
    "div": lambda x, y: x / y,
    "where": lambda x, y: torch.where(x > 0.5, x, y),
    "cat": lambda x, y: torch.cat([x, y]),
    "stack": lambda x, y: torch.stack([x, y]),
    "addcmul": lambda x, y: torch.addcmul(x, y, x),
    "addcdiv": lambda x, y: torch.addcdiv(x, y, x),
    "atan2": torch.atan2,
    "bilinear": lambda x, y: F.bilinear(x, y, x.unsqueeze(0).expand(4, 4, 4)),
    "cross": lambda x, y: torch.cross(x.narrow(1, 0, 3), y.narrow(1, 0, 3), dim=1),
    "dot": lambda x, y: torch.dot(row(x), row(y)),
    "scatter_add": lambda x, y: torch.scatter_add(x, 0, torch.zeros(4, 4, dtype=torch.long, device=x.device), y),
    "tensordot": lambda x, y: torch.tensordot(x, y, dims=1),
    "interpolate_nearest": lambda x, y: F.interpolate(image(x), scale_factor=2),
    "interpolate_area": lambda x, y: F.interpolate(image(x), scale_factor=2, mode="area"),
    "interpolate_bilinear": lambda x, y: F.interpolate(image(x), scale_factor=2, mode="bilinear"),
    "avg_pool1d": lambda x, y: F.avg_pool1d(x.unsqueeze(0), 2),
}


@contextlib.contextmanager
def cuda_rules() -> Iterator[None]:
    """A CUDA region for fake tensors, which need no device."""
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", HALF)
    torch.autocast_increment_nesting()
    try:
        yield
    finally:
        torch.autocast_decrement_nesting()
        torch.clear_autocast_cache()
        torch.set_autocast_enabled("cuda", False)


def outcome(operation: Operation, device: str, x_dtype: torch.dtype, y_dtype: torch.dtype) -> object:
    x = torch.rand(4, 4, device=device).to(x_dtype) * 0.5 + 0.25
    y = torch.rand(4, 4, device=device).to(y_dtype) * 0.5 + 0.25
    try:
        return operation(x, y).dtype
    except RuntimeError:
        return "rejected"


@new_torch
@pytest.mark.parametrize("y_dtype", [HALF, torch.float32], ids=str)
@pytest.mark.parametrize("x_dtype", [HALF, torch.float32], ids=str)
def test_same_dtype_as_with_cuda(x_dtype: torch.dtype, y_dtype: torch.dtype) -> None:
    with FakeTensorMode(), cuda_rules():
        expected = {name: outcome(op, "cuda", x_dtype, y_dtype) for name, op in OPERATIONS.items()}
    with virtual_cuda(), torch.autocast("cuda", dtype=HALF):
        actual = {name: outcome(op, "cuda", x_dtype, y_dtype) for name, op in OPERATIONS.items()}
    assert actual == expected
