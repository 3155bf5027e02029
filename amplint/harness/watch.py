"""The watch: a real run drives the same automaton that the linter's explorer does."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from amplint.harness.backward import BackwardPasses
from amplint.harness.gradient_reads import GradientReads, gradient_of
from amplint.harness.operations import watch_operations
from amplint.harness.optimizers import Optimizers
from amplint.harness.patches import Patches
from amplint.harness.recorder import Observation, Recorder, Report
from amplint.harness.regions import watch_regions, watch_schedules
from amplint.harness.scalers import Scalers
from amplint.harness.sites import Site, is_the_programs_own, user_site
from amplint.protocol import Content, EventKind

__all__ = ["Observation", "Report", "watch"]


@contextlib.contextmanager
def watch(report: Report | None = None, *, existing: bool = True) -> Iterator[Report]:
    """Report the misuse of gradient scalers that happens inside this context, as it happens.

    Nothing that the program computes changes, and outside everything is as it was, also after an exception. The
    report is complete when the context has ended; scalers made inside are then taken to be done with.
    A ``report`` that is given is added to. Optimizers that were there before are looked for only if ``existing``.
    """
    report = Report() if report is None else report
    watcher = _Watcher(report)
    with Patches() as patches:
        try:
            watcher.install(patches, existing)
            yield report
            watcher.end()
        finally:
            watcher.remove_hooks()


class _Watcher:
    """Turns real calls into the automaton's events."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._recorder = Recorder(report, self._norms)
        self._send = self._recorder.send
        self._made: dict[int, Site] = {}
        self._stepped_by: dict[int, int] = {}  # optimizer -> the last scaler that stepped it
        self._restored: set[int] = set()
        self._looked_at: set[int] = set()
        self._steps_before = 0
        self._scalers = Scalers(self)
        self._backwards = BackwardPasses(self._before_backward, self._after_backward)
        self._optimizers = Optimizers(self._backwards.grown)
        self._reads = GradientReads(self._carries_scale, self._clipped, self._used)

    def install(self, patches: Patches, existing: bool) -> None:
        """Begin to listen."""
        self._optimizers.install(patches, existing)
        self._reads.install(patches)
        self._scalers.install(patches)
        self._backwards.install(patches)
        self._install_zero_grad(patches)
        watch_regions(patches, self._region_entered, lambda: self._send(EventKind.EXIT_AUTOCAST))
        watch_schedules(patches, self._scheduled)
        watch_operations(patches, self._operation_found)
        self._step_hook = register_optimizer_step_pre_hook(self._optimizer_steps)

    def remove_hooks(self) -> None:
        """Cease to listen."""
        self._reads.remove()
        self._optimizers.remove_hooks()
        self._step_hook.remove()

    def end(self) -> None:
        """The program has ended as it meant to."""
        for scaler in self._made:
            self._send(EventKind.RETIRE, scaler=scaler)

    # Scalers

    def scaler_made(self, scaler: int) -> None:
        site = self._made[scaler] = user_site()
        self._send(EventKind.NEW_SCALER, site, scaler)

    def scaled(self, scaler: int, outputs: Any, inputs: tuple[Any, ...]) -> Any:
        if self._backwards.is_scaled(inputs):
            self._send(EventKind.RESCALE, user_site(), scaler)
        self._send(EventKind.SCALE, scaler=scaler)  # nothing is ever said of its place
        return self._backwards.scaled(outputs, scaler)

    def unscaling(self, scaler: int, optimizer: Any) -> None:
        self._look_for_half_parameters(optimizer)
        self._send(EventKind.UNSCALE, user_site(), scaler, self._settled(optimizer))
        self._forget_shared(optimizer)

    def stepping(self, scaler: int, optimizer: Any, arguments: bool) -> None:
        self._look_for_half_parameters(optimizer)
        self._look_for_an_earlier_scaler(scaler, optimizer)
        self._steps_before = self._report.steps
        if arguments or isinstance(optimizer, torch.optim.LBFGS):
            self._send(EventKind.CLOSURE_STEP, user_site(), scaler, [self._optimizers.key(optimizer)])
        self._send(EventKind.SCALER_STEP, user_site(), scaler, self._settled(optimizer))
        self._forget_shared(optimizer)

    def stepped(self, scaler: int, optimizer: Any, arguments: bool) -> None:
        if self._report.steps == self._steps_before:
            self._report.skipped_steps += 1
        if arguments:  # a closure may have run a backward
            self._send(EventKind.FORGET, optimizers=[self._optimizers.key(optimizer)])

    def updating(self, scaler: int, new_scale: bool) -> None:
        if new_scale:  # sets the scale, as an extra call beside update()
            self._send(EventKind.FORGET, scaler=scaler)
        else:
            self._send(EventKind.UPDATE, user_site(), scaler)

    def given_wrongly(self, scaler: int) -> None:
        self._send(EventKind.WRONG_ARGUMENT, user_site(), scaler)

    def restored(self, scaler: int) -> None:
        self._restored.add(scaler)  # it goes on where another ended

    def _look_for_an_earlier_scaler(self, scaler: int, optimizer: Any) -> None:
        key = self._optimizers.key(optimizer)
        before = self._stepped_by.get(key)
        if before == scaler:
            return
        self._stepped_by[key] = scaler
        if before is None or scaler in self._restored or scaler not in self._made:
            return
        site = self._made[scaler]
        if site == self._made.get(before):
            self._recorder.note(
                "AMP114",
                "a new scaler for an optimizer that one made here has stepped before: each starts at its first scale",
                site,
                ("the optimizer is stepped here", user_site()),
            )

    def _look_for_half_parameters(self, optimizer: Any) -> None:
        key = self._optimizers.key(optimizer)
        if key in self._looked_at:
            return
        self._looked_at.add(key)
        if any(parameter.dtype is torch.float16 for parameter in self._optimizers.parameters(key)):
            message = (
                "parameters are float16 themselves: their gradients cannot be unscaled, and small updates are lost"
            )
            self._recorder.note("AMP119", message, user_site())

    def _norms(self, scaler: int, optimizer: int) -> tuple[float, float] | None:
        """The norm of an optimizer's gradients, and what it would be without the scale."""
        with torch._C.DisableTorchFunction(), torch.no_grad():
            gradients = [gradient_of(parameter) for parameter in self._optimizers.parameters(optimizer)]
            norms = [gradient.float().norm() for gradient in gradients if gradient is not None]
            norm = float(torch.stack([each.cpu() for each in norms]).norm()) if norms else 0.0
        return norm, norm / self._scalers.scale_of(scaler)

    def _operation_found(self, code: str, message: str) -> None:
        if is_the_programs_own() or code == "AMP303":
            self._recorder.note(code, message, user_site())

    def _forget_shared(self, optimizer: Any) -> None:
        """Another optimizer of the same parameters finds their gradients divided, or spent."""
        sharing = self._optimizers.sharing(self._optimizers.key(optimizer))
        if sharing:
            self._send(EventKind.FORGET, optimizers=sharing)

    # Optimizers

    def _optimizer_steps(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._report.steps += 1
        if self._scalers.inside:
            return
        if any(given is not None for given in (*args[1:], *kwargs.values())):  # a closure runs backward by itself
            self._send(EventKind.FORGET, optimizers=[self._optimizers.key(optimizer)])
        else:
            self._send(EventKind.OPTIMIZER_STEP, user_site(), optimizers=self._settled(optimizer))

    def _settled(self, optimizer: Any) -> list[int]:
        key = self._optimizers.key(optimizer)
        self._notice_cleared([key])
        return [key]

    def _scheduled(self, optimizer: Any) -> None:
        self._send(EventKind.SCHEDULE, user_site(), optimizers=[self._optimizers.key(optimizer)])

    # Regions

    def _region_entered(self, enabled: bool) -> None:
        self._send(EventKind.ENTER_AUTOCAST, user_site(), certain=enabled)

    # Gradients

    def _install_zero_grad(self, patches: Patches) -> None:
        of_optimizer, of_module = Optimizer.zero_grad, torch.nn.Module.zero_grad

        @functools.wraps(of_optimizer)
        def clear_optimizer(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            of_optimizer(optimizer, *args, **kwargs)
            key = self._optimizers.key(optimizer)
            self._cleared(self._optimizers.parameters(key), [key, *self._optimizers.sharing(key)])

        @functools.wraps(of_module)
        def clear_module(module: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
            of_module(module, *args, **kwargs)
            parameters = list(module.parameters())
            self._cleared(parameters, sorted(frozenset().union(*map(self._optimizers.owners, parameters))))

        patches.set(Optimizer, "zero_grad", clear_optimizer)
        patches.set(torch.nn.Module, "zero_grad", clear_module)

    def _cleared(self, parameters: Iterable[torch.Tensor], keys: list[int]) -> None:
        identities = set(map(id, parameters))
        emptied = self._optimizers.emptied(keys, lambda parameter: id(parameter) in identities)
        if emptied:
            self._send(EventKind.CLEAR_GRADS, user_site(), optimizers=emptied)

    def _notice_cleared(self, keys: list[int]) -> None:
        """Gradients set to None by whatever means are gone.

        What the scaler holds for unscaled it will not unscale again, gone or never there: that stays as it is.
        """
        state = self._recorder.state
        keys = [key for key in keys if any(mark.content is not Content.UNSCALED for mark in state.marks(key))]
        emptied = self._optimizers.emptied(keys)
        if emptied:
            self._send(EventKind.CLEAR_GRADS, optimizers=emptied)

    def _before_backward(self) -> None:
        self._optimizers.hook_parameters()
        self._notice_cleared(self._optimizers.keys())

    def _after_backward(self, site: Site, scalers: frozenset[int], optimizers: frozenset[int]) -> None:
        # a backward through several scalers' results does not say which parameter got which
        certain = len(scalers) < 2
        for scaler in sorted(scalers) if scalers else [None]:
            self._send(EventKind.BACKWARD, site, scaler, sorted(optimizers), certain)

    def _carries_scale(self, parameter: torch.Tensor) -> bool:
        scaled = self._recorder.scaled
        return bool(scaled) and not scaled.isdisjoint(self._optimizers.owners(parameter))

    def _clipped(self, parameter: torch.Tensor) -> None:
        self._send(EventKind.CLIP, user_site(), optimizers=sorted(self._optimizers.owners(parameter)))

    def _used(self, parameter: torch.Tensor) -> None:
        self._send(EventKind.USE_GRADS, user_site(), optimizers=sorted(self._optimizers.owners(parameter)))
