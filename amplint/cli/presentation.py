"""What a run of the linter prints where, and the exit code that it deserves."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import click

if TYPE_CHECKING:
    from amplint.discovery import Problem
    from amplint.output.style import Style
    from amplint.project import Report


@dataclass(frozen=True)
class Presentation:
    """How the user wants to hear of the results."""

    output_format: str
    output_file: str | None = None
    diff: bool = False
    fix_only: bool = False
    fixed_source: bool = False
    """The source that came by standard input goes, fixed, to standard output, and the report to standard error."""
    show_fixes: bool = False
    statistics: bool = False
    colour: bool | None = None
    quiet: bool = False
    silent: bool = False
    exit_zero: bool = False
    exit_non_zero_on_fix: bool = False

    def check(self) -> None:
        """Raises :class:`click.UsageError` where two wishes cannot both be met."""
        if self.statistics:
            self._check_statistics()
        if self.diff and self.show_fixes:
            raise click.UsageError("--show-fixes cannot be used with --diff")

    def _check_statistics(self) -> None:
        from amplint.output.statistics import FORMATS

        if self.output_format not in FORMATS:
            raise click.UsageError(
                f"--statistics cannot be printed as {self.output_format}, only as {', '.join(FORMATS)}"
            )

    def present(self, results: Sequence[Report | Problem]) -> int:
        """Print ``results``, and return the exit code."""
        from amplint.project import Report

        reports = [result for result in results if isinstance(result, Report)]
        failed = complain(results)
        if self.fixed_source:
            for report in reports:
                sys.stdout.buffer.write(report.document.encode())
                sys.stdout.buffer.flush()
        if self.diff:
            self._print_diffs(reports)
        elif self.output_file is not None:
            failed |= not self._write(reports, self.output_file, failed=failed)
        elif not self.silent:
            self._print(reports, failed=failed)
        return 2 if failed else int(self._blames(reports))

    def _blames(self, reports: Sequence[Report]) -> bool:
        healed = any(report.healed for report in reports)
        if healed and self.exit_non_zero_on_fix:
            return True
        blamed = healed if self.diff else not self.fix_only and any(report.findings for report in reports)
        return blamed and not self.exit_zero

    def _print(self, reports: Sequence[Report], *, failed: bool) -> None:
        from amplint.output.style import Style

        stream: IO[str] = sys.stderr if self.fixed_source else sys.stdout
        stream.write(self._told(reports, Style.of(stream, colour=self.colour), failed=failed))
        stream.flush()

    def _write(self, reports: Sequence[Report], path: str, *, failed: bool) -> bool:
        from amplint.output.style import Style, shown_path

        try:
            with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(self._told(reports, Style(False), failed=failed))
        except OSError as error:
            print(f"amplint: {shown_path(path)}: could not be written: {error.strerror}", file=sys.stderr)
            return False
        return True

    def _told(self, reports: Sequence[Report], style: Style, *, failed: bool) -> str:
        from amplint.output import FOR_PEOPLE, renderer, summary

        for_people = self.output_format in FOR_PEOPLE
        talkative = for_people and not self.quiet
        if self.fix_only or (for_people and not any(report.findings for report in reports)):
            told = ""
        elif self.statistics:
            from amplint.output import statistics

            told = statistics.render(reports, style, self.output_format)
        else:
            told = renderer(self.output_format)(reports, style)
        if self.show_fixes and talkative:
            told += summary.render_fixes(reports, style)
        if self.fix_only:
            told += summary.render_fix_only(reports) if talkative else ""
        elif talkative and (not failed or any(report.findings or report.healed for report in reports)):
            told += summary.render(reports)
        return told

    def _print_diffs(self, reports: Sequence[Report]) -> None:
        from amplint.output import diff, summary
        from amplint.output.style import Style

        if self.silent:
            return
        style, terminal = Style.of(sys.stdout, colour=self.colour), sys.stdout.isatty()
        for report in reports:
            if report.healed and report.before:
                print(diff.render(report.before, report.document, style, terminal=terminal), flush=True)
        if not self.quiet:
            sys.stderr.write(summary.render_diff(reports))


def complain(results: Sequence[Report | Problem]) -> bool:
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
