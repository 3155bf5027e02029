"""``amplint verify SCRIPT``: run a training script under the harness."""

from __future__ import annotations

import click


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def verify(context: click.Context, script: str, args: tuple[str, ...]) -> None:
    """Run SCRIPT with ARGS on a CPU stand-in for CUDA and report the misuse of AMP that really happens."""
    from importlib.util import find_spec

    if find_spec("torch") is None:
        click.echo("amplint: verify runs PyTorch, which is not installed: pip install 'amplint[runtime]'", err=True)
        context.exit(2)
    from amplint.harness.verify import main

    context.exit(main(script, list(args)))
