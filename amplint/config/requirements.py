"""The lowest torch that a project's own dependencies admit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from amplint.rule import TargetTorch

if TYPE_CHECKING:
    from packaging.specifiers import Specifier


def required_torch(pyproject: Mapping[str, Any]) -> TargetTorch | None:
    """The lowest torch that a project's own dependencies admit.

    None where they do not name torch, or admit any old one.
    """
    for key, bounds in _torch_bounds(pyproject):
        if bounds:
            lowest = None if None in bounds else min(bound for bound in bounds if bound is not None)
            return None if lowest is None else TargetTorch(lowest, f"`{key}` in pyproject.toml")
    return None


def _torch_bounds(pyproject: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[int, int] | None]]]:
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


def table_of(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _bounds(requirements: object) -> list[tuple[int, int] | None]:
    """The lower bound of each requirement on torch among ``requirements``."""
    from packaging.requirements import InvalidRequirement, Requirement

    bounds: list[tuple[int, int] | None] = []
    for text in requirements if isinstance(requirements, list) else ():
        try:
            requirement = Requirement(text)
        except (InvalidRequirement, TypeError):
            continue  # the project's own tools will complain about it
        if requirement.name.lower() == "torch":
            bounds.append(_lower_bound(requirement.specifier))
    return bounds


def _lower_bound(specifiers: Iterable[Specifier]) -> tuple[int, int] | None:
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


def _poetry_bound(constraint: str) -> tuple[int, int] | None:
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
