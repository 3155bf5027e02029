"""The reference pattern of mixed precision, run: scale, step, update around an autocast forward."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn


class ReferenceRun(NamedTuple):
    """The dtypes of the model's output and of the loss, the loss of each step, and the scale at the end."""

    output_dtype: str
    loss_dtype: str
    losses: tuple[float, ...]
    scale: float


def reference_run(steps: int = 5) -> ReferenceRun:
    """Train a small model for ``steps`` on the CPU with bfloat16 autocast and a gradient scaler.

    Model, data and order are fixed, and the caller's random numbers are left alone.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        x = torch.randn(64, 10)
        y = x @ torch.randn(10, 1) + 0.1 * torch.randn(64, 1)
        model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = model(x)
            loss = nn.functional.mse_loss(output, y)
        scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return ReferenceRun(_name(output.dtype), _name(loss.dtype), tuple(losses), scaler.get_scale())


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
