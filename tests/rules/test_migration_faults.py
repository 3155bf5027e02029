"""AMP205, AMP207, AMP208 and AMP210 against PyTorch itself: what they find fails, and what they make of it runs."""

from __future__ import annotations

import textwrap
import warnings
from typing import Any

import pytest
import torch

from amplint.documents import Document
from amplint.findings import Applicability
from amplint.fixer import Fixer
from amplint.registry import installed

RULES = installed().rules
CODES = {"AMP205", "AMP207", "AMP208"}
HEAD = "import torch\nflag = not torch.is_grad_enabled()\ndevice = torch.device('cuda', 0)\n"


def run(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "<program>", "exec", dont_inherit=True), {"__name__": "program"})


def fixed(text: str, *, unsafe: bool = False) -> str:
    document = Document("train.py", textwrap.dedent(text).lstrip("\n"))
    return Fixer(RULES, RULES).fix(document, unsafe=unsafe).document.text


@pytest.mark.parametrize(
    "call",
    [
        'with torch.autocast("cuda", flag): pass',
        'with torch.autocast("cuda", True, torch.float16): pass',
        "with torch.autocast(flag): pass",
        "with torch.autocast(enabled=flag): pass",
        'with torch.autocast(device="cuda"): pass',
        'with torch.autocast(True, device_type="cuda"): pass',
        'with torch.cuda.amp.autocast("cuda", enabled=flag): pass',
        'with torch.cuda.amp.autocast(device_type="cuda"): pass',
        'torch.cuda.amp.GradScaler(device="cuda")',
        'torch.GradScaler(device_type="cuda")',
        "torch.amp.custom_fwd(cast_inputs=torch.float32)",
        "torch.amp.custom_bwd(device='cuda')",
        "torch.cuda.manual_seed_all(0); torch.get_autocast_dtype()",
        "torch.get_autocast_gpu_dtype('cuda')",
        "with torch.autocast(device): pass",
        "with torch.autocast('gpu'): pass",
        "with torch.autocast('CUDA'): pass",
        "torch.is_autocast_enabled(device)",
        "with torch.autocast: pass",
        "@torch.autocast\ndef f(): pass",
        "with torch.cuda.amp.autocast: pass",
    ],
)
def test_what_fails_is_found_and_runs_once_it_is_fixed(call: str) -> None:
    program = f"{HEAD}torch.cuda.manual_seed_all(0)\n{call}\n"
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        run(program)
    document = Document("train.py", program)
    assert {finding.code for finding in Fixer(RULES, RULES).lint(document).findings} & CODES
    after = fixed(program)
    assert not {finding.code for finding in Fixer(RULES, RULES).lint(Document("train.py", after)).findings} & CODES
    run(after)


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("torch.amp.GradScaler(False)", "torch.amp.GradScaler(enabled=False)"),
        ("torch.amp.GradScaler('cuda', False)", "torch.amp.GradScaler('cuda', enabled=False)"),
        ("torch.cuda.amp.GradScaler(False)", 'torch.amp.GradScaler("cuda", enabled=False)'),
        ("torch.amp.GradScaler(8.0)", 'torch.amp.GradScaler("cuda", 8.0)'),
        ("torch.cuda.amp.GradScaler('cuda')", "torch.amp.GradScaler('cuda')"),
    ],
)
def test_a_scaler_that_silently_takes_a_value_for_another(
    monkeypatch: pytest.MonkeyPatch, call: str, after: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.amp.common.amp_definitely_not_available", lambda: False)
    space: dict[str, object] = {}
    for text in (call, after):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(f"import torch\nscaler = {text}", space)
        scaler = space["scaler"]
        assert isinstance(scaler, torch.amp.GradScaler)
        state = scaler._device, scaler.is_enabled(), getattr(scaler, "_init_scale", None)
        right = {"device": "cuda", "enabled": "False" not in call, "scale": 8.0 if "8.0" in call else 65536.0}
        meant = right["device"], right["enabled"], right["scale"] if right["enabled"] else None
        assert (state == meant) is (text is after)
    assert fixed(f"import torch\nscaler = {call}\n") == f"import torch\nscaler = {after}\n"


def test_a_scale_of_zero_makes_every_weight_nan() -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", False)  # type: ignore[arg-type]
    scaler.scale(model(torch.ones(4, 2)).mean()).backward()
    scaler.step(optimizer)
    assert model.weight.isnan().all()


def test_the_old_bare_decorator_is_silent_until_it_is_called() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        @torch.cuda.amp.autocast
        def width(model: torch.nn.Linear) -> int:
            return model.in_features

    assert callable(width(torch.nn.Linear(2, 1)))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        width(torch.ones(1))  # type: ignore[type-var]


def test_unsafe_fixes() -> None:
    program = """
    import torch


    def evaluate(model, x):
        out = torch.cuda.amp.autocast(model(x))
        device = torch.device("mps" if torch.backends.mps.is_available() else "cuda")
        with torch.amp.autocast("cuda"):
            return out + model(x.to(device))
    """
    after = fixed(program, unsafe=True)
    assert '    with torch.amp.autocast("cuda"):\n        out = model(x)\n' in after
    assert "    with torch.amp.autocast(device.type):\n        return out" in after


def test_a_fix_may_bring_what_is_only_worth_knowing() -> None:
    program = """
    import torch

    device = torch.device("mps" if torch.backends.mps.is_available() else "cuda")
    model = torch.nn.Linear(2, 2).to(device)
    with torch.cuda.amp.autocast():
        model(torch.ones(2, device=device))
    """
    document = Document("train.py", textwrap.dedent(program).lstrip("\n"))
    found = {finding.code: finding for finding in Fixer(RULES, RULES).lint(document).findings}
    assert set(found) == {"AMP201"}
    assert found["AMP201"].fix is not None and found["AMP201"].fix.applicability is Applicability.SAFE
    after = Document("train.py", fixed(program))
    assert [finding.code for finding in Fixer(RULES, RULES).lint(after).findings] == ["AMP210"]


@pytest.mark.parametrize(
    ("cast_inputs", "dtypes"), [(None, {torch.bfloat16}), (torch.float32, {torch.bfloat16, torch.float32})]
)
def test_an_index_does_harm_to_custom_functions_that_cast_only(
    cast_inputs: torch.dtype | None, dtypes: set[torch.dtype]
) -> None:
    """And none to the functions that read the state of autocast, nor, any more, to autocast itself."""
    seen: set[torch.dtype] = set()
    for device_type in ("cpu", "cpu:0"):

        class Function(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type=device_type, cast_inputs=cast_inputs)
            def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
                seen.add(x.dtype)
                return x * 2

        with torch.autocast(device_type):
            assert torch.is_autocast_enabled(device_type) and torch.get_autocast_dtype(device_type) == torch.bfloat16
            Function.apply(torch.ones(2, 2, dtype=torch.bfloat16))
    assert seen == dtypes
