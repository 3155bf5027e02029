"""The page of ``amplint measure --report``: one file with its plots inside."""

from __future__ import annotations

import html
import io
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amplint.harness.measure import Measurement

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,"><title>amplint measure: {name}</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
svg {{ max-width: 100%; height: auto }} td, th {{ padding: .2rem 1rem; text-align: right }}</style></head><body>
<h1>Mixed precision in {name}</h1>
<p><strong>{verdict}</strong></p>
<table><tr><th></th><th>mixed precision</th><th>forced off</th></tr>{rows}</table>
<h2>Time a step</h2>{steps}
<h2>Scale</h2>{scale}
<h2>Gradients against float16's range</h2><p>{flushed}</p>{gradients}
</body></html>
"""


def write(path: str, script: str, found: Measurement) -> None:
    """Write the page; needs matplotlib."""
    from amplint.harness.measure import flushed, rows

    table = "".join(f"<tr><th>{name}</th><td>{mixed}</td><td>{plain}</td></tr>" for name, mixed, plain in rows(found))
    page = _PAGE.format(
        name=html.escape(os.path.basename(script)),
        verdict=html.escape(found.verdict),
        rows=table,
        flushed=html.escape(flushed(found)),
        steps=_steps(found),
        scale=_scale(found) if found.scales else "<p>No gradient scaler was used.</p>",
        gradients=_gradients(found),
    )
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


def _steps(found: Measurement) -> str:
    figure, axes = _axes("step", "milliseconds")
    for kind, label in ((True, "mixed precision"), (False, "forced off")):
        for number, run in enumerate(run for run in found.runs if run.mixed is kind):
            times = [step * 1e3 for step in run.steps]
            axes.plot(times, color="C0" if kind else "C1", label=None if number else label, alpha=0.8)
    axes.set_ylim(bottom=0)
    axes.legend()
    return _svg(figure)


def _scale(found: Measurement) -> str:
    figure, axes = _axes("update", "scale")
    axes.step(range(len(found.scales)), found.scales, where="post")
    axes.set_yscale("log", base=2)
    return _svg(figure)


def _gradients(found: Measurement) -> str:
    counts: dict[int, int] = {}
    for run in found.runs:
        if not run.mixed:
            for exponent, count in run.histogram.items():
                counts[exponent] = counts.get(exponent, 0) + count
    figure, axes = _axes("size of a gradient, as a power of two", "gradients")
    axes.bar(list(counts), list(counts.values()), width=0.9)
    axes.axvspan(-25, 15, color="C2", alpha=0.15, label="float16 can hold these")
    axes.legend()
    return _svg(figure)


def _axes(x: str, y: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return figure, axes


def _svg(figure: Any) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg")
    text = out.getvalue()
    return text[text.index("<svg") :]
