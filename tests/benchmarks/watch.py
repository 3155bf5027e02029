"""What the watch costs: a training step with it beside the plain step, in time of the processor.

The aim is at most 1.5 times the plain step on a small MLP, where Python's own work is all there is, and 1.1 times on
a layer-heavy one.
"""

from __future__ import annotations

import time

import torch
from torch import nn

from amplint.harness import watch

torch.set_num_threads(1)


class Training:
    """A step of an MLP with ``layers`` of ``width``."""

    def __init__(self, layers: int, width: int) -> None:
        hidden = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())]
        self.model = nn.Sequential(*hidden, nn.Linear(width, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
        self.x, self.y = torch.randn(64, width), torch.randn(64, 1)

    def milliseconds(self, steps: int) -> float:
        """The mean time that a step takes of the one processor that it has."""
        start = time.process_time()
        for _ in range(steps):
            self.optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.mse_loss(self.model(self.x), self.y)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        return (time.process_time() - start) / steps * 1e3


def main() -> None:
    """Print both times and their ratio, the best of several rounds each."""
    for layers, width, steps, aim in ((1, 16, 60, 1.5), (50, 128, 10, 1.1)):
        training = Training(layers, width)
        training.milliseconds(5)
        plain, watched = [], []
        for _ in range(7):
            plain.append(training.milliseconds(steps))
            with watch():
                training.milliseconds(2)
                watched.append(training.milliseconds(steps))
        ratio = min(watched) / min(plain)
        print(f"{layers + 1} layers of {width}: {min(plain):.3f} ms plain, {min(watched):.3f} ms watched: ", end="")
        print(f"{ratio:.2f} times (aim: {aim})")


if __name__ == "__main__":
    main()
