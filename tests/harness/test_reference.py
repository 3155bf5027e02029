"""The reference pattern runs as the documentation of torch.amp says."""

from __future__ import annotations

import torch

from amplint.harness import watch
from amplint.harness.reference import reference_run


def test_reference_run() -> None:
    with watch() as report:
        run = reference_run()
    assert report.findings == []
    assert (run.output_dtype, run.loss_dtype) == ("bfloat16", "float32")
    assert len(run.losses) == 5
    assert list(run.losses) == sorted(run.losses, reverse=True)
    assert run.scale == 65536.0


def test_reference_run_repeats_and_leaves_the_random_numbers_alone() -> None:
    state = torch.get_rng_state()
    assert reference_run() == reference_run()
    assert torch.equal(torch.get_rng_state(), state)
