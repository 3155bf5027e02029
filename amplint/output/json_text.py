"""JSON as text that is harmless in the log of a CI system, and the same JSON to every reader."""

from __future__ import annotations

import json

from amplint.output.style import COMMAND_BRACKET


def dumps(value: object, *, indent: int | None = 2) -> str:
    """``value`` as JSON in ASCII; on one line where ``indent`` is None."""
    text = json.dumps(value, indent=indent, separators=(",", ":") if indent is None else None)
    return COMMAND_BRACKET.sub(r"\1\\u005b", text) + "\n"
