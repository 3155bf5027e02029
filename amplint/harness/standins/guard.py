"""Nothing that runs with stand-ins reaches a file, the network or another process."""

from __future__ import annotations

import _thread
import atexit
import contextlib
import os
import signal
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

import amplint
from amplint.harness.patches import Patches


class Refused(BaseException):
    """Code under the guard tried to reach the outside; no ``except Exception`` of its own hides it."""


_REFUSED = (
    "os.system os.exec os.fork os.forkpty os.posix_spawn os.spawn os.startfile os.remove os.rename os.mkdir os.rmdir "
    "os.link os.symlink os.truncate os.chmod os.chown os.chflags os.lockf os.utime os.kill os.killpg os.putenv "
    "os.unsetenv os.chdir os.setxattr os.removexattr "
    "subprocess. socket. shutil. pty. ftplib. http. urllib. smtplib. imaplib. poplib. nntplib. telnetlib. sqlite3. "
    "webbrowser. tempfile. glob. pathlib. ctypes. msvcrt. winreg. _winapi. syslog. fcntl. mmap."
).split()
_EXACT = frozenset(event for event in _REFUSED if not event.endswith("."))
_FAMILIES = tuple(event for event in _REFUSED if event.endswith("."))
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _folders() -> tuple[str, ...]:
    """Where installed modules are: PyTorch imports some of its own late."""
    standard = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    searched = [folder for folder in sys.path if os.path.basename(folder) in ("site-packages", "dist-packages")]
    own = os.path.dirname(os.path.abspath(amplint.__file__))
    return tuple({os.path.join(os.path.realpath(folder), "") for folder in (*standard, *searched, own)})


_INSTALLED = _folders()
_active = 0
_hooked = False


@contextlib.contextmanager
def guard() -> Iterator[None]:
    """Raise :class:`Refused` where code inside opens a file, a socket or a process, by whatever means Python has.

    Reading the modules that are installed, which importing does, is let through. What leaves no trace for an audit
    hook, as PyTorch's own files do not, is replaced while it lasts; so are threads and what is done at the exit, which
    would outlast it.
    """
    global _active, _hooked
    if not _hooked:
        _hooked = True
        sys.addaudithook(_look)  # there is no taking it away
    _active += 1
    try:
        with Patches() as patches:
            for owner, name in _untraced():
                patches.set(owner, name, _refusing(name))
            yield
    finally:
        _active -= 1


def _untraced() -> Iterator[tuple[object, str]]:
    """What reaches the outside, or goes on later, without an audit event."""
    for owner, names in (
        (os, _SYSTEM),
        (sys.modules.get("posix") or sys.modules.get("nt"), _SYSTEM),
        (signal, "raise_signal pthread_kill alarm setitimer signal".split()),
        (threading, ["_start_new_thread", "_start_joinable_thread"]),
        (_thread, ["start_new_thread", "start_joinable_thread", "interrupt_main"]),
        (atexit, ["register"]),
        (torch, ["from_file"]),
        (torch._C, ["PyTorchFileWriter", "PyTorchFileReader", "import_ir_module"]),
        (torch._C.ScriptModule, ["save"]),
        (torch.UntypedStorage, "from_file _write_file _set_from_file _share_filename_cpu_ _share_fd_cpu_".split()),
        (torch.distributed, "FileStore TCPStore init_process_group".split()),
        (torch.Tensor, ["share_memory_"]),
    ):
        for name in names:
            if hasattr(owner, name):
                yield owner, name


_SYSTEM = (
    "mkfifo mknod memfd_create _exit abort write pwrite writev sendfile copy_file_range splice register_at_fork dup2 "
    "chroot setsid nice setuid setgid umask sync mkstemp openpty pipe pipe2 eventfd"
).split()


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(*args: object, **kwargs: object) -> Any:
        raise Refused(name)

    return refuse


@contextlib.contextmanager
def unguarded() -> Iterator[None]:
    """Lift the guard for what amplint itself has to do."""
    global _active
    before, _active = _active, 0
    try:
        yield
    finally:
        _active = before


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if not _active:
        return
    if event == "open":
        path, _, flags = arguments
        if not isinstance(flags, int) or flags & _WRITING or not _is_installed(path):
            raise Refused(f"opening {path!r}")
    elif event in ("os.listdir", "os.scandir"):
        if arguments[0] not in sys.path and not _is_installed(arguments[0]):
            raise Refused(f"listing {arguments[0]!r}")
    elif event in _EXACT or event.startswith(_FAMILIES):
        raise Refused(event)


def _is_installed(path: object) -> bool:
    return isinstance(path, (str, bytes)) and os.path.realpath(os.fsdecode(path)).startswith(_INSTALLED)
