"""A small chart of some lines over steps, as SVG with a switch for each line."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT = 640, 200
_LEFT, _BOTTOM, _TOP = 56, 24, 10

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Line:
    """One value a step; ``kind`` is how the style sheet knows the line."""

    kind: str
    label: str
    values: Sequence[float]


def chart(title: str, unit: str, lines: Sequence[Line]) -> str:
    """HTML that draws ``lines`` on a logarithmic scale; what is no number above zero is left out of its line."""
    shown = [value for line in lines for value in line.values if _drawable(value)]
    if not shown:
        return ""
    low, high = math.floor(math.log10(min(shown))), math.ceil(math.log10(max(shown)))
    high = max(high, low + 1)
    count = max(len(line.values) for line in lines)

    def x(step: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - 8) * (step + 0.5) / count

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - math.log10(value)) / (high - low)

    def parts() -> Iterator[str]:
        for power in range(low, high + 1, max(1, (high - low) // 4)):
            at = y(10.0**power)
            yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{at:.1f}" y2="{at:.1f}"/>'
            yield f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
        for step in range(0, count, math.ceil(count / 16)):
            yield f'<text x="{x(step):.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{step + 1}</text>'
        for line in lines:
            points = [(x(step), y(value), value) for step, value in enumerate(line.values) if _drawable(value)]
            path = "L".join(f"{left:.1f} {top:.1f}" for left, top, _ in points)
            yield f'<path class="{line.kind}" d="M{path}"/>' if points else ""
            for left, top, value in points:
                told = f"<title>{html.escape(line.label)}: {value:.3g}</title>"
                yield f'<circle class="{line.kind}" cx="{left:.1f}" cy="{top:.1f}" r="3.5">{told}</circle>'

    switches = ""
    for line in lines:
        name = f"line-{next(_numbers)}"
        switches += (
            f'<input type="checkbox" class="show-{line.kind}" id="{name}" checked>'
            f'<label for="{name}" class="{line.kind}">{html.escape(line.label)}</label>'
        )
    caption = f"{html.escape(title)}, by {html.escape(unit)}"
    drawing = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{caption}">{"".join(parts())}</svg>'
    return f"<figure><figcaption>{caption}</figcaption>{drawing}<div>{switches}</div></figure>"


def _drawable(value: float) -> bool:
    return math.isfinite(value) and value > 0
