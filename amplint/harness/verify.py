"""``amplint verify``: run a training script and say how it misuses mixed precision."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch

from amplint.harness.patches import Patches
from amplint.harness.script import run_script
from amplint.harness.sites import AMPLINT, TORCH
from amplint.harness.time_limit import EXIT_CODE, TimeLimitReached, time_limit
from amplint.harness.virtual_cuda import virtual_cuda
from amplint.harness.watch import Report, watch
from amplint.output.style import Style, counted, harmless, shown_path


def main(script: str, args: Sequence[str] = (), *, device: str = "auto", timeout: float | None = None) -> int:
    """Run ``script`` with ``args`` under the watch, print what was found, and return the exit code.

    ``device`` is where what the script puts on CUDA goes: ``cuda`` is a GPU, ``cpu`` its stand-in, ``auto`` a GPU if
    there is one. 0 is a clean run, 1 a run with findings or one that raised, 124 one that took longer than ``timeout``
    seconds, 2 a script that cannot be run at all; a code other than 0 that the script exits with is passed on.
    """
    try:
        with open(script, "rb"):
            pass
    except OSError as error:
        print(f"amplint: {shown_path(script)}: {error.strerror}", file=sys.stderr)
        return 2
    if script.endswith(".ipynb"):
        print(
            f"amplint: {shown_path(script)}: a notebook is no script; --stand-in runs its training loops",
            file=sys.stderr,
        )
        return 2
    gpu = torch.cuda.is_available()
    if device == "cuda" and not gpu:
        print("amplint: PyTorch finds no GPU here; --device cpu runs the script on a stand-in", file=sys.stderr)
        return 2
    return _Verification(script, args, virtual=device == "cpu" or not gpu, timeout=timeout).run()


class _Verification:
    """One run of a script. Processes that the script forks are its own, and say nothing of ours."""

    def __init__(self, script: str, args: Sequence[str], *, virtual: bool, timeout: float | None) -> None:
        self._script, self._args, self._virtual, self._timeout = script, args, virtual, timeout
        self._report = Report()
        self._process = os.getpid()
        self._streams = sys.stdout, sys.stderr

    def run(self) -> int:
        code = self._end(self._run())
        if code == EXIT_CODE and _threads_of_the_script():  # which would be waited for
            os._exit(code)
        return code

    def _end(self, code: int) -> int:
        """Say what was found, and return the code to exit with."""
        if os.getpid() != self._process:
            return code
        self._take_streams_back()
        sys.stdout.flush()
        _print_findings(self._report)
        _print_summary(self._report, code)
        sys.stdout.flush()
        return code or bool(self._report.findings)

    def _take_streams_back(self) -> None:
        """The script may have put others in the place of the standard streams, or closed them."""
        for stream in {sys.stdout, sys.stderr} - {*self._streams, None}:
            with contextlib.suppress(ValueError, OSError):
                stream.flush()
        out, errors = self._streams
        sys.stderr = errors
        sys.stdout = errors if out.closed else out

    def _run(self) -> int:
        if not faulthandler.is_enabled():
            with contextlib.suppress(OSError, ValueError, AttributeError):  # standard error may be no file
                faulthandler.enable()
        try:
            with Patches() as patches, _TerminationSignals():
                self._meet_hard_exits(patches)
                with virtual_cuda() if self._virtual else contextlib.nullcontext(), watch(self._report):
                    with time_limit(self._timeout, self._give_up):
                        try:
                            run_script(self._script, self._args)
                        finally:
                            for thread in _threads_of_the_script():  # Python waits for them, too
                                thread.join()
        except _Terminated as ended:
            self._take_streams_back()
            print(f"amplint: the script was ended by {ended.name}", file=sys.stderr)
            return 128 + ended.number
        except SystemExit as exit:
            if exit.code is None or isinstance(exit.code, int):
                return exit.code or 0
            print(exit.code, file=sys.stderr)
            return 1
        except TimeLimitReached as error:
            self._take_streams_back()
            sys.stdout.flush()
            stack = _own_traceback(error).stack
            print(
                f"amplint: stopped after the time limit of {self._timeout:g} s; the script was here:", file=sys.stderr
            )
            print("".join(stack.format()), end="", file=sys.stderr)
            return EXIT_CODE
        except KeyboardInterrupt:
            return 130
        except BaseException as error:
            self._take_streams_back()
            sys.stdout.flush()
            _print_traceback(error)
            self._explain(error)
            return 1
        return 0

    def _meet_hard_exits(self, patches: Patches) -> None:
        """What ends the process at once, or puts another program in its place: say before what was found."""
        for name, code in (("_exit", None), ("abort", 134), ("execv", 0), ("execve", 0)):
            leave: Callable[..., NoReturn] = getattr(os, name)

            @functools.wraps(leave)
            def leave_after_report(
                *args: Any, _leave: Callable[..., NoReturn] = leave, _code: int | None = code, **kwargs: Any
            ) -> NoReturn:
                if _code is not None:
                    self._end(_code)
                    _leave(*args, **kwargs)
                (status,) = (*args, *kwargs.values())
                _leave(self._end(status))

            patches.set(os, name, leave_after_report)
        kill = os.kill

        @functools.wraps(kill)
        def kill_after_report(pid: int, number: int) -> None:
            if pid == os.getpid() and number == getattr(signal, "SIGKILL", None):
                self._end(128 + number)
            kill(pid, number)

        patches.set(os, "kill", kill_after_report)

    def _give_up(self) -> None:
        print(
            f"amplint: the script cannot be interrupted; ended after the time limit of {self._timeout:g} s",
            file=sys.stderr,
            flush=True,
        )
        os._exit(EXIT_CODE)  # which says what was found until then

    def _explain(self, error: BaseException) -> None:
        """What amplint has to add to a traceback."""
        if isinstance(error, ModuleNotFoundError) and error.name:
            name = error.name.partition(".")[0]
            print(
                f"amplint: the script needs `{harmless(name)}`, which this Python cannot import. "
                "`amplint verify --stand-in` runs its training loops without the modules they need.",
                file=sys.stderr,
            )
        elif self._virtual and _needs_cuda(error):
            frames = [frame for frame in _own_traceback(error).stack if not frame.filename.startswith(TORCH)]
            call = f"`{harmless((frames[-1].line or '').strip())}`" if frames else "a call of the script"
            print(f"amplint: the CPU that stands in for CUDA cannot carry {call}", file=sys.stderr)


class _Terminated(BaseException):
    """A signal that asks the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number, self.name = number, signal.Signals(number).name


