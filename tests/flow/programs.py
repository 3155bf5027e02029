"""Random training loops as source: right ones, and wrong ones in every order of calls."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

CONDITIONS = ("{a}", "not {a}", "{a} is True", "data[i] > 0", "not data[i] > 0", "more[i] < 0", "(i + 1) % 2 == 0")
NETWORKS = ("first", "second", "third")
AUTOCAST = 'with torch.autocast("cpu", dtype=torch.bfloat16, enabled={a}):'
DESCALED = "get_scale"
"""Stands in programs that deal with the scale by themselves."""


@dataclass
class Writer:
    """Writes ``train(model, amp, data, more)``: some networks, an optimizer each, and one or two scalers.

    ``{o}``, ``{s}``, ``{m}`` and ``{a}`` in a text stand for an optimizer, its scaler, its network and the flag, as the
    function reaches them.
    """

    random: random.Random
    count: int = 1
    lines: list[str] = field(default_factory=list)
    optimizers: list[str] = field(default_factory=list)
    networks: list[str] = field(default_factory=list)
    scalers: list[str] = field(default_factory=list)
    """For each optimizer, its scaler."""
    amp: str = "amp"
    loop: str = ""
    """What all optimizers can be got from, one after the other."""
    helpers: tuple[str, ...] = ()
    made: int = 0

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def say(self, depth: int, text: str, which: int = 0) -> None:
        """One line or more about an optimizer."""
        names = {"o": self.optimizers[which], "s": self.scalers[which], "m": self.networks[which], "a": self.amp}
        for line in text.format(**names).split("\n"):
            self.add(depth, line)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def name(self, word: str) -> str:
        self.made += 1
        return f"{word}{self.made}"

    # the frame

    def program(self) -> str:
        self.add(0, "import contextlib")
        self.add(0, "import functools")
        self.add(0, "")
        self.add(0, "import torch")
        self.write_helpers()
        if self.chance(0.25):
            self.write_class()
        else:
            self.write_function()
        return "\n".join(self.lines) + "\n"

    def write_helpers(self) -> None:
        calls = {
            "finish(scaler, optimizer)": ("scaler.step(optimizer)", "scaler.update()"),
            "apply(scaler, optimizer)": ("optimizer.step()", "scaler.update()"),
            "clip(scaler, optimizer, model)": (
                "scaler.unscale_(optimizer)",
                "torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)",
            ),
            "learn(scaler, loss)": ("scaler.scale(loss).backward()", "return loss"),
        }
        for call, (first, second) in calls.items():
            self.add(0, "")
            self.add(0, "")
            self.add(0, f"def {call}:")
            self.add(1, first)
            if self.chance(0.5):
                self.add(1, second)

    def write_function(self) -> None:
        self.add(0, "")
        self.add(0, "")
        self.add(0, "def train(model, amp, data, more):")
        names = ["model"] if self.count == 1 else list(NETWORKS[: self.count])
        for name in names[:] if self.count > 1 else ():
            self.add(1, f"{name} = torch.nn.Linear(2, 2)")
        self.networks = names
        self.make_scalers(1, "")
        self.make_optimizers(1, "")
        self.rename(1)
        self.write_loop(1)

    def write_class(self) -> None:
        self.add(0, "")
        self.add(0, "")
        self.add(0, "class Trainer:")
        self.add(1, "def __init__(self, model, amp):")
        names = ["model"] if self.count == 1 else list(NETWORKS[: self.count])
        for name in names:
            self.add(2, f"self.{name} = {'model' if self.count == 1 else 'torch.nn.Linear(2, 2)'}")
        self.networks = [f"self.{name}" for name in names]
        self.make_scalers(2, "self.")
        self.make_optimizers(2, "self.")
        self.add(2, "self.amp = amp")
        self.amp = "self.amp"
        methods = {"finish": "{s}.step({o})\n{s}.update()", "clear": "{o}.zero_grad()", "spread": "{s}.unscale_({o})"}
        for name, text in methods.items():
            self.add(1, "")
            self.add(1, f"def {name}(self):")
            lines = text.split("\n")
            self.say(2, "\n".join(lines[: self.random.randint(1, len(lines))]))
        self.add(1, "")
        self.add(1, "def fit(self, data, more):")
        self.helpers = tuple(f"self.{name}()" for name in methods)
        self.write_loop(2)
        self.add(0, "")
        self.add(0, "")
        self.add(0, "def train(model, amp, data, more):")
        self.add(1, "trainer = Trainer(model, amp)")
        self.add(1, "for _ in range(2):")
        self.add(2, "trainer.fit(data, more)")

    def make_scalers(self, depth: int, owner: str) -> None:
        two = self.count > 1 and self.chance(0.2)
        names = [f"{owner}scaler", f"{owner}other"] if two else [f"{owner}scaler"]
        for name in names:
            self.add(depth, f'{name} = torch.amp.GradScaler("cpu", init_scale=4.0, enabled=amp)')
        self.scalers = [self.random.choice(names) for _ in range(self.count)]

    def make_optimizers(self, depth: int, owner: str) -> None:
        prefix = owner + ("" if self.count == 1 else "{}_")
        names = [f"{prefix}optimizer".format(name.split(".")[-1]) for name in self.networks]
        made = [f"torch.optim.SGD({network}.parameters(), lr=0.01)" for network in self.networks]
        kind = self.random.choice(("names", "names", "names", "list", "tuple", "dict"))
        if kind == "names":
            for name, text in zip(names, made, strict=True):
                self.add(depth, f"{name} = {text}")
            self.optimizers = names
            self.loop = f"({', '.join(names)},)"
        elif kind == "dict":
            keys = [network.split(".")[-1] for network in self.networks]
            entries = ", ".join(f'"{key}": {text}' for key, text in zip(keys, made, strict=True))
            self.add(depth, f"{owner}optimizers = {{{entries}}}")
            self.optimizers = [f'{owner}optimizers["{key}"]' for key in keys]
            self.loop = f"{owner}optimizers.values()"
        else:
            inner = ", ".join(made)
            self.add(depth, f"{owner}optimizers = " + (f"[{inner}]" if kind == "list" else f"({inner},)"))
            self.optimizers = [f"{owner}optimizers[{index}]" for index in range(self.count)]
            self.loop = f"{owner}optimizers"
        self.add(depth, f"{owner}schedule = torch.optim.lr_scheduler.StepLR({self.optimizers[0]}, 1)")
        self.schedule = f"{owner}schedule"

    def rename(self, depth: int) -> None:
        """Perhaps other names for what there is."""
        if self.chance(0.15):
            self.add(depth, f"opt = {self.optimizers[0]}")
            self.optimizers[0] = "opt"
        if self.chance(0.1):
            self.say(depth, "move = functools.partial({s}.step, {o})")
            self.helpers = (*self.helpers, "move()")
        if self.chance(0.1):
            self.say(depth, "move_on = functools.partial(finish, {s})")
            self.helpers = (*self.helpers, "move_on({o})")

    def write_loop(self, depth: int) -> None:
        if self.chance(0.04):
            self.say(depth, AUTOCAST)
            depth += 1
        self.add(depth, "for i in range(len(data)):")
        self.iteration(depth + 1)

    # an iteration

    def iteration(self, depth: int) -> None:
        if self.chance(0.9):
            self.clear(depth)
        depth = self.forward(depth)
        if self.chance(0.2):
            self.guard(depth, self.leaving())
        self.backward(depth)
        for _ in range(self.random.randint(1, 4)):
            self.step(depth)

    def clear(self, depth: int) -> None:
        self.say(depth, self.random.choice(("{o}.zero_grad()", "{o}.zero_grad()", "{m}.zero_grad()")))

    def forward(self, depth: int) -> int:
        if self.chance(0.3):
            self.say(depth, AUTOCAST)
            self.say(depth + 1, "loss = {m}(torch.ones(1, 2)).mean() * (1 + data[i])")
            depth += self.chance(0.2)
        else:
            self.say(depth, "loss = {m}(torch.ones(1, 2)).mean() * (1 + data[i])")
        return depth

    def leaving(self) -> str:
        return self.random.choice(("continue", "continue", "continue", "break", "return"))

    def guard(self, depth: int, text: str, which: int = 0) -> None:
        self.say(depth, f"if {self.random.choice(CONDITIONS)}:")
        self.say(depth + 1, text, which)

    def backward(self, depth: int) -> None:
        kind = self.random.randrange(10)
        if kind == 0:
            self.say(depth, "if {a}:\n    {s}.scale(loss).backward()\nelse:\n    loss.backward()")
        elif kind == 1:
            self.say(depth, "loss = {s}.scale(loss)\nloss.backward()")
        elif kind == 2:
            self.say(depth, "half = loss / 2\n{s}.scale(half).backward(retain_graph=True)")
            self.say(depth, self.random.choice(("half.backward()", "{s}.scale(half).backward()")))
        elif kind == 3:
            self.say(depth, "loss = {s}.scale(loss)")
            self.say(depth, self.random.choice(("{s}.scale(loss).backward()", "(2 * loss).backward()")))
        elif kind == 4 and self.chance(0.5):
            self.say(depth, "{s}.scale(loss)\nloss.backward()")
        elif kind == 5 and self.chance(0.5):
            self.say(depth, "learn({s}, loss)")
        elif kind == 6 and self.chance(0.3):
            self.penalty(depth)
        elif kind == 7 and self.chance(0.3):
            self.say(depth, "torch.autograd.backward({s}.scale(loss))")
        else:
            self.say(depth, "{s}.scale(loss).backward()")
        if self.chance(0.2):
            self.log(depth)

    def penalty(self, depth: int) -> None:
        """A gradient penalty; where a program takes the scale out by hand the explorer says less of it: DESCALED."""
        self.say(depth, "grads = torch.autograd.grad({s}.scale(loss), {m}.parameters(), create_graph=True)")
        self.say(depth, "grads = [g / {s}.get_scale() for g in grads]")
        self.say(depth, "loss = loss + sum(g.pow(2).sum() for g in grads)\n{s}.scale(loss).backward()")

    def log(self, depth: int) -> None:
        texts = (
            "history = loss.item()",
            "print(loss.item(), end='')",
            "print(float(loss), end='')",
            "total = loss.detach()",
        )
        self.say(depth, self.random.choice(texts))

    def step(self, depth: int) -> None:
        kind = self.random.randrange(18)
        if kind == 0:
            self.say(depth, "if {a}:\n    {s}.step({o})\n    {s}.update()\nelse:\n    {o}.step()")
        elif kind == 1:
            if self.chance(0.7):
                self.say(depth, "{s}.unscale_({o})")
            self.clip(depth)
        elif kind == 2:
            self.guard(depth, self.leaving())
        elif kind == 3:
            self.say(depth, self.helper())
        elif kind == 4:
            calls = ("{o}.step()", "{s}.step({o})", "{s}.update()", "{s}.unscale_({o})", self.helper())
            self.guard(depth, self.random.choice(calls))
        elif kind == 5:
            self.say(
                depth,
                self.random.choice(("{o}.step()", "{o}.zero_grad()", "{m}.zero_grad()", self.schedule + ".step()")),
            )
        elif kind == 6:
            self.say(depth, "size = sum(p.grad.norm() for p in {m}.parameters() if p.grad is not None)")
        elif kind == 7 and self.chance(0.4):
            self.say(depth, "{s}.step({o}, lambda: loss)")
        elif kind == 8:
            self.say(depth, "try:\n    {s}.step({o})\nfinally:\n    {s}.update()")
        elif kind == 9:
            self.say(depth, "with contextlib.nullcontext():\n    {s}.step({o})\n    {s}.update()")
        elif kind == 10 and self.chance(0.5):
            self.each(depth)
        else:
            self.say(depth, "{s}.step({o})")
            if self.chance(0.8):
                self.say(depth, "{s}.update()")
            if self.chance(0.2):
                self.add(depth, self.schedule + ".step()")

    def clip(self, depth: int, which: int = 0) -> None:
        clips = ("norm = torch.nn.utils.clip_grad_norm_({m}.parameters(), 1.0)",) * 2 + (
            "torch.nn.utils.clip_grad_value_({m}.parameters(), 1.0)",
        )
        self.say(depth, self.random.choice(clips), which)

    def helper(self) -> str:
        calls = ("finish({s}, {o})", "apply({s}, {o})", "clip({s}, {o}, {m})", *self.helpers * 2)
        return self.random.choice(calls)

    def each(self, depth: int) -> None:
        """The same for each optimizer."""
        name = self.name("each")
        self.add(depth, f"for {name} in {self.loop}:")
        text = self.random.choice(("{s}.unscale_(%s)", "{s}.step(%s)", "{s}.step(%s)", "%s.step()", "%s.zero_grad()"))
        self.say(depth + 1, text % name)


@dataclass
class SeveralWriter(Writer):
    """Writes a training function of two or three optimizers and perhaps two scalers."""

    def iteration(self, depth: int) -> None:
        for which in range(self.count):
            if self.chance(0.9):
                self.say(depth, self.random.choice(("{o}.zero_grad()", "{o}.zero_grad()", "{m}.zero_grad()")), which)
        calls: list[tuple[str, int]] = []
        for which in range(self.count):
            calls += self.round(which)
        if self.chance(0.3):
            place = self.random.randrange(len(calls))
            calls[place], calls[-1] = calls[-1], calls[place]
        if self.chance(0.15):
            calls.insert(self.random.randrange(len(calls)), (self.leaving(), 0))
        for call, which in calls:
            if self.chance(0.1) or call in ("continue", "break", "return"):
                self.guard(depth, call, which)
            else:
                self.say(depth, call, which)
        for scaler in dict.fromkeys(self.scalers):
            if self.chance(0.8):
                self.add(depth, f"{scaler}.update()")

    def round(self, which: int) -> list[tuple[str, int]]:
        """What is done for one of the networks."""
        other = self.random.choice([each for each in range(self.count) if each != which])
        losses = (
            "{m}(torch.ones(1, 2)).mean()",
            "{m}(torch.ones(1, 2)).mean()",
            "{m}(torch.ones(1, 2)).mean()",
            f"{self.networks[other]}({{m}}(torch.ones(1, 2))).mean()",
            f"{{m}}({self.networks[other]}(torch.ones(1, 2)).detach()).mean()",
            f"({{m}}(torch.ones(1, 2)).mean() + {self.networks[other]}(torch.ones(1, 2)).sum())",
            f"torch.nn.functional.mse_loss({{m}}(torch.ones(1, 2)), {self.networks[other]}(torch.zeros(1, 2)))",
        )
        loss = self.random.choice(losses)
        kind = self.random.randrange(8)
        if kind == 0:
            text = f"loss = {loss}\n{{s}}.scale(loss).backward()"
        elif kind == 1:
            text = f"learn({{s}}, {loss})"
        else:
            text = f"{{s}}.scale({loss}).backward()"
        calls = [text if self.chance(0.85) else f"{loss}.backward()"]
        if self.chance(0.3):
            calls.append("{s}.unscale_({o})")
        if self.chance(0.3):
            calls.append("torch.nn.utils.clip_grad_norm_({m}.parameters(), 1.0)")
        if self.chance(0.15):
            calls.append(self.helper())
        else:
            calls.append("{s}.step({o})" if self.chance(0.85) else "{o}.step()")
        if self.chance(0.3):
            calls.append("{s}.update()")
        return [(call, which) for call in calls]


def program(seed: int) -> str:
    """The program of ``seed``, of one optimizer."""
    return Writer(random.Random(seed)).program()


def program_of_several(seed: int) -> str:
    """The program of ``seed``, of several optimizers."""
    drawn = random.Random(seed)
    return SeveralWriter(drawn, drawn.randint(2, 3)).program()
