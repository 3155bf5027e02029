"""What the abstract run says of a dtype is what PyTorch does: every program is run on the virtual CUDA device, too."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest
import torch

from amplint.harness.virtual_cuda import virtual_cuda
from amplint.precision import Constant, Tensor, interpret
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree

START = """
import contextlib
import math
import torch
import torch.nn.functional as F
from torch import nn
x = torch.randn(4, 8, device="cuda")
w = nn.Parameter(torch.randn(8, 8, device="cuda"))
y = torch.zeros(4, dtype=torch.long, device="cuda")
mask = torch.zeros(4, 8, dtype=torch.bool, device="cuda")
amp = torch.autocast("cuda", dtype=torch.float16)
"""

PROGRAMS = {
    "operations": """
with amp:
    h = x @ w
    probe("matmul", h)
    for index, f in enumerate((torch.relu, torch.sigmoid, torch.tanh, torch.sqrt, torch.abs, F.gelu, F.silu)):
        f(h)
    probe("sigmoid", h.sigmoid())
    probe("mean", h.mean(-1, keepdim=True))
    probe("sum", h.sum(-1))
    probe("softmax", h.softmax(-1))
    probe("log", torch.log(h.abs() + 1))
    probe("square", h.square())
    probe("power", h ** 2)
    probe("inverse", 1 / h)
    probe("quotient", h / math.sqrt(8))
    probe("scaled", h * 0.5 + 1)
    probe("wider", h + x)
    probe("norm", h.norm(dim=-1))
    probe("unit", F.normalize(h, dim=-1))
    probe("max", h.amax(-1))
    probe("where", torch.where(mask, h, 0.0))
    probe("filled", h.masked_fill(mask, -1e4))
    probe("joined", torch.cat([h, h]))
    probe("joined with float32", torch.cat([h, x]))
    probe("loss", F.cross_entropy(h, y))
    probe("attention", F.scaled_dot_product_attention(h[None], h[None], h[None]))
    probe("product", torch.einsum("ij,kj->ik", h, x))
    probe("cast", h.float())
    probe("cast back", h.float().to(h.dtype))
    probe("like", h.softmax(-1).type_as(h))
    probe("zeros", torch.zeros_like(h))
    probe("new", h.new_zeros(3))
    probe("part", h[:, :4].reshape(-1).unsqueeze(0))
    probe("clamped", h.clamp(min=1e-3))
probe("after", h)
probe("after, as a loss", F.cross_entropy(h, y))
probe("after, promoted", F.mse_loss(h, x))
""",
    "modules": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
        self.norm = nn.LayerNorm(8)
        self.scale = 8 ** -0.5
        self.bias = nn.Parameter(torch.zeros(8))

    def forward(self, x, widen=False):
        h = self.body(x)
        probe("sequential", h)
        probe("layer norm", self.norm(h))
        probe("parameter", self.bias)
        probe("half and a parameter", h + self.bias)
        if widen:
            return self.norm(h)
        return h * self.scale


net = Net().cuda()
with amp:
    probe("half", net(x))
    probe("widened", net(x, widen=True))
    with torch.autocast("cuda", enabled=False):
        probe("island", net(x))
        probe("half in an island", (x @ w).half())
    probe("linear of half", nn.Linear(8, 2).cuda()(net(x)))
probe("float32", net(x))
""",
    "regions": """
def make(flag):
    return torch.autocast("cuda", dtype=torch.float16) if flag else contextlib.nullcontext()


@torch.autocast("cuda", dtype=torch.bfloat16)
def decorated(a, b):
    return a @ b


@contextlib.contextmanager
def managed():
    with torch.autocast("cuda"):
        yield


probe("decorated", decorated(x, w))
with make(True):
    probe("made", x @ w)
with make(False):
    probe("not made", F.softmax(x @ w, dim=-1))
with managed():
    probe("managed", x @ w)
with torch.no_grad(), torch.autocast(device_type="cuda"):
    probe("default", x @ w)
    h = x @ w
    h += x
    probe("in place", h)
probe("explicit", x.to(torch.float16) * 2)
probe("full", torch.full((3,), 1.0, dtype=torch.float16))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_claims_are_true(name: str) -> None:
    source = START + PROGRAMS[name]
    tree = SyntaxTree(source)
    claims: dict[str, set[str]] = {}
    for use in interpret(tree, Names(tree)).uses:
        if isinstance(use.node, cst.Call) and isinstance(use.node.func, cst.Name) and use.node.func.value == "probe":
            what, value = use.arguments.positional
            assert isinstance(what, Constant)
            if isinstance(value, Tensor):
                claims.setdefault(what.value, set()).add(f"torch.{value.dtype}")
    facts: dict[str, set[str]] = {}

    def probe(what: str, tensor: Any) -> None:
        facts.setdefault(what, set()).add(str(tensor.dtype))

    with virtual_cuda():
        exec(compile(source, name, "exec"), {"probe": probe, "__name__": "program"})
    for what in claims.keys() & facts.keys():
        assert claims[what] <= facts[what], what
    assert len(claims) >= 0.7 * len(facts), "too little is known of these programs"
    assert torch.is_autocast_enabled("cuda") is False
