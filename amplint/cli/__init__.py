"""The command line: ``amplint [PATHS]``, ``amplint rule CODE``, ``amplint verify SCRIPT``."""

from __future__ import annotations

import click

from amplint import __version__
from amplint.cli.check import check
from amplint.cli.rule import rule
from amplint.cli.verify import verify


class _DefaultToCheck(click.Group):
    """A group whose command is ``check`` where the first argument names no other."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h", "--version", "-V")):
            args = ["check", *args]
        return super().parse_args(context, args)

    def format_usage(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("amplint", "[OPTIONS] [PATHS]...")
        formatter.write_usage("amplint", "COMMAND [ARGS]...", prefix="       ")

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        *own, help_option = (param for param in check.get_params(context) if isinstance(param, click.Option))
        options = (*own, *self.params, help_option)
        with formatter.section("Options"):
            formatter.write_dl([record for option in options if (record := option.get_help_record(context))])
        self.format_commands(context, formatter)


@click.group(cls=_DefaultToCheck, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s", prog_name="amplint")
def main() -> None:
    """Find misuse of PyTorch automatic mixed precision, and fix it.

    PATHS are files or folders; the default is the current folder, and - is standard input.
    """


main.add_command(check)
main.add_command(rule)
main.add_command(verify)
