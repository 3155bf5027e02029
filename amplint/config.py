"""What to check and how: ``[tool.amplint]`` of the nearest pyproject.toml, and the options of the command line."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

from amplint import spelling
from amplint.documents import read_regular_file
from amplint.registry import Registry, UnknownRule
from amplint.rule import Rule, TargetTorch

if TYPE_CHECKING:
    from packaging.specifiers import Specifier

DEFAULT_EXCLUDE = (
    ".#*",  # what Emacs puts beside a file that is being edited: a link to nowhere
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)
_GLOB = re.compile(r"[*?\[/]")
OUTPUT_FORMATS = (
    "concise",
    "full",
    "json",
    "json-lines",
    "junit",
    "grouped",
    "github",
    "gitlab",
    "pylint",
    "rdjson",
    "azure",
    "sarif",
)


class ConfigError(Exception):
    """A configuration that means nothing to amplint; the message names the file, the key and what would be right."""


@dataclass(frozen=True, slots=True)
class Selection:
    """One layer of choosing rules: a ``select`` starts afresh, the rest changes what the layer below chose."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """What one ``[tool.amplint]`` table says; ``folder`` is where it stands and what its patterns are relative to."""

    folder: str
    selection: Selection = field(default_factory=Selection)
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    target_torch: TargetTorch | None = None
    unsafe_fixes: bool = False
    output_format: str | None = None
    source: str | None = None

    def excludes(self, path: str) -> bool:
        """Whether a pattern excludes ``path`` (absolute): by its last part, or as a path from ``folder``."""
        if os.path.basename(path) in self._plain:
            return True
        return any(fnmatchcase(path, pattern) for pattern in self._globs)

    @cached_property
    def _plain(self) -> frozenset[str]:
        return frozenset(pattern for pattern in self.exclude if not _GLOB.search(pattern))

    @cached_property
    def _globs(self) -> tuple[str, ...]:
        globs: list[str] = []
        base = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in self.folder)
        for pattern in self.exclude:
            if _GLOB.search(pattern):
                anywhere = "/" not in pattern.rstrip("/")
                pattern = os.path.join("*" if anywhere else base, os.path.normpath(pattern))
                globs += (pattern, pattern.replace(f"**{os.sep}", ""))
        return tuple(dict.fromkeys(globs))


def select_rules(registry: Registry, layers: Iterable[Selection]) -> tuple[type[Rule], ...]:
    """The rules that ``layers`` choose, later ones over earlier ones, starting from those that are on by default.

    Within a layer the longer prefix wins, and ``ignore`` over ``select`` where they are the same. Rules that are not
    selectable are always among them. Raises :class:`amplint.registry.UnknownRule`.
    """
    chosen = {rule.code: rule.default for rule in registry.rules}
    for layer in layers:
        if layer.select is not None:
            chosen = dict.fromkeys(chosen, False)
        wishes = [(word, True) for word in (*(layer.select or ()), *layer.extend_select)]
        wishes += [(word, False) for word in layer.ignore]
        for word, wanted in sorted(wishes, key=lambda wish: 0 if wish[0] == "ALL" else len(wish[0])):
            chosen.update({rule.code: wanted for rule in registry.matching(word)})
    return tuple(rule for rule in registry.rules if chosen[rule.code] or not rule.selectable)


class Configuration:
    """The settings of every folder: those of the nearest pyproject.toml above it that speaks to amplint."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._settings: dict[str, Settings] = {}
        self._targets: dict[str, TargetTorch | None] = {}

    def settings(self, folder: str) -> Settings:
        """What holds for files in ``folder``, an absolute path; raises :class:`ConfigError`."""
        known = self._settings.get(folder)
        if known is None:
            known = self._settings[folder] = self._settings_of(folder)
        return known

    @property
    def sources(self) -> list[str]:
        """The files that the settings asked for so far were read from."""
        return sorted({settings.source for settings in self._settings.values() if settings.source})

    def target_torch(self, folder: str) -> TargetTorch | None:
        """The lowest torch that files in ``folder`` meet: as configured, else as the project's dependencies say."""
        configured = self.settings(folder).target_torch
        return configured if configured is not None else self._required_torch(folder)

    def _settings_of(self, folder: str) -> Settings:
        if _mentions_amplint(folder):
            path = os.path.join(folder, "pyproject.toml")
            table = _table(_read_toml(path), "tool").get("amplint")
            if table is not None:
                return _SettingsReader(path, table, self._registry).settings()
        parent = os.path.dirname(folder)
        return Settings(os.getcwd()) if parent == folder else self.settings(parent)

    def _required_torch(self, folder: str) -> TargetTorch | None:
        if folder not in self._targets:
            found = required_torch(_toml_or_nothing(os.path.join(folder, "pyproject.toml")))
            parent = os.path.dirname(folder)
            if found is None and parent != folder:
                found = self._required_torch(parent)
            self._targets[folder] = found
        return self._targets[folder]


