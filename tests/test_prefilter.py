"""Files that never mention AMP cost next to nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from amplint.cli import main
try:
    main(sys.argv[1:], prog_name="amplint")
except SystemExit as end:
    assert end.code == 0, end.code
heavy = {"libcst", "torch", "asyncio", "multiprocessing", "importlib.metadata", "packaging", "pathspec"}
print(*sorted(heavy & sys.modules.keys()))
"""


@pytest.mark.parametrize("paths", [["."], ["a.py", "sub/b.py"]])
def test_nothing_heavy_is_imported_for_files_without_amp(tmp_path: Path, paths: list[str]) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.py").write_text("import os\nprint(os.name, 'naïve', example, optimizer.step())\n", encoding="utf-8")
    (tmp_path / "sub" / "b.py").write_text("def stamp(clamp): return clamp.sample\n")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\ndependencies = ['torch>=2.1']\n")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *paths], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "All checks passed!\n\n"


def test_no_rule_mentions_a_word_of_everyday_code(tmp_path: Path) -> None:
    """A mention that stands in most files would undo the prefilter without anybody noticing."""
    from amplint.mentions import Mentions
    from amplint.registry import installed

    everyday = (
        b"import torch example stamp clamp sample scale scaled scaler step backward zero_grad update enabled dtype"
    )
    assert [
        rule.code for rule in installed().rules if rule.mentions and Mentions(rule.mentions).stand_in(everyday)
    ] == []


def test_a_rule_is_not_asked_about_a_text_that_does_not_mention_what_it_needs(tmp_path: Path) -> None:
    """Half-precision code without a scaler must not pay for the exploration of its paths."""
    (tmp_path / "a.py").write_text("import torch\nweights = torch.zeros(2, dtype=torch.float16)\n")
    script = SCRIPT.replace("heavy = {", 'heavy = {"amplint.flow", "amplint.precision", "amplint.training", ')
    done = subprocess.run([sys.executable, "-c", script, "."], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1:] == [""]


def test_what_is_known_of_a_file_is_told_without_looking_into_it(tmp_path: Path) -> None:
    """The second run reads from the cache what the first one found, and needs no tree for that."""
    (tmp_path / "a.py").write_text("from torch.cuda.amp import GradScaler\nscaler = GradScaler()\n")
    command = [sys.executable, "-c", SCRIPT.replace("heavy = {", 'heavy = {"amplint.fixer", '), "--exit-zero", "."]
    first, second = (
        subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
        for _ in range(2)
    )
    assert first[:-1] == second[:-1] and "libcst" in first[-1]
    assert second[-1] == ""
