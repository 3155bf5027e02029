"""Pages made from what the command line and the configuration know of themselves."""

from __future__ import annotations

import os
from pathlib import Path

import click

from amplint.config.keys import KEYS


def command_line() -> str:
    """The help of every command."""
    from amplint.cli import main

    page = "# Command line\n\nWithout the name of a command, `amplint` lints.\n"
    context = click.Context(main, info_name="amplint", terminal_width=100, max_content_width=100)
    for name in main.list_commands(context):
        command = main.commands[name]
        with click.Context(command, context, info_name=name) as inner:
            page += f"\n## amplint {name}\n\n```text\n{command.get_help(inner)}\n```\n"
    return page


def settings() -> str:
    """What each key of a configuration means."""
    rows = [f"| `{key.name}` | {key.about} | {key.expected} |" for key in KEYS.values()]
    head = ["# Settings", "", "The keys of `[tool.amplint]` in pyproject.toml, and of `amplint.toml`.", ""]
    return "\n".join([*head, "| key | what it does | what it takes |", "| --- | --- | --- |", *rows, ""])


def rule_pack(folder: Path) -> str:
    """The files of the example in ``folder``."""
    page = "# A rule pack\n\nA whole package with a rule of its own, as a team would write it.\n"
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".toml", ".py"):
            name = path.relative_to(folder).as_posix()
            language = os.path.splitext(name)[1][1:]
            page += f"\n## {name}\n\n````{language}\n{path.read_text(encoding='utf-8')}````\n"
    return page
