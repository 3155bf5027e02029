"""A time limit for code that may hang."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

EXIT_CODE = 124
"""What ``timeout`` of the GNU core utilities ends with."""

_GRACE = 5.0
# kept here: the code that is limited may have these taken away
_kill: Any = getattr(signal, "pthread_kill", None)
_interrupt_main = _thread.interrupt_main


class TimeLimitReached(BaseException):
    """Raised in the code that ran too long; no ``except Exception`` of its own stops it."""


@contextlib.contextmanager
def time_limit(seconds: float | None, give_up: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Raise :class:`TimeLimitReached` inside the context, which must be in the main thread, after ``seconds``.

    Code that does not let itself be interrupted is given some seconds more; then ``give_up`` is called in another
    thread. None is no limit.
    """
    if seconds is None:
        yield
        return
    limit = _Limit(seconds, give_up)
    limit.start()
    try:
        yield
    except KeyboardInterrupt:
        if not limit.reached:
            raise
        raise TimeLimitReached from None
    finally:
        limit.stop()


class _Limit:
    def __init__(self, seconds: float, give_up: Callable[[], None]) -> None:
        self.reached = False
        self._seconds, self._give_up = seconds, give_up
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._wait, name="amplint-time-limit", daemon=True)
        self._alarm = getattr(signal, "SIGALRM", None)

    def start(self) -> None:
        if self._alarm is not None:
            self._before = signal.signal(self._alarm, self._ring)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        if self._alarm is not None:
            signal.signal(self._alarm, self._before)

    def _ring(self, *_: object) -> None:
        if not self._over.is_set():
            raise TimeLimitReached

    def _wait(self) -> None:
        if self._over.wait(self._seconds):
            return
        self.reached = True
        main = threading.main_thread().ident
        if self._alarm is not None and main is not None and signal.getsignal(self._alarm) == self._ring:
            _kill(main, self._alarm)
        else:  # no such signal here, or the code has taken it for itself
            _interrupt_main()
        if not self._over.wait(_GRACE):
            self._give_up()
