"""The lowest torch that a script names in a comment of its own, as PEP 723 has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplint import lint_paths, lint_source

SCRIPT = """#!/usr/bin/env -S uv run --script
# /// script
# requires-python = ">=3.11"
#
# dependencies = [
#   "torch{bound}",  # for autocast
#   "numpy",
# ]
# ///
from torch.amp import GradScaler

scaler = GradScaler("cuda")
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_script_says_itself_what_torch_it_needs(tmp_path: Path, newline: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch>=2.6\n")
    script = tmp_path / "script.py"

    def found(text: str, target: str | None = None) -> list[str]:
        script.write_bytes(text.replace("\n", newline).encode())
        return [finding.message for finding in lint_paths([script], target_torch=target)[0].findings]

    (message,) = found(SCRIPT.format(bound=">=2.1,<3"))
    assert message.endswith("supports torch 2.1 (`dependencies` of the script itself)")
    assert [finding.message for finding in lint_source(SCRIPT.format(bound="~=2.1")).findings] == [message]
    assert not found(SCRIPT.format(bound=">=2.1"), "2.4") and found(SCRIPT.format(bound=">=2.4"), "2.2")
    assert not found(SCRIPT.format(bound=">=2.3"))
    without_bound = SCRIPT.format(bound="")
    assert not found(without_bound)
    (tmp_path / "requirements.txt").write_text("torch>=2.0\n")
    assert found(without_bound)[0].endswith("(requirements.txt)")


@pytest.mark.parametrize(
    "text",
    [
        SCRIPT.format(bound=">=2.1").replace("# ///\n", ""),
        SCRIPT.format(bound=">=2.1").replace("/// script", "/// scripts"),
        SCRIPT.format(bound=">=2.1").replace("# dependencies", "#dependencies"),
        SCRIPT.format(bound=">=2.1").replace("# ]", "# ]]"),
        SCRIPT.format(bound=">=2.1") * 2,
        "# dependencies = ['torch>=2.1']\nfrom torch.amp import GradScaler\n",
    ],
)
def test_comments_that_are_no_metadata_of_a_script_say_nothing(text: str) -> None:
    assert not lint_source(text, select=["AMP206"]).findings
