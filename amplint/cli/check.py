"""``amplint [PATHS]``: lint and fix."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from amplint.config import OUTPUT_FORMATS, ConfigError, Selection, parse_target_torch
from amplint.registry import UnknownRule, installed
from amplint.rule import TargetTorch

if TYPE_CHECKING:
    from amplint.discovery import Problem
    from amplint.project import Report


def _selectors(context: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    """The selectors of an option that may be repeated and holds several at once; None where it was not given."""
    words = tuple(word.strip() for value in values for word in value.split(","))
    for word in words:
        try:
            installed().matching(word)
        except UnknownRule as error:
            hint = f" Did you mean `{error.suggestion}`?" if error.suggestion else ""
            raise click.BadParameter(f"unknown rule selector `{word}`.{hint}") from None
    return words or None


def _target(context: click.Context, param: click.Parameter, value: str | None) -> TargetTorch | None:
    try:
        return None if value is None else parse_target_torch(value, "`--target-torch`")
    except ValueError as error:
        raise click.BadParameter(f"{error}.") from None


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--fix/--no-fix", default=False, help="Apply the fixes of the findings that have one.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Let fixes change numerics or structure, too.")
@click.option("--diff", is_flag=True, help="Print what --fix would change, and write nothing.")
@click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    callback=_selectors,
    help="Rules to run: codes or their beginnings, or ALL.",
)
@click.option("--ignore", multiple=True, metavar="CODES", callback=_selectors, help="Rules to leave out.")
@click.option(
    "--extend-select",
    multiple=True,
    metavar="CODES",
    callback=_selectors,
    help="Rules to run besides the selected ones.",
)
@click.option("--target-torch", metavar="X.Y", callback=_target, help="The lowest version of torch to support.")
@click.option("--output-format", type=click.Choice(OUTPUT_FORMATS), help="How findings are printed.  [default: full]")
@click.option("--force-exclude/--no-force-exclude", default=False, help="Exclude files even if PATHS names them.")
@click.option("--stdin-filename", type=click.Path(), help="The name that standard input is linted under.")
@click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings only.")
@click.pass_context
def check(
    context: click.Context,
    paths: tuple[str, ...],
    fix: bool,
    unsafe_fixes: bool | None,
    diff: bool,
    select: tuple[str, ...] | None,
    ignore: tuple[str, ...] | None,
    extend_select: tuple[str, ...] | None,
    target_torch: TargetTorch | None,
    output_format: str | None,
    force_exclude: bool,
    stdin_filename: str | None,
    exit_zero: bool,
    quiet: bool,
) -> None:
    """Lint PATHS (the default command).

    Exits with 0 if nothing is found, 1 if something is, and 2 if amplint could not do all of its job.
    """
    import os

    from amplint.project import Options, Project

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # one that was closed before the start is None
            stream.reconfigure(errors="backslashreplace")
    stdin = paths == ("-",) or (stdin_filename is not None and not paths)
    if "-" in paths and not stdin:
        raise click.UsageError("standard input (-) cannot be linted together with other paths")
    if stdin and sys.stdin is None:
        raise click.UsageError("standard input is closed")
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    options = Options(
        selection=Selection(select, ignore or (), extend_select or ()),
        target_torch=target_torch,
        fix=fix or diff,
        write=not diff,
        unsafe_fixes=unsafe_fixes,
        force_exclude=force_exclude,
    )
    project = Project(options)
    try:
        format_here = output_format or project.configuration.settings(os.getcwd()).output_format or "full"
        if stdin:
            results = [project.check_source(sys.stdin.buffer.read(), stdin_filename)]
        else:
            results = list(project.check(paths or (".",)))
            if not results and not project.searched:
                print("amplint: no Python files were found under the given paths", file=sys.stderr)
    except ConfigError as error:
        print(f"amplint: {error}", file=sys.stderr)
        context.exit(2)
    except KeyboardInterrupt:
        context.exit(130)
    context.exit(_report(results, format_here, diff=diff, fix=fix, stdin=stdin, quiet=quiet, exit_zero=exit_zero))


def _report(
    results: list[Report | Problem],
    output_format: str,
    *,
    diff: bool,
    fix: bool,
    stdin: bool,
    quiet: bool,
    exit_zero: bool,
) -> int:
    """Print the results, and return the exit code that they deserve."""
    from amplint.output import renderer, summary
    from amplint.output.style import Style
    from amplint.project import Report

    reports = [result for result in results if isinstance(result, Report)]
    failed = _complain(results)
    if diff:
        return _print_diff(reports, failed=failed, quiet=quiet, exit_zero=exit_zero)
    stream = sys.stdout
    if fix and stdin:
        for report in reports:
            sys.stdout.buffer.write(report.document.encode())
            sys.stdout.buffer.flush()
        stream = sys.stderr
    stream.write(renderer(output_format)(reports, Style.of(stream)))
    found = any(report.findings for report in reports)
    healed = any(report.healed for report in reports)
    if output_format in ("full", "concise") and not quiet and (found or healed or not failed):
        stream.write(summary.render(reports))
    stream.flush()
    return 2 if failed else int(found and not exit_zero)


def _print_diff(reports: list[Report], *, failed: bool, quiet: bool, exit_zero: bool) -> int:
    from amplint.output import diff, summary
    from amplint.output.style import Style

    style, terminal = Style.of(sys.stdout), sys.stdout.isatty()
    changed = False
    for report in reports:
        if report.healed and report.before:
            changed = True
            print(diff.render(report.before, report.document, style, terminal=terminal), flush=True)
    if not quiet:
        sys.stderr.write(summary.render_diff(reports))
    return 2 if failed else int(changed and not exit_zero)


def _complain(results: list[Report | Problem]) -> bool:
    """Say on standard error what could not be done, and whether there was anything."""
    from amplint.discovery import Problem
    from amplint.output.style import harmless, shown_path

    complaints = [
        (result.path, result.message) if isinstance(result, Problem) else (result.document.filename, problem)
        for result in results
        for problem in (("",) if isinstance(result, Problem) else result.problems)
    ]
    for path, message in complaints:
        print(f"amplint: {shown_path(path)}: {harmless(message)}", file=sys.stderr)
    return bool(complaints)
