"""The keys that a configuration may have: what each must be, and what it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from amplint import spelling
from amplint.findings import Severity
from amplint.registry import Registry, UnknownRule
from amplint.rule import TargetTorch

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
    """A configuration that means nothing to amplint; the message names the place, the key and what would be right."""


def parse_target_torch(text: str, source: str) -> TargetTorch:
    """The target that ``text`` names, such as ``2.1`` or ``2.1.2``; raises :class:`ValueError`."""
    match = re.fullmatch(r"\s*(\d+)\.(\d+)(\.\d+)*([+.a-z]\w*)?\s*", text)
    if not match:
        raise ValueError(f"{text!r} is not a version of torch such as '2.1'")
    return TargetTorch((int(match[1]), int(match[2])), source, configured=True)


class Wrong(Exception):
    """A value is not what its key asks for; ``within`` is where in the value, ``hint`` the nearest right word."""

    def __init__(
        self, value: object, hint: str = "", within: tuple[str, ...] = (), expected: str | None = None
    ) -> None:
        super().__init__(value)
        self.value, self.hint, self.within, self.expected = value, hint, within, expected


@dataclass(frozen=True, slots=True)
class Key:
    """A key: how its value is read, what is ``expected`` of it in words, and the same as a JSON schema."""

    name: str
    about: str
    expected: str
    read: Callable[[Any, Registry, str], Any]
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Layer:
    """The values that one table gives; its patterns are relative to ``folder``."""

    folder: str
    values: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None


def read_layer(
    table: Mapping[str, Any],
    registry: Registry,
    *,
    folder: str,
    source: str | None,
    place: Callable[[tuple[str, ...]], str],
    where: str = "",
) -> Layer:
    """The layer that ``table`` is; ``place`` names the place of a key in it, ``where`` the table for a message.

    Raises :class:`ConfigError` where a key is unknown or a value is not what it should be.
    """
    values = {}
    for name, value in table.items():
        key = KEYS.get(name)
        if key is None:
            hint = nearest(name, KEYS)
            if name == "tool" and not where:
                hint = "; the keys stand here without [tool.amplint]"
            elif name in ("lint", "format") and isinstance(value, dict):
                hint = "; there is one table, [tool.amplint], and the keys stand in it"
            raise ConfigError(f"{place((name,))}: unknown key `{name}`{where}{hint}")
        try:
            values[name] = key.read(value, registry, source or "--config")
        except UnknownRule as error:
            hint = f"; did you mean `{error.suggestion}`?" if error.suggestion else ""
            raise ConfigError(f"{place((name,))}: unknown rule `{error.word}` in `{name}`{hint}") from None
        except Wrong as error:
            path = (name, *error.within)
            shown = ".".join(part if re.fullmatch(r"[\w-]+", part) else f'"{part}"' for part in path)
            expected = error.expected or key.expected
            raise ConfigError(f"{place(path)}: `{shown}` must be {expected}, not {error.value!r}{error.hint}") from None
    return Layer(folder, values, source)


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence's end that suggests the word of ``known`` nearest to ``word``, or nothing."""
    near = spelling.nearest(word, known)
    return f"; did you mean `{near}`?" if near else ""


def _words(value: object, registry: Registry, source: str) -> tuple[str, ...]:
    if not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
        raise Wrong(value)
    return tuple(value)


def _selectors(value: object, registry: Registry, source: str) -> tuple[str, ...]:
    words = _words(value, registry, source)
    for word in words:
        registry.matching(word)
    return words


def _truth(value: object, registry: Registry, source: str) -> bool:
    if not isinstance(value, bool):
        raise Wrong(value)
    return value


def _path(value: object, registry: Registry, source: str) -> str:
    if not isinstance(value, str) or not value:
        raise Wrong(value)
    return value


def _target(value: object, registry: Registry, source: str) -> TargetTorch:
    import os

    try:
        return parse_target_torch(str(_path(value, registry, source)), f"`target-torch` in {os.path.basename(source)}")
    except ValueError:
        raise Wrong(value) from None


