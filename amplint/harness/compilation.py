"""``torch.compile`` under the stand-in: the program runs as written, uncompiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from amplint.harness.patches import Patches


def run_eagerly(patches: Patches) -> None:
    """Make ``torch.compile`` and ``Module.compile`` leave everything as it is, and say so at the first use.

    Compiled code does not pass through the modes that stand in for CUDA and watch the gradients.
    """
    said = False

    def notice() -> None:
        nonlocal said
        if not said:
            said = True
            print("amplint: torch.compile is left out of this run: it runs uncompiled", file=sys.stderr)

    def compile(model: Callable[..., Any] | None = None, **options: Any) -> Any:
        notice()
        return (lambda function: function) if model is None else model

    def compile_module(module: torch.nn.Module, *args: Any, **options: Any) -> None:
        notice()

    patches.set(torch, "compile", compile)
    patches.set(torch.nn.Module, "compile", compile_module)
