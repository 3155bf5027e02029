"""What training scripts do when they are run: before, after, and in float32."""

from __future__ import annotations

import contextlib
import html
import io
import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amplint.site.chart import Line, chart


@dataclass
class Run:
    """What came of a script: how far each step moved the weights, where they ended, what was raised and warned of."""

    moves: list[float] = field(default_factory=list)
    weights: list[Any] = field(default_factory=list)
    error: str | None = None
    deprecations: list[str] = field(default_factory=list)


def measure(before: Path, after: Path | None) -> str:
    """HTML that tells and draws what the scripts do, beside the same training in float32."""
    faulty = _run(before)
    fixed = _run(after) if after else None
    reference = _run(after or before, mixed_precision=False)
    told = [f"<b>Before:</b> {_outcome(faulty, reference)}."]
    lines = [Line("before", "before", faulty.moves)]
    if fixed:
        told.append(f"<b>After:</b> {_outcome(fixed, reference)}.")
        lines.append(Line("after", "after", fixed.moves))
    if reference.moves:
        lines.append(Line("float32", "in float32", reference.moves))
    drawn = chart("How far each step of an optimizer moves the weights", "step", lines)
    return f'<div class="measured"><p>{" ".join(told)}</p>{drawn}</div>\n'


def _outcome(run: Run, reference: Run) -> str:
    if run.error is not None:
        steps = f"{len(run.moves)} step{'' if len(run.moves) == 1 else 's'}"
        return f"after {steps} it raises <code>{html.escape(run.error)}</code>"
    if run.deprecations:
        told = " and ".join(f"<code>{html.escape(text)}</code>" for text in run.deprecations)
        return f"PyTorch warns that {told}"
    apart = _distance(run, reference)
    if math.isinf(apart):
        return "the weights end as NaN"
    return f"the weights end {apart:.2g} away from those of the float32 run"


def _distance(run: Run, other: Run) -> float:
    apart = [(a - b).abs().max().item() for a, b in zip(run.weights, other.weights, strict=True)]
    return max((math.inf if math.isnan(distance) else distance for distance in apart), default=math.inf)


def _run(path: Path, *, mixed_precision: bool = True) -> Run:
    """Run the script at ``path`` on the CPU that stands in for a GPU."""
    from amplint.harness import virtual_cuda
    from amplint.harness.script import run_script

    result = Run()
    caught: list[warnings.WarningMessage]
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        try:
            with virtual_cuda(mixed_precision=mixed_precision), _moves(result.moves):
                namespace = run_script(str(path))
        except Exception as error:
            result.error = f"{type(error).__name__}: {error}"
        else:
            result.weights = [parameter.detach().clone() for parameter in namespace["model"].parameters()]
    told = (re.match(r"`?(torch\.[\w.]+).* is deprecated", str(warning.message)) for warning in caught)
    result.deprecations = list(dict.fromkeys(f"{match[1]} is deprecated" for match in told if match))
    return result


@contextlib.contextmanager
def _moves(found: list[float]) -> Iterator[None]:
    """Write down how far each step of any optimizer moves its parameters."""
    from torch.optim import Optimizer
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    before: dict[Optimizer, list[Any]] = {}

    def parameters(optimizer: Optimizer) -> list[Any]:
        return [parameter.detach().clone() for group in optimizer.param_groups for parameter in group["params"]]

    def begin(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        before[optimizer] = parameters(optimizer)

    def end(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        pairs = zip(parameters(optimizer), before.pop(optimizer), strict=True)
        found.append(math.sqrt(sum((new - old).double().pow(2).sum().item() for new, old in pairs)))

    hooks = [register_optimizer_step_pre_hook(begin), register_optimizer_step_post_hook(end)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
