"""``amplint [PATHS]``: lint and fix."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click

from amplint.cli.options import Choice, Command, complete_selectors
from amplint.config import OUTPUT_FORMATS, ConfigError, Layer, Selection, inline_layer, parse_target_torch
from amplint.registry import UnknownRule, installed
from amplint.rule import TargetTorch
from amplint.spelling import nearest


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


def _per_file(context: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The selectors of each pattern in ``PATTERN:CODE`` words."""
    found: dict[str, tuple[str, ...]] = {}
    for word in (word.strip() for value in values for word in value.split(",")):
        pattern, colon, selector = word.rpartition(":")
        if not colon:
            raise click.BadParameter(f"`{word}` is not a pattern, a colon and a rule, such as `tests/*:AMP201`.")
        found[pattern] = (*found.get(pattern, ()), *(_selectors(context, param, (selector,)) or ()))
    return found


def _configured(config: tuple[str, ...], said: Mapping[str, object]) -> tuple[str | None, tuple[Layer, ...]]:
    """The configuration file of the command line, and the settings that it gives by itself."""
    import os

    files = [value for value in config if os.path.isfile(value) or "=" not in value]
    if len(files) > 1:
        raise ConfigError("--config names several files; one of them may extend another")
    if files and not os.path.isfile(files[0]):
        raise ConfigError(f"--config: {files[0]} is no file, and no `key = value` either")
    layers = [inline_layer(value, installed()) for value in config if value not in files]
    layers.append(Layer(os.getcwd(), {key: value for key, value in said.items() if value}))
    return (files[0] if files else None), tuple(layers)


