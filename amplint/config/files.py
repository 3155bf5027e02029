"""Where settings come from: the nearest configuration file above a folder, those it extends, and the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from amplint.config.keys import ConfigError, Layer, read_layer
from amplint.config.settings import Settings
from amplint.config.toml import parse_toml
from amplint.documents import read_regular_file
from amplint.registry import Registry
from amplint.rule import TargetTorch

_PYPROJECT = "pyproject.toml"
_FILES = (".amplint.toml", "amplint.toml", _PYPROJECT)  # the first of them that is there holds


class Configuration:
    """The settings of every folder: those of the nearest configuration file above it.

    A ``file`` holds instead for every folder; where they are ``isolated``, no file does. What the command line says
    in ``overrides`` comes on top.
    """

    def __init__(
        self, registry: Registry, *, file: str | None = None, isolated: bool = False, overrides: Iterable[Layer] = ()
    ) -> None:
        """Raises :class:`ConfigError` where ``file`` cannot be read."""
        self._registry = registry
        self._overrides = tuple(overrides)
        self._isolated = isolated
        self._settings: dict[str, Settings] = {}
        self._targets: dict[str, TargetTorch | None] = {}
        self._fixed: Settings | None = None
        if isolated or file is not None:
            here = os.getcwd()
            layers = () if file is None else _layers(os.path.abspath(file), registry, folder=here)
            if layers is None:
                raise ConfigError(f"--config: {file} has no [tool.amplint]")
            self._fixed = Settings(here, (*layers, *self._overrides))

    def settings(self, folder: str) -> Settings:
        """What holds for files in ``folder``, an absolute path; raises :class:`ConfigError`."""
        if self._fixed is not None:
            return self._fixed
        known = self._settings.get(folder)
        if known is None:
            known = self._settings[folder] = self._settings_of(folder)
        return known

    @property
    def sources(self) -> list[str]:
        """The files that the settings asked for so far were read from."""
        known = [self._fixed] if self._fixed is not None else self._settings.values()
        return sorted({source for settings in known for source in settings.sources})

    def target_torch(self, folder: str) -> TargetTorch | None:
        """The lowest torch that files in ``folder`` meet: as configured, else as the project's dependencies say."""
        configured = self.settings(folder).target_torch
        return configured if configured is not None or self._isolated else self._required_torch(folder)

    def _settings_of(self, folder: str) -> Settings:
        for name in _FILES:
            path = os.path.join(folder, name)
            if _speaks_to_amplint(path):
                layers = _layers(path, self._registry)
                if layers is not None:
                    return Settings(folder, (*layers, *self._overrides))
        parent = os.path.dirname(folder)
        return Settings(os.getcwd(), self._overrides) if parent == folder else self.settings(parent)

    def _required_torch(self, folder: str) -> TargetTorch | None:
        from amplint.config.requirements import required_torch

        if folder not in self._targets:
            found = required_torch(folder, _toml_or_nothing(os.path.join(folder, _PYPROJECT)))
            parent = os.path.dirname(folder)
            if found is None and parent != folder and not os.path.exists(os.path.join(folder, ".git")):
                found = self._required_torch(parent)
            self._targets[folder] = found
        return self._targets[folder]


def inline_layer(text: str, registry: Registry) -> Layer:
    """The layer that ``text`` is, such as ``unsafe-fixes = true``, said on the command line.

    Raises :class:`ConfigError`.
    """
    table = parse_toml(text, "--config")
    return read_layer(table, registry, folder=os.getcwd(), source=None, place=lambda key: "--config")


def _speaks_to_amplint(path: str) -> bool:
    try:
        content = read_regular_file(path)
    except OSError:
        return False
    return b"amplint" in content or not path.endswith(_PYPROJECT)


def _layers(
    path: str, registry: Registry, *, folder: str | None = None, extending: tuple[str, ...] = ()
) -> tuple[Layer, ...] | None:
    """The layers of the file at ``path``, what it extends first; None where it does not speak to amplint."""
    text = _read(path)
    table: Any = parse_toml(text, path)
    prefix: tuple[str, ...] = ()
    if os.path.basename(path) == _PYPROJECT:
        prefix = ("tool", "amplint")
        for name in prefix:
            table = table.get(name) if isinstance(table, dict) else None
        if table is None:
            return None
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: tool.amplint is not a table")
    layer = read_layer(
        table,
        registry,
        folder=folder or os.path.dirname(path),
        source=path,
        place=lambda key: f"{path}{_line_of(text, (*prefix, *key))}",
        where=" in [tool.amplint]" if prefix else "",
    )
    base = layer.values.get("extend")
    if base is None:
        return (layer,)
    place = f"{path}{_line_of(text, (*prefix, 'extend'))}"
    base = os.path.normpath(os.path.join(os.path.dirname(path), os.path.expandvars(os.path.expanduser(base))))
    if base in (path, *extending):
        raise ConfigError(f"{place}: `extend` goes round in a circle")
    if not os.path.isfile(base):
        raise ConfigError(f"{place}: `extend` names {base}, which is no file")
    layers = _layers(base, registry, extending=(path, *extending))
    if layers is None:
        raise ConfigError(f"{place}: `extend` names {base}, which has no [tool.amplint]")
    return (*layers, layer)


def _read(path: str) -> str:
    try:
        return read_regular_file(path).decode()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _toml_or_nothing(path: str) -> Mapping[str, Any]:
    """A file that does not speak to amplint is not amplint's to complain about: a template, say."""
    try:
        return parse_toml(_read(path), path) if os.path.isfile(path) else {}
    except ConfigError:
        return {}


_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_KEY = re.compile(rf"\s*(?:(?P<open>\[)\s*)?(?P<key>{_PART}(?:\s*\.\s*{_PART})*)\s*(?(open)\]|=)")


def _line_of(text: str, key: tuple[str, ...]) -> str:
    """``:`` and the line on which ``key`` is given a value, as far as it can be told without TOML's full grammar."""
    table: tuple[str, ...] = ()
    best, line = 0, ""
    for number, row in enumerate(text.splitlines(), 1):
        found = _KEY.match(row)
        if not found:
            continue
        parts = tuple(part.strip("\"'") for part in re.findall(_PART, found["key"]))
        table = parts if found["open"] else table
        path = parts if found["open"] else (*table, *parts)
        common = min(len(path), len(key))
        if path[:common] == key[:common] and common > best:
            best, line = common, f":{number}"
    return line
