"""How many findings there are of each rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amplint.output.json_text import dumps
from amplint.output.style import Style
from amplint.project import Report
from amplint.registry import installed

FORMATS = ("full", "concise", "grouped", "json")


@dataclass(frozen=True, slots=True)
class _Count:
    code: str
    name: str
    found: int
    fixable: int


def render(reports: Sequence[Report], style: Style, output_format: str) -> str:
    """A table, or JSON, with a row for each rule that found something, the most frequent first.

    ``output_format`` is one of :data:`FORMATS`.
    """
    counts = _counts(reports)
    if output_format == "json":
        return dumps(
            [
                {
                    "code": count.code,
                    "name": count.name,
                    "count": count.found,
                    "fixable": count.found == count.fixable,
                    "fixable_count": count.fixable,
                }
                for count in counts
            ]
        )
    some = any(count.fixable for count in counts)
    number, code = (max((len(str(cell)) for cell in cells), default=0) for cells in zip(*_cells(counts), strict=True))
    return "".join(
        f"{style('bold', f'{count.found:<{number}}')}\t{style('red', f'{count.code:<{code}}')}\t"
        f"{style('cyan', _marker(count)) + ' ' if some else ''}{count.name}\n"
        for count in counts
    )


def _counts(reports: Sequence[Report]) -> list[_Count]:
    found: dict[str, list[bool]] = {}
    for report in reports:
        for finding in report.findings:
            found.setdefault(finding.code, []).append(report.fixable(finding))
    counts = []
    for code, fixable in found.items():
        rule = installed().get(code)
        counts.append(_Count(code, rule.name if rule else "", len(fixable), sum(fixable)))
    return sorted(counts, key=lambda count: (-count.found, count.code))


def _cells(counts: list[_Count]) -> list[tuple[int, str]]:
    return [(count.found, count.code) for count in counts] or [(0, "")]


def _marker(count: _Count) -> str:
    return "[ ]" if not count.fixable else "[*]" if count.fixable == count.found else "[-]"