def _one_of(words: Iterable[str]) -> Callable[[Any, Registry, str], str]:
    known = tuple(words)

    def read(value: object, registry: Registry, source: str) -> str:
        if value not in known:
            raise Wrong(value, nearest(value, known) if isinstance(value, str) else "")
        return str(value)

    return read


_severity = _one_of(severity.value for severity in Severity)
_SEVERITIES = ", ".join(severity.value for severity in Severity)


def _severities(value: object, registry: Registry, source: str) -> dict[str, Severity]:
    if not isinstance(value, dict):
        raise Wrong(value)
    found = {}
    for word, name in value.items():
        registry.matching(word)
        try:
            found[word] = Severity(_severity(name, registry, source))
        except Wrong as error:
            raise Wrong(name, error.hint, (word,), f"one of {_SEVERITIES}") from None
    return found


def _ignores(value: object, registry: Registry, source: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise Wrong(value)
    found = {}
    for pattern, words in value.items():
        try:
            found[pattern] = _selectors(words, registry, source)
        except Wrong as error:
            raise Wrong(error.value, within=(pattern,), expected=_RULES) from None
    return found


_RULES = "a list of rule codes or prefixes"
_STRINGS = "a list of strings"
_SELECTORS = {"type": "array", "items": {"$ref": "#/definitions/selector"}}
_PATTERNS = {"type": "array", "items": {"type": "string"}}
_TRUTH = {"type": "boolean"}

KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        Key(
            "extend",
            "Another configuration, which holds where this one says nothing; a path from this file.",
            "the path of another configuration",
            _path,
            {"type": "string", "minLength": 1},
        ),
        Key("select", "The rules to run.", _RULES, _selectors, _SELECTORS),
        Key("ignore", "Rules to leave out.", _RULES, _selectors, _SELECTORS),
        Key("extend-select", "Rules to run besides the selected ones.", _RULES, _selectors, _SELECTORS),
        Key(
            "per-file-ignores",
            "Rules to leave out in the files that a pattern matches, or with `!` before it, in all others.",
            "a table of patterns, each with a list of rules",
            _ignores,
            {"type": "object", "additionalProperties": _SELECTORS},
        ),
        Key("fixable", "The rules whose fixes may be applied.", _RULES, _selectors, _SELECTORS),
        Key("unfixable", "Rules whose fixes may not be applied.", _RULES, _selectors, _SELECTORS),
        Key(
            "severity",
            "Severities other than the rules' own.",
            f"a table of rules, each with one of {_SEVERITIES}",
            _severities,
            {"type": "object", "additionalProperties": {"enum": [severity.value for severity in Severity]}},
        ),
        Key("exclude", "What to leave out, instead of the usual folders.", _STRINGS, _words, _PATTERNS),
        Key("extend-exclude", "What to leave out besides.", _STRINGS, _words, _PATTERNS),
        Key("include-docs", "Lint code blocks of pages, too.", "true or false", _truth, _TRUTH),
        Key(
            "target-torch",
            "The lowest torch to support; by default that of the project's dependencies.",
            "a version such as '2.1'",
            _target,
            {"type": "string", "pattern": r"^\s*\d+\.\d+"},
        ),
        Key("unsafe-fixes", "Let fixes change numerics or structure.", "true or false", _truth, _TRUTH),
        Key(
            "baseline",
            "A file of known findings, which are not shown; a path from this file.",
            "the path of a file",
            _path,
            {"type": "string", "minLength": 1},
        ),
        Key(
            "cache-dir",
            "Where what was found is kept; a path from this file, `.amplint_cache` by default.",
            "the path of a folder",
            _path,
            {"type": "string", "minLength": 1},
        ),
        Key(
            "output-format",
            "How findings are printed.",
            f"one of {', '.join(OUTPUT_FORMATS)}",
            _one_of(OUTPUT_FORMATS),
            {"enum": list(OUTPUT_FORMATS)},
        ),
    )
}
