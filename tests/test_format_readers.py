"""Formats taken back by the readers that other people wrote for them, from the package indexes of Python and Node."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from reports import render as rendered
from reports import report

from amplint.findings import Severity

pytestmark = pytest.mark.usefixtures("working_folder")

MESSAGE = "100% [x]; a, b: c%0A]"
FOUND = [("AMP101", 2, Severity.ERROR), ("AMP101", 3, Severity.ERROR), ("AMP102", 3, Severity.INFO)]


def render(output_format: str, filename: str) -> str:
    return rendered(output_format, report(filename, MESSAGE))


PACKAGES = ("@actions/core", "azure-pipelines-task-lib", "@umbrelladocs/rdformat-validator")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which Node finds ``PACKAGES``."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("needs Node and npm")
    folder = tmp_path_factory.mktemp("node")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    if done.returncode:
        pytest.skip("npm cannot install the readers")
    return folder


def node(folder: Path, script: str, data: object) -> Any:
    """What ``script`` prints as JSON, given ``data``."""
    (folder / "script.mjs").write_text(f"const data = JSON.parse(process.argv[2]);\n{script}")
    command = ["node", "script.mjs", json.dumps(data)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_azure_is_read_by_the_library_of_azure_pipelines(packages: Path, tmp_path: Path) -> None:
    lines = render("azure", "a;b],%c.py").splitlines()
    script = (
        "import lib from 'azure-pipelines-task-lib/taskcommand.js';\n"
        "console.log(JSON.stringify(data.map(lib.commandFromString)))"
    )
    for command, (code, row, severity) in zip(node(packages, script, lines), FOUND, strict=True):
        assert command == {
            "command": "task.logissue",
            "message": MESSAGE,
            "properties": {
                "type": "error" if severity is Severity.ERROR else "warning",
                "sourcepath": str(tmp_path / "a;b],%c.py"),
                "linenumber": str(row),
                "columnnumber": "1",
                "code": code,
            },
        }


def test_github_is_what_the_toolkit_of_actions_writes(packages: Path, tmp_path: Path) -> None:
    """The reader is GitHub's own; its toolkit says in which words it is spoken to."""
    lines = render("github", "a,b:%c.py").splitlines()
    told = [
        {
            "command": {Severity.ERROR: "error", Severity.INFO: "notice"}[severity],
            "message": f"a,b:%c.py:{row}:1: {code} {MESSAGE}\n  help: Do it right",
            "properties": {
                "title": f"amplint ({code})",
                "file": str(tmp_path / "a,b:%c.py"),
                "startLine": row,
                "endLine": row,
                "startColumn": 1,
                "endColumn": 8,
            },
        }
        for code, row, severity in FOUND
    ]
    script = (
        "import * as core from '@actions/core';\n"
        "const lines = [], write = process.stdout.write;\n"
        "process.stdout.write = (text) => lines.push(text.trimEnd());\n"
        "for (const each of data) core[each.command](each.message, each.properties);\n"
        "process.stdout.write = write;\n"
        "console.log(JSON.stringify(lines));"
    )
    assert node(packages, script, told) == lines


def test_rdjson_is_valid_to_a_validator_of_its_format(packages: Path) -> None:
    script = (
        "import { validate } from '@umbrelladocs/rdformat-validator';\n"
        "const found = await validate(data, { strictMode: true, allowExtraFields: false });\n"
        "console.log(JSON.stringify(found));"
    )
    found = node(packages, script, render("rdjson", "a.py"))
    assert (found["valid"], found["errors"]) == (True, [])
    assert not node(packages, script, '{"diagnostics": [{"message": 1}]}')["valid"]


def test_gitlab_is_read_by_a_filter_of_such_reports(tmp_path: Path) -> None:
    pytest.importorskip("ruff_severity_changer")
    (tmp_path / "pyproject.toml").write_text("[tool.ruff_severity_changer]\nAMP101 = 'minor'\nAMP = 'unknown'\n")
    text = render("gitlab", "a.py")
    command = [sys.executable, "-m", "ruff_severity_changer.ruff_severity_changer"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)
    assert [row["severity"] for row in rows] == ["minor", "minor", "unknown"]
    given = json.loads(text)
    assert [row["severity"] for row in given] == ["major", "major", "info"]
    assert [{**row, "severity": None} for row in rows] == [{**row, "severity": None} for row in given]


@pytest.mark.parametrize("output_format", ["pylint", "concise"])
def test_lines_are_read_as_those_of_pylint_and_ruff(output_format: str) -> None:
    drivers = pytest.importorskip("diff_cover.violationsreporters.violations_reporter")
    driver = drivers.PylintDriver() if output_format == "pylint" else drivers.ruff_check_driver
    read = driver.parse_reports([render(output_format, "d/a b.py")])
    assert list(read) == ["d/a b.py"]
    assert [violation.line for violation in read["d/a b.py"]] == [2, 3, 3]
    for violation, (code, _, _) in zip(read["d/a b.py"], FOUND, strict=True):
        assert re.fullmatch(rf"{code}:? (\[\*\] )?{re.escape(MESSAGE)}", violation.message)


@pytest.mark.parametrize("output_format", ["json", "json-lines"])
def test_json_is_read_by_an_editors_plugin_for_ruff(output_format: str, tmp_path: Path) -> None:
    plugin = pytest.importorskip("pylsp_ruff.plugin")
    text = render(output_format, "a.py")
    rows = json.loads(text) if output_format == "json" else [json.loads(line) for line in text.splitlines()]
    checks = plugin.converter.structure(rows, list[plugin.RuffCheck])
    assert [(check.code, check.message, check.filename) for check in checks] == [
        (code, MESSAGE, str(tmp_path / "a.py")) for code, _, _ in FOUND
    ]
    shown = plugin.create_diagnostic(checks[0], plugin.PluginSettings())
    assert (shown.range.start.line, shown.range.start.character, shown.range.end.character) == (1, 0, 7)
    assert (checks[0].fix.message, checks[0].fix.applicability, checks[1].fix) == ("Step", "safe", None)
    edits = [(edit.new_text, edit.range.start.line) for edit in plugin.create_text_edits(checks[0].fix)]
    assert edits == [("scaler.", 1), ("scaler.update()\n", 2)]
