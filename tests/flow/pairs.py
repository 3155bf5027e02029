"""Pairs of random programs: a right one as it was meant, and the same with one fault in it."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

NETWORKS = ("first", "second", "third")


@dataclass(frozen=True)
class Line:
    """A statement of an iteration, what it does, and for which of the networks."""

    kind: str
    which: int
    text: str
    boundary: bool = False
    """Whether it is done only where a window of accumulation ends."""


@dataclass(frozen=True)
class Pair:
    """``train(data)`` twice: as it was meant, and with the fault."""

    fault: str
    intended: str
    faulty: str


class Meaning:
    """A right program, drawn at random."""

    def __init__(self, drawn: random.Random) -> None:
        self.drawn = drawn
        self.count = drawn.choice((1, 1, 2, 2, 3))
        self.window = drawn.choice((1, 1, 2))
        self.clip = drawn.choice(
            ("", "", "clip_grad_norm_({m}.parameters(), 0.5)", "clip_grad_value_({m}.parameters(), 0.1)")
        )
        self.joint = drawn.random() < 0.5
        self.schedule = drawn.random() < 0.25
        self.helper = drawn.random() < 0.25
        self.collection = drawn.random() < 0.25
        self.lines = self.iteration()

    def iteration(self) -> list[Line]:
        each = [self.of(which) for which in range(self.count)]
        lines: list[Line] = []
        if self.joint:
            for kinds in (("clear",), ("loss", "backward"), ("unscale", "clip", "step")):
                lines += [line for one in each for line in one if line.kind in kinds]
        else:
            lines += [line for one in each for line in one]
        after = self.window > 1
        if after:
            lines = [line for line in lines if line.kind != "clear"]
        lines = [replace(line, boundary=after and line.kind in ("unscale", "clip", "step")) for line in lines]
        if after and not self.joint:  # what is done at the boundary comes after all backward passes
            lines = [line for line in lines if not line.boundary] + [line for line in lines if line.boundary]
        lines.append(Line("update", 0, "scaler.update()", after))
        if self.schedule:
            lines.append(Line("schedule", 0, "schedule.step()", after))
        if after:
            lines += [Line("clear", which, "{o}.zero_grad()", True) for which in range(self.count)]
        return lines

    def of(self, which: int) -> list[Line]:
        divided = "" if self.window == 1 else f" / {self.window}"
        lines = [
            Line("clear", which, "{o}.zero_grad()"),
            Line("loss", which, "{l} = ({m}(x) - y).pow(2).mean()" + divided),
            Line("backward", which, "scaler.scale({l}).backward()"),
        ]
        if self.clip:
            lines += [
                Line("unscale", which, "scaler.unscale_({o})"),
                Line("clip", which, f"torch.nn.utils.{self.clip}"),
            ]
        return [*lines, Line("step", which, "scaler.step({o})")]

    def source(self, lines: list[Line]) -> str:
        names = NETWORKS[: self.count]
        text = ["import torch", "", ""]
        if self.helper:
            text += ["def learn(scaler, loss):", "    scaler.scale(loss).backward()", "", ""]
        text.append("def train(data):")
        text += [f"    {name} = torch.nn.Linear(3, 2)" for name in names]
        made = [f"torch.optim.SGD({name}.parameters(), lr=0.1)" for name in names]
        if self.collection:
            text.append(f"    optimizers = [{', '.join(made)}]")
            optimizers = [f"optimizers[{index}]" for index in range(self.count)]
        else:
            optimizers = [f"{name}_optimizer" for name in names]
            text += [f"    {name} = {value}" for name, value in zip(optimizers, made, strict=True)]
        if self.schedule:
            text.append(f"    schedule = torch.optim.lr_scheduler.StepLR({optimizers[0]}, 1, gamma=0.5)")
        text.append('    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)')
        text.append("    for i, (x, y) in enumerate(data):")
        guarded = False
        for line in lines:
            which = line.which
            said = line.text.format(o=optimizers[which], m=names[which], l=f"{names[which]}_loss")
            if line.boundary and not guarded:
                text.append(f"        if (i + 1) % {self.window} == 0:")
            guarded = line.boundary
            text += [("            " if guarded else "        ") + part for part in said.split("\n")]
        parts = ", ".join(f"*{name}.parameters()" for name in names)
        text.append(f"    return [{parts}]")
        return "\n".join(text) + "\n"


def places(lines: list[Line], kind: str) -> list[int]:
    return [index for index, line in enumerate(lines) if line.kind == kind]


Lines = list[Line]


def without_update(lines: Lines, at: int) -> Lines | None:
    return [line for line in lines if line.kind != "update"]


def plain_step(lines: Lines, at: int) -> Lines | None:
    return changed(lines, "step", at, "{o}.step()")


def plain_step_without_update(lines: Lines, at: int) -> Lines | None:
    return without_update(plain_step(lines, at) or [], at) if len(places(lines, "step")) == 1 else None


def clip_without_unscale(lines: Lines, at: int) -> Lines | None:
    found = places(lines, "unscale")
    return [line for index, line in enumerate(lines) if index != found[at % len(found)]] if found else None


def unscale_after_clip(lines: Lines, at: int) -> Lines | None:
    return moved(lines, "unscale", at, 1)


def unscaled_backward(lines: Lines, at: int) -> Lines | None:
    return changed(lines, "backward", at, "{l}.backward()")


def scale_dropped(lines: Lines, at: int) -> Lines | None:
    return changed(lines, "backward", at, "scaler.scale({l})\n{l}.backward()")


def scaled_twice(lines: Lines, at: int) -> Lines | None:
    return changed(lines, "backward", at, "scaler.scale(scaler.scale({l})).backward()")


def scaled_loss_kept(lines: Lines, at: int) -> Lines | None:
    return changed(lines, "backward", at, "{l} = scaler.scale({l})\n{l}.backward()\nnumber = {l}.item()")


def update_before_last_step(lines: Lines, at: int) -> Lines | None:
    return moved(lines, "update", 0, -1) if len(places(lines, "step")) > 1 else None


def updated_twice(lines: Lines, at: int) -> Lines | None:
    return repeated(lines, "update", 0)


def updated_each_time(lines: Lines, at: int) -> Lines | None:
    if not any(line.boundary for line in lines):
        return None
    rest = [line for line in lines if line.kind != "update"]
    return [*rest, Line("update", 0, "scaler.update()")]


def unscaled_twice(lines: Lines, at: int) -> Lines | None:
    return repeated(lines, "unscale", at)


def stepped_twice(lines: Lines, at: int) -> Lines | None:
    return repeated(lines, "step", at)


def cleared_before_step(lines: Lines, at: int) -> Lines | None:
    found = places(lines, "clear")
    if not found or lines[found[0]].boundary:
        return None
    clear = lines[found[at % len(found)]]
    rest = [line for line in lines if line != clear]
    place = next(index for index, line in enumerate(rest) if line.kind == "backward" and line.which == clear.which)
    return [*rest[: place + 1], clear, *rest[place + 1 :]]


def unscale_before_backward(lines: Lines, at: int) -> Lines | None:
    found = places(lines, "unscale")
    if not found or lines[found[0]].boundary:
        return None
    unscale = lines[found[at % len(found)]]
    rest = [line for line in lines if line != unscale]
    place = next(index for index, line in enumerate(rest) if line.kind == "backward" and line.which == unscale.which)
    return [*rest[:place], unscale, *rest[place:]]


def scheduled_before_step(lines: Lines, at: int) -> Lines | None:
    found = places(lines, "schedule")
    if not found:
        return None
    rest = [line for line in lines if line.kind != "schedule"]
    place = places(rest, "step")[0]
    return [*rest[:place], lines[found[0]], *rest[place:]]


def wrong_update(lines: Lines, at: int) -> Lines | None:
    return changed(lines, "update", 0, "scaler.update(scaler.get_scale())")


def step_given_a_step(lines: Lines, at: int) -> Lines | None:
    return changed(lines, "step", at, "scaler.step({o}.step())")


def changed(lines: Lines, kind: str, at: int, text: str) -> Lines | None:
    found = places(lines, kind)
    if not found:
        return None
    chosen = found[at % len(found)]
    return [replace(line, text=text) if index == chosen else line for index, line in enumerate(lines)]


def repeated(lines: Lines, kind: str, at: int) -> Lines | None:
    found = places(lines, kind)
    if not found:
        return None
    chosen = found[at % len(found)]
    return [*lines[: chosen + 1], *lines[chosen:]]


def moved(lines: Lines, kind: str, at: int, by: int) -> Lines | None:
    found = places(lines, kind)
    if not found:
        return None
    chosen = found[at % len(found)]
    rest = [*lines[:chosen], *lines[chosen + 1 :]]
    return [*rest[: chosen + by], lines[chosen], *rest[chosen + by :]]


FAULTS = (
    without_update,
    plain_step,
    plain_step_without_update,
    clip_without_unscale,
    unscale_after_clip,
    unscaled_backward,
    scale_dropped,
    scaled_twice,
    scaled_loss_kept,
    update_before_last_step,
    updated_twice,
    updated_each_time,
    unscaled_twice,
    stepped_twice,
    cleared_before_step,
    unscale_before_backward,
    scheduled_before_step,
    wrong_update,
    step_given_a_step,
)


def pair(seed: int) -> Pair:
    """The pair of ``seed``."""
    drawn = random.Random(seed)
    while True:
        meaning = Meaning(drawn)
        fault = drawn.choice(FAULTS)
        lines = fault(meaning.lines, drawn.randrange(6))
        if lines is None:
            continue
        intended = meaning.lines
        if meaning.helper and fault.__name__ not in ("scaled_twice", "scaled_loss_kept"):
            call = "scaler.scale({l}).backward()"
            intended, lines = (
                [replace(line, text="learn(scaler, {l})") if line.text == call else line for line in each]
                for each in (intended, lines)
            )
        return Pair(fault.__name__, meaning.source(intended), meaning.source(lines))
