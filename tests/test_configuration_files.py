"""Where settings come from, and what they do to a run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from conftest import Amplint

from amplint.config import ConfigError, Configuration
from amplint.config.keys import KEYS
from amplint.config.schema import schema
from amplint.registry import installed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.usefixtures("demo_rules")
ROOT = Path(__file__).parent.parent

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(**files: str) -> None:
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_toml", ".toml").replace("_py", ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


def found(amplint: Amplint, *args: str) -> list[str]:
    """Path and code of each finding."""
    rows = json.loads(amplint("--output-format", "json", *args).stdout)
    return [f"{Path(row['filename']).name} {row['code']}" for row in rows]


def test_a_file_of_amplints_own_goes_before_pyproject(tmp_path: Path, write: Write) -> None:
    write(pyproject_toml="[tool.amplint]\nignore = ['DEMO001']\n", amplint_toml="ignore = ['DEMO002']\n")
    assert Configuration(installed()).settings(str(tmp_path)).selections[-1].ignore == ("DEMO002",)
    (tmp_path / ".amplint.toml").write_text("")
    assert Configuration(installed()).settings(str(tmp_path)).sources == (str(tmp_path / ".amplint.toml"),)


def test_what_is_extended_holds_where_nothing_else_is_said(tmp_path: Path, write: Write) -> None:
    write(
        base__pyproject_toml="[tool.amplint]\nextend = 'more.toml'\nselect = ['DEMO']\nextend-exclude = ['a/old']\n",
        base__more_toml="unsafe-fixes = true\ntarget-torch = '2.1'\nseverity = { DEMO = 'info' }\nexclude = ['x']\n",
        inner__amplint_toml=(
            "extend = '../base/pyproject.toml'\nignore = ['DEMO002']\ntarget-torch = '2.4'\n"
            "extend-exclude = ['a/new']\nseverity = { DEMO002 = 'error' }\n"
        ),
    )
    settings = Configuration(installed()).settings(str(tmp_path / "inner"))
    rules = {rule.code for rule in settings.rules(installed())}
    assert "DEMO001" in rules
    assert not {"DEMO002", "AMP101"} & rules
    assert settings.unsafe_fixes
    assert settings.target_torch is not None
    assert settings.target_torch.version == (2, 4)
    assert {code: severity.value for code, severity in settings.severities(installed()).items()} == {
        rule.code: "error" if rule.code == "DEMO002" else "info"
        for rule in installed().rules
        if rule.code.startswith("DEMO")
    }
    assert [settings.excludes(str(tmp_path / path)) for path in ("inner/a/new", "base/a/old", "x")] == [True] * 3
    assert [settings.excludes(str(tmp_path / path)) for path in ("inner/a/old", "base/a/new", "venv")] == [False] * 3


def test_extending_in_a_circle_or_nothing_is_refused(tmp_path: Path, write: Write) -> None:
    write(a_toml="extend = 'b.toml'\n", b_toml="extend = 'a.toml'\n", pyproject_toml="[tool.x]\n")
    with pytest.raises(ConfigError, match="circle"):
        Configuration(installed(), file=str(tmp_path / "a.toml"))
    write(c_toml="extend = 'pyproject.toml'\n")
    with pytest.raises(ConfigError, match=r"c.toml:1: .*has no \[tool.amplint\]"):
        Configuration(installed(), file=str(tmp_path / "c.toml"))


def test_a_table_in_the_wrong_file_is_told_where_it_belongs(tmp_path: Path, write: Write) -> None:
    write(amplint_toml="[tool.amplint]\nselect = []\n")
    with pytest.raises(ConfigError, match=r"amplint.toml:1: unknown key `tool`; the keys stand here without"):
        Configuration(installed()).settings(str(tmp_path))


def test_rules_are_left_out_in_some_files(amplint: Amplint, write: Write) -> None:
    write(
        a_py="bad, stuck\n",
        tests__b_py="bad, stuck\n",
        amplint_toml="select = ['DEMO']\nper-file-ignores = { 'tests/*' = ['DEMO001'], '!a.py' = ['stuck-word'] }\n",
    )
    assert found(amplint) == ["a.py DEMO001", "a.py DEMO003"]
    assert found(amplint, "tests/b.py") == []
    source = amplint("--stdin-filename", "tests/b.py", "--output-format", "concise", "-", stdin=b"bad\n")
    assert source.stdout == b"All checks passed!\n"


def test_a_broken_file_is_never_left_out_by_rules(amplint: Amplint, write: Write) -> None:
    write(a_py="bad (\n", amplint_toml="per-file-ignores = { 'a.py' = ['ALL'] }\n")
    assert found(amplint) == ["a.py AMP902"]


def test_fixes_and_severities_are_as_the_settings_say(amplint: Amplint, write: Write, tmp_path: Path) -> None:
    write(a_py="bad\n", amplint_toml="select = ['DEMO']\nfixable = ['DEMO002']\nseverity = { bad-word = 'info' }\n")
    (row,) = json.loads(amplint("--output-format", "json").stdout)
    assert (row["severity"], row["fix"], row["no_fix_reason"]) == (
        "info",
        None,
        "the settings leave fixes of DEMO001 out",
    )
    assert amplint("--fix").returncode == 1
    assert (tmp_path / "a.py").read_text() == "bad\n"


def test_the_command_line_says_what_may_be_fixed_and_left_out(amplint: Amplint, write: Write, tmp_path: Path) -> None:
    write(a_py="bad\nstuck\n", amplint_toml="select = ['DEMO']\nunfixable = ['DEMO001']\n")
    assert amplint("--fix").returncode == 1
    assert (tmp_path / "a.py").read_text() == "bad\nstuck\n"
    assert found(amplint, "--per-file-ignores", "*.py:DEMO001,a.py:DEMO003") == []
    assert found(amplint, "--per-file-ignores", "b.py:DEMO") == ["a.py DEMO001", "a.py DEMO003"]
    assert b"is not a pattern, a colon and a rule" in amplint("--per-file-ignores", "a.py").stderr
    assert b"unknown rule selector `DEMO9`" in amplint("--per-file-ignores", "a.py:DEMO9").stderr
    amplint("--fix", "--fixable", "DEMO001", "--unfixable", "ALL")
    assert (tmp_path / "a.py").read_text() == "good\nstuck\n"


def test_the_command_line_excludes_too(amplint: Amplint, write: Write) -> None:
    write(a_py="bad\n", b_py="bad\n", venv__c_py="bad\n", amplint_toml="select = ['DEMO']\nextend-exclude = ['b.py']\n")
    assert found(amplint) == ["a.py DEMO001"]
    assert found(amplint, "--exclude", "a.py") == ["c.py DEMO001"]
    assert found(amplint, "--extend-exclude", "x.py, a.py") == []


def test_a_named_configuration_holds_instead_of_the_nearest(amplint: Amplint, write: Write, tmp_path: Path) -> None:
    write(a_py="bad\n", amplint_toml="select = ['DEMO002']\n", ci__strict_toml="select = ['DEMO']\n")
    assert found(amplint) == []
    assert found(amplint, "--config", "ci/strict.toml") == ["a.py DEMO001"]
    assert found(amplint, "--config", "select = ['DEMO001']") == ["a.py DEMO001"]
    assert found(amplint, "--config", "ci/strict.toml", "--config", "per-file-ignores = {'a.py' = ['ALL']}") == []
    assert found(amplint, "--config", "ci/strict.toml", "--select", "DEMO002") == []
    assert found(amplint, "--isolated", "--extend-select", "DEMO101") == ["a.py DEMO001"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--config", "none.toml"], "--config: none.toml is no file"),
        (["--config", "pyproject.toml"], "--config: pyproject.toml has no [tool.amplint]"),
        (["--config", "a.toml", "--config", "b.toml"], "--config names several files"),
        (["--config", "selct = []"], "--config: unknown key `selct`; did you mean `select`?"),
        (["--config", "select = ["], "--config: not valid TOML"),
        (["--config", "unsafe-fixes = 1"], "--config: `unsafe-fixes` must be true or false, not 1"),
    ],
)
def test_a_bad_configuration_of_the_command_line_is_said(
    amplint: Amplint, write: Write, args: list[str], message: str
) -> None:
    write(a_toml="", b_toml="", pyproject_toml="[tool.other]\n")
    done = amplint(*args)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"amplint: {message}")


def test_the_settings_are_shown_as_toml(amplint: Amplint, write: Write) -> None:
    write(
        a_py="x\n",
        amplint_toml=(
            "select = ['DEMO']\nseverity = { DEMO001 = 'info' }\nper-file-ignores = { 'a.py' = ['DEMO002'] }\n"
            "fixable = ['DEMO001']\nunsafe-fixes = true\n"
        ),
    )
    shown = amplint("--show-settings", "--target-torch", "2.3").stdout.decode()
    assert "# settings of a.py\n# from amplint.toml\n" in shown
    settings = tomllib.loads(shown)
    assert "DEMO001" in settings["select"]
    assert "DEMO002" not in settings["select"]
    assert settings["severity"] == {"DEMO001": "info"}
    assert settings["per-file-ignores"] == {"a.py": ["DEMO002"]}
    assert (settings["fixable"], settings["unsafe-fixes"], settings["target-torch"]) == (["DEMO001"], True, "2.3")
    jsonschema.validate(settings, schema(installed().rules))


def test_the_files_are_shown(amplint: Amplint, write: Write, tmp_path: Path) -> None:
    write(a_py="x\n", b__c_py="bad\n", venv__d_py="x\n")
    (tmp_path / "e.ipynb").write_text("{}")
    assert amplint("--show-files").stdout.decode().splitlines() == [
        str(tmp_path / name) for name in ("a.py", "b/c.py", "e.ipynb")
    ]


def test_pages_may_be_looked_into_by_a_setting(amplint: Amplint, write: Write, tmp_path: Path) -> None:
    write(amplint_toml="include-docs = true\nselect = ['DEMO']\n")
    (tmp_path / "a.md").write_text("```python\nbad\n```\n")
    assert found(amplint) == ["a.md DEMO001"]
    assert found(amplint, "--no-include-docs") == []


def test_the_schema_is_printed() -> None:
    done = subprocess.run([sys.executable, "-m", "amplint.config.schema"], capture_output=True, check=True)
    assert json.loads(done.stdout) == schema(installed().rules)
    jsonschema.Draft7Validator.check_schema(json.loads(done.stdout))


@pytest.mark.parametrize(
    "text",
    [
        "select = ['ALL', 'AMP', 'AMP1', 'AMP101', 'step-bypasses-scaler', 'DEMO001']\nignore = []\nextend-select = []",
        "exclude = ['a']\nextend-exclude = ['b/*']\ninclude-docs = true\nunsafe-fixes = false\nextend = '../x.toml'",
        "target-torch = '2.1.0'\noutput-format = 'sarif'\nfixable = ['AMP2']\nunfixable = ['AMP201']",
        "per-file-ignores = { 'a' = ['AMP9'] }\nseverity = { AMP101 = 'info' }",
    ],
)
def test_the_schema_takes_what_amplint_takes(text: str, tmp_path: Path) -> None:
    jsonschema.validate(tomllib.loads(text), schema(installed().rules))
    (tmp_path / "amplint.toml").write_text(text.replace("../x.toml", "x.toml"))
    (tmp_path / "x.toml").write_text("")
    Configuration(installed()).settings(str(tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        "selct = []",
        "select = 'AMP'",
        "select = ['AMP9O2']",
        "exclude = [1]",
        "target-torch = 2.1",
        "target-torch = 'new'",
        "unsafe-fixes = 'yes'",
        "output-format = 'jsn'",
        "per-file-ignores = { 'a' = 'AMP9' }",
        "severity = { AMP101 = 'fatal' }",
        "extend = 1",
        "[tool.amplint]",
    ],
)
def test_the_schema_refuses_what_amplint_refuses(text: str, tmp_path: Path) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), schema(installed().rules))
    (tmp_path / "amplint.toml").write_text(text)
    with pytest.raises(ConfigError):
        Configuration(installed()).settings(str(tmp_path))


def test_every_key_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [key for key in KEYS if f"{key} = " not in readme and f"amplint.{key}]" not in readme] == []
