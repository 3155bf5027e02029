"""Random training loops as source: right ones, and wrong ones in every order of calls."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

CONDITIONS = ("amp", "not amp", "amp is True", "data[i] > 0", "not data[i] > 0", "more[i] < 0")


@dataclass
class Writer:
    """Writes one training function ``train(model, amp, data, more)``."""

    random: random.Random
    lines: list[str] = field(default_factory=list)

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def program(self) -> str:
        chance = self.random.random
        self.add(0, "import torch")
        self.add(0, "")
        for name, call in (("finish", "scaler.step(optimizer)"), ("apply", "optimizer.step()")):
            self.add(0, "")
            self.add(0, f"def {name}(scaler, optimizer):")
            self.add(1, call)
            if chance() < 0.5:
                self.add(1, "scaler.update()")
            self.add(0, "")
        self.add(0, "")
        self.add(0, "def train(model, amp, data, more):")
        self.add(1, "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)")
        self.add(1, 'scaler = torch.amp.GradScaler("cpu", init_scale=4.0, enabled=amp)')
        self.add(1, "for i in range(len(data)):")
        if chance() < 0.9:
            self.add(2, "optimizer.zero_grad()")
        self.add(2, "norm = torch.tensor(2 * data[i])")
        self.add(2, "loss = model(torch.ones(1, 2)).mean() * (1 + data[i])")
        if chance() < 0.2:
            self.guard(2, "continue")
        self.backward(2)
        for _ in range(self.random.randint(1, 4)):
            self.step(2)
        return "\n".join(self.lines) + "\n"

    def guard(self, depth: int, text: str) -> None:
        self.add(depth, f"if {self.random.choice(CONDITIONS)}:")
        self.add(depth + 1, text)

    def backward(self, depth: int) -> None:
        kind = self.random.randrange(5)
        if kind == 0:
            self.add(depth, "if amp:")
            self.add(depth + 1, "scaler.scale(loss).backward()")
            self.add(depth, "else:")
            self.add(depth + 1, "loss.backward()")
        elif kind == 1:
            self.add(depth, "loss = scaler.scale(loss)")
            self.add(depth, "loss.backward()")
        else:
            self.add(depth, "scaler.scale(loss).backward()")

    def step(self, depth: int) -> None:
        kind = self.random.randrange(8)
        if kind == 0:
            self.add(depth, "if amp:")
            self.add(depth + 1, "scaler.step(optimizer)")
            self.add(depth + 1, "scaler.update()")
            self.add(depth, "else:")
            self.add(depth + 1, "optimizer.step()")
        elif kind == 1:
            self.add(depth, "scaler.unscale_(optimizer)")
            self.add(depth, "norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)")
        elif kind == 2:
            self.guard(depth, "continue")
        elif kind == 3:
            self.add(depth, self.random.choice(("finish(scaler, optimizer)", "apply(scaler, optimizer)")))
        elif kind == 4:
            self.guard(depth, self.random.choice(("optimizer.step()", "scaler.step(optimizer)", "scaler.update()")))
        elif kind == 5:
            self.add(depth, "optimizer.step()")
        else:
            self.add(depth, "scaler.step(optimizer)")
            if self.random.random() < 0.8:
                self.add(depth, "scaler.update()")


def program(seed: int) -> str:
    """The program of ``seed``."""
    return Writer(random.Random(seed)).program()
