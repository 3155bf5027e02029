"""The command line: ``amplint [PATHS]``, ``amplint rule CODE``, ``amplint verify`` or ``measure SCRIPT``."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

import click

from amplint import __version__
from amplint.cli.about import show_help, version
from amplint.cli.check import check
from amplint.cli.clean import clean
from amplint.cli.completion import completion
from amplint.cli.measure import measure
from amplint.cli.rule import linter, rule
from amplint.cli.server import server
from amplint.cli.sweep import sweep
from amplint.cli.verify import verify

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _DefaultToCheck(click.Group):
    """A group whose command is ``check`` where the first argument names no other."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h", "--version", "-V")):
            if args or not context.resilient_parsing:  # else a shell asks for what may stand first
                args = ["check", *args]
        return super().parse_args(context, args)

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """What may stand first: a command, an option of ``check``, or a path."""
        from click.shell_completion import CompletionItem

        path = CompletionItem(incomplete, type="file")  # first, since bash drops what came before it
        options = check.shell_complete(context, incomplete) if incomplete.startswith("-") else []
        return [path, *super().shell_complete(context, incomplete), *options]

    def invoke(self, context: click.Context) -> object:
        """Run the command; a failure of amplint itself ends with 2, since 1 says that there are findings."""
        try:
            return super().invoke(context)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # whoever reads has enough, and click ends quietly
            print(f"amplint: {error.strerror or error}", file=sys.stderr)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception:
            import traceback

            traceback.print_exc()
        _discard_output()
        context.exit(2)

    def format_usage(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("amplint", "[OPTIONS] [PATHS]...")
        formatter.write_usage("amplint", "COMMAND [ARGS]...", prefix="       ")

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        *own, help_option = (param for param in check.get_params(context) if isinstance(param, click.Option))
        options = (*own, *self.params, help_option)
        with formatter.section("Options"):
            formatter.write_dl([record for option in options if (record := option.get_help_record(context))])
        self.format_commands(context, formatter)


def _discard_output() -> None:
    """Let nothing be written when the interpreter ends: that would fail again, and change the exit code."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        pass


@click.group(cls=_DefaultToCheck, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s", prog_name="amplint")
def main() -> None:
    """Find misuse of PyTorch automatic mixed precision, and fix it.

    PATHS are files or folders; the default is the current folder, and - is standard input.
    """


main.add_command(check)
main.add_command(rule)
main.add_command(linter)
main.add_command(clean)
main.add_command(verify)
main.add_command(measure)
main.add_command(server)
main.add_command(sweep)
main.add_command(completion)
main.add_command(version)
main.add_command(show_help)
