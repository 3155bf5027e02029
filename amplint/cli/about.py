"""``amplint version`` and ``amplint help``, beside ``--version`` and ``--help``."""

from __future__ import annotations

import click

from amplint import __version__


@click.command()
def version() -> None:
    """Print the version of amplint."""
    click.echo(f"amplint {__version__}")


@click.command("help")
@click.argument("command", required=False)
@click.pass_context
def show_help(context: click.Context, command: str | None) -> None:
    """Print the help of amplint, or of COMMAND."""
    group = context.parent
    assert group is not None and isinstance(group.command, click.Group)
    if command is None:
        click.echo(group.get_help())
        return
    known = group.command.get_command(group, command)
    if known is None:
        raise click.UsageError(f"no such command: {command}")
    click.echo(known.get_help(click.Context(known, parent=group, info_name=command)))
