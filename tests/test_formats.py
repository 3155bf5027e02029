"""The formats that machines read, each taken back by a reader that is not amplint's own where there is one."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from reports import FIXED, SOURCE, render, report

from amplint.config import OUTPUT_FORMATS
from amplint.documents import apply_edits
from amplint.project import Report
from amplint.registry import installed

pytestmark = pytest.mark.usefixtures("working_folder")


@pytest.mark.parametrize("reports", [[], [report()], [report("ü b/%.py"), report("../c#?.py"), report("-")]])
def test_sarif_is_valid_to_the_models_made_from_its_schema(reports: list[Report]) -> None:
    model = pytest.importorskip("pydantic_sarif.model")
    text = render("sarif", *reports)
    log = model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate_json(text)
    assert len(log.runs[0].results) == 3 * len(reports)


def test_sarif_says_all_there_is_to_say(tmp_path: Path) -> None:
    run = json.loads(render("sarif", report("ü b.py")))["runs"][0]
    driver = run["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == ["AMP101", "AMP102"]
    assert driver["rules"][0]["help"]["markdown"] == installed().find("AMP101").page()
    first, second, third = run["results"]
    assert driver["rules"][third["ruleIndex"]]["id"] == third["ruleId"] == "AMP102"
    assert (first["level"], third["level"]) == ("error", "note")
    place = first["locations"][0]["physicalLocation"]
    base = run["originalUriBaseIds"][place["artifactLocation"]["uriBaseId"]]["uri"]
    assert unquote(urlsplit(base + place["artifactLocation"]["uri"]).path) == str(tmp_path / "ü b.py")
    assert place["region"] == {
        "startLine": 2,
        "startColumn": 1,
        "endLine": 2,
        "endColumn": 8,
        "snippet": {"text": "step(y)"},
    }
    assert first["relatedLocations"][0]["message"]["text"] == "scaled here"
    assert first["relatedLocations"][0]["physicalLocation"]["region"]["startColumn"] == 10
    assert run["columnKind"] == "unicodeCodePoints"
    replacements = first["fixes"][0]["artifactChanges"][0]["replacements"]
    assert [change["insertedContent"]["text"] for change in replacements] == ["scaler.", "scaler.update()\n"]
    assert "fixes" not in second


@pytest.mark.parametrize("reports", [[], [report()], [report("ü b/%.py"), report("-", "a & <b> \uffff \0 ]]>")]])
def test_junit_is_read_back(reports: list[Report]) -> None:
    junitparser = pytest.importorskip("junitparser")
    suites = junitparser.JUnitXml.fromfile(io.BytesIO(render("junit", *reports).encode()))
    assert suites.failures == 3 * len(reports)
    assert suites.tests == max(3 * len(reports), 1)
    for suite, expected in zip(suites, reports, strict=bool(reports)):
        assert suite.failures == 3
        case = next(iter(suite))
        assert (case.name, case.result[0].message[:5]) == ("org.amplint.AMP101", expected.findings[0].message[:5])
        assert "note: 1:10: scaled here\nhelp: Do it right" in case.result[0].text


def test_gitlab_tells_findings_apart_however_rows_move(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = json.loads(render("gitlab", report("d/a.py"), report("d/b.py")))
    assert rows[0] == {
        "check_name": "AMP101",
        "description": "AMP101: Wrong step",
        "severity": "major",
        "fingerprint": rows[0]["fingerprint"],
        "location": {
            "path": "d/a.py",
            "positions": {"begin": {"line": 2, "column": 1}, "end": {"line": 2, "column": 8}},
        },
    }
    prints = [row["fingerprint"] for row in rows]
    assert len(set(prints)) == 6
    moved = json.loads(render("gitlab", report("d/a.py", source=f"# more\n{SOURCE}"), report("d/b.py")))
    assert [row["fingerprint"] for row in moved] == prints
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path.parent))
    assert json.loads(render("gitlab", report("a.py")))[0]["location"]["path"] == f"{tmp_path.name}/a.py"


def test_rdjson_counts_bytes_and_suggests_the_whole_fix() -> None:
    row = json.loads(render("rdjson", report()))["diagnostics"][0]
    assert row["severity"] == "ERROR"
    assert row["related_locations"][0]["location"]["range"]["start"] == {"line": 1, "column": 14}
    (suggestion,) = row["suggestions"]
    assert suggestion["range"] == {"start": {"line": 2, "column": 1}, "end": {"line": 3, "column": 1}}
    assert suggestion["text"] == "scaler.step(y)\nscaler.update()\n"


def test_json_lines_are_the_objects_of_the_array() -> None:
    reports = [report(), report("b.py")]
    lines = [json.loads(line) for line in render("json-lines", *reports).splitlines()]
    assert lines == json.loads(render("json", *reports))
    assert render("json-lines") == ""


def test_a_fix_in_json_can_be_applied_by_its_rows_and_columns() -> None:
    document = report().document
    row = json.loads(render("json", report()))[0]
    edits = [
        document.edit(
            *(document.at(edit[end]["row"], edit[end]["column"]).offset for end in ("location", "end_location")),
            edit["content"],
        )
        for edit in row["fix"]["edits"]
    ]
    assert apply_edits(SOURCE, edits).startswith(FIXED[: FIXED.index("scaler.update()")])


@pytest.mark.parametrize(
    ("output_format", "line"),
    [
        ("azure", "##vso[task.logissue type=error;sourcepath={};linenumber=2;columnnumber=1;code=AMP101;]Wrong step"),
        ("pylint", "a.py:2: [AMP101] Wrong step"),
        ("concise", "a.py:2:1: AMP101 [*] Wrong step"),
        ("grouped", "a.py:"),
    ],
)
def test_lines(tmp_path: Path, output_format: str, line: str) -> None:
    lines = render(output_format, report()).splitlines()
    assert lines[0] == line.format(tmp_path / "a.py")
    assert len(lines) == (5 if output_format == "grouped" else 3)


def test_groups_stand_in_columns() -> None:
    text = render("grouped", report(source="\n" * 8 + SOURCE), report("b.py"))
    assert text == (
        "a.py:\n  10:1 AMP101 [*] Wrong step\n  11:1 AMP101 Wrong step\n  11:1 AMP102 Wrong step\n\n"
        "b.py:\n  2:1 AMP101 [*] Wrong step\n  3:1 AMP101 Wrong step\n  3:1 AMP102 Wrong step\n\n"
    )
    mixed = render("grouped", report(source="\n" * 7 + SOURCE))
    assert " 9:1 AMP101" in mixed and "  10:1 AMP101" in mixed


EVIL = [
    "\x1b]0;owned\x07\u202e\x9b\udcff\r",
    "::error::pwned\n::set-output name=a::b",
    "x\r\n##vso[task.setvariable variable=a]b",
    "##[set-env name=A]b",
    "a;b]c,d%0A%3A::e",
]


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("output_format", OUTPUT_FORMATS)
def test_nothing_in_names_messages_or_source_steers_a_terminal_or_a_ci_system(output_format: str, evil: str) -> None:
    source = f'"""\n{evil}\n"""; backward(x)\nstep(y)\nstep(y)\n'
    text = render(output_format, report(f"{evil}.py", evil, source))
    text.encode("utf-8")
    assert not set(text) & set("\x1b\x07\u202e\x9b\r")
    commands = [line for line in text.splitlines() if line.lstrip().startswith("::") or re.search(r"##\w*\[", line)]
    if output_format not in ("github", "azure"):
        assert not commands
    else:
        assert commands == text.splitlines() and len(commands) == 3
        assert text.count("##vso[") == (3 if output_format == "azure" else 0)


def test_github_and_azure_unescape_to_what_was_said() -> None:
    message = "100% [x]; a, b: c"
    line = render("github", report("a,b:%.py", message)).splitlines()[0]
    head, _, said = line[2:].partition("::")
    properties = dict(part.partition("=")[::2] for part in head.partition(" ")[2].split(","))
    assert unquote(properties["file"]).endswith("/a,b:%.py")
    assert unquote(said) == f"a,b:%.py:2:1: AMP101 {message}\n  help: Do it right"
    line = render("azure", report("a;b].py", message)).splitlines()[0]
    head, _, said = line.partition("]")
    properties = dict(part.partition("=")[::2] for part in head.partition(" ")[2].split(";") if part)
    assert unquote(properties["sourcepath"]).endswith("/a;b].py")
    assert said.replace("%AZP25", "%") == message
