"""``amplint verify``: run a training script and say how it misuses mixed precision."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

from amplint.harness.script import run_script
from amplint.harness.sites import AMPLINT
from amplint.harness.virtual_cuda import virtual_cuda
from amplint.harness.watch import Report, watch
from amplint.output.style import Style, harmless, shown_path


def main(script: str, args: Sequence[str] = ()) -> int:
    """Run ``script`` with ``args`` under virtual CUDA and the watch, print what was found, return the exit code.

    0 is a clean run, 1 a run with findings or one that raised, 2 a script that cannot be read; a code other than 0
    that the script exits with is passed on.
    """
    try:
        with open(script, "rb"):
            pass
    except OSError as error:
        print(f"amplint: {shown_path(script)}: {error.strerror}", file=sys.stderr)
        return 2
    report = Report()
    code = _run(script, args, report)
    sys.stdout.flush()
    _print_findings(report)
    _print_summary(report, code)
    return code or bool(report.findings)


def _run(script: str, args: Sequence[str], report: Report) -> int:
    try:
        with virtual_cuda(), watch(report):
            run_script(script, args)
    except SystemExit as exit:
        if exit.code is None or isinstance(exit.code, int):
            return exit.code or 0
        print(exit.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BaseException as error:
        sys.stdout.flush()
        _print_traceback(error)
        return 1
    return 0


def _print_traceback(error: BaseException) -> None:
    """The traceback as Python prints it for the script alone."""
    shown = traceback.TracebackException.from_exception(error)
    _drop_own_frames(shown)
    lines = shown.format() if shown.stack else shown.format_exception_only()  # the script may not have begun
    print("".join(lines), end="", file=sys.stderr)


def _drop_own_frames(shown: traceback.TracebackException | None) -> None:
    if shown is not None:
        shown.stack[:] = [frame for frame in shown.stack if not frame.filename.startswith(AMPLINT)]
        for inner in (shown.__cause__, shown.__context__, *(getattr(shown, "exceptions", None) or ())):
            _drop_own_frames(inner)


def _print_findings(report: Report) -> None:
    style = Style.of(sys.stdout)
    for found in sorted(report.findings, key=lambda found: (found.site, found.code)):
        place = f"{style('bold', shown_path(found.filename))}:{found.row}:{found.column}"
        print(f"{place}: {style('red', found.code)} {harmless(found.message)}")


def _print_summary(report: Report, code: int) -> None:
    count = len(report.findings)
    steps = f"{_counted(report.steps, 'optimizer step')}, {report.skipped_steps} skipped by a scaler"
    if count:
        print(f"Found {_counted(count, 'error')} in this run ({steps}).")
    elif code:
        print(f"The script ended with exit code {code}; no misuse of mixed precision until then ({steps}).")
    else:
        print(f"No misuse of mixed precision in this run ({steps}).")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
