"""What holds for the files of a folder: the layers of its configuration, folded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from amplint.config.keys import Layer
from amplint.config.patterns import Patterns
from amplint.config.selection import Selection, select_rules
from amplint.findings import Severity
from amplint.registry import Registry
from amplint.rule import Rule, TargetTorch

DEFAULT_EXCLUDE = (
    ".#*",  # what Emacs puts beside a file that is being edited: a link to nowhere
    ".amplint_cache",
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


@dataclass(frozen=True, slots=True)
class PerFileIgnore:
    """The selectors of rules to leave out in the files that a pattern matches or, ``negated``, in all others."""

    patterns: Patterns
    negated: bool
    selectors: tuple[str, ...]


@dataclass(frozen=True)
class Settings:
    """What ``layers`` say together, later ones over earlier ones; ``folder`` is that of the project they speak of."""

    folder: str
    layers: tuple[Layer, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that the layers were read from."""
        return tuple(layer.source for layer in self.layers if layer.source)

    @cached_property
    def selections(self) -> tuple[Selection, ...]:
        """How each layer chooses rules."""
        return tuple(
            Selection(layer.values.get("select"), layer.values.get("ignore", ()), layer.values.get("extend-select", ()))
            for layer in self.layers
        )

    @cached_property
    def exclude(self) -> tuple[Patterns, ...]:
        """What is left out: the last ``exclude``, or the usual folders, and every ``extend-exclude``."""
        found = next(self._said("exclude", Patterns), Patterns(self.folder, DEFAULT_EXCLUDE))
        return (found, *reversed(list(self._said("extend-exclude", Patterns))))

    def excludes(self, path: str) -> bool:
        """Whether a pattern excludes ``path``, which is absolute."""
        return any(patterns.match(path) for patterns in self.exclude)

    @cached_property
    def per_file_ignores(self) -> tuple[PerFileIgnore, ...]:
        """What is left out in some files only."""
        return next(self._said("per-file-ignores", _ignores), ())

    def ignored(self, path: str, registry: Registry) -> frozenset[str]:
        """The codes that ``per-file-ignores`` leaves out in the file at ``path``, which is absolute."""
        found: set[str] = set()
        for ignore in self.per_file_ignores:
            if ignore.patterns.match(path) is not ignore.negated:
                found.update(rule.code for word in ignore.selectors for rule in registry.matching(word))
        return frozenset(found)

    def fixable(self, registry: Registry) -> frozenset[str]:
        """The codes of the rules whose fixes may be applied: where both are said of a code, the longer word wins."""
        words = [(word, True) for word in next(self._said("fixable"), ("ALL",))]
        words += [(word, False) for word in next(self._said("unfixable"), ())]
        found: dict[str, bool] = {}
        for word, truth in sorted(words, key=lambda each: 0 if each[0] == "ALL" else len(each[0])):
            found |= dict.fromkeys((rule.code for rule in registry.matching(word)), truth)
        return frozenset(code for code, truth in found.items() if truth)

    def severities(self, registry: Registry) -> dict[str, Severity]:
        """The codes that have another severity than their rules', and which."""
        found: dict[str, Severity] = {}
        for layer in self.layers:
            told = layer.values.get("severity", {})
            for word in sorted(told, key=lambda word: 0 if word == "ALL" else len(word)):
                found |= dict.fromkeys((rule.code for rule in registry.matching(word)), told[word])
        return found

    def rules(self, registry: Registry, *more: Selection) -> tuple[type[Rule], ...]:
        """The rules that the layers choose and then ``more`` of them."""
        return select_rules(registry, (*self.selections, *more))

    @property
    def include_docs(self) -> bool:
        """Whether code blocks of pages are looked into."""
        return next(self._said("include-docs"), False)

    @property
    def target_torch(self) -> TargetTorch | None:
        """The lowest torch to support, where that is said."""
        return next(self._said("target-torch"), None)

    @property
    def unsafe_fixes(self) -> bool:
        """Whether unsafe fixes are applied."""
        return next(self._said("unsafe-fixes"), False)

    @property
    def output_format(self) -> str | None:
        """How findings are printed, where that is said."""
        return next(self._said("output-format"), None)

    @property
    def baseline(self) -> str | None:
        """The file, absolute, of the findings that are known, where that is said."""
        return next(self._said("baseline", _path), None)

    @property
    def cache_dir(self) -> str:
        """The folder, absolute, in which what was found is kept."""
        return next(self._said("cache-dir", _path), os.path.join(self.folder, ".amplint_cache"))

    def _said(self, key: str, made: Callable[[str, Any], Any] | None = None) -> Iterator[Any]:
        """What the layers say about ``key``, the last one first."""
        for layer in reversed(self.layers):
            if key in layer.values:
                value = layer.values[key]
                yield value if made is None else made(layer.folder, value)


def _ignores(folder: str, table: dict[str, tuple[str, ...]]) -> tuple[PerFileIgnore, ...]:
    return tuple(
        PerFileIgnore(Patterns(folder, (pattern.removeprefix("!"),)), pattern.startswith("!"), selectors)
        for pattern, selectors in table.items()
    )


def _path(folder: str, path: str) -> str:
    """``path`` from ``folder``, absolute."""
    return os.path.normpath(os.path.join(folder, os.path.expandvars(os.path.expanduser(path))))
