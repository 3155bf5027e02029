"""One measured run of a training script, in a process of its own: ``python -m amplint.harness.measuring``."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch.amp import GradScaler, autocast
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from amplint.harness.autocast import switch_off
from amplint.harness.patches import Patches
from amplint.harness.script import run_script

FLUSHED = 2.0**-25
"""What float16 rounds to zero is no larger than this."""
PROGRESS = ".progress"
"""What the name of the file with a byte for each step ends with."""
_LOWEST, _HIGHEST = -60, 20


@dataclass
class Run:
    """What was measured; ``steps`` are seconds, after the warm-up."""

    mixed: bool
    steps: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    skipped: int = 0
    regions: int = 0
    device: str = "cpu"
    memory: int = 0
    gradients: int = 0
    """How many gradient elements that are not zero were looked at."""
    flushed: int = 0
    flushed_scaled: int = 0
    """How many float16 would flush to zero, as they are and 65536 times larger."""
    histogram: dict[int, int] = field(default_factory=dict)
    """Exponent of two -> how many of them."""
    error: str | None = None


class _Enough(BaseException):
    """All steps that were asked for are measured."""


class _Meter:
    def __init__(self, run: Run, warm_up: int, steps: int, stepped: Callable[[], object]) -> None:
        self._tell = stepped
        self._run, self._warm_up, self._wanted = run, warm_up, steps
        self._leader: int | None = None
        self._count = 0
        self._stepped = False
        self._loss: torch.Tensor | None = None
        self._since = time.perf_counter()

    def install(self, patches: Patches) -> None:
        """Listen to steps, updates, losses and regions."""
        self._hook = register_optimizer_step_pre_hook(self._steps)
        scaler_step, update, scale = GradScaler.step, GradScaler.update, GradScaler.scale
        backward = torch.autograd.backward
        enter: Callable[..., Any] = autocast.__enter__

        @functools.wraps(scaler_step)
        def watched_step(scaler: GradScaler, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            self._stepped = False
            result = scaler_step(scaler, optimizer, *args, **kwargs)
            if not self._stepped:
                self._run.skipped += 1
                self._boundary(optimizer)
            return result

        @functools.wraps(update)
        def watched_update(scaler: GradScaler, *args: Any, **kwargs: Any) -> None:
            update(scaler, *args, **kwargs)
            if scaler.is_enabled():
                self._run.scales.append(scaler.get_scale())

        @functools.wraps(scale)
        def watched_scale(scaler: GradScaler, outputs: Any) -> Any:
            scaled = scale(scaler, outputs)
            if isinstance(outputs, torch.Tensor):
                self._loss = outputs.detach()
            return scaled

        @functools.wraps(backward)
        def watched_backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
            if self._loss is None and isinstance(tensors, torch.Tensor) and tensors.numel() == 1:
                self._loss = tensors.detach()
            backward(tensors, *args, **kwargs)

        def watched_enter(region: autocast) -> Any:
            self._run.regions += region._enabled
            return enter(region)

        patches.set(GradScaler, "step", watched_step)
        patches.set(GradScaler, "update", watched_update)
        patches.set(GradScaler, "scale", watched_scale)
        patches.set(torch.autograd, "backward", watched_backward)
        patches.set(autocast, "__enter__", watched_enter)

    def remove(self) -> None:
        """Cease to listen."""
        self._hook.remove()

    def _steps(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._stepped = True
        self._boundary(optimizer)

    def _boundary(self, optimizer: Any) -> None:
        """A step of an optimizer; those of the first one divide the run into steps."""
        if self._leader is None:
            self._leader = id(optimizer)
        if id(optimizer) != self._leader:
            return
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        if any(p.is_cuda for p in parameters):
            self._run.device = "cuda"
            torch.cuda.synchronize()
        took = time.perf_counter() - self._since
        self._count += 1
        if self._loss is not None:
            self._run.losses.append(self._loss.float().mean().item())
            self._loss = None
        if self._count > self._warm_up:
            self._run.steps.append(took)
        if self._count in (self._warm_up + 1, self._warm_up + self._wanted):
            for parameter in parameters:
                if parameter.grad is not None:
                    self._look_at(parameter.grad)
        if self._count >= self._warm_up + self._wanted:
            raise _Enough
        self._tell()
        self._since = time.perf_counter()

    def _look_at(self, gradient: torch.Tensor) -> None:
        values = (gradient.coalesce().values() if gradient.is_sparse else gradient).detach().float().abs().flatten()
        values = values[(values > 0) & values.isfinite()]
        self._run.gradients += values.numel()
        self._run.flushed += int((values <= FLUSHED).sum())
        self._run.flushed_scaled += int((values * 65536 <= FLUSHED).sum())
        exponents, counts = torch.unique(values.log2().floor().clamp(_LOWEST, _HIGHEST).int(), return_counts=True)
        for exponent, count in zip(exponents.tolist(), counts.tolist(), strict=True):
            self._run.histogram[exponent] = self._run.histogram.get(exponent, 0) + count


def measured(
    script: str,
    args: list[str],
    *,
    mixed: bool,
    warm_up: int,
    steps: int,
    stepped: Callable[[], object] = lambda: None,
) -> Run:
    """Run ``script`` until it has made ``warm_up`` and ``steps`` steps, with mixed precision as written or off.

    ``stepped`` is called after each step, in no measured time.
    """
    run = Run(mixed)
    meter = _Meter(run, warm_up, steps, stepped)
    torch.manual_seed(0)
    with Patches() as patches:
        if not mixed:
            switch_off(patches)
        meter.install(patches)
        try:
            run_script(script, args)
        except _Enough:
            pass
        except SystemExit as exit:
            if exit.code:
                run.error = f"it ended with exit code {exit.code}"
        except BaseException as error:
            traceback.print_exc()
            run.error = f"{type(error).__name__}: {error}"
        finally:
            meter.remove()
    if run.device == "cuda":
        run.memory = torch.cuda.max_memory_allocated()
    else:
        with contextlib.suppress(ImportError):  # Windows has no such module
            import resource

            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            run.memory = peak if sys.platform == "darwin" else peak * 1024
    run.losses = [loss if math.isfinite(loss) else float("nan") for loss in run.losses]
    return run


def _main() -> None:
    out, mixed, warm_up, steps, script, *args = sys.argv[1:]
    with open(out + PROGRESS, "wb", buffering=0) as progress:
        run = measured(
            script,
            args,
            mixed=mixed == "on",
            warm_up=int(warm_up),
            steps=int(steps),
            stepped=lambda: progress.write(b"."),
        )
    with open(out, "w", encoding="utf-8") as file:
        json.dump(asdict(run), file)


if __name__ == "__main__":
    _main()
