"""The watch reports what a real run does wrong, where it does it, and nothing else."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from amplint.harness import virtual_cuda, watch
from amplint.harness.watch import Report


@dataclass
class Loop:
    """A model, its optimizer, a scaler and a batch; built anew for each test."""

    model: nn.Module = field(default_factory=lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)))
    scaler: torch.amp.GradScaler = field(default_factory=lambda: torch.amp.GradScaler("cpu", init_scale=256.0))
    x: torch.Tensor = field(default_factory=lambda: torch.randn(32, 8))
    y: torch.Tensor = field(default_factory=lambda: torch.randn(32, 1))

    def __post_init__(self) -> None:
        self.optimizer: torch.optim.Optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def loss(self) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.float16):
            return F.mse_loss(self.model(self.x), self.y)


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    torch.manual_seed(0)
    yield


RIGHT: list[Callable[[], None]] = []
WRONG: list[tuple[Callable[[], None], dict[str, str]]] = []


def right(scenario: Callable[[], None]) -> Callable[[], None]:
    RIGHT.append(scenario)
    return scenario


def wrong(**where: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """The codes that a scenario draws, and the text of the row that each is reported at."""

    def register(scenario: Callable[[], None]) -> Callable[[], None]:
        WRONG.append((scenario, where))
        return scenario

    return register


@right
def typical() -> None:
    loop = Loop()
    for _ in range(3):
        loop.optimizer.zero_grad()
        loop.scaler.scale(loop.loss()).backward()
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()


@right
def fused_optimizer() -> None:
    loop = Loop()
    try:
        loop.optimizer = torch.optim.Adam(loop.model.parameters(), fused=True)
    except RuntimeError:
        pytest.skip("torch 2.4 brought fused optimizers to the CPU")
    for _ in range(3):
        loop.optimizer.zero_grad()
        loop.scaler.scale(loop.loss()).backward()
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()


@right
def a_loop_left_before_its_update() -> None:
    loop = Loop()
    for i in range(3):
        loop.optimizer.zero_grad()
        loop.scaler.scale(loop.loss()).backward()
        loop.scaler.step(loop.optimizer)
        if i == 2:
            break
        loop.scaler.update()


@wrong(AMP101="loop.optimizer.step(closure=None)")
def a_closure_that_is_none() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    loop.optimizer.step(closure=None)


@wrong(AMP108="loop.optimizer.zero_grad(set_to_none=False)")
def cleared_before_the_step() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    loop.optimizer.zero_grad(set_to_none=False)
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@wrong(AMP111="scaled = loop.scaler.scale(2 * scaled)")
def scaled_twice() -> None:
    loop = Loop()
    scaled = loop.scaler.scale(loop.loss())
    scaled = loop.scaler.scale(2 * scaled)
    scaled.backward()
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@wrong(AMP113="loop.scaler.step(loop.optimizer, lambda: loop.loss())")
def stepped_with_a_closure() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    loop.scaler.step(loop.optimizer, lambda: loop.loss())
    loop.scaler.update()


@wrong(AMP116="schedule.step()")
def scheduled_before_the_step() -> None:
    loop = Loop()
    schedule = torch.optim.lr_scheduler.StepLR(loop.optimizer, 1)
    loop.scaler.scale(loop.loss()).backward()
    schedule.step()
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@right
def scheduled_after_the_step_and_between_micro_batches() -> None:
    loop = Loop()
    schedule = torch.optim.lr_scheduler.StepLR(loop.optimizer, 1)
    for index in range(4):
        loop.scaler.scale(loop.loss() / 2).backward()
        if index % 2:
            loop.scaler.step(loop.optimizer)
            loop.scaler.update()
            loop.optimizer.zero_grad()
        schedule.step()


@wrong(AMP301="loop.scaler.step(loop.optimizer)", AMP302="loop.scaler.scale(loss).backward()")
def a_whole_loop_in_one_region() -> None:
    loop = Loop()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(2):
            loop.optimizer.zero_grad()
            loss = F.mse_loss(loop.model(loop.x), loop.y)
            loop.scaler.scale(loss).backward()
            loop.scaler.step(loop.optimizer)
            loop.scaler.update()


@right
def a_region_that_is_off() -> None:
    loop = Loop()
    with torch.autocast("cpu", enabled=False):
        for _ in range(2):
            loop.optimizer.zero_grad()
            loop.scaler.scale(F.mse_loss(loop.model(loop.x), loop.y)).backward()
            loop.scaler.step(loop.optimizer)
            loop.scaler.update()


@wrong(AMP103="parameter.grad.clamp_(-1.0, 1.0)")
def clamped_by_hand() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    for parameter in loop.model.parameters():
        assert parameter.grad is not None
        parameter.grad.clamp_(-1.0, 1.0)
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@right
def asked_whether_they_are_finite() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    for parameter in loop.model.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all() and not torch.isnan(parameter.grad).any()
        parameter.grad.mul_(0.5)
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@right
def clipping() -> None:
    loop = Loop()
    for _ in range(3):
        loop.optimizer.zero_grad(set_to_none=False)
        loop.scaler.scale(loop.loss()).backward()
        loop.scaler.unscale_(loop.optimizer)
        nn.utils.clip_grad_norm_(loop.model.parameters(), 1.0)
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()


@right
def accumulation_over_several_losses() -> None:
    loop = Loop()
    for index in range(4):
        first, second = loop.scaler.scale([loop.loss() / 2, loop.loss() / 2])
        (first + second).backward()
        if index % 2:
            loop.scaler.step(loop.optimizer)
            loop.scaler.update()
            loop.optimizer.zero_grad()


@right
def iterator_of_losses() -> None:
    loop = Loop()
    for scaled in loop.scaler.scale(iter([loop.loss(), loop.loss()])):
        scaled.backward()
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@right
def gradient_penalty() -> None:
    loop = Loop()
    for _ in range(2):
        loop.optimizer.zero_grad()
        loss = loop.loss()
        scaled = torch.autograd.grad(loop.scaler.scale(loss), loop.model.parameters(), create_graph=True)
        norm = sum((gradient / loop.scaler.get_scale()).pow(2).sum() for gradient in scaled).sqrt()
        loop.scaler.scale(loss + norm).backward()
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()


@right
def two_models_one_update() -> None:
    loop, other = Loop(), Loop()
    for _ in range(2):
        loop.optimizer.zero_grad()
        other.model.zero_grad()
        loop.scaler.scale(loop.loss()).backward()
        loop.scaler.scale(other.loss()).backward()
        loop.scaler.unscale_(loop.optimizer)
        loop.scaler.step(loop.optimizer)
        loop.scaler.step(other.optimizer)
        loop.scaler.update()


@right
def float32() -> None:
    loop = Loop()
    for _ in range(2):
        loop.optimizer.zero_grad()
        F.mse_loss(loop.model(loop.x), loop.y).backward()
        nn.utils.clip_grad_norm_(loop.model.parameters(), 1.0)
        loop.optimizer.step()


@right
def disabled_scaler() -> None:
    loop = Loop(scaler=torch.amp.GradScaler("cpu", enabled=False))
    for _ in range(2):
        loop.scaler.scale(loop.loss()).backward()
        loop.scaler.unscale_(loop.optimizer)
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()


@right
def skipped_step() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss() * float("inf")).backward()
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@right
def new_scale() -> None:
    loop = Loop()
    for _ in range(2):
        loop.optimizer.zero_grad()
        loop.scaler.scale(loop.loss()).backward()
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()
        loop.scaler.update(128.0)


@right
def scaled_gradients_thrown_away() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    for parameter in loop.model.parameters():
        parameter.grad = None
    F.mse_loss(loop.model(loop.x), loop.y).backward()
    loop.optimizer.step()


@right
def cleared_by_hand() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    for parameter in loop.model.parameters():
        if parameter.grad is not None and parameter.grad.shape:
            parameter.grad.detach_()
            parameter.grad.zero_()


@right
def checkpointed_blocks() -> None:
    loop = Loop()
    body = loop.model
    for reentrant in (True, False):
        x = loop.x.requires_grad_()
        out = torch.utils.checkpoint.checkpoint(body, x, use_reentrant=reentrant)
        loop.scaler.scale(F.mse_loss(out, loop.y)).backward()
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()
        loop.optimizer.zero_grad()


@right
def thawed_parameters() -> None:
    loop = Loop()
    loop.model.requires_grad_(False)
    loop.optimizer = torch.optim.SGD(loop.model.parameters(), lr=1e-3)
    loop.model.requires_grad_(True)
    for _ in range(2):
        loop.scaler.scale(loop.loss()).backward()
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()


@right
def two_optimizers_of_the_same_weights() -> None:
    loop = Loop()
    unused = torch.optim.Adam(loop.model.parameters())
    for _ in range(2):
        loop.scaler.scale(loop.loss()).backward()
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()
    assert not unused.state


@right
def scaler_of_a_subclass() -> None:
    class Scaler(torch.amp.GradScaler):
        def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
            super().unscale_(optimizer)

    loop = Loop(scaler=Scaler("cpu", init_scale=256.0))
    for _ in range(2):
        loop.scaler.scale(loop.loss()).backward()
        loop.scaler.unscale_(loop.optimizer)
        nn.utils.clip_grad_norm_(loop.model.parameters(), 1.0)
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()


@wrong(AMP101="loop.optimizer.step()")
def plain_step() -> None:
    loop = Loop()
    for _ in range(2):
        loop.optimizer.zero_grad()
        loop.scaler.scale(loop.loss()).backward()
        loop.optimizer.step()


@wrong(AMP101="other.optimizer.step()")
def plain_step_of_the_second_optimizer() -> None:
    loop, other = Loop(), Loop()
    loop.scaler.scale(loop.loss() + other.loss()).backward()
    loop.scaler.step(loop.optimizer)
    other.optimizer.step()
    loop.scaler.update()


@wrong(AMP101="loop.optimizer.step()")
def plain_step_after_unscale() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    loop.scaler.unscale_(loop.optimizer)
    loop.optimizer.step()
    loop.scaler.update()


@wrong(AMP102="loop.scaler.step(loop.optimizer)")
def missing_update() -> None:
    loop = Loop()
    for _ in range(2):
        loop.optimizer.zero_grad()
        loop.scaler.scale(loop.loss()).backward()
        loop.scaler.step(loop.optimizer)


@wrong(AMP102="loop.scaler.step(loop.optimizer)")
def missing_last_update() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    loop.scaler.step(loop.optimizer)


@wrong(AMP103="nn.utils.clip_grad_norm_(loop.model.parameters(), 1.0)")
def clip_while_scaled() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    nn.utils.clip_grad_norm_(loop.model.parameters(), 1.0)
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@wrong(AMP103="nn.utils.clip_grad_value_(loop.model.parameters(), 1.0)")
def clip_values_while_scaled() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    assert all(parameter.grad is not None for parameter in loop.model.parameters())
    nn.utils.clip_grad_value_(loop.model.parameters(), 1.0)
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@wrong(AMP104="sum(parameter.grad.norm() for parameter in loop.model.parameters())")
def use_while_scaled() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    sum(parameter.grad.norm() for parameter in loop.model.parameters())
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@wrong(AMP104="parameter.grad.data.add_(0.5)")
def change_while_scaled() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    for parameter in loop.model.parameters():
        parameter.grad.data.add_(0.5)
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@wrong(AMP105="loop.loss().backward()")
def unscaled_backward() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss())
    loop.loss().backward()
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@wrong(AMP105="loop.loss().backward()")
def one_of_two_backwards_unscaled() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    loop.loss().backward()
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@wrong(AMP121="loop.scaler.step(schedule)")
def step_of_a_schedule() -> None:
    loop = Loop()
    schedule = torch.optim.lr_scheduler.StepLR(loop.optimizer, 1)
    loop.scaler.scale(loop.loss()).backward()
    with contextlib.suppress(AttributeError):
        loop.scaler.step(schedule)


@wrong(AMP121="loop.scaler.update(1024)")
def integer_scale() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()
    with contextlib.suppress(AttributeError, AssertionError):
        loop.scaler.update(1024)


@wrong(AMP114='scaler = torch.amp.GradScaler("cpu", init_scale=8.0)')
def scaler_of_each_epoch() -> None:
    loop = Loop()
    for _ in range(2):
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        scaler.scale(loop.loss()).backward()
        scaler.step(loop.optimizer)
        scaler.update()


@right
def scaler_of_each_epoch_that_goes_on() -> None:
    loop, state = Loop(), None
    for _ in range(2):
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        if state is not None:
            scaler.load_state_dict(state)
        scaler.scale(loop.loss()).backward()
        scaler.step(loop.optimizer)
        scaler.update()
        state = scaler.state_dict()


@right
def scaler_of_each_fold() -> None:
    for _ in range(2):
        loop = Loop()
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        scaler.scale(loop.loss()).backward()
        scaler.step(loop.optimizer)
        scaler.update()


@wrong(AMP119="loop.scaler.step(loop.optimizer)")
def half_parameters() -> None:
    loop = Loop()
    loop.model.half()
    loop.scaler.scale(loop.model(loop.x.half()).sum()).backward()
    with contextlib.suppress(ValueError):
        loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@wrong(AMP303="F.binary_cross_entropy(torch.ones(1), torch.ones(1))")
def bce_under_cuda_autocast() -> None:
    with virtual_cuda(), torch.autocast("cuda"):
        F.binary_cross_entropy(torch.ones(1), torch.ones(1))


@right
def bce_elsewhere() -> None:
    with virtual_cuda(), torch.autocast("cuda"):
        F.binary_cross_entropy_with_logits(torch.ones(1), torch.ones(1))
        with torch.autocast("cuda", enabled=False):
            F.binary_cross_entropy(torch.ones(1), torch.ones(1))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        nn.BCELoss()(torch.ones(1), torch.ones(1))


@wrong(AMP401="scores.masked_fill(mask, -1e9)")
def mask_beyond_half() -> None:
    scores, mask = torch.ones(2).half(), torch.tensor([True, False])
    scores.masked_fill(mask, -1e9)


@wrong(AMP401="torch.where(mask, scores, -1e9)")
def choice_beyond_half() -> None:
    scores, mask = torch.ones(2).half(), torch.tensor([True, False])
    torch.where(mask, scores, -1e9)


@wrong(AMP401="scores[mask] = 1e6")
def items_beyond_half() -> None:
    scores, mask = torch.ones(2).half(), torch.tensor([True, False])
    scores[mask] = 1e6


@wrong(AMP401="scores + -100_000")
def sum_beyond_half() -> None:
    scores = torch.ones(2).half()
    scores + -100_000


@right
def constants_that_fit() -> None:
    mask = torch.tensor([True, False])
    for scores in (torch.ones(2).half(), torch.ones(2).bfloat16(), torch.ones(2)):
        big = -65504.0 if scores.dtype is torch.float16 else -1e9
        scores.masked_fill(mask, float("-inf")).masked_fill(mask, big)
        scores[mask] = torch.finfo(scores.dtype).min
        torch.where(mask, scores, big) + 1 - 60_000
        torch.where(mask, scores.float(), -1e9)


@wrong(AMP106="loop.scaler.unscale_(loop.optimizer)  # again")
def repeated_unscale() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    loop.scaler.unscale_(loop.optimizer)
    loop.scaler.unscale_(loop.optimizer)  # again


@wrong(AMP107="loop.scaler.update()  # too early")
def scale_changed_within_a_window() -> None:
    loop, other = Loop(), Loop()
    loop.scaler.scale(loop.loss()).backward()
    loop.scaler.scale(other.loss()).backward()
    loop.scaler.step(other.optimizer)
    loop.scaler.update()  # too early
    loop.scaler.scale(loop.loss()).backward()
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@wrong(AMP109="loop.scaler.scale(loop.loss()).backward()  # adds")
def accumulation_after_unscale() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    loop.scaler.unscale_(loop.optimizer)
    loop.scaler.scale(loop.loss()).backward()  # adds
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


@wrong(AMP110="loop.scaler.step(loop.optimizer)  # again")
def repeated_step() -> None:
    loop = Loop()
    loop.scaler.scale(loop.loss()).backward()
    loop.scaler.step(loop.optimizer)
    loop.scaler.step(loop.optimizer)  # again


def observe(scenario: Callable[[], None]) -> Report:
    try:
        with watch() as report:
            scenario()
    except (RuntimeError, AssertionError):
        pass  # PyTorch's own error for what was reported just before
    return report


@pytest.mark.parametrize("scenario", RIGHT, ids=lambda scenario: scenario.__name__)
def test_right_code_is_silent(scenario: Callable[[], None]) -> None:
    with watch() as report:
        scenario()
    assert report.findings == []


@pytest.mark.parametrize(("scenario", "where"), WRONG, ids=lambda value: getattr(value, "__name__", ""))
def test_misuse_is_reported_where_it_happens(scenario: Callable[[], None], where: dict[str, str]) -> None:
    rows, first = inspect.getsourcelines(scenario)
    report = observe(scenario)
    assert {found.filename for found in report.findings} == {__file__}
    assert {found.code: rows[found.row - first].strip() for found in report.findings} == where


class _PassesOn(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _in_the_place_of(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)

    return counted


@pytest.mark.parametrize("first", ["watch", "program"])
def test_functions_in_the_place_of_pytorchs_are_not_where_it_happens(
    monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    def replace_functions() -> None:
        for name in ("scale", "unscale_", "step", "update"):
            monkeypatch.setattr(torch.amp.GradScaler, name, _in_the_place_of(getattr(torch.amp.GradScaler, name)))
        monkeypatch.setattr(torch.optim.Optimizer, "zero_grad", _in_the_place_of(torch.optim.Optimizer.zero_grad))
        monkeypatch.setattr(torch.Tensor, "backward", _in_the_place_of(torch.Tensor.backward))
        monkeypatch.setattr(nn.utils, "clip_grad_norm_", _in_the_place_of(nn.utils.clip_grad_norm_))

    def places(report: Report) -> set[tuple[str, int]]:
        return {(found.code, found.row) for found in report.findings}

    scenarios = [*(scenario for scenario, _ in WRONG[::4]), *RIGHT[::6]]
    expected = [places(observe(scenario)) for scenario in scenarios]
    if first == "program":
        replace_functions()
    for scenario, wanted in zip(scenarios, expected, strict=True):
        report = Report()
        with watch(report), _PassesOn():
            if first == "watch":
                replace_functions()
            with contextlib.suppress(RuntimeError, AssertionError):
                scenario()
            if first == "watch":
                monkeypatch.undo()
        assert places(report) == wanted, scenario.__name__


def test_each_place_is_reported_once() -> None:
    assert len(observe(plain_step).findings) == 1


def test_a_finding_names_its_cause() -> None:
    (found,) = observe(plain_step_after_unscale).findings
    (message, site), *_ = found.causes
    assert message == "unscaled here"
    assert site.row == found.row - 1
    assert str(found).startswith(f"{__file__}:{found.row}:")


def test_steps_are_counted() -> None:
    assert observe(typical).steps == 3
    skipped = observe(skipped_step)
    assert (skipped.steps, skipped.skipped_steps) == (0, 1)


def test_what_was_there_before_is_watched_too() -> None:
    loop = Loop()
    with watch() as report:
        loop.scaler.scale(loop.loss()).backward()
        loop.optimizer.step()
    assert [found.code for found in report.findings] == ["AMP101"]


def test_a_scaler_that_goes_on_after_the_watch_owes_nothing_yet() -> None:
    loop = Loop()
    with watch() as report:
        loop.scaler.scale(loop.loss()).backward()
        loop.scaler.step(loop.optimizer)
    assert report.findings == []
    loop.scaler.update()


def test_gradients_are_told_with_and_without_the_scale() -> None:
    loop = Loop()
    with watch() as report:
        loop.scaler.scale(loop.loss()).backward()
        nn.utils.clip_grad_norm_(loop.model.parameters(), 1.0)
    (found,) = report.findings
    assert found.norms is not None and found.norms[0] == pytest.approx(256.0 * found.norms[1])
    assert str(found).endswith(f" (norm of the gradients {found.norms[0]:.4g}, without the scale {found.norms[1]:.4g})")


def test_regions_belong_to_their_thread() -> None:
    loop, inside, done = Loop(), threading.Event(), threading.Event()

    def evaluate() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            inside.set()
            done.wait(10)

    with watch() as report:
        thread = threading.Thread(target=evaluate)
        thread.start()
        assert inside.wait(10)
        loop.scaler.scale(loop.loss()).backward()
        done.set()
        thread.join()
    assert report.findings == []


def test_helpers_in_torch_are_reported_at_the_user() -> None:
    loop = Loop()
    with watch() as report:
        loop.scaler.scale(loop.loss()).backward()
        nn.utils.parameters_to_vector(parameter.grad for parameter in loop.model.parameters())
    assert [(found.code, found.filename) for found in report.findings] == [("AMP104", __file__)]


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_behind(fails: bool) -> None:
    loop = Loop()
    owners = (torch.amp.GradScaler, torch.optim.Optimizer, nn.Module, torch.autograd)
    before = [dict(vars(owner)) for owner in owners]
    try:
        with watch():
            loop.scaler.scale(loop.loss()).backward()
            if fails:
                raise KeyError
    except KeyError:
        pass
    assert [dict(vars(owner)) for owner in owners] == before
    assert not sys.modules["torch.optim.optimizer"]._global_optimizer_pre_hooks
    assert not any(parameter._post_accumulate_grad_hooks for parameter in loop.model.parameters())
    assert not torch.overrides._get_current_function_mode_stack()
