"""What there is to say of rules themselves."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from amplint.output.json_text import dumps
from amplint.registry import installed
from amplint.rule import Rule

_FIXES = {
    "always": ("Fix is always available.", "Always"),
    "sometimes": ("Fix is sometimes available.", "Sometimes"),
    "never": ("Fix is not available.", "None"),
}


def as_list(rules: Iterable[type[Rule]]) -> str:
    """A line for each of ``rules``."""
    return "".join(
        f"{rule.code}  {rule.name}  ({rule.severity.value}, fix: {rule.fixable})  {rule.summary}\n" for rule in rules
    )


def as_markdown(rules: Iterable[type[Rule]]) -> str:
    """The pages of ``rules``."""
    return "\n".join(f"{rule.page()}\n" for rule in rules)


def as_json(rules: type[Rule] | Sequence[type[Rule]]) -> str:
    """An object with Ruff's fields, and amplint's after them, or an array of them."""
    return dumps(_record(rules) if isinstance(rules, type) else [_record(rule) for rule in rules])


def _record(rule: type[Rule]) -> dict[str, Any]:
    fix, availability = _FIXES[rule.fixable]
    return {
        "name": rule.name,
        "code": rule.code,
        "linter": _package(rule).rpartition(".")[2],
        "summary": rule.summary,
        "fix": fix,
        "fix_availability": availability,
        "explanation": rule.page(),
        "preview": False,
        "status": {"Stable": {"since": rule.since}},
        "severity": rule.severity.value,
        "default": rule.default,
        "url": rule.page_url(),
    }


@dataclass(frozen=True)
class Group:
    """Rules of one package, such as those on the scaler's protocol, and the beginning that their codes share."""

    prefix: str
    name: str
    title: str
    size: int


def groups(rules: Iterable[type[Rule]]) -> list[Group]:
    """The groups that ``rules`` come in, by their prefixes."""
    members: dict[str, list[str]] = {}
    for rule in rules:
        members.setdefault(_package(rule), []).append(rule.code)
    found = []
    for package, codes in members.items():
        shared = re.match(r"[A-Z]*[0-9]?", os.path.commonprefix(codes))
        title = (sys.modules[package].__doc__ or "").strip().partition("\n")[0]
        found.append(Group(shared[0] if shared else "", package.rpartition(".")[2], title, len(codes)))
    return sorted(found, key=lambda group: group.prefix)


def groups_as_list(rules: Iterable[type[Rule]]) -> str:
    """A line for each group of ``rules``."""
    found = groups(rules)
    width = max(len(group.prefix) for group in found)
    return "".join(
        f"{group.prefix:>{width}} {group.name} ({group.size}){f': {group.title}' if group.title else ''}\n"
        for group in found
    )


def groups_as_json(rules: Iterable[type[Rule]]) -> str:
    """An array of the groups of ``rules``."""
    return dumps(
        [
            {"prefix": group.prefix, "name": group.name, "title": group.title, "rules": group.size}
            for group in groups(rules)
        ]
    )


def page_of(code: str) -> str | None:
    """The URL of the page of the rule with this ``code``: where it is published, or the file on this machine."""
    import inspect
    import socket
    from pathlib import Path

    rule = installed().get(code)
    if rule is None:
        return None
    url = rule.page_url()
    if url:
        return url
    try:
        path = Path(inspect.getfile(rule)).resolve().as_uri()
    except (OSError, TypeError, ValueError):
        return None
    return path.replace("file://", f"file://{socket.gethostname()}", 1)


def _package(rule: type[Rule]) -> str:
    return getattr(sys.modules.get(rule.__module__), "__package__", None) or rule.__module__
