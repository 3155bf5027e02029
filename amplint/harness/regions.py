"""The autocast regions that a program enters and leaves, and the learning-rate schedules that it moves on."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from torch.amp.autocast_mode import autocast
from torch.optim import lr_scheduler

from amplint.harness.patches import Patches


def watch_regions(patches: Patches, entered: Callable[[bool], None], left: Callable[[], None]) -> None:
    """Call ``entered`` with whether the region is enabled, and ``left``, as regions begin and end."""
    enter: Callable[..., Any] = autocast.__enter__
    leave: Callable[..., Any] = autocast.__exit__

    @functools.wraps(enter)
    def begin(region: Any) -> Any:
        result = enter(region)
        entered(bool(region._enabled))
        return result

    @functools.wraps(leave)
    def end(region: Any, *args: Any) -> Any:
        left()
        return leave(region, *args)

    patches.set(autocast, "__enter__", begin)
    patches.set(autocast, "__exit__", end)


def watch_schedules(patches: Patches, stepped: Callable[[Any], None]) -> None:
    """Call ``stepped`` with the optimizer of each schedule that the program moves on."""
    for cls in (lr_scheduler.LRScheduler, lr_scheduler.ReduceLROnPlateau):
        patches.set(cls, "step", _watched(vars(cls)["step"], stepped))


def _watched(step: Callable[..., Any], stepped: Callable[[Any], None]) -> Callable[..., Any]:
    @functools.wraps(step)
    def watched(schedule: Any, *args: Any, **kwargs: Any) -> Any:
        # a schedule that is made steps once by itself
        if sys._getframe(1).f_code.co_name != "_initial_step":
            stepped(schedule.optimizer)
        return step(schedule, *args, **kwargs)

    return watched
