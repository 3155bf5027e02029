"""Commands whose complaints about an option suggest only what was plainly meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from amplint.spelling import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # which older versions of click cannot subscript


class Command(click.Command):
    """A command that knows which of its options a misspelled one means."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Read the options; raises :class:`click.NoSuchOption` with the one that was meant, if that is plain.

        What is wrong with a value names the environment's variable where it is from there.
        """
        try:
            return super().parse_args(context, args)
        except click.BadParameter as error:
            param = error.param
            source = context.get_parameter_source(param.name) if param is not None and param.name else None
            if param is not None and source is ParameterSource.ENVIRONMENT:
                error.param_hint = f"the variable {param.envvar}"
            raise
        except click.NoSuchOption as error:
            known = [name for param in self.get_params(context) for name in (*param.opts, *param.secondary_opts)]
            begun = [name for name in known if name.startswith(error.option_name)]
            near = nearest(error.option_name, [name for name in known if name.startswith("--")])
            possible = begun or ([near] if near else [])
            raise click.NoSuchOption(error.option_name, possibilities=possible, ctx=error.ctx) from None


class Choice(_Choice):
    """One of several words; of a misspelled one it says which was meant, if that is plain."""

    def convert(self, value: str, param: click.Parameter | None, context: click.Context | None) -> str:
        """The word; raises :class:`click.BadParameter`."""
        try:
            return super().convert(value, param, context)
        except click.BadParameter as error:
            near = nearest(value, self.choices)
            if near is None:
                raise
            raise click.BadParameter(f"{error.message} Did you mean `{near}`?", context, param) from None


def complete_rule(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The codes and names that begin like this, for a shell."""
    from click.shell_completion import CompletionItem

    from amplint.registry import installed

    rules = installed().rules
    words = [(rule.code, rule.summary) for rule in rules] + [(rule.name, rule.summary) for rule in rules]
    return [CompletionItem(word, help=told) for word, told in words if word.lower().startswith(incomplete.lower())]


def complete_selectors(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The same after the last comma, and ALL."""
    from click.shell_completion import CompletionItem

    before, comma, last = incomplete.rpartition(",")
    found = complete_rule(context, param, last)
    if "ALL".startswith(last):
        found.append(CompletionItem("ALL", help="every rule"))
    return [CompletionItem(f"{before}{comma}{item.value}", help=item.help) for item in found]