class _TerminationSignals:
    """Raises :class:`_Terminated` for them, unless the script handles them by itself."""

    def __enter__(self) -> None:
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)
                if number is not None:
                    self._before[number] = signal.signal(number, self._ring)

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @staticmethod
    def _ring(number: int, frame: object) -> None:
        raise _Terminated(number)


def _threads_of_the_script() -> list[threading.Thread]:
    """The threads that keep the process from ending."""
    own = (threading.main_thread(), threading.current_thread())
    return [each for each in threading.enumerate() if each.is_alive() and not each.daemon and each not in own]


def _needs_cuda(error: BaseException) -> bool:
    """Whether PyTorch has tried to reach a driver that is not there."""
    message = str(error)
    return isinstance(error, (RuntimeError, AttributeError, TypeError, AssertionError, NotImplementedError)) and any(
        sign in message for sign in _SIGNS_OF_CUDA
    )


_SIGNS_OF_CUDA = (
    "'_cuda_",
    "CUDA support",
    "CUDA enabled",
    "for cuda devices",
    "'CUDA' backend",
    "Cannot initialize CUDA",
    "dummy base class",
    "NCCL",
    "not recognized: cuda",
)


def _print_traceback(error: BaseException) -> None:
    """The traceback as Python prints it for the script alone."""
    shown = _own_traceback(error)
    lines = shown.format() if shown.stack else shown.format_exception_only()  # the script may not have begun
    print("".join(lines), end="", file=sys.stderr)


def _own_traceback(error: BaseException) -> traceback.TracebackException:
    shown = traceback.TracebackException.from_exception(error)
    _drop_own_frames(shown)
    return shown


def _drop_own_frames(shown: traceback.TracebackException | None) -> None:
    if shown is not None:
        shown.stack[:] = [frame for frame in shown.stack if not frame.filename.startswith(AMPLINT)]
        for inner in (shown.__cause__, shown.__context__, *(getattr(shown, "exceptions", None) or ())):
            _drop_own_frames(inner)


def _print_findings(report: Report) -> None:
    style = Style.of(sys.stdout)
    for found in sorted(report.findings, key=lambda found: (found.site, found.code)):
        place = f"{style('bold', shown_path(found.filename))}:{found.row}:{found.column}"
        print(f"{place}: {style('red', found.code)} {harmless(found.text)}")


def _print_summary(report: Report, code: int) -> None:
    count = len(report.findings)
    steps = f"{counted(report.steps, 'optimizer step')}, {report.skipped_steps} skipped by a scaler"
    if count:
        print(f"Found {counted(count, 'error')} in this run ({steps}).")
    elif code:
        print(f"The script ended with exit code {code}; no misuse of mixed precision until then ({steps}).")
    else:
        nothing = "" if report.steps else " With no step of an optimizer there was little to see."
        print(f"No misuse of mixed precision in this run ({steps}).{nothing}")
