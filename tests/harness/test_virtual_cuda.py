"""Programs written for CUDA run on the CPU, and afterwards PyTorch is as it was."""

from __future__ import annotations

import io
import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from runs import new_torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from amplint.harness import virtual_cuda


class OnCuda(Dataset[torch.Tensor]):
    """Samples that a worker puts on CUDA."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.ones(1, device="cuda" if torch.cuda.is_available() else "meta")


@pytest.fixture
def cuda() -> Iterator[None]:
    with virtual_cuda():
        yield


@pytest.mark.usefixtures("cuda")
class TestDevices:
    def test_a_script_that_chooses_its_device_chooses_cuda(self) -> None:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        assert device.type == "cuda"
        assert torch.zeros(2, device=device).to(device).device.type == "cuda"

    @pytest.mark.parametrize(
        "place",
        [
            lambda x: x.cuda(),
            lambda x: x.cuda(0, non_blocking=True),
            lambda x: x.to("cuda"),
            lambda x: x.to("cuda:0", torch.float64),
            lambda x: x.to(device=torch.device("cuda", 0)),
            lambda x: x.to(0),
            lambda x: x.pin_memory().to("cuda", non_blocking=True),
            lambda x: torch.tensor([1.0], device="cuda"),
            lambda x: torch.empty_like(x, device="cuda"),
            lambda x: torch.zeros(1, device=0, pin_memory=True),
            lambda x: nn.Linear(1, 1, device="cuda").weight,
            lambda x: nn.Linear(1, 1).to("cuda").weight,
            lambda x: next(nn.DataParallel(nn.Linear(1, 1).cuda()).parameters()),
            lambda x: nn.parallel.data_parallel(nn.Linear(1, 1).cuda(), x[None].cuda(), [0]),
        ],
    )
    def test_a_program_finds_its_tensors_on_cuda(self, place: Callable[[torch.Tensor], torch.Tensor]) -> None:
        tensor = place(torch.ones(1))
        assert (tensor.device.type, tensor.is_cuda, tensor.is_cpu, tensor.get_device()) == ("cuda", True, False, 0)
        assert (tensor * 2).is_cuda and torch.zeros(1, device=tensor.device).is_cuda
        assert tensor.untyped_storage().is_cuda
        assert tensor.type().startswith("torch.cuda.")

    @pytest.mark.parametrize(
        "make",
        [
            lambda: torch.ones(1),
            lambda: torch.tensor([1.0]),
            lambda: torch.ones(1).cuda().cpu(),
            lambda: torch.ones(1).cuda().to("cpu"),
            lambda: torch.ones(1, device="cuda").to(device=torch.device("cpu"), dtype=torch.float64),
        ],
    )
    def test_a_program_finds_on_the_cpu_what_was_never_moved_or_moved_back(
        self, make: Callable[[], torch.Tensor]
    ) -> None:
        tensor = make()
        assert (tensor.device.type, tensor.is_cuda, tensor.is_cpu, tensor.get_device()) == ("cpu", False, True, -1)
        assert tensor.cuda().is_cuda

    def test_autocast_on_the_device_of_a_tensor_is_cudas(self) -> None:
        x = torch.ones(2, 2).cuda()
        with torch.autocast(x.device.type):
            assert (x @ x).dtype is torch.float16

    def test_parameters_that_come_back_stay_leaves(self) -> None:
        weight = nn.Parameter(torch.ones(1)).cpu()
        assert weight.is_leaf and weight.requires_grad

    def test_default_device(self) -> None:
        torch.set_default_device("cuda")
        try:
            assert torch.ones(1).device.type == "cuda"
        finally:
            torch.set_default_device(None)
        with torch.device("cuda"):
            assert torch.ones(1).device.type == "cuda"

    def test_generators(self) -> None:
        torch.cuda.manual_seed_all(0)
        generator = torch.Generator(device="cuda").manual_seed(1)
        assert isinstance(generator, torch.Generator)
        first = torch.randn(3, device="cuda", generator=generator)
        assert torch.equal(first, torch.randn(3, generator=torch.Generator().manual_seed(1)))

    def test_loading_to_a_cuda_device(self) -> None:
        for location in (None, "cuda:0", torch.device("cuda"), {"cuda:0": "cuda:0"}, lambda storage, name: storage):
            file = io.BytesIO()
            torch.save({"weight": torch.ones(2)}, file)
            file.seek(0)
            assert torch.load(file, map_location=location)["weight"].device.type == "cuda"

    def test_storages(self) -> None:
        file = io.BytesIO()
        torch.save({"weight": torch.ones(2)}, file)
        file.seek(0)
        assert torch.load(file, map_location=lambda storage, name: storage.cuda(0))["weight"].sum() == 2
        file.seek(0)
        assert torch.serialization.load(file, map_location="cuda:0")["weight"].sum() == 2

    def test_what_is_random_is_seeded_and_restored(self) -> None:
        torch.cuda.manual_seed(1)
        state = torch.cuda.get_rng_state()
        first = torch.rand(2, device="cuda")
        torch.cuda.set_rng_state(state)
        assert torch.equal(first, torch.rand(2, device="cuda"))
        torch.cuda.random.manual_seed_all(1)
        assert torch.equal(first, torch.rand(2, device="cuda"))

    def test_streams_and_events(self) -> None:
        stream = torch.cuda.Stream()
        assert torch.cuda.current_stream() == torch.cuda.default_stream() != stream
        with torch.cuda.stream(stream):
            assert torch.cuda.current_stream() == stream
            torch.ones(1, device="cuda").record_stream(stream)
        stream.wait_stream(torch.cuda.current_stream())
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        end.record(stream)
        assert begin.elapsed_time(end) >= 0

    @pytest.mark.skipif(not hasattr(torch, "Event"), reason="torch 2.4 brought streams and events of any device")
    def test_streams_and_events_of_any_device(self) -> None:
        with torch.Stream(device="cuda") as stream:
            assert torch.cuda.current_stream() == stream and isinstance(stream, torch.Stream)
        begin, end = (torch.Event("cuda", enable_timing=True) for _ in range(2))
        begin.record()
        end.record(torch.cuda.current_stream())
        assert begin.elapsed_time(end) >= 0
        assert torch.get_device_module() is torch.get_device_module("cuda") is torch.cuda

    @pytest.mark.skipif(not hasattr(torch, "accelerator"), reason="torch 2.6 brought accelerators")
    def test_the_accelerator_is_cuda(self) -> None:
        accelerator = torch.accelerator
        assert accelerator.current_accelerator() == torch.device("cuda") and accelerator.device_count() == 1
        stream = torch.Stream("cuda")
        accelerator.set_stream(stream)
        assert accelerator.current_stream() == stream
        accelerator.set_stream(torch.cuda.default_stream())
        for name in ("memory_allocated", "max_memory_reserved", "reset_peak_memory_stats", "synchronize"):
            if hasattr(accelerator, name):
                assert not getattr(accelerator, name)()
        if hasattr(accelerator, "device_index"):
            with accelerator.device_index(0):
                assert accelerator.current_device_index() == 0

    def test_queries_of_memory_and_profiling(self) -> None:
        assert torch.cuda.memory_stats()["allocated_bytes.all.peak"] == 0
        assert torch.cuda.memory.max_memory_allocated("cuda:0") == torch.cuda.memory_reserved() == 0
        assert torch.cuda.mem_get_info()[1] == torch.cuda.get_device_properties(0).total_memory
        with torch.cuda.nvtx.range("step"), torch.cuda.device(0), torch.autograd.profiler.emit_nvtx():
            torch.cuda.nvtx.range_push("inner")

    def test_types_of_cuda_tensors(self) -> None:
        assert isinstance(torch.ones(1).type(torch.cuda.HalfTensor), torch.cuda.HalfTensor)
        assert torch.ones(1).type("torch.cuda.LongTensor").dtype is torch.int64
        assert torch.zeros(1, device=torch.device(0)).device.type == "cuda"

    def test_what_cannot_be_carried_is_named(self) -> None:
        capture: Callable[[], object] = lambda: torch.cuda.graph(torch.cuda.CUDAGraph())  # noqa: E731
        graphed: Callable[[], object] = lambda: torch.cuda.make_graphed_callables(nn.Linear(1, 1), ())  # noqa: E731
        for call in (torch.cuda.CUDAGraph, capture, graphed, torch.cuda.nccl.version):
            with pytest.raises(RuntimeError, match=r"^torch\.cuda\.[\w.]+\(\) cannot be carried by the CPU"):
                call()

    def test_threads(self) -> None:
        def work(_: int) -> tuple[torch.dtype, torch.dtype]:
            with torch.autocast("cuda"):
                output = nn.Linear(2, 2).cuda()(torch.ones(1, 2, device="cuda"))
                return output.dtype, output.softmax(1).dtype

        with torch.autocast("cuda", dtype=torch.bfloat16), ThreadPoolExecutor(2) as pool:
            assert list(pool.map(work, range(2))) == [(torch.float16, torch.float32)] * 2

    @pytest.mark.parametrize("how", ["fork", "spawn"])
    def test_workers(self, how: str) -> None:
        if how not in multiprocessing.get_all_start_methods():
            pytest.skip(f"this system does not {how}")
        loader = DataLoader(OnCuda(), num_workers=1, pin_memory=True, multiprocessing_context=how, timeout=60)
        assert [batch.cuda(non_blocking=True).item() for batch in loader] == [1.0, 1.0]

    def test_data_loader_with_pinned_memory(self) -> None:
        loader = DataLoader(TensorDataset(torch.ones(4, 1)), batch_size=2, pin_memory=True)
        assert [batch.shape for (batch,) in loader] == [(2, 1), (2, 1)]

    def test_queries(self) -> None:
        assert torch.cuda.device_count() == 1
        assert torch.cuda.get_device_properties(0).total_memory > 0
        assert torch.cuda.max_memory_allocated() == 0
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):
            torch.cuda.current_stream().wait_stream(torch.cuda.Stream())
        end.record()
        torch.cuda.synchronize()
        assert start.elapsed_time(end) >= 0

    def test_what_is_not_emulated_fails_as_without_cuda(self) -> None:
        with pytest.raises((AssertionError, RuntimeError, AttributeError)):
            torch.cuda.CUDAGraph().replay()


@pytest.mark.usefixtures("cuda")
class TestAutocast:
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_region_has_the_dtype_asked_for(self, dtype: torch.dtype) -> None:
        layer = nn.Linear(4, 4).cuda()
        x = torch.ones(2, 4, device="cuda")
        with torch.autocast("cuda", dtype=dtype):
            assert layer(x).dtype is dtype
            assert torch.is_autocast_enabled()
            with torch.autocast("cuda", enabled=False):
                assert layer(x).dtype is torch.float32
            assert layer(x).dtype is dtype
        assert layer(x).dtype is torch.float32
        assert not torch.is_autocast_enabled()

    def test_default_dtype_is_float16(self) -> None:
        with torch.autocast("cuda"):
            assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.float16
        with torch.autocast("cpu"):
            assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.bfloat16

    def test_deprecated_names(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            with torch.cuda.amp.autocast():
                assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.float16
            with torch.cuda.amp.autocast(False):
                assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.float32
            scaler = torch.cuda.amp.GradScaler(256.0)
        assert scaler.is_enabled()
        assert scaler.scale(torch.ones(())).item() == 256.0

    def test_decorator(self) -> None:
        @torch.autocast("cuda", dtype=torch.float16)
        def product(x: torch.Tensor) -> torch.Tensor:
            return x @ x

        assert product(torch.ones(2, 2)).dtype is torch.float16

    def test_float32_region_changes_nothing(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with torch.autocast("cuda", dtype=torch.float32):
                assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.float32

    def test_binary_cross_entropy_is_banned(self) -> None:
        p = torch.full((2,), 0.5, device="cuda")
        for ban in (lambda: nn.BCELoss()(p, p), lambda: F.binary_cross_entropy(p, p)):
            with torch.autocast("cuda"), pytest.raises(RuntimeError, match="unsafe to autocast"):
                ban()
            with torch.autocast("cuda"), torch.autocast("cuda", enabled=False):
                ban()
            ban()
        with torch.autocast("cuda"):
            F.binary_cross_entropy_with_logits(p, p)

    @new_torch
    def test_custom_functions(self) -> None:
        seen: list[torch.dtype] = []

        class Double(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
            def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
                seen.append(x.dtype)
                return x @ x

            @staticmethod
            @torch.amp.custom_bwd(device_type="cuda")
            def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
                return gradient

        x = torch.ones(2, 2, dtype=torch.float16, device="cuda", requires_grad=True)
        with torch.autocast("cuda"):
            assert Double.apply(x).dtype is torch.float32
        assert seen == [torch.float32]

    def test_scaler(self) -> None:
        weight = nn.Parameter(torch.ones(1, device="cuda"))
        optimizer = torch.optim.SGD([weight], lr=1.0)
        scaler = torch.amp.GradScaler("cuda", init_scale=4.0)
        scaler.scale(weight * float("inf")).sum().backward()
        scaler.step(optimizer)
        scaler.update()
        assert (weight.item(), scaler.get_scale()) == (1.0, 2.0)
        scaler.update(torch.tensor(8.0, device="cuda"))
        assert scaler.get_scale() == 8.0


def test_mixed_precision_can_be_turned_off() -> None:
    with virtual_cuda(mixed_precision=False):
        scaler = torch.amp.GradScaler("cuda", enabled=True)
        with torch.autocast("cuda", torch.float16, True), torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.float32
    assert not scaler.is_enabled()


@pytest.mark.parametrize("fails", [False, True])
def test_everything_is_restored(fails: bool) -> None:
    owners = (torch, torch.cuda, torch.amp.GradScaler, torch.autocast, torch.amp.autocast_mode, DataLoader)
    with virtual_cuda():  # what PyTorch imports late is there before the comparison
        pass
    before = [dict(vars(owner)) for owner in owners]
    try:
        with virtual_cuda():
            if fails:
                with torch.autocast("cuda"):
                    raise KeyError
    except KeyError:
        pass
    assert [dict(vars(owner)) for owner in owners] == before
    assert not torch.is_autocast_enabled()
    assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.float32
    assert not torch.overrides._get_current_function_mode_stack()


def test_region_that_fails_on_entering_is_not_left_behind() -> None:
    with pytest.raises(TypeError), virtual_cuda(), torch.amp.autocast("cuda", False):
        pass
    assert not torch.is_autocast_enabled()


@pytest.mark.usefixtures("cuda")
def test_compiled_models_run_uncompiled_and_it_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    model = nn.Linear(4, 2).cuda()
    x = torch.ones(1, 4)

    @torch.compile(mode="reduce-overhead")
    def twice(value: torch.Tensor) -> torch.Tensor:
        return 2 * value

    assert torch.equal(torch.compile(model)(x), model(x))
    assert torch.equal(torch.compile(model, backend="eager")(x), model(x))
    assert torch.equal(twice(x), 2 * x)
    model.compile()
    assert capsys.readouterr().err.count("torch.compile is left out of this run") == 1
