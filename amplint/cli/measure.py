"""``amplint measure SCRIPT``: does mixed precision pay here?"""

from __future__ import annotations

import click


@click.command(
    short_help="Measure whether mixed precision pays.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--steps", type=click.IntRange(1), default=20, help="Optimizer steps to measure.  [default: 20]")
@click.option("--warm-up", type=click.IntRange(0), default=5, help="Steps before the first measured one.  [default: 5]")
@click.option("--rounds", type=click.IntRange(1), default=2, help="How often each way is run.  [default: 2]")
@click.option("--json", "as_json", is_flag=True, help="Print everything that was measured as JSON.")
@click.option("--report", type=click.Path(dir_okay=False), metavar="FILE.html", help="Write a page with plots, too.")
@click.pass_context
def measure(
    context: click.Context,
    script: str,
    args: tuple[str, ...],
    steps: int,
    warm_up: int,
    rounds: int,
    as_json: bool,
    report: str | None,
) -> None:
    """Run SCRIPT with ARGS with mixed precision as written and forced off, in turn, and compare.

    Options of amplint come before SCRIPT; what follows it is the script's own. It runs on the device that it chooses,
    until it has made enough optimizer steps; what it prints is left out, and files that it writes are written.
    """
    from importlib.util import find_spec

    for module, extra in (("torch", "runtime"), ("matplotlib", "report")):
        if (module == "torch" or report is not None) and find_spec(module) is None:
            click.echo(
                f"amplint: this needs {module}, which is not installed: pip install 'amplint[{extra}]'", err=True
            )
            context.exit(2)
    from amplint.harness.measure import main

    code = main(script, args, steps=steps, warm_up=warm_up, rounds=rounds, as_json=as_json, report=report)
    context.exit(code)