def _words(context: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The words of an option that may be repeated and holds several at once."""
    return tuple(word.strip() for value in values for word in value.split(","))


@click.command(cls=Command)
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--fix/--no-fix", default=None, help="Apply the fixes of the findings that have one.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Let fixes change numerics or structure, too.")
@click.option("--fix-only/--no-fix-only", default=False, help="Apply fixes, and say nothing of what remains.")
@click.option("--show-fixes/--no-show-fixes", default=False, help="List what was fixed.")
@click.option(
    "--verify", is_flag=True, help="Keep a fix of the protocol only if running it with stand-ins shows that it heals."
)
@click.option("--diff", is_flag=True, help="Print what --fix would change, and write nothing.")
@click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    callback=_selectors,
    shell_complete=complete_selectors,
    help="Rules to run: codes or their beginnings, or ALL.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="CODES",
    callback=_selectors,
    shell_complete=complete_selectors,
    help="Rules to leave out.",
)
@click.option(
    "--extend-select",
    multiple=True,
    metavar="CODES",
    callback=_selectors,
    shell_complete=complete_selectors,
    help="Rules to run besides the selected ones.",
)
@click.option(
    "--per-file-ignores",
    multiple=True,
    metavar="PATTERN:CODE",
    callback=_per_file,
    help="Rules to leave out in the files that a pattern matches.",
)
@click.option(
    "--fixable",
    multiple=True,
    metavar="CODES",
    callback=_selectors,
    shell_complete=complete_selectors,
    help="Rules whose fixes may be applied.",
)
@click.option(
    "--unfixable",
    multiple=True,
    metavar="CODES",
    callback=_selectors,
    shell_complete=complete_selectors,
    help="Rules whose fixes may not.",
)
@click.option("--target-torch", metavar="X.Y", callback=_target, help="The lowest version of torch to support.")
@click.option(
    "--output-format",
    type=Choice(OUTPUT_FORMATS),
    envvar="AMPLINT_OUTPUT_FORMAT",
    help="How findings are printed.  [default: full]",
)
@click.option(
    "-o",
    "--output-file",
    type=click.Path(dir_okay=False),
    envvar="AMPLINT_OUTPUT_FILE",
    help="Where they are written, if not to standard output.",
)
@click.option("--statistics", is_flag=True, help="Print how many findings there are of each rule.")
@click.option("--force-exclude/--no-force-exclude", default=False, help="Exclude files even if PATHS names them.")
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERNS",
    callback=_words,
    help="What to leave out, instead of the usual folders.",
)
@click.option("--extend-exclude", multiple=True, metavar="PATTERNS", callback=_words, help="What to leave out besides.")
@click.option(
    "--config",
    multiple=True,
    metavar="FILE|KEY=VALUE",
    help="A configuration to use instead of the files' own, or a setting over what they say.",
)
@click.option("-n", "--no-cache", is_flag=True, envvar="AMPLINT_NO_CACHE", help="Neither read nor write the cache.")
@click.option(
    "--cache-dir",
    type=click.Path(file_okay=False),
    envvar="AMPLINT_CACHE_DIR",
    help="Where what was found is kept.  [default: .amplint_cache in the project]",
)
@click.option("--isolated", is_flag=True, help="Ignore all configuration files.")
@click.option("--show-settings", is_flag=True, help="Print the settings of the first file, and lint nothing.")
@click.option("--show-files", is_flag=True, help="Print the files that would be linted, and lint nothing.")
@click.option(
    "--include-docs/--no-include-docs", default=None, help="Lint code blocks of Markdown and reStructuredText, too."
)
@click.option("--add-noqa", is_flag=True, help="Write a `# noqa` for each finding into the files.")
@click.option("--baseline", type=click.Path(dir_okay=False), help="A file of known findings, which are not shown.")
@click.option("--no-baseline", is_flag=True, help="Show known findings, too.")
@click.option("--write-baseline", is_flag=True, help="Make what is found now the known findings of --baseline.")
@click.option("--stdin-filename", type=click.Path(), help="The name that standard input is linted under.")
@click.option(
    "--color",
    type=Choice(("auto", "always", "never")),
    default="auto",
    help="When to use colours.  [default: where a terminal has them]",
)
@click.option("-w", "--watch", is_flag=True, help="Lint again whenever a file changes.")
@click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if anything was fixed, too.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings only.")
@click.option("-v", "--verbose", is_flag=True, help="Tell on standard error what was done, and how long it took.")
@click.option("-s", "--silent", is_flag=True, help="Print nothing; the exit code tells.")
@click.pass_context
def check(
    context: click.Context,
    paths: tuple[str, ...],
    fix: bool | None,
    unsafe_fixes: bool | None,
    fix_only: bool,
    show_fixes: bool,
    verify: bool,
    diff: bool,
    select: tuple[str, ...] | None,
    ignore: tuple[str, ...] | None,
    extend_select: tuple[str, ...] | None,
    per_file_ignores: dict[str, tuple[str, ...]],
    fixable: tuple[str, ...] | None,
    unfixable: tuple[str, ...] | None,
    target_torch: TargetTorch | None,
    output_format: str | None,
    output_file: str | None,
    statistics: bool,
    force_exclude: bool,
    exclude: tuple[str, ...],
    extend_exclude: tuple[str, ...],
    config: tuple[str, ...],
    no_cache: bool,
    cache_dir: str | None,
    isolated: bool,
    show_settings: bool,
    show_files: bool,
    include_docs: bool | None,
    add_noqa: bool,
    baseline: str | None,
    no_baseline: bool,
    write_baseline: bool,
    stdin_filename: str | None,
    color: str,
    watch: bool,
    exit_zero: bool,
    exit_non_zero_on_fix: bool,
    quiet: bool,
    verbose: bool,
    silent: bool,
) -> None:
    """Lint PATHS (the default command).

    Exits with 0 if nothing is found, 1 if something is, and 2 if amplint could not do all of its job.
    """
    import os
    from time import perf_counter

    start = perf_counter()
    from amplint.cli.presentation import Presentation, complain
    from amplint.cli.progress import with_progress
    from amplint.project import Options, Project, collect_seldom

    collect_seldom()
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
    if add_noqa and (stdin or diff or fix or fix_only or baseline is not None):
        raise click.UsageError("--add-noqa is for files, and cannot be used with --fix, --diff or --baseline")
    if no_baseline and (baseline is not None or write_baseline):
        raise click.UsageError("--no-baseline cannot be used with --baseline or --write-baseline")
    fixing = diff or fix_only or bool(fix)
    if verify:
        from importlib.util import find_spec

        if not fixing:
            raise click.UsageError("--verify is for fixes: use it with --fix or --diff; `amplint verify` runs a script")
        if find_spec("torch") is None:
            print(
                "amplint: --verify runs PyTorch, which is not installed: pip install 'amplint[runtime]'",
                file=sys.stderr,
            )
            context.exit(2)
    if watch:
        from amplint.cli import watching

        if stdin:
            raise click.UsageError("--watch cannot be used with standard input")
        if not watching.is_watched():
            context.exit(watching.watch(paths or (".",)))
    try:
        said = {
            "per-file-ignores": per_file_ignores,
            "fixable": fixable,
            "unfixable": unfixable,
            "exclude": exclude,
            "extend-exclude": extend_exclude,
        }
        file, overrides = _configured(config, said)
    except ConfigError as error:
        print(f"amplint: {error}", file=sys.stderr)
        context.exit(2)
    options = Options(
        selection=Selection(select, ignore or (), extend_select or ()),
        target_torch=target_torch,
        fix=fixing,
        write=not diff,
        unsafe_fixes=unsafe_fixes,
        force_exclude=force_exclude,
        include_docs=include_docs,
        config_file=file,
        isolated=isolated,
        overrides=overrides,
        verify=verify,
        cache=not no_cache,
        cache_dir=cache_dir,
    )
    try:
        project = Project(options)
        if show_settings or show_files:
            from amplint.cli.settings import print_files, print_settings

            show = print_settings if show_settings else print_files
            context.exit(show(project, (stdin_filename or "stdin.py",) if stdin else paths or (".",)))
        written = None
        if write_baseline:
            from amplint.baseline import baseline_of

            written = baseline or baseline_of("-", project.configuration)
            if written is None:
                raise click.UsageError("--write-baseline needs the file to write: by --baseline, or in the settings")
        presentation = Presentation(
            output_format or project.configuration.settings(os.getcwd()).output_format or "full",
            output_file,
            diff=diff,
            fix_only=fix_only,
            fixed_source=stdin and fixing and not diff,
            show_fixes=show_fixes,
            statistics=statistics,
            colour={"auto": None, "always": True, "never": False}[color],
            quiet=quiet,
            silent=silent,
            exit_zero=exit_zero,
            exit_non_zero_on_fix=exit_non_zero_on_fix,
        )
        presentation.check()
        if stdin:
            results = [project.check_source(sys.stdin.buffer.read(), stdin_filename)]
        else:
            results = list(with_progress(project.check(paths or (".",)), project))
            if not results and not project.searched:
                print("amplint: no Python files were found under the given paths", file=sys.stderr)
    except ConfigError as error:
        print(f"amplint: {error}", file=sys.stderr)
        context.exit(2)
    except KeyboardInterrupt:
        context.exit(130)
    mute = quiet or silent
    if add_noqa or written is not None:
        from amplint.cli import silencing

        if add_noqa:
            results = silencing.add_noqa(results, quiet=mute)
        elif written is not None:
            results = silencing.write_baseline(written, results, quiet=mute)
        context.exit(2 if complain(results) else 0)
    if results and not no_baseline:
        from amplint.baseline import baseline_of
        from amplint.cli.silencing import without_known

        results = without_known(
            results, lambda filename: baseline or baseline_of(filename, project.configuration), quiet=mute
        )
    code = presentation.present(results)
    if verify and not quiet and not silent:
        from amplint.cli.executing import narrate as narrate_runs

        narrate_runs(results)
    if paths and not stdin and not os.path.lexists(paths[0]):
        _suggest_command(context, paths[0])
    if verbose:
        from amplint.cli.narration import narrate

        narrate(project, results, perf_counter() - start)
    context.exit(code)


def _suggest_command(context: click.Context, path: str) -> None:
    """Say which command the first path, which is not there, may have been meant as."""
    group = context.find_root().command
    meant = nearest(path, group.commands) if isinstance(group, click.Group) else None
    if meant is not None:
        print(f"amplint: did you mean the command `{meant}`?", file=sys.stderr)
