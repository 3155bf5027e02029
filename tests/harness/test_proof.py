"""``--fix --verify``: a fix is kept because it ran."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from runs import FIXTURES

from amplint.cli import main
from amplint.documents import Document
from amplint.fixer import Fixer
from amplint.harness.standins.proof import Prover
from amplint.rules import RULES


@pytest.fixture
def amplint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str) -> Result:
    return CliRunner().invoke(main, [*args, "--isolated"])


def test_fixes_of_the_fixtures_are_executed_and_kept(amplint: Path) -> None:
    for path in FIXTURES.glob("step-bypasses-scaler/*.before.py"):
        shutil.copy(path, amplint)
    done = run("--fix", "--verify", "--select", "AMP101,AMP102", ".")
    assert done.exit_code == 0, done.output
    assert "withheld" in done.output
    assert "fixes of the scaler's protocol were executed with stand-ins" in done.output
    assert ", 0 withheld" in done.output
    for path in FIXTURES.glob("step-bypasses-scaler/*.before.py"):
        assert (amplint / path.name).read_text() == path.with_name(path.name.replace("before", "after")).read_text()


UNRUNNABLE = """
    import torch
    number = int("none: nothing can be run here")
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x in data:
        scaler.scale(model(x).sum()).backward()
        scaler.step(optimizer)
"""


def test_a_fix_that_cannot_be_shown_is_withheld_and_the_reason_said() -> None:
    source = textwrap.dedent(UNRUNNABLE)
    document = Document.from_source("train.py", source)
    assert Fixer(RULES, RULES).fix(document).healed
    fixed = Fixer(RULES, RULES, object_to=Prover().object_to).fix(document)
    assert fixed.document.text == source
    (finding,) = (finding for finding in fixed.remaining.findings if finding.code == "AMP102")
    assert finding.no_fix_reason is not None
    assert finding.no_fix_reason.startswith("the fix was withheld: ")


def test_a_fix_that_does_not_heal_in_a_run_is_withheld() -> None:
    path = FIXTURES / "step-bypasses-scaler" / "plain_loop.before.py"
    document = Document.read(path)
    (finding, *_) = (finding for finding in Fixer(RULES, RULES).lint(document).findings if finding.code == "AMP101")
    prover = Prover()
    assert finding.fix is not None
    assert prover.object_to(document, document.edited(finding.fix.edits), finding) is None
    same = Document.from_source("train.py", document.text + "# nothing else\n")
    assert prover.object_to(document, same, finding) == (
        "the fix was withheld: run with stand-ins, the fixed code still shows AMP101"
    )
    broken = Document.from_source("train.py", document.text.replace("optimizer.step()", "scaler.step(optimizer)"))
    assert prover.object_to(document, broken, finding) == (
        "the fix was withheld: run with stand-ins, the fixed code shows AMP102"
    )


def test_verify_is_for_fixes(amplint: Path) -> None:
    assert run("--verify", ".").exit_code == 2
