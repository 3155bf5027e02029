"""Settings: `[tool.amplint]`, the selection of rules and the project's lowest torch."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from amplint.config import (
    ConfigError,
    Configuration,
    Layer,
    Selection,
    Settings,
    parse_target_torch,
    select_rules,
)
from amplint.config.requirements import of_pyproject
from amplint.registry import UnknownRule, installed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.usefixtures("demo_rules")


def settings(folder: Path, table: str) -> Settings:
    folder.joinpath("pyproject.toml").write_text(dedent(table), encoding="utf-8")
    return Configuration(installed()).settings(str(folder))


def selected(*layers: Selection) -> set[str]:
    return {rule.code for rule in select_rules(installed(), layers)}


def test_every_key_is_read(tmp_path: Path) -> None:
    read = settings(
        tmp_path,
        """
        [tool.amplint]
        select = ["DEMO"]
        ignore = ["DEMO002"]
        extend-select = ["DEMO101"]
        exclude = ["old"]
        extend-exclude = ["gen_*.py"]
        target-torch = "2.1"
        unsafe-fixes = true
        output-format = "concise"
        """,
    )
    assert read.selections == (Selection(("DEMO",), ("DEMO002",), ("DEMO101",)),)
    assert [patterns.patterns for patterns in read.exclude] == [("old",), ("gen_*.py",)]
    assert read.target_torch is not None
    assert (read.target_torch.version, read.target_torch.source) == ((2, 1), "`target-torch` in pyproject.toml")
    assert read.unsafe_fixes is True
    assert read.output_format == "concise"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("selct = ['AMP']", "unknown key `selct` in .*; did you mean `select`?"),
        ("target_torch = '2.1'", "unknown key `target_torch` in .*; did you mean `target-torch`?"),
        ("[tool.amplint.lint]\nselect = ['AMP']", "unknown key `lint` in .*; there is one table"),
        ("zzz = 1", "unknown key `zzz` in .tool.amplint.$"),
        ("[tool.amplint.severty]", ":2: unknown key `severty` in .*; did you mean `severity`?"),
        ("select = []\n'ignore' = 1", ":3: `ignore` must be a list of rule codes or prefixes, not 1"),
        ("severity = 'info'", "`severity` must be a table of rules, each with one of error, warning, info, not 'info'"),
        ("severity.AMP902 = 'inf'", ":2: `severity.AMP902` must be one of error, .*, not 'inf'; did you mean `info`?"),
        ("[tool.amplint.severity]\nAMP9O2 = 'info'", "unknown rule `AMP9O2` in `severity`; did you mean `AMP902`?"),
        ("per-file-ignores = []", "`per-file-ignores` must be a table of patterns, each with a list of rules"),
        (
            "[tool.amplint.per-file-ignores]\n'a' = ['ALL']\n'b/*.py' = 'ALL'",
            ":4: `per-file-ignores.\"b/\\*.py\"` must be a list of rule codes or prefixes, not 'ALL'",
        ),
        ("include-docs = 1", "`include-docs` must be true or false"),
        ("extend = ['a']", "`extend` must be the path of another configuration"),
        ("extend = 'none.toml'", ":2: `extend` names .*none.toml, which is no file"),
        ("extend = 'pyproject.toml'", ":2: `extend` goes round in a circle"),
        ("select = 'AMP'", "`select` must be a list of rule codes or prefixes, not 'AMP'"),
        ("select = ['AMP9O2']", "unknown rule `AMP9O2` in `select`; did you mean `AMP902`?"),
        ("exclude = [1]", "`exclude` must be a list of strings"),
        ("target-torch = 2.1", "`target-torch` must be a version such as '2.1', not 2.1"),
        ("target-torch = 'new'", "`target-torch` must be a version"),
        ("unsafe-fixes = 'yes'", "`unsafe-fixes` must be true or false"),
        ("output-format = 'jsn'", "`output-format` must be one of concise, full, json, .*mean `json`?"),
        ("output-format = []", "`output-format` must be one of"),
    ],
)
def test_what_means_nothing_is_said_with_file_key_and_the_nearest_right_word(
    tmp_path: Path, table: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        settings(tmp_path, f"[tool.amplint]\n{table}\n")
    assert str(raised.value).startswith(str(tmp_path / "pyproject.toml"))


@pytest.mark.parametrize("text", ["[tool.amplint\n", "[tool]\namplint = 1\n"])
def test_a_file_that_is_no_configuration_is_said(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError):
        settings(tmp_path, text)


def test_the_nearest_table_holds_alone(tmp_path: Path) -> None:
    settings(tmp_path, "[tool.amplint]\nignore = ['DEMO001']\nunsafe-fixes = true\n")
    inner = tmp_path / "inner"
    (inner / "deep").mkdir(parents=True)
    inner.joinpath("pyproject.toml").write_text("[tool.amplint]\nignore = ['DEMO002']\n")
    other = tmp_path / "other"
    other.mkdir()
    other.joinpath("pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    configuration = Configuration(installed())
    assert configuration.settings(str(inner / "deep")).selections[-1].ignore == ("DEMO002",)
    assert configuration.settings(str(inner / "deep")).unsafe_fixes is False
    assert configuration.settings(str(other)).selections[-1].ignore == ("DEMO001",)


def test_an_unrelated_file_that_is_not_toml_is_nobodys_business(tmp_path: Path) -> None:
    tmp_path.joinpath("pyproject.toml").write_text("name = {{ cookiecutter.name }}\n")
    configuration = Configuration(installed())
    assert configuration.settings(str(tmp_path)).selections == ()
    assert configuration.target_torch(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("pattern", "path", "excluded"),
    [
        ("old", "old", True),
        ("old", "a/old", True),
        ("old", "a/older", False),
        ("gen_*.py", "a/gen_1.py", True),
        ("a/old", "a/old", True),
        ("a/old", "b/a/old", False),
        ("a/*.py", "a/b.py", True),
        ("a/**/c.py", "a/c.py", True),
        ("a/**/c.py", "a/b/b/c.py", True),
        ("./a/", "a", True),
        ("a/", "b/a", True),
    ],
)
def test_exclusion_by_name_and_by_path(tmp_path: Path, pattern: str, path: str, excluded: bool) -> None:
    settings = Settings(str(tmp_path), (Layer(str(tmp_path), {"exclude": (pattern,)}),))
    assert settings.excludes(str(tmp_path / path)) is excluded


def test_rules_that_are_on_by_default() -> None:
    assert "DEMO001" in selected()
    assert "DEMO101" not in selected()


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([Selection(("DEMO00",), ("DEMO002", "DEMO003"))], {"DEMO001", "DEMO004", "DEMO005", "DEMO006", "DEMO008"}),
        ([Selection(("DEMO001",), ("DEMO",))], {"DEMO001"}),
        ([Selection(("DEMO001",), ("DEMO001",))], set()),
        ([Selection(("ALL",), ("DEMO00", "AMP"))], {"DEMO101"}),
        ([Selection(("DEMO002",), (), ("bad-word",))], {"DEMO001", "DEMO002"}),
        ([Selection(("DEMO001",)), Selection(("DEMO002",))], {"DEMO002"}),
        ([Selection(("DEMO001",)), Selection(None, (), ("DEMO002",))], {"DEMO001", "DEMO002"}),
        ([Selection(("DEMO001", "DEMO002")), Selection(None, ("DEMO001",))], {"DEMO002"}),
        ([Selection(None, ("DEMO001",)), Selection(("DEMO001",))], {"DEMO001"}),
    ],
)
def test_the_later_layer_and_in_one_layer_the_longer_prefix_wins(layers: list[Selection], expected: set[str]) -> None:
    assert selected(*layers) == expected | {"AMP902"}


def test_unknown_selectors_are_refused() -> None:
    with pytest.raises(UnknownRule):
        selected(Selection(("NONE",)))


@pytest.mark.parametrize("text", ["2.1", "2.1.0", "2.1.2", " 2.1 ", "2.1.0+cpu", "2.1.0a0"])
def test_a_target_is_major_and_minor(text: str) -> None:
    assert parse_target_torch(text, "x").version == (2, 1)


@pytest.mark.parametrize("text", ["", "2", "v2.1", ">=2.1", "two"])
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a version of torch"):
        parse_target_torch(text, "x")


def project(*dependencies: str, **optional: list[str]) -> dict[str, Any]:
    return {"project": {"dependencies": list(dependencies), "optional-dependencies": optional}}


@pytest.mark.parametrize(
    ("pyproject", "lowest"),
    [
        (project("numpy", "torch>=2.1"), (2, 1)),
        (project("Torch >= 2.1.3 , <3"), (2, 1)),
        (project("torch==2.0.1"), (2, 0)),
        (project("torch==2.0.*"), (2, 0)),
        (project("torch===2.0.1"), (2, 0)),
        (project("torch~=2.2"), (2, 2)),
        (project("torch>2.2"), (2, 2)),
        (project("torch>=2"), (2, 0)),
        (project("torch>=1.13,>=2.1"), (2, 1)),
        (project("torch>=2.4; python_version>='3.12'", "torch>=2.1; python_version<'3.12'"), (2, 1)),
        (project("torch>=2.4; python_version>='3.12'", "torch; python_version<'3.12'"), None),
        (project("torch"), None),
        (project("torch<3"), None),
        (project("torch!=2.0"), None),
        (project("torch @ https://example.org/torch.whl"), None),
        (project("torchvision>=0.15", "pytorch-lightning>=2.1"), None),
        (project("not a requirement!", "torch>=2.1"), (2, 1)),
        (project("numpy", train=["torch>=2.3"], cpu=["torch>=2.2"]), (2, 2)),
        (project("torch>=2.5", train=["torch>=2.3"]), (2, 5)),
        ({"project": {"dependencies": "torch>=2.1"}}, None),
        ({}, None),
    ],
)
def test_the_lowest_torch_of_the_dependencies(pyproject: dict[str, Any], lowest: tuple[int, int] | None) -> None:
    found = of_pyproject(pyproject)
    assert (found and found.version) == lowest


@pytest.mark.parametrize(
    ("constraint", "lowest"),
    [
        ('"^2.1"', (2, 1)),
        ('"~2.1.3"', (2, 1)),
        ('"~=2.1"', (2, 1)),
        ('"2.1.*"', (2, 1)),
        ('"2.1.0"', (2, 1)),
        ('">=2.0, <3"', (2, 0)),
        ('">=2.0 <3"', (2, 0)),
        ('"^1.13 || ^2.0"', (1, 13)),
        ('"*"', None),
        ('"<3"', None),
        ('{ version = "^2.2", optional = true }', (2, 2)),
        ('[{ version = "^2.2", python = "^3.9" }, { version = "^2.1", python = "<3.9" }]', (2, 1)),
        ('{ git = "https://example.org/torch" }', None),
    ],
)
def test_the_lowest_torch_in_poetrys_words(constraint: str, lowest: tuple[int, int] | None) -> None:
    found = of_pyproject(tomllib.loads(f"[tool.poetry.dependencies]\ntorch = {constraint}\n"))
    assert (found and found.version) == lowest


def test_the_configured_target_comes_before_the_dependencies_and_these_hold_for_folders_below(tmp_path: Path) -> None:
    settings(tmp_path, "[project]\nname = 'x'\ndependencies = ['torch>=2.1']\n")
    (tmp_path / "a" / "b").mkdir(parents=True)
    found = Configuration(installed()).target_torch(str(tmp_path / "a" / "b"))
    assert found is not None
    assert (found.version, found.source) == ((2, 1), "`dependencies` in pyproject.toml")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.amplint]\ntarget-torch = '2.4'\n")
    configured = Configuration(installed()).target_torch(str(tmp_path / "a" / "b"))
    assert configured is not None
    assert configured.version == (2, 4)


@pytest.mark.parametrize(
    ("files", "lowest", "source"),
    [
        (
            {"setup.cfg": "[options]\ninstall_requires =\n    numpy\n    torch>=1.13\n"},
            (1, 13),
            "`install_requires` in setup.cfg",
        ),
        ({"setup.cfg": "[options]\ninstall_requires = torch>=2.0; numpy\n"}, None, ""),
        (
            {"setup.cfg": "[options.extras_require]\ngpu =\n    torch>=2.1\n    numpy\n"},
            (2, 1),
            "`extras_require` in setup.cfg",
        ),
        ({"setup.cfg": "[metadata]\nname = torch_x\n[metadata]\n"}, None, ""),
        ({"setup.cfg": "[options]\ninstall_requires = torch\n"}, None, ""),
        ({"requirements.txt": "numpy\ntorch>=2.1  # for compile\n"}, (2, 1), "requirements.txt"),
        (
            {"requirements.txt": "--extra-index-url https://example.org/cu118\ntorch==2.0.1+cu118\n"},
            (2, 0),
            "requirements.txt",
        ),
        ({"requirements.txt": "torch==2.2.0 \\\n    --hash=sha256:00\n"}, (2, 2), "requirements.txt"),
        ({"requirements.txt": "torch\n"}, None, ""),
        ({"requirements.txt": "# torch>=2.1\ntorchvision>=0.15\n-r base.txt\n"}, None, ""),
        ({"requirements.txt": "numpy\n", "requirements-gpu.txt": "torch>=2.3\n"}, (2, 3), "requirements-gpu.txt"),
        (
            {"requirements/base.txt": "torch>=2.1\n", "requirements-dev.txt": "torch==2.4.0\n"},
            (2, 1),
            "requirements-dev.txt and requirements/base.txt",
        ),
        ({"requirements.txt": "torch>=2.1\n", "requirements-old.txt": "torch==1.7.1\n"}, (2, 1), "requirements.txt"),
        (
            {"pyproject.toml": "[project]\ndependencies = ['torch>=2.4']\n", "requirements.txt": "torch==2.6\n"},
            (2, 4),
            "`dependencies` in pyproject.toml",
        ),
        (
            {"pyproject.toml": "[project]\ndependencies = ['torch']\n", "requirements.txt": "torch>=2.2\n"},
            (2, 2),
            "requirements.txt",
        ),
        ({"pyproject.toml": "not { toml", "requirements.txt": "torch>=2.2\n"}, (2, 2), "requirements.txt"),
    ],
)
def test_the_lowest_torch_of_setup_and_requirements(
    tmp_path: Path, files: dict[str, str], lowest: tuple[int, int] | None, source: str
) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = Configuration(installed()).target_torch(str(tmp_path))
    assert (found and found.version) == lowest
    assert found is None or found.source == source


def test_requirements_outside_of_the_repository_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==1.7\n")
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "repository" / "source").mkdir()
    assert Configuration(installed()).target_torch(str(tmp_path / "repository" / "source")) is None
