"""The reference pattern runs as the documentation of torch.amp says."""

from __future__ import annotations

import pytest
import torch

from amplint.harness import self_test, watch
from amplint.harness.reference import reference_run


def test_reference_run() -> None:
    with watch() as report:
        run = reference_run()
    assert report.findings == []
    assert (run.output_dtype, run.loss_dtype) == ("bfloat16", "float32")
    assert [f"{loss:.4f}" for loss in run.losses] == ["5.1801", "4.8980", "4.6345", "4.3843", "4.1315"]
    assert run.scale == 65536.0


def test_reference_run_repeats_and_leaves_the_random_numbers_alone() -> None:
    state = torch.get_rng_state()
    assert reference_run() == reference_run()
    assert torch.equal(torch.get_rng_state(), state)


def test_self_test_prints_what_is_and_what_should_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert self_test.main() == 0
    out = capsys.readouterr().out
    assert out.count("5.1801 4.8980 4.6345 4.3843 4.1315") == 2
    assert out.count("bfloat16 float32") == out.count("65536.0") == 2
    assert out.endswith("Mixed precision works here as recorded.\n")


def test_self_test_fails_where_the_run_differs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(self_test, "RECORDED", self_test.RECORDED._replace(losses=(1.0, 2.0, 3.0, 4.0, 5.0)))
    assert self_test.main() == 1
    assert capsys.readouterr().out.endswith("Mixed precision works differently here.\n")
