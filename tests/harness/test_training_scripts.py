"""The training scripts of ``fixtures/``: a fault harms, its fix trains as float32 does, right code is silent."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from _pytest.mark import ParameterSet
from runs import FIXTURES, Run, new_torch, run
from torch.utils._python_dispatch import TorchDispatchMode

from amplint.documents import Document
from amplint.fixer import Fixer
from amplint.rule import TargetTorch
from amplint.rules import RULES

torch_version = tuple(map(int, torch.__version__.split(".")[:2]))
FLOAT16 = 1e-4
"""How far float16 may lead the weights from float32 in a handful of steps."""
HARMFUL = 1e-2
"""How far a fault leads them at least."""

STEPPED_TWICE = "RuntimeError: step() has already been called since the last update()."
UNSCALED_TWICE = "RuntimeError: unscale_() has already been called on this optimizer since the last update()."
NOTHING_RECORDED = "AssertionError: No inf checks were recorded prior to update."

# fixture -> the codes that the watch reports, and PyTorch's error where the harm is one
FAULTS: dict[str, tuple[set[str], str | None]] = {
    "step-bypasses-scaler/accumulation": ({"AMP101"}, None),
    "step-bypasses-scaler/after_unscale": ({"AMP101"}, None),
    "step-bypasses-scaler/helper": ({"AMP101"}, None),
    "step-bypasses-scaler/plain_loop": ({"AMP101"}, None),
    "step-bypasses-scaler/split_guard": ({"AMP101"}, None),
    "step-bypasses-scaler/trainer_class": ({"AMP101"}, NOTHING_RECORDED),
    "step-bypasses-scaler/two_optimizers": ({"AMP101"}, None),
    "missing-update/accumulation": ({"AMP102"}, STEPPED_TWICE),
    "missing-update/flat_loop": ({"AMP102"}, STEPPED_TWICE),
    "missing-update/skip_after_unscale": ({"AMP102"}, UNSCALED_TWICE),
    "missing-update/two_optimizers": ({"AMP102"}, STEPPED_TWICE),
    "clip-before-unscale/method": ({"AMP103"}, None),
    "clip-before-unscale/plain_loop": ({"AMP103"}, None),
    "scaled-grad-use/rate_by_norm": ({"AMP104"}, None),
    "unscaled-backward/second_loss": ({"AMP105"}, None),
    "repeated-unscale/after_clip": ({"AMP106"}, UNSCALED_TWICE),
    "misplaced-update/each_micro_batch": ({"AMP107"}, NOTHING_RECORDED),
    "backward-after-unscale/second_loss": ({"AMP109"}, None),
    "zero-grad-before-step/kept_zeros": ({"AMP108"}, None),
    "repeated-step/twice": ({"AMP110"}, STEPPED_TWICE),
    "double-scale/twice": ({"AMP111"}, None),
    "closure-with-scaler/keyword": ({"AMP113"}, "RuntimeError: Closure use is not currently supported"),
    "scaler-recreated/each_epoch": ({"AMP114"}, None),
    "scheduler-before-step/decay": ({"AMP116"}, None),
    "half-params-with-scaler/half": ({"AMP119"}, "ValueError: Attempting to unscale FP16 gradients."),
    "wrong-scaler-argument/integer_scale": ({"AMP121"}, "AttributeError: 'int' object has no attribute"),
    "wrong-scaler-argument/schedule": ({"AMP121"}, "AttributeError: 'StepLR' object has no attribute 'param_groups'"),
    "step-inside-autocast/whole_epoch": ({"AMP301", "AMP302"}, None),
    "bce-under-autocast/probabilities": ({"AMP303"}, "RuntimeError: torch.nn.functional.binary_cross_entropy and"),
    "half-overflow-constant/masked_scores": ({"AMP401"}, "RuntimeError: value cannot be converted to type"),
}

# those that only the linter sees: what a run shows is their harm
UNSEEN: dict[str, tuple[set[str], str | None]] = {
    "scaled-loss-used/rate_by_loss": ({"AMP112"}, None),
    "fp16-without-scaler/small_loss": ({"AMP118"}, None),
    "wrong-migration-argument/flag_as_dtype": ({"AMP205"}, "TypeError: "),
    "wrong-migration-argument/scaler_switched_off": ({"AMP201", "AMP205"}, None),
    "island-without-float/log_of_exponentials": ({"AMP308"}, None),
    "loss-outside-autocast/large_errors": ({"AMP309"}, None),
    "half-underflow-epsilon/largest_of_each": ({"AMP402"}, None),
    "scaler-not-checkpointed/second_task": ({"AMP115"}, None),
    "unused-scaler/small_loss": ({"AMP118", "AMP120"}, None),
    "autocast-on-generator/half_pictures": ({"AMP305"}, "RuntimeError: mat1 and mat2 must have the same dtype"),
}
FAULTS |= UNSEEN

# those whose harm is not in the weights, or not with every torch
COSTLY = {
    "bf16-with-scaler/bfloat16": {"AMP117"},
    "cpu-autocast-dtype/float32": {"AMP304", "AMP501"},
    "no-grad-poisons-cache/baseline": {"AMP307"},
}

# fixture -> the deprecations that PyTorch warns of
DEPRECATIONS = {
    "deprecated-cuda-amp/decorator": {"torch.cuda.amp.GradScaler", "torch.cuda.amp.autocast"},
    "deprecated-cuda-amp/from_imports": {"torch.cuda.amp.GradScaler", "torch.cuda.amp.autocast"},
    "deprecated-cuda-amp/module_alias": {"torch.cuda.amp.GradScaler", "torch.cuda.amp.autocast"},
    "deprecated-cuda-amp/positional_arguments": {"torch.cuda.amp.GradScaler", "torch.cuda.amp.autocast"},
    "deprecated-cuda-amp/subclass": {"torch.cuda.amp.GradScaler"},
    "deprecated-custom-fwd/autograd_function": {"torch.cuda.amp.custom_bwd", "torch.cuda.amp.custom_fwd"},
    "deprecated-autocast-query/cast_to_region": {"torch.get_autocast_gpu_dtype"},
    "deprecated-autocast-query/set_dtype": {"torch.set_autocast_gpu_dtype"},
}

# the reference takes the step that the scaler rightly skips
LOOSE = {"step-bypasses-scaler/after_unscale": 5e-3}
# bfloat16 has three digits fewer
LOOSE["deprecated-autocast-query/set_dtype"] = 1e-3
# the scaler finds its scale first, in steps that the reference takes
LOOSE["scaler-recreated/each_epoch"] = 5e-2
LOOSE["island-without-float/log_of_exponentials"] = 1e-3
LOOSE["bf16-with-scaler/bfloat16"] = LOOSE["cpu-autocast-dtype/float32"] = 1e-3
LOOSE["scaler-not-checkpointed/second_task"] = 1e-3
# Adam makes much of a small difference
LOOSE["unused-scaler/small_loss"] = LOOSE["fp16-without-scaler/small_loss"] = 1e-3

NEW_TORCH = {
    "clean/custom_functions",
    "deprecated-custom-fwd/autograd_function",
    "deprecated-autocast-query/cast_to_region",
    "deprecated-autocast-query/set_dtype",
}

UNFIXED = {
    "missing-update/skip_after_unscale",
    "closure-with-scaler/keyword",
    "half-params-with-scaler/half",
    "wrong-scaler-argument/schedule",
    "step-inside-autocast/whole_epoch",
    "fp16-without-scaler/small_loss",
    "loss-outside-autocast/large_errors",
    "half-underflow-epsilon/largest_of_each",
    "scaler-not-checkpointed/second_task",
    "unused-scaler/small_loss",
    "autocast-on-generator/half_pictures",
    "cpu-autocast-dtype/float32",
    "no-grad-poisons-cache/baseline",
}
UNSAFE = {
    "scheduler-before-step/decay",
    "bce-under-autocast/probabilities",
    "half-overflow-constant/masked_scores",
    "island-without-float/log_of_exponentials",
}
# their data do not fit float32 weights
FOR_HALF = {"autocast-on-generator/half_pictures"}
# the linter points at the condition that skips the update, and at the cast of the model
ELSEWHERE = {"missing-update/skip_after_unscale", "half-params-with-scaler/half"}


def with_marks(cases: Iterable[str]) -> list[ParameterSet]:
    return [pytest.param(case, marks=new_torch if case in NEW_TORCH else ()) for case in cases]


def before(case: str) -> Path:
    return FIXTURES / f"{case}.before.py"


def cured(case: str) -> Path:
    return FIXTURES / f"{case}.cured.py"


def after(case: str) -> Path:
    return FIXTURES / f"{case}.after.py"


@functools.cache
def reference(case: str) -> Run:
    """The same training in float32."""
    path = after(case) if after(case).exists() else before(case)
    result = run(path, mixed_precision=False)
    assert result.error is None
    return result


def deprecations(result: Run) -> set[str]:
    named = (re.search(r"(torch[\w.]+)\(.*is deprecated", text) for text in result.warnings)
    return {match[1] for match in named if match}


def test_every_fixture_is_accounted_for() -> None:
    cases = {str(path.relative_to(FIXTURES)).removesuffix(".before.py") for path in FIXTURES.glob("*/*.before.py")}
    assert cases == {*FAULTS, *COSTLY, *DEPRECATIONS}
    fixed = {str(path.relative_to(FIXTURES)).removesuffix(".after.py") for path in FIXTURES.glob("*/*.after.py")}
    assert fixed == cases - UNFIXED


@pytest.mark.parametrize("case", [*FAULTS, *COSTLY, *DEPRECATIONS])
def test_after_is_what_fix_makes_of_before(case: str) -> None:
    fixer = Fixer(RULES, RULES, TargetTorch((2, 4), "this test"))
    fixed = fixer.fix(Document.read(before(case)), unsafe=case in UNSAFE)
    expected = before(case) if case in UNFIXED else after(case)
    assert fixed.document.text == expected.read_text()
    assert bool(fixed.remaining.findings) == (case in UNFIXED)


@pytest.mark.parametrize("case", FAULTS)
def test_fault_harms_and_is_reported(case: str) -> None:
    codes, error = FAULTS[case]
    result = run(before(case))
    assert {found.code for found in result.report.findings} == (set() if case in UNSEEN else codes)
    if error is not None:
        assert result.error is not None and result.error.startswith(error)
    else:
        assert result.error is None
        assert result.distance(reference(case)) > HARMFUL


@pytest.mark.parametrize("case", FAULTS)
def test_watch_and_linter_point_at_the_same_rows(case: str) -> None:
    linted = Fixer(RULES, RULES, None).lint(Document.read(before(case)))
    seen = {(found.code, found.row) for found in run(before(case)).report.findings}
    if case in UNSEEN:
        assert {finding.code for finding in linted.findings} == UNSEEN[case][0]
    elif case in ELSEWHERE:
        assert {code for code, _ in seen} == {finding.code for finding in linted.findings}
    else:
        assert seen == {(finding.code, finding.start.row) for finding in linted.findings}


@pytest.mark.parametrize("case", COSTLY)
def test_what_costs_something_else_than_weights_is_seen_by_the_linter_alone(case: str) -> None:
    assert {f.code for f in Fixer(RULES, RULES, None).lint(Document.read(before(case))).findings} == COSTLY[case]
    result = run(before(case))
    assert result.error is None
    assert result.report.findings == []


def test_a_scaler_beside_bfloat16_changes_nothing_and_looks_at_every_gradient() -> None:
    class Counts(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.checks = self.waits = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.checks += "non_finite_check" in str(func)
            self.waits += "_local_scalar_dense" in str(func)
            return func(*args, **(kwargs or {}))

    with Counts() as with_scaler:
        harmed = run(before("bf16-with-scaler/bfloat16"))
    with Counts() as without:
        mended = run(after("bf16-with-scaler/bfloat16"))
    assert harmed.distance(mended) == 0.0
    assert with_scaler.checks == 6 and with_scaler.waits - without.waits >= 6
    assert without.checks == 0


def test_cpu_autocast_in_float32_switches_itself_off_and_warns() -> None:
    harmed, mended = run(before("cpu-autocast-dtype/float32")), run(cured("cpu-autocast-dtype/float32"))
    assert all("Disabling autocast" in text for text in harmed.warnings) and harmed.warnings
    assert harmed.distance(reference("cpu-autocast-dtype/float32")) == 0.0
    assert mended.warnings == []
    assert mended.distance(harmed) > 0.0


def test_a_forward_without_gradients_takes_them_from_the_next_one_in_older_torch() -> None:
    case = "no-grad-poisons-cache/baseline"
    distance = run(before(case)).distance(reference(case))
    assert distance < FLOAT16 if torch_version >= (2, 10) else distance > HARMFUL


@pytest.mark.parametrize("case", sorted(str(path.relative_to(FIXTURES)) for path in FIXTURES.glob("*/*.cured.py")))
def test_what_is_mended_by_hand_trains_as_float32_does(case: str) -> None:
    case = case.removesuffix(".cured.py")
    result = run(cured(case))
    assert result.error is None
    assert result.report.findings == []
    codes = COSTLY[case] if case in COSTLY else FAULTS[case][0]
    found = {finding.code for finding in Fixer(RULES, RULES, None).lint(Document.read(cured(case))).findings}
    assert found & codes <= {"AMP501"}
    if case not in FOR_HALF:
        assert result.distance(run(cured(case), mixed_precision=False)) < LOOSE.get(case, FLOAT16)


@new_torch
@pytest.mark.parametrize("case", DEPRECATIONS)
def test_deprecated_names_warn(case: str) -> None:
    result = run(before(case))
    assert deprecations(result) == DEPRECATIONS[case]
    assert result.error is None
    assert result.report.findings == []


@pytest.mark.parametrize("case", with_marks(case for case in (*FAULTS, *COSTLY, *DEPRECATIONS) if case not in UNFIXED))
def test_fixed_script_trains_as_float32_does(case: str) -> None:
    result = run(after(case))
    assert result.error is None
    assert result.report.findings == []
    assert deprecations(result) == set()
    assert result.distance(reference(case)) < LOOSE.get(case, FLOAT16)


@pytest.mark.parametrize("case", with_marks(f"clean/{path.stem}" for path in sorted(FIXTURES.glob("clean/*.py"))))
def test_right_code_is_silent_and_trains_as_float32_does(case: str) -> None:
    path = FIXTURES / f"{case}.py"
    result = run(path)
    assert result.error is None
    assert result.report.findings == []
    assert result.distance(run(path, mixed_precision=False)) < (1e-3 if "bfloat16" in path.stem else FLOAT16)
    assert Fixer(RULES, RULES, None).lint(Document.read(path)).findings == ()
