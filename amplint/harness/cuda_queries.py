"""What ``torch.cuda`` answers where there is no CUDA: one virtual device that is always ready."""

from __future__ import annotations

import contextlib
import time
from types import SimpleNamespace
from typing import Any

import torch

from amplint.harness.patches import Patches

NAME = "virtual CUDA on the CPU"
_MEMORY = 16 * 2**30


class Stream(contextlib.nullcontext[None]):
    """A stream whose work is done when the call returns."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record()
        return event


class Event:
    """A point in time."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        self._time: float | None = None

    def record(self, *args: object) -> None:
        self._time = time.perf_counter()

    def query(self) -> bool:
        return True

    def wait(self, *args: object) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to ``end_event``; both must have been recorded."""
        if self._time is None or end_event._time is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) * 1e3


def _nothing(*args: object, **kwargs: object) -> None:
    pass


def _answer(value: object) -> Any:
    return lambda *args, **kwargs: value


_PROPERTIES = SimpleNamespace(
    name=NAME, major=9, minor=0, total_memory=_MEMORY, multi_processor_count=1, is_integrated=False
)

_ANSWERS: dict[str, Any] = {
    "is_available": _answer(True),
    "is_initialized": _answer(True),
    "is_bf16_supported": _answer(True),
    "is_current_stream_capturing": _answer(False),
    "device_count": _answer(1),
    "current_device": _answer(0),
    "get_device_name": _answer(NAME),
    "get_device_capability": _answer((9, 0)),
    "get_device_properties": _answer(_PROPERTIES),
    "get_arch_list": _answer([]),
    "mem_get_info": _answer((_MEMORY, _MEMORY)),
    "memory_summary": _answer(""),
    "memory_stats": lambda *args, **kwargs: {},
    "utilization": _answer(0),
    "current_stream": lambda *args, **kwargs: Stream(),
    "default_stream": lambda *args, **kwargs: Stream(),
    "stream": Stream,
    "device": Stream,
    "device_of": Stream,
    "Stream": Stream,
    "Event": Event,
    "get_rng_state": lambda *args, **kwargs: torch.get_rng_state(),
    "get_rng_state_all": lambda: [torch.get_rng_state()],
    **dict.fromkeys(
        (
            "memory_allocated",
            "max_memory_allocated",
            "memory_reserved",
            "max_memory_reserved",
            "memory_cached",
            "max_memory_cached",
        ),
        _answer(0),
    ),
    **dict.fromkeys(
        (
            "init",
            "synchronize",
            "empty_cache",
            "ipc_collect",
            "set_device",
            "set_per_process_memory_fraction",
            "reset_peak_memory_stats",
            "reset_accumulated_memory_stats",
            "reset_max_memory_allocated",
            "reset_max_memory_cached",
            "manual_seed",
            "manual_seed_all",
            "seed",
            "seed_all",
            "set_rng_state",
            "set_rng_state_all",
        ),
        _nothing,
    ),
}

_ACCELERATOR_ANSWERS: dict[str, Any] = {
    "is_available": _answer(True),
    "device_count": _answer(1),
    "current_accelerator": lambda check_available=False: torch.device("cuda"),
    "current_stream": lambda *args, **kwargs: Stream(),
    "synchronize": _nothing,
    **dict.fromkeys(("current_device_index", "current_device_idx"), _answer(0)),
    **dict.fromkeys(("set_device_index", "set_device_idx", "set_stream", "empty_cache"), _nothing),
}


def answer(patches: Patches) -> None:
    """Answer the queries; what is not listed here fails as it does without CUDA."""
    for name, value in _ANSWERS.items():
        if hasattr(torch.cuda, name):
            patches.set(torch.cuda, name, value)
    accelerator = getattr(torch, "accelerator", None)  # torch 2.6
    for name, value in _ACCELERATOR_ANSWERS.items():
        if hasattr(accelerator, name):
            patches.set(accelerator, name, value)
