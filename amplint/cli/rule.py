"""``amplint rule CODE`` and ``amplint linter``: what rules there are, and their pages."""

from __future__ import annotations

import click

from amplint.cli.options import Choice, Command, complete_rule
from amplint.registry import UnknownRule, installed


@click.command(cls=Command, short_help="Explain a rule.")
@click.argument("code", required=False, shell_complete=complete_rule)
@click.option("--all", "every", is_flag=True, help="Tell of all rules.")
@click.option(
    "--output-format",
    type=Choice(("text", "markdown", "json")),
    default="text",
    show_default=True,
    help="How; all of them as text are a list.",
)
def rule(code: str | None, every: bool, output_format: str) -> None:
    """Explain the rule with this CODE or name."""
    from amplint.output.rules import as_json, as_list, as_markdown

    if every == (code is not None):
        raise click.UsageError("name a rule by its code, such as AMP101, or list them by --all")
    if code is None:
        render = {"text": as_list, "markdown": as_markdown, "json": as_json}[output_format]
        click.echo(render(installed().rules), nl=False)
        return
    try:
        found = installed().find(code)
    except UnknownRule as error:
        hint = f" Did you mean `{error.suggestion}`?" if error.suggestion else " `amplint rule --all` lists them."
        raise click.BadParameter(f"there is no rule `{code}`.{hint}", param_hint="CODE") from None
    click.echo(as_json(found) if output_format == "json" else as_markdown((found,)), nl=False)


@click.command(cls=Command, short_help="List the groups of rules.")
@click.option("--output-format", type=Choice(("text", "json")), default="text", show_default=True)
def linter(output_format: str) -> None:
    """List the groups of rules, with the prefix that selects each."""
    from amplint.output.rules import groups_as_json, groups_as_list

    click.echo((groups_as_json if output_format == "json" else groups_as_list)(installed().rules), nl=False)
