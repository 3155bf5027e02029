"""``amplint sweep SOURCE... --out FOLDER``: lint an organisation's code, or a data set of code."""

from __future__ import annotations

import sys
from typing import Any

import click

from amplint.cli.options import Command


@click.command(cls=Command, short_help="Lint many sources on a Dask cluster.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="The folder to fill with findings.")
@click.option("--scheduler", metavar="ADDRESS", help="A Dask cluster to work on, instead of this machine.")
@click.option("--workers", type=click.IntRange(1), help="How many processes to use on this machine.")
@click.option("--select", metavar="CODES", help="Rules to run: codes or their beginnings, or ALL.")
@click.option("--ignore", metavar="CODES", help="Rules to leave out.")
@click.option("--isolated", is_flag=True, help="Ignore the configuration files in the sources.")
@click.option("--content-column", default="content", show_default=True, help="Where Parquet files hold the code.")
@click.option("--path-column", help="Where they hold its path.")
@click.pass_context
def sweep(
    context: click.Context,
    sources: tuple[str, ...],
    out: str,
    scheduler: str | None,
    workers: int | None,
    select: str | None,
    ignore: str | None,
    isolated: bool,
    content_column: str,
    path_column: str | None,
) -> None:
    """Lint SOURCE..., which are folders, Git repositories (URLs, or bare ones) and Parquet files, on a Dask cluster.

    What is found is written into Parquet files below the folder of --out. The same command goes on where an earlier
    one ended.
    """
    from importlib.util import find_spec

    if find_spec("distributed") is None or find_spec("pyarrow") is None:
        print("amplint: sweep needs Dask and PyArrow: pip install 'amplint[sweep]'", file=sys.stderr)
        context.exit(2)
    from amplint.config import Selection
    from amplint.output.style import harmless
    from amplint.registry import UnknownRule, installed
    from amplint.sweep.batches import SourceError
    from amplint.sweep.run import run
    from amplint.sweep.store import Store
    from amplint.sweep.work import Wishes

    chosen, left_out = (tuple(word.strip() for word in said.split(",")) if said else None for said in (select, ignore))
    wishes = Wishes(Selection(chosen, left_out or ()), isolated, content_column, path_column)
    store = Store(out)
    try:
        for word in (*(chosen or ()), *(left_out or ())):
            installed().matching(word)
        found = store.batches(sources, wishes)
    except UnknownRule as error:
        raise click.UsageError(str(error)) from None
    except SourceError as error:
        print(f"amplint: {harmless(str(error))}", file=sys.stderr)
        context.exit(2)
    due = [batch for batch in found if not store.is_done(batch)]
    shown = sys.stderr is not None and sys.stderr.isatty()

    def tell(done: int) -> None:
        if shown:
            print(f"\r{len(found) - len(due) + done}/{len(found)} batches", end="", file=sys.stderr, flush=True)

    if due:
        try:
            client = _client(scheduler, workers)
        except (OSError, ValueError) as error:
            if scheduler is None:
                raise
            print(f"amplint: no Dask scheduler answers at {harmless(f'{scheduler}: {error}')}", file=sys.stderr)
            context.exit(2)
        with client:
            run(client, due, wishes, store, tell)
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    files, findings, problems = store.totals(found)
    print(f"{files} files, {findings} findings, {problems} problems: {harmless(out)}")
    context.exit(2 if problems else int(findings > 0))


def _client(scheduler: str | None, workers: int | None) -> Any:
    """A client of the cluster at ``scheduler``, or of one that lives as long as it does."""
    import logging

    from distributed import Client

    if scheduler is not None:
        return Client(scheduler)
    return Client(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR)
