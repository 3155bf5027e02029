"""The README tells the truth: its rule table is the rules' own metadata, its test command is what CI runs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from amplint.config import Configuration
from amplint.registry import installed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def rule_table() -> str:
    rows = ["| code | name | what it finds | severity | fix |", "| --- | --- | --- | --- | --- |"]
    for rule in installed().rules:
        rows.append(f"| {rule.code} | {rule.name} | {rule.summary} | {rule.severity.value} | {rule.fixable} |")
    return "\n".join(rows)


def test_the_rule_table_is_the_rules_metadata() -> None:
    shown = re.search(r"<!-- rules: begin[^\n]*-->\n(.*)<!-- rules: end -->", README, re.DOTALL)
    assert shown is not None
    assert shown[1].strip() == rule_table()


def test_ci_runs_the_readme_test_command() -> None:
    command = next(
        line for line in README.splitlines() if line.endswith("-m pytest") and line.startswith("python -m venv")
    )
    assert command in (ROOT / ".ci" / "run").read_text()


def test_the_configuration_example_is_accepted(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(\[tool.amplint\].*?)```", README, re.DOTALL)
    assert example is not None
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(example[1])
    (tmp_path / "amplint.toml").write_text("")
    settings = Configuration(installed()).settings(str(project))
    assert settings.target_torch is not None and settings.target_torch.version == (2, 3)


def test_every_package_is_shipped() -> None:
    settings = (ROOT / "pyproject.toml").read_text()
    listed = re.search(r"^packages = \[\n(.*?)^\]", settings, re.DOTALL | re.MULTILINE)
    assert listed is not None
    names = {
        path.parent.relative_to(ROOT).as_posix().replace("/", ".")
        for room in ("amplint", "rules")
        for path in (ROOT / room).rglob("__init__.py")
        if "fixtures" not in path.parts
    }
    assert set(re.findall(r'"(.*)"', listed[1])) == {
        f"amplint.{name}" if name.startswith("rules") else name for name in names
    }


def test_settings_of_editors_can_be_read() -> None:
    for text in re.findall(r"```json\n(.*?)```", README, re.DOTALL):
        assert "amplint" in json.dumps(json.loads(text))
    (helix,) = re.findall(r"```toml\n(# Helix.*?)```", README, re.DOTALL)
    settings = tomllib.loads(helix)
    assert set(settings["language"][0]["language-servers"]) == set(settings["language-server"]) == {"amplint"}
