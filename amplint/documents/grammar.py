"""What is Python: asked of the Python that runs, since that is quick."""

from __future__ import annotations

import ast
import warnings


def is_python(source: str) -> bool:
    """Whether the Python that runs parses ``source``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
