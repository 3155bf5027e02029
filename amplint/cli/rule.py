"""``amplint rule CODE``: the page of a rule."""

from __future__ import annotations

import click

from amplint.registry import UnknownRule, installed


@click.command()
@click.argument("code", required=False)
@click.option("--all", "every", is_flag=True, help="List all rules, a line each.")
def rule(code: str | None, every: bool) -> None:
    """Explain the rule with this CODE or name."""
    if every:
        for known in installed().rules:
            click.echo(f"{known.code}  {known.name}  ({known.severity.value}, fix: {known.fixable})  {known.summary}")
    elif code is None:
        raise click.UsageError("name a rule by its code, such as AMP101, or list them by --all")
    else:
        try:
            click.echo(installed().find(code).page())
        except UnknownRule as error:
            hint = f" Did you mean `{error.suggestion}`?" if error.suggestion else " `amplint rule --all` lists them."
            raise click.BadParameter(f"there is no rule `{code}`.{hint}", param_hint="CODE") from None
