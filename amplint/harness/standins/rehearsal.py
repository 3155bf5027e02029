"""Running a file's training loops with stand-ins, along as many paths as the bounds allow."""

from __future__ import annotations

import contextlib
import inspect
import linecache
import sys
import threading
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch

from amplint.harness.standins.decisions import Decisions, Exploration
from amplint.harness.standins.extraction import MODULE, Extract, Root, extract
from amplint.harness.standins.guard import Refused, guard
from amplint.harness.standins.helper import Namespace
from amplint.harness.standins.objects import PathEnds, StandIn
from amplint.harness.standins.world import CALLS, LearntMore, Memory, World, items_of
from amplint.harness.time_limit import TimeLimitReached, time_limit
from amplint.harness.virtual_cuda import virtual_cuda
from amplint.harness.watch import Observation, Report, watch

MAX_SECONDS = 6.0
"""Time for one function."""
GRACE = 4.0
"""Time for a path that goes on when that is over."""


@dataclass
class Rehearsal:
    """What came of running one function: what was seen, on how many paths, and how these ended."""

    root: Root
    seen: dict[tuple[str, int, int], Observation] = field(default_factory=dict)
    """Code, row and column -> the first time it happened."""
    undecided: set[tuple[str, int, int]] = field(default_factory=set)
    """Those that were only seen where a condition or the owner of parameters had to be guessed."""
    paths: int = 0
    steps: int = 0
    finished: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    complete: bool = True

    @property
    def reached(self) -> bool:
        """Whether any path did anything with an optimizer, or got to its end."""
        return bool(self.steps or self.finished or self.seen)

    @property
    def obstacle(self) -> str:
        """Why no path got to its end, in words for the user."""
        return self.ends.most_common(1)[0][0] if self.ends else "nothing of it could be run"


def rehearse(text: str, filename: str, wanted: str | None = None) -> list[Rehearsal]:
    """Run the training loops of ``text``, or only the function that is ``wanted``.

    No module of the user's is imported, and no file, network or process is reached. Raises
    :class:`amplint.harness.standins.extraction.NothingToRun`.
    """
    cut = extract(text, filename, wanted)
    return [run_root(cut, root) for root in cut.roots]


def run_root(cut: Extract, root: Root) -> Rehearsal:
    """Run one function of a file."""
    with _quiet(cut.text, cut.filename):
        return _rehearse(cut, root)


@contextlib.contextmanager
def _quiet(text: str, filename: str) -> Any:
    """Everything as rehearsing needs it."""
    known = linecache.cache.get(filename)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    limit = sys.getrecursionlimit()
    try:
        with warnings.catch_warnings(), virtual_cuda(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.setrecursionlimit(limit)
        if known is None:
            linecache.cache.pop(filename, None)
        else:
            linecache.cache[filename] = known


def _rehearse(cut: Extract, root: Root) -> Rehearsal:
    result = Rehearsal(root)
    try:
        with time_limit(MAX_SECONDS + GRACE if threading.current_thread() is threading.main_thread() else None):
            return _explore(cut, root, result)
    except TimeLimitReached:  # one path alone
        result.ends["it takes too long"] += 1
        result.complete = False
        return result


def _explore(cut: Extract, root: Root, result: Rehearsal) -> Rehearsal:
    memory = Memory()
    deadline = time.monotonic() + MAX_SECONDS
    while True:
        exploration = Exploration()
        try:
            for decisions in exploration:
                _run(cut, root, decisions, memory, result)
                if time.monotonic() > deadline:
                    exploration.complete = False
                    break
        except LearntMore:  # what goes on for too long begins no more
            if time.monotonic() < deadline:
                vars(result).update(vars(Rehearsal(root)))
                continue
        result.complete = exploration.complete
        return result


def _run(cut: Extract, root: Root, decisions: Decisions, memory: Memory, result: Rehearsal) -> None:
    was_ambiguous = memory.ambiguous
    world, report, end = _attempt(cut, root, decisions, memory, frozenset())
    if world.unmet:  # optimizers of other runs, which must not have a part in this one
        memory.ambiguous = was_ambiguous
        decisions.again()
        world, report, end = _attempt(cut, root, decisions, memory, world.unmet)
    result.paths += 1
    result.steps += report.steps + report.skipped_steps
    if end is None:
        result.finished += 1
    else:
        result.ends[end] += 1
        decisions.failed = True
    for seen in report.findings:
        if seen.filename == cut.filename:
            key = (seen.code, seen.row, seen.column)
            result.seen.setdefault(key, seen)
            if not world.decided and not memory.ambiguous:
                result.undecided.discard(key)
            elif key not in result.undecided and result.seen[key] is seen:
                result.undecided.add(key)


def _attempt(
    cut: Extract, root: Root, decisions: Decisions, memory: Memory, absent: frozenset[int]
) -> tuple[World, Report, str | None]:
    """One run, what was seen in it, and why it ended before its end."""
    world = World(cut, decisions, memory, absent)
    report = Report()
    end: str | None = None
    try:
        with watch(report, existing=False):
            world.begin()
            namespace = Namespace(cut, world)
            with guard():
                _call(cut, root, namespace, world)
    except PathEnds as error:
        end = str(error)
    except Refused as error:
        end = f"it reaches for what is outside: {error}"
    except RecursionError:
        end = "it calls itself without end"
    except (KeyboardInterrupt, LearntMore, TimeLimitReached):
        raise
    except SystemExit:
        end = "it exits"
    except BaseException as error:
        end = f"{type(error).__name__}: {error}"
    return world, report, end


def _call(cut: Extract, root: Root, namespace: dict[str, Any], world: World) -> None:
    if root.name == MODULE:
        assert cut.module_code is not None
        exec(cut.module_code, namespace)
        return
    exec(cut.code, namespace)
    owner, _, name = root.name.rpartition(".")
    if not owner:
        _finish(world.invoke(namespace[name]), world)
        return
    cls = namespace[owner]
    binding = cut.methods.get(root.name, "method")
    if name == "__init__":
        world.invoke(cls)
    elif binding == "method":
        instance = _instance(cls, world)
        for _ in range(CALLS):
            _finish(world.invoke(vars(cls)[name], instance), world)
    elif binding == "property":
        getattr(_instance(cls, world), name)
    else:
        _finish(world.invoke(getattr(cls, name)), world)


def _instance(cls: Any, world: World) -> Any:
    """An object of the program's class, made as the class says as far as that can be run."""
    world.preparing = True
    try:
        return world.invoke(cls)
    except (PathEnds, Exception):
        return cls.__new__(cls)
    finally:
        world.preparing = False


def _finish(value: Any, world: World) -> None:
    """Run a generator or a coroutine to its end, and a function that was made for others."""
    world.call_back([value])
    if inspect.isgenerator(value):
        for _ in items_of(value):
            pass
    elif inspect.iscoroutine(value):
        try:
            for _ in range(1000):
                value.send(None)
        except StopIteration:
            pass
        finally:
            value.close()


__all__ = ["Rehearsal", "StandIn", "rehearse"]
