"""The rules that are installed: the built-in pack and every pack of the entry-point group ``amplint.rules``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module

from amplint.findings import Severity
from amplint.mentions import Mentions
from amplint.rule import Rule
from amplint.spelling import nearest

GROUP = "amplint.rules"
_BUILT_IN = "amplint.rules"

_CODE = re.compile(r"[A-Z]+[0-9]+\Z")
_DIGITS = re.compile(r"[0-9]+")
_LOOK_ALIKES = str.maketrans("OIL", "011")
_NAME = re.compile(r"\A[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")


class UnknownRule(LookupError):
    """No rule has this code or name, or no code starts like this; ``suggestion`` is the nearest right word."""

    def __init__(self, word: str, suggestion: str | None) -> None:
        super().__init__(word)
        self.word, self.suggestion = word, suggestion


class Registry:
    """Rule classes by their codes, in the order of the codes."""

    def __init__(self, rules: Iterable[type[Rule]]) -> None:
        """Raises :class:`ValueError` where two rules share a code or a name, or one is malformed."""
        taken: dict[str, type[Rule]] = {}
        for rule in rules:
            _check(rule)
            for key in (rule.code, rule.name):
                if taken.setdefault(key, rule) is not rule:
                    raise ValueError(f"{key} of {_origin(rule)} is already taken by {_origin(taken[key])}")
        self.rules: tuple[type[Rule], ...] = tuple(sorted(set(taken.values()), key=lambda rule: rule.code))

    def extended(self, rules: Iterable[type[Rule]]) -> Registry:
        """These rules and ``rules``; raises :class:`ValueError` as the constructor does."""
        return Registry((*self.rules, *rules))

    def find(self, word: str) -> type[Rule]:
        """The rule whose code or name is ``word``; raises :class:`UnknownRule`."""
        for rule in self.rules:
            if word.upper() == rule.code or word.lower() == rule.name:
                return rule
        raise UnknownRule(word, self._meant(word, selector=False))

    def get(self, code: str) -> type[Rule] | None:
        """The rule whose code this is, if one is installed."""
        return self._by_code.get(code)

    @cached_property
    def _by_code(self) -> dict[str, type[Rule]]:
        return {rule.code: rule for rule in self.rules}

    def matching(self, selector: str) -> tuple[type[Rule], ...]:
        """The rules that ``selector`` means: ``ALL``, the start of a code, or a name; raises :class:`UnknownRule`."""
        if selector == "ALL":
            return self.rules
        found = tuple(rule for rule in self.rules if rule.code.startswith(selector) or rule.name == selector)
        if not found or not selector:
            meant = "ALL" if selector.upper() == "ALL" else self._meant(selector, selector=True)
            raise UnknownRule(selector, meant)
        return found

    def _meant(self, word: str, *, selector: bool) -> str | None:
        """The code or name that was plainly meant by ``word``, or as a ``selector`` the start of a code."""
        alike = _looks_of(word)
        begun = [code for code in self._by_code if alike and _looks_of(code).startswith(alike)]
        if len(begun) == 1:
            return begun[0]
        if begun and selector:
            return begun[0][: len(word)]
        number = _DIGITS.findall(word)
        codes = [code for code in self._by_code if _DIGITS.findall(code) == number]
        return nearest(word, codes) or nearest(word, (rule.name for rule in self.rules))

    @cached_property
    def mentions(self) -> Mentions:
        """What a file must hold for any rule to have anything to say."""
        return Mentions(mention for rule in self.rules for mention in rule.mentions)


def _check(rule: type[Rule]) -> None:
    if not (isinstance(rule, type) and issubclass(rule, Rule)):
        raise ValueError(f"{rule!r} is not a subclass of amplint.rule.Rule")
    for attribute in ("code", "name", "severity", "since", "summary"):
        if not hasattr(rule, attribute):
            raise ValueError(f"{_origin(rule)} has no {attribute}")
    if not isinstance(rule.severity, Severity):
        raise ValueError(f"the severity of {_origin(rule)} is {rule.severity!r}, not an amplint.findings.Severity")
    if rule.fixable not in ("never", "sometimes", "always"):
        raise ValueError(f"{_origin(rule)} is fixable {rule.fixable!r}, not never, sometimes or always")
    if not (isinstance(rule.mentions, tuple) and all(map(_is_mention, rule.mentions))):
        raise ValueError(f"the mentions of {_origin(rule)} are not a tuple of bytes, or of tuples of bytes")
    if not _CODE.match(rule.code):
        raise ValueError(f"the code of {_origin(rule)} is {rule.code!r}, not letters and then digits")
    if not _NAME.match(rule.name):
        raise ValueError(f"the name of {_origin(rule)} is {rule.name!r}, not lower-case-words")


def _is_mention(mention: object) -> bool:
    words = mention if isinstance(mention, tuple) else (mention,)
    return bool(words) and all(isinstance(word, bytes) for word in words)


def _looks_of(code: str) -> str:
    """What ``code`` looks like in any case and to a reader who takes O for 0."""
    return code.upper().translate(_LOOK_ALIKES)


def _origin(rule: type[Rule]) -> str:
    return f"{rule.__module__}.{rule.__qualname__}"


@lru_cache(maxsize=1)
def installed() -> Registry:
    """All installed rules. A pack that cannot be loaded is named on standard error and left out."""
    registry = Registry(_load(_BUILT_IN))
    for pack in packs():
        if pack.value != _BUILT_IN:  # which needs no metadata to be found
            try:
                registry = registry.extended(_load(pack.value))
            except (Exception, SystemExit) as error:  # whatever somebody's pack does, amplint's own rules still run
                _leave_out(pack.name, error)
    return registry


def _leave_out(name: str, error: BaseException) -> None:
    from multiprocessing import parent_process

    if parent_process() is None:  # the others of a pool would only say it again
        what = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
        print(f"amplint: rule pack `{name}` was left out: {what}", file=sys.stderr)


def _load(value: str) -> Iterable[type[Rule]]:
    module, _, attribute = value.partition(":")
    pack = import_module(module.strip())
    for part in filter(None, attribute.strip().split(".")):
        pack = getattr(pack, part)
    rules: Iterable[type[Rule]] = pack.RULES
    return rules


@dataclass(frozen=True, order=True, slots=True)
class Pack:
    """An entry point of a rule pack, and the name of what it is distributed in, which tells its version."""

    name: str
    value: str
    distribution: str


def packs() -> list[Pack]:
    """The packs that are installed, each once."""
    found: dict[tuple[str, str], Pack] = {}
    for folder, name in metadata():
        try:
            with open(os.path.join(folder, name, "entry_points.txt"), encoding="utf-8") as file:
                text = file.read()
        except (OSError, ValueError):
            continue
        if GROUP in text:
            for point in _section(text):
                found.setdefault(point, Pack(*point, name))
    return sorted(found.values())


def metadata() -> Iterator[tuple[str, str]]:
    """The folders of installed packages' metadata: where each is, and its name.

    They are looked for here, since ``importlib.metadata`` takes longer to import than a project without AMP takes to
    lint.
    """
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or os.curdir)
        except OSError:
            continue  # a zip archive, or a folder that is not there
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                yield folder, name


def _section(text: str) -> set[tuple[str, str]]:
    found, inside = set(), False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            found.add((name.strip(), value.partition("[")[0].strip()))
    return found
