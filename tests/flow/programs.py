"""Random training loops as source: right ones, and wrong ones in every order of calls."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

CONDITIONS = ("amp", "not amp", "amp is True", "data[i] > 0", "not data[i] > 0", "more[i] < 0", "(i + 1) % 2 == 0")
HELPERS = {
    "finish(scaler, optimizer)": ("scaler.step(optimizer)", "scaler.update()"),
    "apply(scaler, optimizer)": ("optimizer.step()", "scaler.update()"),
    "clip(scaler, optimizer, model)": (
        "scaler.unscale_(optimizer)",
        "torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)",
    ),
}


@dataclass
class Writer:
    """Writes one training function ``train(model, amp, data, more)``, of one optimizer."""

    random: random.Random
    lines: list[str] = field(default_factory=list)

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def program(self) -> str:
        self.add(0, "import torch")
        for call, (first, second) in HELPERS.items():
            self.add(0, "")
            self.add(0, "")
            self.add(0, f"def {call}:")
            self.add(1, first)
            if self.chance(0.5):
                self.add(1, second)
        self.add(0, "")
        self.add(0, "")
        self.add(0, "def train(model, amp, data, more):")
        self.add(1, "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)")
        self.add(1, "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)")
        self.add(1, 'scaler = torch.amp.GradScaler("cpu", init_scale=4.0, enabled=amp)')
        depth = 1
        if self.chance(0.05):
            self.add(depth, 'with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):')
            depth += 1
        self.add(depth, "for i in range(len(data)):")
        depth += 1
        if self.chance(0.9):
            self.add(depth, "optimizer.zero_grad()")
        self.add(depth, "norm = torch.tensor(2 * data[i])")
        if self.chance(0.3):
            self.add(depth, 'with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):')
            self.add(depth + 1, "loss = model(torch.ones(1, 2)).mean() * (1 + data[i])")
            depth += self.chance(0.2)
        else:
            self.add(depth, "loss = model(torch.ones(1, 2)).mean() * (1 + data[i])")
        if self.chance(0.2):
            self.guard(depth, "continue")
        self.backward(depth)
        for _ in range(self.random.randint(1, 4)):
            self.step(depth)
        return "\n".join(self.lines) + "\n"

    def guard(self, depth: int, text: str) -> None:
        self.add(depth, f"if {self.random.choice(CONDITIONS)}:")
        self.add(depth + 1, text)

    def backward(self, depth: int) -> None:
        kind = self.random.randrange(8)
        if kind == 0:
            self.add(depth, "if amp:")
            self.add(depth + 1, "scaler.scale(loss).backward()")
            self.add(depth, "else:")
            self.add(depth + 1, "loss.backward()")
        elif kind == 1:
            self.add(depth, "loss = scaler.scale(loss)")
            self.add(depth, "loss.backward()")
        elif kind == 2:
            self.add(depth, "half = loss / 2")
            self.add(depth, "scaler.scale(half).backward(retain_graph=True)")
            self.add(depth, self.random.choice(("half.backward()", "scaler.scale(half).backward()")))
        elif kind == 3:
            self.add(depth, "loss = scaler.scale(loss)")
            self.add(depth, self.random.choice(("scaler.scale(loss).backward()", "(2 * loss).backward()")))
        elif kind == 4 and self.chance(0.5):
            self.add(depth, "scaler.scale(loss)")
            self.add(depth, "loss.backward()")
        else:
            self.add(depth, "scaler.scale(loss).backward()")

    def step(self, depth: int) -> None:
        kind = self.random.randrange(13)
        if kind == 0:
            self.add(depth, "if amp:")
            self.add(depth + 1, "scaler.step(optimizer)")
            self.add(depth + 1, "scaler.update()")
            self.add(depth, "else:")
            self.add(depth + 1, "optimizer.step()")
        elif kind == 1:
            if self.chance(0.7):
                self.add(depth, "scaler.unscale_(optimizer)")
            self.add(depth, "norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)")
        elif kind == 2:
            self.guard(depth, "continue")
        elif kind == 3:
            self.add(depth, self.random.choice(tuple(HELPERS)))
        elif kind == 4:
            calls = ("optimizer.step()", "scaler.step(optimizer)", "scaler.update()", "scaler.unscale_(optimizer)")
            self.guard(depth, self.random.choice(calls))
        elif kind == 5:
            self.add(depth, self.random.choice(("optimizer.step()", "optimizer.zero_grad()", "schedule.step()")))
        elif kind == 6:
            self.add(depth, "size = sum(p.grad.norm() for p in model.parameters() if p.grad is not None)")
        elif kind == 7 and self.chance(0.4):
            self.add(depth, "scaler.step(optimizer, lambda: loss)")
        else:
            self.add(depth, "scaler.step(optimizer)")
            if self.chance(0.8):
                self.add(depth, "scaler.update()")
            if self.chance(0.2):
                self.add(depth, "schedule.step()")


PAIR = ("first", "second", "third")


@dataclass
class SeveralWriter(Writer):
    """Writes a training function of two or three optimizers and perhaps two scalers."""

    def program(self) -> str:
        names = PAIR[: self.random.randint(2, 3)]
        scalers = ("scaler", "other") if self.chance(0.2) else ("scaler",)
        self.add(0, "import torch")
        self.add(0, "")
        self.add(0, "")
        self.add(0, "def train(model, amp, data, more):")
        for name in names:
            self.add(1, f"{name} = torch.nn.Linear(2, 1)")
            self.add(1, f"{name}_optimizer = torch.optim.SGD({name}.parameters(), lr=0.01)")
        for scaler in scalers:
            self.add(1, f'{scaler} = torch.amp.GradScaler("cpu", init_scale=4.0, enabled=amp)')
        self.add(1, "for i in range(len(data)):")
        for name in names:
            if self.chance(0.9):
                self.add(2, f"{name}_optimizer.zero_grad()")
        calls = []
        for name in names:
            scaler = self.random.choice(scalers)
            scaled = f"{scaler}.scale({name}(torch.ones(1, 2)).mean()).backward()"
            calls.append(scaled if self.chance(0.85) else f"{name}(torch.ones(1, 2)).mean().backward()")
            if self.chance(0.3):
                calls.append(f"{scaler}.unscale_({name}_optimizer)")
            if self.chance(0.3):
                calls.append(f"torch.nn.utils.clip_grad_norm_({name}.parameters(), 1.0)")
            calls.append(f"{scaler}.step({name}_optimizer)" if self.chance(0.85) else f"{name}_optimizer.step()")
            if self.chance(0.3):
                calls.append(f"{scaler}.update()")
        if self.chance(0.3):
            place = self.random.randrange(len(calls))
            calls[place], calls[-1] = calls[-1], calls[place]
        for call in calls:
            if self.chance(0.1):
                self.guard(2, call)
            else:
                self.add(2, call)
        for scaler in scalers:
            if self.chance(0.8):
                self.add(2, f"{scaler}.update()")
        return "\n".join(self.lines) + "\n"


def program(seed: int) -> str:
    """The program of ``seed``, of one optimizer."""
    return Writer(random.Random(seed)).program()


def program_of_several(seed: int) -> str:
    """The program of ``seed``, of several optimizers."""
    return SeveralWriter(random.Random(seed)).program()
