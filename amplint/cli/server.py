"""``amplint server``: the language server for editors."""

from __future__ import annotations

import click

from amplint.cli.options import Command


@click.command(cls=Command, short_help="Serve an editor: a language server.")
@click.option("--stdio", is_flag=True, help="Talk by standard input and output, as is done anyway.")
@click.pass_context
def server(context: click.Context, stdio: bool) -> None:
    """Serve an editor by the Language Server Protocol."""
    from importlib.util import find_spec

    if find_spec("pygls") is None:
        click.echo("amplint: the server needs pygls, which is not installed: pip install 'amplint[server]'", err=True)
        context.exit(2)
    from amplint.server import make_server

    make_server().start_io()
