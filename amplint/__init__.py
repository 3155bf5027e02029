"""amplint finds and fixes misuse of PyTorch automatic mixed precision (AMP).

Importing it costs next to nothing: what it exports is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from amplint.api import Outcome, fix_source, lint_paths, lint_source
    from amplint.config import ConfigError
    from amplint.documents import Place, UnreadableDocument
    from amplint.findings import Applicability, Edit, Finding, Fix, Location, Related, Severity
    from amplint.registry import UnknownRule

__all__ = [
    "Applicability",
    "ConfigError",
    "Edit",
    "Finding",
    "Fix",
    "Location",
    "Outcome",
    "Place",
    "Related",
    "Severity",
    "UnknownRule",
    "UnreadableDocument",
    "__version__",
    "fix_source",
    "lint_paths",
    "lint_source",
]

_HOMES = {
    "amplint.api": ("Outcome", "fix_source", "lint_paths", "lint_source"),
    "amplint.config": ("ConfigError",),
    "amplint.documents": ("Place", "UnreadableDocument"),
    "amplint.findings": ("Applicability", "Edit", "Finding", "Fix", "Location", "Related", "Severity"),
    "amplint.registry": ("UnknownRule",),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            value = globals()[name] = getattr(import_module(home), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
