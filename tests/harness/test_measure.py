"""``amplint measure``: the script as written beside itself with mixed precision off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from browser import Page, why_not
from click.testing import CliRunner, Result

from amplint.cli import main
from amplint.harness import measure
from amplint.harness.measure import weighed
from amplint.harness.measuring import Run, measured

SCRIPT = """
import sys, torch
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
x, y = torch.randn(16, 64), torch.randn(16, 1)
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.mse_loss(model(x), y)
    if step == 2:
        loss = loss * float("inf")
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["measure", *args])


def test_one_run(script: Path) -> None:
    mixed = measured(str(script), ["100"], mixed=True, warm_up=3, steps=4)
    assert (len(mixed.steps), len(mixed.losses), mixed.skipped, mixed.error) == (4, 7, 1, None)
    assert mixed.scales[0] == 1024.0 and mixed.scales[-1] == 512.0
    assert mixed.regions == 7
    assert mixed.gradients and sum(mixed.histogram.values()) == mixed.gradients


def test_forced_off(script: Path) -> None:
    plain = measured(str(script), ["100"], mixed=False, warm_up=0, steps=2)
    assert plain.scales == [] and plain.skipped == 0
    assert not torch.is_autocast_enabled("cpu") if hasattr(torch, "get_autocast_dtype") else True


def test_command_as_json_and_page(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    told: list[str] = []
    monkeypatch.setattr(measure, "_progress", told.append)
    monkeypatch.setattr(measure, "_MOMENT", 0.001)
    page = tmp_path / "report.html"
    options = ["--rounds", "1", "--steps", "4", "--warm-up", "3", "--json", "--report", str(page)]
    done = run(*options, str(script), "100")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout, parse_constant=pytest.fail)  # no NaN
    assert any(text.startswith("round 1 of 1: mixed precision as written, step ") for text in told)
    assert found["plain"]["loss"] is None
    assert found["device"] == "cpu"
    assert found["mixed"]["skipped"] == 1
    assert found["scales"][-1] == 512.0
    assert found["verdict"] in page.read_text()
    assert page.read_text().count("<svg") == 3
    assert "<script" not in page.read_text() and "http-equiv" not in page.read_text()


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from amplint.harness.measure_report import write

    runs = [made(True, 5.0), made(False, 10.0)]
    for run in runs:
        run.scales, run.histogram, run.gradients = [1024.0, 512.0], {-30: 2, 0: 5}, 7
    path = tmp_path / "report.html"
    write(str(path), "<train>.py", weighed(runs))
    page = Page(path, tmp_path / "profile")
    try:
        assert page.requests == [path.as_uri()]
        assert page.complaints == []
        assert page.evaluate("document.querySelector('h1').innerText") == "Mixed precision in <train>.py"
        plots = page.evaluate(
            "[...document.querySelectorAll('svg')].map(plot => "
            "[plot.getBoundingClientRect().width, plot.getBoundingClientRect().height, "
            "plot.querySelectorAll('path').length])"
        )
        assert len(plots) == 3
        assert all(width > 300 and height > 100 and paths > 10 for width, height, paths in plots)
    finally:
        page.close()


def test_a_script_that_ends_early_or_raises(script: Path, tmp_path: Path) -> None:
    done = run("--rounds", "1", str(script), "2")
    assert done.exit_code == 1
    assert "cannot be measured: made no more than 2 steps" in done.output
    script.write_text("raise ValueError('no data')\n")
    done = run("--rounds", "1", str(script))
    assert done.exit_code == 1
    assert "cannot be measured: ValueError: no data" in done.output


def made(mixed: bool, milliseconds: float, regions: int = 1) -> Run:
    return Run(mixed, [milliseconds / 1e3] * 8, [1.0], regions=regions, memory=1000)


def test_rounds_that_disagree_decide_nothing() -> None:
    runs = [made(True, 5.0), made(False, 10.0), made(True, 11.0), made(False, 10.0)]
    assert weighed(runs).verdict == "Mixed precision makes no difference to the time of a step here."


@pytest.mark.parametrize(
    ("mixed", "plain", "regions", "verdict"),
    [
        (5.0, 10.0, 1, "Mixed precision pays here: a step is 2.00 times as fast."),
        (10.0, 5.0, 1, "Mixed precision does not pay here: a step takes 2.00 times as long."),
        (10.0, 10.1, 1, "Mixed precision makes no difference to the time of a step here."),
        (
            10.0,
            5.0,
            0,
            "The script enters no autocast region that is switched on in these steps: there is nothing to compare.",
        ),
    ],
)
def test_verdict(mixed: float, plain: float, regions: int, verdict: str) -> None:
    assert weighed([made(True, mixed, regions), made(False, plain, regions)]).verdict == verdict
