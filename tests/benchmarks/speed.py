"""How long amplint takes beside Ruff: on a tree of which 5 % use AMP, on one training script, on a file without AMP.

Everything is generated, so that anybody measures the same. The commands take turns, the first turn only warms up, and
the medians are printed: of wall time, and of processor time, which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from prefilter import write_tree

_PYTHON = [sys.executable, "-c", "pass"]
_RUFF = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F", "--no-cache", "--quiet", "--exit-zero"]
_AMPLINT = [sys.executable, "-m", "amplint", "--quiet", "--exit-zero"]

_EPOCH = """

def train_{number}(loader, model, optimizer, criterion, use_amp=True):
    scaler = GradScaler("cuda", enabled=use_amp)
    losses = []
    for step, (inputs, targets) in enumerate(loader):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16, enabled=use_amp):
            outputs = model(inputs)
            loss = criterion(outputs, targets) / {number}.0
        scaler.scale(loss).backward()
        if step % {number} == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), {number}.0)
            scaler.step(optimizer)
            scaler.update()
        losses.append(loss.item())
        if step % 100 == 0:
            print(f"step {{step}}: {{sum(losses) / len(losses):.3f}}")
    return losses


class Block{number}(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = torch.nn.Linear(width, {number} * width)
        self.second = torch.nn.Linear({number} * width, width)
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, x):
        hidden = torch.nn.functional.gelu(self.first(x))
        return self.norm(x + self.second(hidden))
"""


@dataclass
class Times:
    """What the runs of one command took, in seconds."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


def training_script(functions: int) -> str:
    """A script of about 33 lines for each of its training functions, without a fault."""
    return "import torch\nfrom torch.amp import GradScaler\n" + "".join(
        _EPOCH.format(number=number) for number in range(2, 2 + functions)
    )


def plant_amp(root: Path, share: float) -> int:
    """Make that share of the files training code, as if it had been written there; how many that is."""
    files = sorted(root.rglob("*.py"))
    chosen = files[:: round(1 / share)]
    for number, file in enumerate(chosen):
        file.write_text(file.read_text(encoding="utf-8") + training_script(1 + number % 3), encoding="utf-8")
    return len(chosen)


def measure(commands: dict[str, list[str]], path: Path, rounds: int) -> dict[str, Times]:
    """The times of each command on ``path``."""
    times = {name: Times() for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            before, start = os.times(), time.perf_counter()
            subprocess.run([*command, str(path)], stdout=subprocess.DEVNULL, check=True)
            after, end = os.times(), time.perf_counter()
            if turn:
                used = after.children_user + after.children_system - before.children_user - before.children_system
                times[name].wall.append(end - start)
                times[name].processor.append(used)
    return times


def show(title: str, times: dict[str, Times]) -> None:
    """Print the medians, and the ratio to the first command's."""
    print(title)
    first, *_ = times.values()
    for name, each in times.items():
        wall, processor = statistics.median(each.wall), statistics.median(each.processor)
        ratio = wall / statistics.median(first.wall), processor / statistics.median(first.processor)
        print(f"  {name:8} wall {wall:7.3f} s ({ratio[0]:5.2f}), processor {processor:7.3f} s ({ratio[1]:5.2f})")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    linters = {"ruff": _RUFF, "amplint": _AMPLINT}
    with tempfile.TemporaryDirectory() as folder:
        tree, script, plain = Path(folder, "tree"), Path(folder, "train.py"), Path(folder, "plain")
        write_tree(tree, options.files)
        amp = plant_amp(tree, 0.05)
        script.write_text(training_script(9), encoding="utf-8")
        write_tree(plain, 1)
        lines = script.read_text(encoding="utf-8").count("\n")
        show(f"{options.files} files, {amp} of them with AMP", measure(linters, tree, options.rounds))
        short = {"python": _PYTHON, **linters}
        show(f"one training script of {lines} lines", measure(short, script, options.rounds))
        show("one file without AMP", measure(short, plain, options.rounds))


if __name__ == "__main__":
    main()
