"""``amplint verify --self-test``: whether the reference pattern runs here as it was recorded."""

from __future__ import annotations

import sys

import torch

from amplint.harness.reference import ReferenceRun, reference_run
from amplint.harness.watch import watch
from amplint.output.style import Style

RECORDED = ReferenceRun("bfloat16", "float32", (5.1801, 4.8980, 4.6345, 4.3843, 4.1315), 65536.0)
"""What :func:`amplint.harness.reference.reference_run` gives, the losses to four decimals."""


def main() -> int:
    """Run the reference pattern under watch, print it beside the record, and return 1 where they differ."""
    with watch() as report:
        run = reference_run(len(RECORDED.losses))
    style = Style.of(sys.stdout)
    print(
        f"bfloat16 autocast with a gradient scaler, {len(RECORDED.losses)} steps on the CPU, torch {torch.__version__}"
    )
    print(f"  {'':14}{'here':36}recorded")
    right = True
    for what, is_right, here, recorded in (
        ("output, loss", run[:2] == RECORDED[:2], " ".join(run[:2]), " ".join(RECORDED[:2])),
        ("losses", _written(run.losses) == _written(RECORDED.losses), _written(run.losses), _written(RECORDED.losses)),
        ("scale", run.scale == RECORDED.scale, str(run.scale), str(RECORDED.scale)),
        ("watch", not report.findings, str(report), "clean"),
    ):
        right &= is_right
        print(f"  {what:14}{style('green' if is_right else 'red', f'{here:34}')}  {recorded}")
    print("Mixed precision works here as recorded." if right else "Mixed precision works differently here.")
    return int(not right)


def _written(losses: tuple[float, ...]) -> str:
    return " ".join(f"{loss:.4f}" for loss in losses)
