"""``amplint verify SCRIPT``: run a training script under the harness."""

from __future__ import annotations

import click


class _Script(click.Path):
    """A script that exists; shown in the usage as SCRIPT."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False)


@click.command(
    short_help="Run a training script under watch.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("script", type=_Script(), required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--device",
    type=click.Choice(("auto", "cpu", "cuda")),
    default="auto",
    help="Where CUDA tensors go: a GPU, or the CPU standing in for one.  [default: auto]",
)
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Stop the script after that time."
)
@click.option(
    "--self-test", is_flag=True, help="Run a small reference training instead, and compare it with its record."
)
@click.option(
    "--stand-in",
    "stand_in",
    multiple=True,
    metavar="FILE[::FUNCTION]",
    help="Run only the training loops of FILE, with stand-ins for all that they need; repeatable.",
)
@click.pass_context
def verify(
    context: click.Context,
    script: str | None,
    args: tuple[str, ...],
    device: str,
    timeout: float | None,
    self_test: bool,
    stand_in: tuple[str, ...],
) -> None:
    """Run SCRIPT with ARGS under watch and report the misuse of AMP that really happens.

    On a machine without a GPU a script that was written for CUDA runs on the CPU. Options of amplint come before
    SCRIPT; what follows it is the script's own.

    Exits with 0 if the run is clean, 1 if something is found or the script raises, 124 if it takes longer than
    --timeout, 2 if it cannot be run at all, and otherwise as the script does.
    """
    from importlib.util import find_spec

    if (self_test or stand_in) and script is not None:
        raise click.UsageError("--self-test and --stand-in take no script")
    if not self_test and not stand_in and script is None:
        raise click.UsageError("Missing argument 'SCRIPT'.")
    if find_spec("torch") is None:
        click.echo("amplint: verify runs PyTorch, which is not installed: pip install 'amplint[runtime]'", err=True)
        context.exit(2)
    if self_test:
        from amplint.harness.self_test import main as test

        context.exit(test())
    if stand_in:
        from amplint.harness.standins.command import main as rehearse

        context.exit(rehearse(stand_in))
    from amplint.harness.verify import main

    assert script is not None
    context.exit(main(script, list(args), device=device, timeout=timeout))
