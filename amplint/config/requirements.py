"""The lowest torch that a project's own files require."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from amplint.config.keys import ConfigError
from amplint.config.toml import parse_toml
from amplint.documents import read_regular_file
from amplint.rule import TargetTorch

if TYPE_CHECKING:
    from packaging.specifiers import Specifier

Bound: TypeAlias = tuple[int, int] | None
"""The lowest version that one requirement on torch admits; None where it admits any."""

_SCRIPT = re.compile(r"^# /// script$\n((?:^#(?:| .*)$\n)+)^# ///$", re.MULTILINE)
_CONTINUED = re.compile(r"\\\r?\n")
_REQUIREMENTS = re.compile(r"requirements[^/]*\.(txt|in)\Z")


def torch_of(text: str, project: TargetTorch | None) -> TargetTorch | None:
    """The lowest torch that a file meets: as configured, as it says itself, or else that of its project."""
    if project is not None and project.configured:
        return project
    return of_script(text) or project


def of_script(text: str) -> TargetTorch | None:
    """The lowest torch that the dependencies in a script's own metadata admit, a comment as of PEP 723."""
    if "# /// script" not in text or "torch" not in text:
        return None
    blocks = _SCRIPT.findall(text.replace("\r\n", "\n").replace("\r", "\n"))
    if len(blocks) != 1:
        return None  # several are an error, says the standard
    table = "".join(line[2:] or "\n" for line in blocks[0].splitlines(keepends=True))
    try:
        bounds = _bounds(parse_toml(table, "script").get("dependencies"))
    except ConfigError:
        return None
    return _lowest(bounds, "`dependencies` of the script itself") if bounds else None


def required_torch(folder: str, pyproject: Mapping[str, Any]) -> TargetTorch | None:
    """The lowest torch that the files in ``folder`` require: its ``pyproject``, setup.cfg or requirements files.

    The first that gives a lower bound counts. None where none does.
    """
    return of_pyproject(pyproject) or _of_setup(os.path.join(folder, "setup.cfg")) or _of_requirements(folder)


def of_pyproject(pyproject: Mapping[str, Any]) -> TargetTorch | None:
    """The lowest torch that a project's own dependencies admit.

    None where they do not name torch, or admit any old one.
    """
    for key, bounds in _torch_bounds(pyproject):
        if bounds:
            return _lowest(bounds, f"`{key}` in pyproject.toml")
    return None


def _of_setup(path: str) -> TargetTorch | None:
    """What ``install_requires`` and ``extras_require`` of setup.cfg admit."""
    text = _text_or_nothing(path)
    if "torch" not in text:
        return None
    from configparser import ConfigParser, Error

    parser = ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except Error:
        return None
    required = parser.get("options", "install_requires", fallback="")
    extras = parser.items("options.extras_require") if parser.has_section("options.extras_require") else []
    for key, texts in (("install_requires", [required]), ("extras_require", [value for _, value in extras])):
        bounds = _bounds([line.strip() for text in texts for line in re.split(r"[\r\n]", text)])
        if bounds:
            return _lowest(bounds, f"`{key}` in setup.cfg")
    return None


def _of_requirements(folder: str) -> TargetTorch | None:
    """What requirements.txt admits, or where it does not name torch, the others beside it and in requirements/."""
    main = os.path.join(folder, "requirements.txt")
    bounds = _bounds_of_lines(main)
    if bounds:
        return _lowest(bounds, "requirements.txt")
    others = [name for name in _files(folder) if _REQUIREMENTS.match(name)]
    others += [f"requirements/{name}" for name in _files(os.path.join(folder, "requirements")) if name.endswith(".txt")]
    found = {name: bounds for name in sorted(others) if (bounds := _bounds_of_lines(os.path.join(folder, name)))}
    every = [bound for bounds in found.values() for bound in bounds]
    return _lowest(every, " and ".join(found)) if every else None


def _files(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _bounds_of_lines(path: str) -> list[Bound]:
    text = _CONTINUED.sub("", _text_or_nothing(path))
    lines = (re.split(r"\s+(?:#|--)|^\s*#", line)[0].strip() for line in text.splitlines())
    return _bounds([line for line in lines if line.lower().startswith("torch")])


def _text_or_nothing(path: str) -> str:
    try:
        return read_regular_file(path).decode() if os.path.isfile(path) else ""
    except (OSError, ValueError):
        return ""


def _lowest(bounds: Iterable[Bound], source: str) -> TargetTorch | None:
    """The lowest version that some of the requirements admit; None where one of them admits any."""
    every = list(bounds)
    lowest = None if None in every else min(bound for bound in every if bound is not None)
    return None if lowest is None else TargetTorch(lowest, source)


def _torch_bounds(pyproject: Mapping[str, Any]) -> Iterator[tuple[str, list[Bound]]]:
    project = table_of(pyproject, "project")
    optional = table_of(project, "optional-dependencies")
    yield "dependencies", _bounds(project.get("dependencies"))
    yield "optional-dependencies", [bound for extra in optional.values() for bound in _bounds(extra)]
    poetry = table_of(table_of(table_of(pyproject, "tool"), "poetry"), "dependencies").get("torch")
    constraints = poetry if isinstance(poetry, list) else [poetry]
    versions = [entry.get("version") if isinstance(entry, dict) else entry for entry in constraints]
    yield (
        "tool.poetry.dependencies",
        [_poetry_bound(version) for version in versions if isinstance(version, str)],
    )


def _bounds(requirements: object) -> list[Bound]:
    """The lower bound of each requirement on torch among ``requirements``."""
    texts = requirements if isinstance(requirements, list) else []
    texts = [text for text in texts if isinstance(text, str) and "torch" in text.lower()]
    if not texts:
        return []
    from packaging.requirements import InvalidRequirement, Requirement

    bounds: list[Bound] = []
    for text in texts:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue  # the project's own tools will complain about it
        if requirement.name.lower() == "torch":
            bounds.append(_lower_bound(requirement.specifier))
    return bounds


def _lower_bound(specifiers: Iterable[Specifier]) -> Bound:
    from packaging.version import InvalidVersion, Version

    lows = []
    for specifier in specifiers:
        if specifier.operator in (">=", ">", "==", "===", "~="):
            try:
                version = Version(specifier.version.removesuffix(".*"))
            except InvalidVersion:
                continue
            lows.append((version.major, version.minor))
    return max(lows, default=None)


def _poetry_bound(constraint: str) -> Bound:
    """The lower bound of a constraint in Poetry's spelling: ``^2.1``, ``~2.1``, ``2.1.*``, ``>=2,<3 || ^4``."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    bounds = []
    for alternative in constraint.split("||"):
        parts = [part for part in re.split(r"\s*,\s*|(?<=[\w*])\s+", alternative.strip()) if part not in ("", "*")]
        spelled = (re.sub(r"\^\s*|~(?!=)\s*", ">=", part) for part in parts)
        try:
            bounds.append(_lower_bound(SpecifierSet(",".join(s if s[0] in "<>=!~" else f"=={s}" for s in spelled))))
        except InvalidSpecifier:
            return None
    return None if None in bounds else min(bound for bound in bounds if bound is not None)


def table_of(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The table ``key`` of a TOML table; an empty one where there is none."""
    value = parent.get(key)
    return value if isinstance(value, dict) else {}
