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
    "statements": """
def early(a, flag=None):
    if flag is not None:
        return a.float()
    assert a.dim() == 2
    total: torch.Tensor = a @ w
    size: int
    if a.sum() > 1e9:
        raise ValueError
    elif a.numel() == 0:
        total = total.float()
        return total
    else:
        total = total.half()
    probe("after an early return", total)
    return total


with amp:
    probe("early", early(x))
    h = x @ w
    n = 3
    n <<= 1
    h *= n
    probe("multiplied in place", h)
    match len(x):
        case 4:
            g = h
        case _:
            g = h.relu()
    probe("matched", g)
    while n > 6:
        n -= 1
    else:
        probe("in the else of a while", h)
    try:
        g = h.sigmoid()
    except ValueError:
        raise
    else:
        probe("in the else of a try", g)
    try:
        g = h.tanh()
    finally:
        probe("finally", h)
    probe("after the try", g)
    for index in range(2):
        if index:
            continue
        g = h.relu()
    probe("after a loop", g)
    g, k = h.relu(), h.float()
    probe("first of two", g)
    probe("second of two", k)
    *many, last = (x, h)
    probe("last", last)


def final(a):
    try:
        return a.float()
    finally:
        return a


with amp:
    final(x @ w)
""",
    "values": """
class Block(nn.Module):
    def __init__(self, width: int = 8, eps: float = 1e-5, *, dtype=torch.float16):
        super().__init__()
        self.layers = nn.ModuleList()
        self.layers.append(nn.Linear(width, width))
        self.register_buffer("steps", torch.ones(1))
        self.dtype = dtype

    @property
    def weight(self):
        return self.layers[0].weight

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        probe("of a list of modules", x)
        return x


class Wide(Block):
    def head(self, x):
        return x.to(self.dtype)


block = Wide().cuda()
table = {"plain": x, "half": x.half()}
pair = (x, x.half())
with amp:
    probe("of a block", block(x))
    probe("inherited", block.forward(x))
    probe("by a dtype that is kept", block.head(x))
    probe("weight", block.weight)
    probe("looked up", table["half"])
    probe("looked up by get", table.get("half"))
    probe("any of a dict", table.get(str(len(table))) if len(table) > 5 else x)
    probe("any of a tuple", pair[len(table) - 1])
    probe("one of a tuple", pair[1])
    probe("joined tuples", (pair + (w,))[2])
    probe("negated", -(x @ w))
    h = x @ w
    probe("chosen", h if len(x) > 100 else h.relu())
    probe("or", None or h)
    probe("and", True and h)
    probe("last of or", (not True) or h)
    parts = [h, h.relu()]
    for part in parts:
        probe("part", part)
    probe("stacked", torch.stack([part.float() for part in parts]))
    probe("sliced", h[1:])
    probe("called by name", torch.nn.functional.relu(input=h))
    probe("as a method of a class", torch.Tensor.relu(h))
    probe("to another", h.to(x))
    probe("to its device", h.to("cuda"))
    probe("to a dtype", h.to(dtype=torch.float32))
    probe("sorted", h.sort(-1)[0])
probe("half module", nn.Linear(8, 8).half().cuda()(x.half()))
probe("half block", Wide().half().cuda()(x.half()))
probe("half and back", Wide().half().to(torch.float32).cuda()(x))
probe("bfloat16 module", nn.Linear(8, 8).to(torch.bfloat16).cuda()(x.bfloat16()))
probe("two halves", torch.cat([x.half(), x.bfloat16()]))
probe("limits", x.clamp(max=torch.finfo(torch.float16).max))
probe("smallest", x.clamp(min=torch.finfo(x.dtype).min) + torch.finfo().eps)
""",
    "contexts": """
@contextlib.contextmanager
def both(flag):
    with torch.no_grad():
        with torch.autocast("cuda", dtype=torch.float16):
            yield


@contextlib.contextmanager
def either(flag):
    if flag:
        with amp:
            yield
    else:
        yield


@torch.no_grad()
def evaluate(a, *rest, **options):
    return a @ w


@torch.inference_mode
def infer(a, *, scale=1.0):
    return a * scale


with both(True):
    probe("both", x @ w)
    probe("evaluated", evaluate(x, 1, flag=2))
with either(len(x) > 2):
    probe("either", x @ w)
with contextlib.ExitStack() as stack:
    stack.enter_context(amp)
    probe("entered by a stack", x @ w)
probe("inferred", infer(x, scale=2.0))
with torch.set_grad_enabled(False), amp:
    probe("without gradients", x @ w)
with torch.autocast("cuda", dtype=torch.bfloat16):
    probe("bfloat16", x @ x.T)
    with torch.autocast("cuda"):
        probe("inner", x @ x.T)
    with torch.autocast("cuda", enabled=False):
        with torch.autocast("cuda"):
            probe("inner of an island", x @ x.T)
    with torch.cuda.amp.autocast():
        probe("old inner", x @ x.T)
    with torch.autocast("cpu"), torch.autocast("cuda"):
        probe("beside another device's", x @ x.T)
apply = lambda f, a: f(a)
with amp:
    probe("by a lambda", apply(torch.relu, x @ w))
with torch.no_grad(), torch.enable_grad(), amp:
    probe("with gradients again", x @ w)
""",
    "models": """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Twice(Double):
    pass


class Encoder(nn.Module):
    scale = 2.0

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList()
        self.seen = []
        self.seen.append(1)
        self.layers.append(nn.Linear(8, 8))
        self.first, *self.rest = 1, 2, 3

    def forward(self, a):
        return self.layers[0](a)

    def encode(self, a):
        h = self(a)
        if a.dim() > 1:
            pass
        else:
            return a
        match a.dim():
            case 0:
                return a.float()
            case _:
                h = h.relu()
        self.rest[0], self.last = 1, h
        return h

    def apply_all(self, a):
        return Encoder.encode(self, a)


class Wrapper(nn.Module):
    def __init__(self, inner: nn.Module):
        super().__init__()
        self.module = inner

    def forward(self, a):
        return self.module(a)


encoder = Encoder().cuda()
model = encoder


def run(model, layer: nn.Linear, inner: Encoder, a):
    with amp:
        probe("of a method", model.encode(a))
        probe("of a layer", layer(a))
        probe("of a model by its annotation", inner(a))
        if a is None:
            return None
        return model.encode(a)


run(encoder, nn.Linear(8, 8).cuda(), encoder, x)
with amp:
    probe("of a class", encoder.apply_all(x))
    probe("wrapped", Wrapper(encoder)(x))
    probe("forward", nn.Linear(8, 8).cuda().forward(x))
    probe("called", nn.Linear(8, 8).cuda().__call__(x))
    probe("positive", +(x @ w))
    Twice.apply(x @ w)
    h = x @ w
    best = torch.argmax(h, -1)
    print(best.dtype)
    probe("none", h if h is not None else x)
    kind = "a" + "b"
    size = int(8)
    probe("reshaped", h.reshape(-1, size) if kind else h)
    probe("last of and", (False and x) or h)
    flag = len(kind) > 1
    probe("by a flag", h if flag and True else h.relu())
    print((~mask).any())
probe("to half", nn.Linear(8, 8).to(torch.float16).cuda()(x.half()))
probe("half weight", Encoder().half().layers[0].weight)
with torch.autocast("cuda", dtype=torch.float32):
    print((x @ w).dtype)
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
