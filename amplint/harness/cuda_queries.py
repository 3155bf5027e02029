"""What ``torch.cuda`` answers where there is no CUDA: one virtual device that is always ready."""

from __future__ import annotations

import collections
import contextlib
import threading
import time
from types import SimpleNamespace
from typing import Any

import torch

from amplint.harness.patches import Patches

NAME = "virtual CUDA on the CPU"
_MEMORY = 16 * 2**30


class Stream:
    """A stream whose work is done when the call returns; as a context it is the current one."""

    priority = stream_id = cuda_stream = device_index = 0
    device = torch.device("cuda", 0)

    def __init__(self, *args: object, **kwargs: object) -> None:
        self._before: list[Stream] = []

    def __enter__(self) -> Stream:
        self._before.append(_streams.current)
        _streams.current = self
        return self

    def __exit__(self, *error: object) -> None:
        _streams.current = self._before.pop()

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record()
        return event

    def wait_event(self, event: object) -> None:
        pass

    def wait_stream(self, stream: object) -> None:
        pass

    def synchronize(self) -> None:
        pass


class _Streams(threading.local):
    """The stream that each thread works on."""

    def __init__(self) -> None:
        self.current: Stream = DEFAULT_STREAM


DEFAULT_STREAM = Stream()
_streams = _Streams()


def _stream(stream: Stream | None) -> contextlib.AbstractContextManager[object]:
    return contextlib.nullcontext() if stream is None else stream


def _set_stream(stream: Stream) -> None:
    _streams.current = stream


class Device(contextlib.nullcontext[None]):
    """The one device, chosen."""

    def __init__(self, device: object = 0) -> None:
        super().__init__()
        self.idx, self.prev_idx = 0, -1


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
    name=NAME,
    major=9,
    minor=0,
    total_memory=_MEMORY,
    multi_processor_count=1,
    is_integrated=False,
    is_multi_gpu_board=False,
    gcnArchName="",
    warp_size=32,
    max_threads_per_multi_processor=2048,
    L2_cache_size=0,
)


class NotCarriedError(RuntimeError):
    """What a CPU cannot do in CUDA's place."""


def refused(name: str) -> Any:
    """What stands for a call of that name that cannot be carried."""

    def refuse(*args: object, **kwargs: object) -> Any:
        raise NotCarriedError(f"{name}() cannot be carried by the CPU that stands in for CUDA")

    return refuse


_NOT_CARRIED = (
    "CUDAGraph graph graph_pool_handle make_graphed_callables MemPool use_mem_pool ExternalStream "
    "get_stream_from_external caching_allocator_alloc caching_allocator_delete change_current_allocator "
    "CUDAPluggableAllocator cudart"
).split()

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
    "memory_stats": lambda *args, **kwargs: collections.defaultdict(int),
    "memory_stats_as_nested_dict": lambda *args, **kwargs: {},
    "memory_snapshot": lambda *args, **kwargs: [],
    "get_allocator_backend": _answer("native"),
    "list_gpu_processes": _answer(""),
    "can_device_access_peer": _answer(False),
    "get_gencode_flags": _answer(""),
    "is_tf32_supported": _answer(False),
    "current_stream": lambda *args, **kwargs: _streams.current,
    "default_stream": lambda *args, **kwargs: DEFAULT_STREAM,
    "stream": _stream,
    "set_stream": _set_stream,
    "device": Device,
    "device_of": Device,
    "Stream": Stream,
    "Event": Event,
    "get_rng_state": lambda *args, **kwargs: torch.get_rng_state(),
    "get_rng_state_all": lambda: [torch.get_rng_state()],
    "set_rng_state": lambda new_state, device="cuda": torch.set_rng_state(new_state),
    "set_rng_state_all": lambda new_states: torch.set_rng_state(list(new_states)[0]),
    "manual_seed": lambda seed: _seed(int(seed)),
    "manual_seed_all": lambda seed: _seed(int(seed)),
    "initial_seed": lambda: torch.initial_seed(),
    "default_generators": (torch.default_generator,),
    **{
        f"{name}Tensor": getattr(torch, f"{name}Tensor")
        for name in "Float Double Half BFloat16 Byte Char Short Int Long Bool".split()
    },
    **dict.fromkeys(
        (
            "memory_allocated",
            "max_memory_allocated",
            "memory_reserved",
            "max_memory_reserved",
            "memory_cached",
            "max_memory_cached",
            "memory_usage",
            "device_memory_used",
            "utilization",
            "temperature",
            "power_draw",
            "clock_rate",
            "get_sync_debug_mode",
            "current_blas_handle",
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
            "reset_peak_host_memory_stats",
            "set_sync_debug_mode",
            "seed",
            "seed_all",
            "_sleep",
            "_record_memory_history",
            "_dump_snapshot",
        ),
        _nothing,
    ),
}

