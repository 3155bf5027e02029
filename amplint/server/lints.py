"""The newest findings of each open target, worked out beside the editor's requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from amplint.baseline import BaselineError, without_known
from amplint.config import ConfigError
from amplint.documents import Document, DocumentError
from amplint.project import Options, Project, Report
from amplint.server.targets import Target

_DELAY = 0.2  # seconds after the last keystroke
_STACK = 64 << 20  # LibCST and the explorer recurse, and threads get little room on some systems


@dataclass(frozen=True)
class Lint:
    """What is found in a target, or the problem for which nothing could be."""

    target: Target
    report: Report | None
    problem: str | None = None


class Lints:
    """Lints targets one after the other; one that has changed meanwhile is not worth finishing.

    ``target_of`` says what is open at a URI now, and ``publish`` hears of every lint that is still true.
    """

    def __init__(self, target_of: Callable[[str], Target | None], publish: Callable[[Lint], None]) -> None:
        self._target_of = target_of
        self._publish = publish
        self._tasks: dict[str, asyncio.Task[Lint | None]] = {}
        before = threading.stack_size(_STACK)
        try:
            self._pool = ThreadPoolExecutor(1, "amplint")
            self._pool.submit(int)  # the thread is made here, with the room that it needs
        finally:
            threading.stack_size(before)

    def request(self, uri: str, delay: float = _DELAY) -> None:
        """Lint what is open at ``uri``, a notebook's for its cells, soon."""
        self.forget(uri)
        self._tasks[uri] = asyncio.get_running_loop().create_task(self._run(uri, delay))

    def forget(self, uri: str) -> None:
        """``uri`` is closed, or has changed."""
        task = self._tasks.pop(uri, None)
        if task is not None:
            task.cancel()

    async def of(self, uri: str) -> Lint | None:
        """The lint of what is open at ``uri`` now; None where nothing is, or where it changes meanwhile."""
        task = self._tasks.get(uri)
        if task is None:
            return None
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                return None
            raise

    async def fixed(self, target: Target) -> Document | None:
        """``target`` after all fixes that its settings allow; None where that fails."""
        loop = asyncio.get_running_loop()
        lint = await loop.run_in_executor(self._pool, _lint, target, True)
        return lint.report.document if lint.report else None

    def close(self) -> None:
        """Lint no more."""
        for uri in list(self._tasks):
            self.forget(uri)
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _run(self, uri: str, delay: float) -> Lint | None:
        await asyncio.sleep(delay)
        target = self._target_of(uri)
        if target is None:
            return None
        lint = await asyncio.get_running_loop().run_in_executor(self._pool, _lint, target, False)
        self._publish(lint)
        return lint


def _lint(target: Target, fix: bool) -> Lint:
    try:
        project = Project(Options(force_exclude=True, fix=fix))  # anew each time: settings may have changed
        document = target.document
        if not project.mentions(document.text):
            return Lint(target, Report(document))
        report = project.check_document(document)
        problems = report.problems
        try:
            report = without_known(report, project.configuration)
        except BaselineError as error:
            problems = (*problems, str(error))
        return Lint(target, report, "; ".join(problems) or None)
    except DocumentError:
        return Lint(target, None)  # a notebook that is not whole
    except ConfigError as error:
        return Lint(target, None, str(error))
    except Exception as error:  # a fault of amplint's must not end the editor's session
        return Lint(target, None, f"{type(error).__name__}: {error}")
