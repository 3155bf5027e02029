"""How long amplint takes beside other tools: on a tree of which 5 % use AMP, a training script, a file without AMP.

Everything is generated, so that anybody measures the same, and each tool is installed from the package index into an
environment of its own, amplint from this folder. The tools take turns, the first turn only warms up; the medians are
printed as the README's table, by the clock and in processor time, which a busy machine changes less. The slow ones are
asked about a smaller tree, and amplint and Ruff about that, too.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from prefilter import write_tree
from tools import Runs, install, measure

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


def table(cases: Mapping[str, Mapping[str, Runs]], clock: str) -> str:
    """The medians with their ratios to Ruff's, and the peak memory of any process, as Markdown."""
    names = dict.fromkeys(name for runs in cases.values() for name in runs)
    lines = [f"| | {' | '.join(cases)} | peak memory |", "| --- |" + " ---: |" * (len(cases) + 1)]
    for name in names:
        cells = []
        for runs in cases.values():
            if name not in runs:
                cells.append("")
                continue
            median = runs[name].median(clock)
            times = median / runs["Ruff"].median(clock)
            cells.append(f"{median:.2f} s ({times:.{1 if times >= 1 else 2}f})")
        peak = max(max(runs[name].megabytes) for runs in cases.values() if name in runs)
        lines.append(f"| {name} | {' | '.join(cells)} | {peak:.0f} MB |")
    return "\n".join(lines)


def main() -> None:
    """Install, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000, help="in the tree")
    parser.add_argument("--slow-files", type=int, default=200, help="in the smaller tree")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow-rounds", type=int, default=1, help="on the smaller tree")
    parser.add_argument("--no-rivals", action="store_true", help="leave TorchFix and torch-preflight out")
    parser.add_argument("--environments", type=Path, help="where to keep the environments for the next time")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        environments = (options.environments or folder / "environments").resolve()
        environments.mkdir(parents=True, exist_ok=True)
        tools = install(environments, rivals=not options.no_rivals)
        quick = {name: tool for name, tool in tools.items() if not tool.slow}
        linters = {name: tool for name, tool in quick.items() if not name.startswith("python")}
        slow = {**linters, **{name: tool for name, tool in tools.items() if tool.slow}}
        tree, smaller = folder / "tree", folder / "smaller"
        script, plain = folder / "train.py", folder / "plain"
        write_tree(tree, options.files)
        write_tree(smaller, options.slow_files)
        write_tree(plain, 1)
        amp = plant_amp(tree, 0.05)
        script.write_text(training_script(9), encoding="utf-8")
        lines = script.read_text(encoding="utf-8").count("\n")
        cases = {f"{options.files:,} files, {amp} with AMP": measure(linters, tree, options.rounds)}
        if not options.no_rivals:
            amp = plant_amp(smaller, 0.05)
            title = f"{options.slow_files:,} files, {amp} with AMP"
            cases[title] = measure(slow, smaller, options.slow_rounds)
        cases[f"a script of {lines} lines"] = measure(tools, script, options.rounds)
        cases["a file without AMP"] = measure(tools, plain, options.rounds)
    print(f"by the clock\n{table(cases, 'wall')}\n\nprocessor time\n{table(cases, 'processor')}")


if __name__ == "__main__":
    main()
