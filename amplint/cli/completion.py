"""``amplint generate-shell-completion SHELL``: the lines by which a shell completes amplint's commands."""

from __future__ import annotations

import click

from amplint.cli.options import Choice, Command


@click.command("generate-shell-completion", cls=Command)
@click.argument("shell", type=Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what completes amplint in SHELL.

    In bash: eval "$(amplint generate-shell-completion bash)"
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None
    source = made(context.find_root().command, {}, "amplint", "_AMPLINT_COMPLETE").source()
    # click's lines for fish cut a completion at every comma, while `--select AMP1,AMP2` has one of its own
    click.echo(source.replace('string split ","', 'string split --max 1 ","'))
