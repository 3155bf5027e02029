"""What is printed: one file a format, each with ``render(reports, unsafe_fixes...)`` to text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from amplint.output.style import Style
from amplint.project import Report

Renderer = Callable[[Sequence[Report], Style], str]

_MODULES = {"full": "full", "concise": "concise", "json": "json_array", "github": "github"}


def renderer(output_format: str) -> Renderer:
    """The function that writes reports in ``output_format``, one of :data:`amplint.config.OUTPUT_FORMATS`."""
    module = import_module(f"amplint.output.{_MODULES[output_format]}")
    render: Renderer = module.render
    return render
