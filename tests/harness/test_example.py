"""The README's example shows the three mistakes, and its fixed form learns."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import FIXTURES

from amplint.documents import Document
from amplint.fixer import Fixer
from amplint.harness.verify import main
from amplint.rule import TargetTorch
from amplint.rules import RULES

EXAMPLE = FIXTURES / "example" / "train.py"
FIXER = Fixer(RULES, RULES, TargetTorch((2, 3), "this test"))


def test_linter_finds_the_three_mistakes() -> None:
    findings = FIXER.lint(Document.read(EXAMPLE)).findings
    assert [finding.code for finding in findings] == ["AMP201", "AMP201", "AMP101", "AMP102"]


def test_example_breaks_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(str(EXAMPLE)) == 1
    captured = capsys.readouterr()
    assert "autoencoder epoch 2: loss nan" in captured.out
    assert "AMP101" in captured.out and "AMP102" in captured.out
    assert captured.err.endswith("RuntimeError: step() has already been called since the last update().\n")


def test_fixed_example_learns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fixed = FIXER.fix(Document.read(EXAMPLE))
    assert fixed.remaining.findings == ()
    script = tmp_path / "train.py"
    script.write_text(fixed.document.text)
    assert main(str(script)) == 0
    *_, last, summary = capsys.readouterr().out.splitlines()
    assert float(last.split()[-1]) < 0.1
    assert summary.startswith("No misuse of mixed precision in this run")