def _mentions_amplint(folder: str) -> bool:
    try:
        return b"amplint" in read_regular_file(os.path.join(folder, "pyproject.toml"))
    except OSError:
        return False


def _read_toml(path: str) -> Mapping[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        return tomllib.loads(read_regular_file(path).decode())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _toml_or_nothing(path: str) -> Mapping[str, Any]:
    """A file that does not speak to amplint is not amplint's to complain about: a template, say."""
    try:
        return _read_toml(path) if os.path.isfile(path) else {}
    except ConfigError:
        return {}


def parse_target_torch(text: str, source: str) -> TargetTorch:
    """The target that ``text`` names, such as ``2.1`` or ``2.1.2``; raises :class:`ValueError`."""
    match = re.fullmatch(r"\s*(\d+)\.(\d+)(\.\d+)*([+.a-z]\w*)?\s*", text)
    if not match:
        raise ValueError(f"{text!r} is not a version of torch such as '2.1'")
    return TargetTorch((int(match[1]), int(match[2])), source)


class _SettingsReader:
    """Reads one ``[tool.amplint]`` table key by key."""

    def __init__(self, path: str, table: object, registry: Registry) -> None:
        self._path = path
        self._registry = registry
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: tool.amplint is not a table")
        self._table = table
        self._known: list[str] = []

    def settings(self) -> Settings:
        exclude = self._read("exclude", _words, "a list of strings", DEFAULT_EXCLUDE)
        extend_exclude = self._read("extend-exclude", _words, "a list of strings", ())
        settings = Settings(
            folder=os.path.dirname(self._path),
            selection=Selection(
                self._read("select", self._selectors, "a list of rule codes or prefixes", None),
                self._read("ignore", self._selectors, "a list of rule codes or prefixes", ()),
                self._read("extend-select", self._selectors, "a list of rule codes or prefixes", ()),
            ),
            exclude=(*exclude, *extend_exclude),
            target_torch=self._read("target-torch", self._target, "a version such as '2.1'", None),
            unsafe_fixes=self._read("unsafe-fixes", _truth, "true or false", False),
            output_format=self._read("output-format", _format, f"one of {', '.join(OUTPUT_FORMATS)}", None),
            source=self._path,
        )
        for key in self._table:
            if key not in self._known:
                raise ConfigError(f"{self._path}: unknown key `{key}` in [tool.amplint]{nearest(key, self._known)}")
        return settings

    def _read(self, key: str, convert: Callable[[Any], Any], expected: str, default: Any) -> Any:
        self._known.append(key)
        if key not in self._table:
            return default
        value = self._table[key]
        try:
            return convert(value)
        except UnknownRule as error:
            hint = f"; did you mean `{error.suggestion}`?" if error.suggestion else ""
            raise ConfigError(f"{self._path}: unknown rule `{error.word}` in `{key}`{hint}") from None
        except (TypeError, ValueError):
            hint = nearest(value, OUTPUT_FORMATS) if key == "output-format" and isinstance(value, str) else ""
            raise ConfigError(f"{self._path}: `{key}` must be {expected}, not {value!r}{hint}") from None

    def _selectors(self, value: object) -> tuple[str, ...]:
        words = _words(value)
        for word in words:
            self._registry.matching(word)
        return words

    def _target(self, value: object) -> TargetTorch:
        if not isinstance(value, str):
            raise TypeError
        return parse_target_torch(value, f"`target-torch` in {os.path.basename(self._path)}")


def _words(value: object) -> tuple[str, ...]:
    if not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
        raise TypeError
    return tuple(value)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _format(value: object) -> str:
    if value not in OUTPUT_FORMATS:
        raise ValueError
    return str(value)


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence's end that suggests the word of ``known`` nearest to ``word``, or nothing."""
    near = spelling.nearest(word, known)
    return f"; did you mean `{near}`?" if near else ""


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
    project = _table(pyproject, "project")
    optional = _table(project, "optional-dependencies")
    yield "dependencies", _bounds(project.get("dependencies"))
    yield "optional-dependencies", [bound for extra in optional.values() for bound in _bounds(extra)]
    poetry = _table(_table(_table(pyproject, "tool"), "poetry"), "dependencies").get("torch")
    constraints = poetry if isinstance(poetry, list) else [poetry]
    versions = [entry.get("version") if isinstance(entry, dict) else entry for entry in constraints]
    yield (
        "tool.poetry.dependencies",
        [_poetry_bound(version) for version in versions if isinstance(version, str)],
    )


def _table(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
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
