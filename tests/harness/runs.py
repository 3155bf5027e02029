"""How the harness's tests run scripts: in this process, where torch is imported once."""

from __future__ import annotations

import contextlib
import io
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from amplint.harness import Report, virtual_cuda, watch
from amplint.harness.script import run_script

new_torch = pytest.mark.skipif(not hasattr(torch.amp, "custom_fwd"), reason="needs names that torch 2.4 brought")

FIXTURES = Path(__file__).parents[2] / "fixtures"


@dataclass
class Run:
    """What came of a script."""

    report: Report = field(default_factory=Report)
    weights: list[Any] = field(default_factory=list)
    error: str | None = None
    warnings: list[str] = field(default_factory=list)

    def distance(self, other: Run) -> float:
        """How far the weights are apart at most; infinite where one is not a number."""
        assert self.weights and len(self.weights) == len(other.weights)
        apart = [(a - b).abs().max().item() for a, b in zip(self.weights, other.weights, strict=True)]
        return max(float("inf") if distance != distance else distance for distance in apart)


def run(path: Path, *, mixed_precision: bool = True) -> Run:
    """Run the script at ``path`` under virtual CUDA and the watch; its weights are those of its ``model``."""
    result = Run()
    caught: list[warnings.WarningMessage]
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        try:
            with virtual_cuda(mixed_precision=mixed_precision), watch(result.report):
                namespace = run_script(str(path))
        except Exception as error:
            result.error = f"{type(error).__name__}: {error}"
        else:
            result.weights = [parameter.detach().clone() for parameter in namespace["model"].parameters()]
    result.warnings = [f"{warning.category.__name__}: {warning.message}" for warning in caught]
    return result