_ACCELERATOR_ANSWERS: dict[str, Any] = {
    "is_available": _answer(True),
    "device_count": _answer(1),
    "current_accelerator": lambda check_available=False: torch.device("cuda"),
    "current_stream": lambda *args, **kwargs: _streams.current,
    "synchronize": _nothing,
    **dict.fromkeys(("current_device_index", "current_device_idx"), _answer(0)),
    "set_stream": _set_stream,
    "device_index": Device,
    "memory_stats": lambda *args, **kwargs: collections.defaultdict(int),
    "get_device_capability": lambda *args, **kwargs: {
        "supported_dtypes": {torch.float16, torch.bfloat16, torch.float32}
    },
    "get_memory_info": _answer((_MEMORY, _MEMORY)),
    **dict.fromkeys(("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"), _answer(0)),
    **dict.fromkeys(("set_device_index", "set_device_idx", "empty_cache", "empty_host_cache"), _nothing),
    **dict.fromkeys(("reset_accumulated_memory_stats", "reset_peak_memory_stats"), _nothing),
}


def _seed(seed: int) -> None:
    """What is random on virtual CUDA comes from the CPU's generator."""
    torch.default_generator.manual_seed(seed)


_NVTX = {
    "range_push": _answer(0),
    "range_pop": _answer(0),
    "range_start": _answer(0),
    "range_end": _nothing,
    "mark": _nothing,
    "range": lambda *args, **kwargs: contextlib.nullcontext(),
}


def answer(patches: Patches) -> None:
    """Answer the queries, and name what cannot be carried; what is in neither list fails as it does without CUDA."""
    answers = _ANSWERS | {name: refused(f"torch.cuda.{name}") for name in _NOT_CARRIED}
    for module in (torch.cuda, torch.cuda.memory, torch.cuda.random, torch.cuda.streams, torch.cuda.graphs):
        for name, value in answers.items():
            if hasattr(module, name):
                patches.set(module, name, value)
    for name, value in _NVTX.items():
        patches.set(torch.cuda.nvtx, name, value)
    patches.set(torch.autograd.profiler, "emit_nvtx", lambda *args, **kwargs: contextlib.nullcontext())
    patches.set(torch.cuda.nccl, "version", refused("torch.cuda.nccl.version"))
    for name in ("start", "stop"):
        patches.set(torch.cuda.profiler, name, _nothing)
    accelerator = getattr(torch, "accelerator", None)  # torch 2.6
    for name, value in _ACCELERATOR_ANSWERS.items():
        if hasattr(accelerator, name):
            patches.set(accelerator, name, value)
    if hasattr(accelerator, "Graph"):
        patches.set(accelerator, "Graph", refused("torch.accelerator.Graph"))
    _answer_generic(patches)


def _answer_generic(patches: Patches) -> None:
    """``torch.Stream`` and ``torch.Event``, which take their device's name, and the module of the accelerator."""
    for name, kind in (("Stream", Stream), ("Event", Event)):
        if hasattr(torch, name):  # torch 2.4
            patches.set(torch, name, _generic(getattr(torch, name), kind))
    if hasattr(torch, "get_device_module"):  # torch 2.4
        of_device = torch.get_device_module
        patches.set(torch, "get_device_module", lambda device=None: of_device("cuda" if device is None else device))


def _generic(real: Any, kind: type) -> type:
    """A class that makes ``kind`` for CUDA, which is the device where none is named, and ``real`` for any other."""

    class Meta(type):
        def __call__(cls, device: Any = None, *args: Any, **kwargs: Any) -> Any:
            if device is None or type(device) is int or torch.device(device).type == "cuda":
                return kind(*args, **kwargs)
            return real(device, *args, **kwargs)

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, (real, kind))

    return Meta(real.__name__, (), {"__module__": "torch"})
