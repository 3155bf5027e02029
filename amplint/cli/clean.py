"""``amplint clean``: remove what earlier runs left."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from amplint.cli.options import Command


@click.command(cls=Command, short_help="Remove the caches here and below.")
@click.option(
    "--cache-dir", type=click.Path(file_okay=False), envvar="AMPLINT_CACHE_DIR", help="The cache to remove, too."
)
@click.pass_context
def clean(context: click.Context, cache_dir: str | None) -> None:
    """Remove the caches in the current folder and in all below it."""
    import os

    from amplint.cache import remove
    from amplint.config import ConfigError, Configuration
    from amplint.output.style import shown_path
    from amplint.registry import installed

    failed = False
    try:
        settings = Configuration(installed()).settings(os.getcwd())
        places = dict.fromkeys((*_below(os.curdir), os.path.relpath(cache_dir or settings.cache_dir)))
    except ConfigError as error:
        print(f"amplint: {error}", file=sys.stderr)
        context.exit(2)
    for place in places:
        try:
            if remove(place):
                print(f"Removing cache at: {shown_path(place)}", file=sys.stderr)
        except OSError as error:
            print(f"amplint: {shown_path(place)}: {error.strerror}", file=sys.stderr)
            failed = True
    context.exit(2 if failed else 0)


def _below(folder: str) -> Iterator[str]:
    import os

    from amplint.cache import DIRECTORY

    for inner, folders, _ in os.walk(folder):
        if DIRECTORY in folders:
            folders.remove(DIRECTORY)
            yield os.path.normpath(os.path.join(inner, DIRECTORY))
