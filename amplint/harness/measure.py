"""``amplint measure``: whether mixed precision pays in this script, on this machine."""

from __future__ import annotations

import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from amplint.harness.measuring import PROGRESS, Run
from amplint.output.style import harmless, shown_path


@dataclass
class Side:
    """All runs of one kind taken together; times in milliseconds, memory in bytes."""

    step: float
    spread: float
    memory: int
    loss: float | None
    skipped: int


@dataclass
class Measurement:
    """Mixed precision as written beside the same script with it forced off."""

    device: str
    mixed: Side
    plain: Side
    speedup: float
    flushed: float
    """Share of gradients that float16 would flush to zero without a scaler."""
    flushed_scaled: float
    """The same with a scale of 65536."""
    scales: list[float]
    verdict: str
    runs: list[Run]


def main(
    script: str, args: Sequence[str], *, steps: int, warm_up: int, rounds: int, as_json: bool, report: str | None
) -> int:
    """Measure, print what was found, and return 0; 1 where the script does not get that far."""
    runs: list[Run] = []
    for number in range(rounds):
        for mixed in (True, False):
            what = "mixed precision as written" if mixed else "mixed precision forced off"
            told = _Progress(f"round {number + 1} of {rounds}: {what}", warm_up + steps)
            run, errors = _measured(script, args, told, mixed=mixed, steps=steps, warm_up=warm_up)
            if run is None or run.error or not run.steps:
                _progress("")
                sys.stderr.write(errors)
                made = "" if run is None or run.error else f"made no more than {len(run.losses)} steps; try --warm-up 0"
                why = made or (run.error if run else None) or "its process ended unexpectedly"
                print(f"amplint: {shown_path(script)}: cannot be measured: {harmless(why)}", file=sys.stderr)
                if "CUDA" in why and not torch.cuda.is_available():
                    print("amplint: there is no GPU here, and a stand-in has no timing of its own", file=sys.stderr)
                return 1
            runs.append(run)
    _progress("")
    found = weighed(runs)
    if report is not None:
        from amplint.harness.measure_report import write

        write(report, script, found)
    print(json.dumps(_finite(asdict(found)), indent=2, allow_nan=False) if as_json else _text(found))
    return 0


def _measured(
    script: str, args: Sequence[str], told: _Progress, *, mixed: bool, steps: int, warm_up: int
) -> tuple[Run | None, str]:
    with tempfile.TemporaryDirectory() as folder:
        out, errors = os.path.join(folder, "run.json"), os.path.join(folder, "errors.txt")
        options = [out, "on" if mixed else "off", str(warm_up), str(steps), script, *args]
        command = [sys.executable, "-m", "amplint.harness.measuring", *options]
        with open(errors, "wb") as file:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file)
            try:
                while not told.wait(process, out + PROGRESS):
                    pass
            except BaseException:
                process.kill()
                process.wait()
                raise
        with open(errors, encoding="utf-8", errors="replace") as file_of_errors:
            said = file_of_errors.read()
        try:
            with open(out, encoding="utf-8") as file_of_run:
                values: dict[str, Any] = json.load(file_of_run)
        except (OSError, ValueError):
            return None, said
    values["histogram"] = {int(exponent): count for exponent, count in values["histogram"].items()}
    return Run(**values), said


class _Progress:
    """Shows how far a run has come: in the file of its progress stands a byte for each step."""

    def __init__(self, what: str, steps: int) -> None:
        self._what, self._steps = what, steps
        _progress(f"{what}, {steps} steps")

    def wait(self, process: subprocess.Popen[bytes], path: str) -> bool:
        """Wait a moment; whether ``process`` has ended."""
        try:
            process.wait(_MOMENT)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                _progress(f"{self._what}, step {os.path.getsize(path)} of {self._steps}")
            return False
        return True


_MOMENT = 0.2


def _finite(value: Any) -> Any:
    """``value`` with null in place of what JSON has no number for."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def weighed(runs: list[Run]) -> Measurement:
    """What ``runs``, of both kinds, come to."""
    mixed, plain = ([run for run in runs if run.mixed is kind] for kind in (True, False))
    with_it, without = _side(mixed), _side(plain)
    gradients = sum(run.gradients for run in plain)
    scales = mixed[-1].scales
    used = any(run.regions for run in mixed)
    faster = {
        statistics.median(one.steps) < statistics.median(other.steps) for one, other in zip(mixed, plain, strict=True)
    }
    return Measurement(
        mixed[0].device,
        with_it,
        without,
        without.step / with_it.step,
        sum(run.flushed for run in plain) / max(gradients, 1),
        sum(run.flushed_scaled for run in plain) / max(gradients, 1),
        scales,
        _verdict(with_it, without, used=used, agreed=len(faster) == 1),
        runs,
    )


def _side(runs: list[Run]) -> Side:
    steps = sorted(step * 1e3 for run in runs for step in run.steps)
    quarter = len(steps) // 4
    losses = [loss for run in runs for loss in run.losses[-1:]]
    return Side(
        statistics.median(steps),
        steps[-1 - quarter] - steps[quarter],
        max(run.memory for run in runs),
        statistics.fmean(losses) if losses else None,
        sum(run.skipped for run in runs),
    )


def _verdict(mixed: Side, plain: Side, *, used: bool, agreed: bool) -> str:
    if not used:
        return "The script enters no autocast region that is switched on in these steps: there is nothing to compare."
    ratio = plain.step / mixed.step
    apart = abs(plain.step - mixed.step) > max(mixed.spread, plain.spread) / 2
    saved = 1 - mixed.memory / plain.memory if plain.memory else 0.0
    memory = f", and needs {abs(saved):.0%} {'less' if saved > 0 else 'more'} memory" if abs(saved) >= 0.02 else ""
    if not agreed or not apart or 0.97 < ratio < 1.03:
        return f"Mixed precision makes no difference to the time of a step here{memory}."
    if ratio > 1:
        return f"Mixed precision pays here: a step is {ratio:.2f} times as fast{memory}."
    return f"Mixed precision does not pay here: a step takes {1 / ratio:.2f} times as long{memory}."


def rows(found: Measurement) -> list[tuple[str, str, str]]:
    """What was measured of both sides: name, with mixed precision, with it forced off."""
    sides = (found.mixed, found.plain)
    return [
        (name, *values)  # type: ignore[misc]
        for name, values in (
            ("a step, median", [f"{side.step:.2f} ms" for side in sides]),
            ("middle half within", [f"{side.spread:.2f} ms" for side in sides]),
            ("peak memory", [f"{side.memory / 2**20:.0f} MiB" for side in sides]),
            ("loss at the end", ["-" if side.loss is None else f"{side.loss:.4g}" for side in sides]),
            ("skipped steps", [str(side.skipped) for side in sides]),
        )
    ]


def flushed(found: Measurement) -> str:
    """What float16 would make of the gradients, in a sentence."""
    share = f"{found.flushed:.1%}, with a scale of 65536 {found.flushed_scaled:.1%}"
    return f"Gradients that float16 would flush to zero: {share}."


def _text(found: Measurement) -> str:
    lines = [f"{'':22}{'mixed precision':>18}{'forced off':>14}"]
    lines += [f"{name:22}{mixed:>18}{plain:>14}" for name, mixed, plain in rows(found)]
    lines.append(flushed(found))
    if found.scales:
        lines.append(f"Scale: {found.scales[0]:g} at first, {found.scales[-1]:g} at the end.")
    where = "a GPU" if found.device == "cuda" else "the CPU"
    return "\n".join([*lines, f"Measured on {where}. {found.verdict}"])
