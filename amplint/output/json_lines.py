"""The objects of the JSON array, one on each line."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.output.json_array import records
from amplint.output.json_text import dumps
from amplint.output.style import Style
from amplint.project import Report


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports`` as JSON lines."""
    return "".join(dumps(record, indent=None) for record in records(reports))
