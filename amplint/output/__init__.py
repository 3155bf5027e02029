"""What is printed: one file a format, each with ``render(reports, style)`` to text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from amplint.output.style import Style
from amplint.project import Report

Renderer = Callable[[Sequence[Report], Style], str]

FOR_PEOPLE = ("full", "concise", "grouped")
"""The formats after which a summary belongs."""

_MODULES = {"json": "json_array"}  # a module called json would be in the way of Python's own


def renderer(output_format: str) -> Renderer:
    """The function that writes reports in ``output_format``, one of :data:`amplint.config.OUTPUT_FORMATS`."""
    module = import_module(f"amplint.output.{_MODULES.get(output_format, output_format.replace('-', '_'))}")
    render: Renderer = module.render
    return render
