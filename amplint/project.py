"""Many documents: each candidate recalled from a cache, or else linted or fixed by its own settings, in this process or
in a pool where that pays.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING

from amplint.cache import Cache, Entry, fingerprint, recall, record
from amplint.config import Configuration, Layer, Selection, Settings
from amplint.digest import digest
from amplint.discovery import Candidate, Discovery, Problem
from amplint.documents import Document, DocumentError, UnopenedDocument
from amplint.findings import Applicability, Finding, Severity
from amplint.mentions import Mentions
from amplint.registry import installed
from amplint.rule import TargetTorch

if TYPE_CHECKING:
    from amplint.harness.standins.proof import Prover

_GARBAGE_BYTES = 200_000  # of documents, after which their garbage is worth a look
_POOL_BYTES = 300_000  # below that a process takes longer to start than the files to lint


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks of every file, over what the files' own settings say.

    ``config_file`` takes the place of every file's own settings, ``isolated`` of all; ``overrides`` come on top.
    With ``cache`` what was found is kept in ``cache_dir``, else where the files' own settings say. With ``verify`` a
    fix of what a run can show is applied only if running it with stand-ins shows that it heals.
    """

    selection: Selection = field(default_factory=Selection)
    target_torch: TargetTorch | None = None
    fix: bool = False
    write: bool = True
    unsafe_fixes: bool | None = None
    force_exclude: bool = False
    include_docs: bool | None = None
    config_file: str | None = None
    isolated: bool = False
    overrides: tuple[Layer, ...] = ()
    verify: bool = False
    cache: bool = False
    cache_dir: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """One document as it is now, what was fixed in it, what remains, and what amplint could not do about it.

    ``left`` names its functions that are too complex to be followed in full; it took ``seconds``. What was found
    earlier is ``recalled``. It depends on the ``consulted`` files, too, told as :class:`amplint.cache.Entry` does.
    """

    document: Document
    findings: tuple[Finding, ...] = ()
    healed: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()
    before: Document | None = None
    unsafe_fixes: bool = False
    left: tuple[str, ...] = ()
    seconds: float = 0.0
    recalled: bool = False
    consulted: Mapping[str, str | None] = field(default_factory=dict)

    def fixable(self, finding: Finding) -> bool:
        """Whether ``--fix`` applies the fix of ``finding`` as things are set."""
        fix = finding.fix
        return fix is not None and (self.unsafe_fixes or fix.applicability is Applicability.SAFE)


@dataclass(frozen=True, slots=True)
class _Task:
    """What a process of the pool needs to know to do one file."""

    path: str
    codes: frozenset[str]
    target_torch: TargetTorch | None
    fix: bool
    write: bool
    unsafe_fixes: bool
    fixable: frozenset[str]
    severities: Mapping[str, Severity]
    verify: bool = False

    @property
    def digest(self) -> str:
        """What tells all that findings depend on, besides the file, from any other."""
        target = self.target_torch
        given = sorted((code, severity.value) for code, severity in self.severities.items())
        told = target and (target.version, target.source)
        return digest(repr((sorted(self.codes), sorted(self.fixable), given, told)))


@dataclass(frozen=True, slots=True)
class _Resolved:
    """What settings come to with the rules that are installed."""

    codes: frozenset[str]
    fixable: frozenset[str]
    severities: Mapping[str, Severity]


class Project:
    """The files that one command is about."""

    def __init__(self, options: Options) -> None:
        """Raises :class:`amplint.config.ConfigError`."""
        self._options = options
        self._registry = installed()
        self.configuration = Configuration(
            self._registry, file=options.config_file, isolated=options.isolated, overrides=options.overrides
        )
        self.searched = self.found = 0
        self._resolved: dict[int, _Resolved] = {}
        self._caches: dict[tuple[str, str, str], Cache] = {}
        self._cache_of: dict[int, Cache] = {}

    def check(self, paths: Sequence[str]) -> Iterator[Report | Problem]:
        """Lint, and fix where that is asked for, every file below ``paths``, in order.

        Raises :class:`amplint.config.ConfigError` and :class:`amplint.registry.UnknownRule`.
        """
        discovery = self._discovery(self._registry.mentions, self._cache)
        found = discovery.find(paths)
        self.searched, self.found = discovery.searched, len(found)
        try:
            yield from self._results(found)
        finally:
            for cache in self._caches.values():
                cache.save()

    def _results(self, found: Sequence[Candidate | Problem]) -> Iterator[Report | Problem]:
        tasks = {id(item): self._task(item.path, item.folder) for item in found if isinstance(item, Candidate)}
        recalled: dict[int, Report] = {}
        due, size = [], 0
        for item in found:
            if isinstance(item, Candidate):
                report = self._recall(item, tasks[id(item)])
                if report is not None:
                    recalled[id(item)] = report
                else:
                    due.append(tasks[id(item)])
                    size += item.size
        done = _in_pool(due, size) if _pays(due, size) else map(_do, due)
        for item in found:
            if isinstance(item, Problem):
                yield item
            elif id(item) in recalled:
                yield recalled[id(item)]
            else:
                result, entry = next(done)
                if entry is not None:
                    self._keep(item, tasks[id(item)], entry)
                yield result

    def _cache(self, settings: Settings) -> Cache | None:
        """The cache of the files for which ``settings`` hold."""
        options = self._options
        if not options.cache:
            return None
        cache = self._cache_of.get(id(settings))
        if cache is None:
            directory = os.path.abspath(options.cache_dir) if options.cache_dir else settings.cache_dir
            key = f"{fingerprint()}\n{sorted(self._resolve(settings).codes)}\n{options.target_torch}"
            place = directory, settings.folder, key
            if place not in self._caches:
                self._caches[place] = Cache(*place)
            cache = self._cache_of[id(settings)] = self._caches[place]
        return cache

    def _recall(self, item: Candidate, task: _Task) -> Report | None:
        """The report of a file that was linted before and did not change, unless fixing would change it now."""
        cache = self._cache(self.configuration.settings(item.folder))
        if cache is None or item.status is None:
            return None
        shelf, name = cache.shelf(item.folder), os.path.basename(item.path)
        found = shelf.found(name)
        if found is None:
            return None
        entry = recall(cache, found, task.digest)
        unchanged = shelf.is_unchanged(name, item.status)
        if entry is None or not (unchanged or item.digest == entry.digest):
            return None
        if not unchanged:
            shelf.note(name, item.status, found)
        document: Document = UnopenedDocument(item.path)
        if entry.findings:
            try:
                document = Document.read(item.path)
            except DocumentError:
                return None  # which who reads it again will tell
            places = (place for finding in entry.findings for place in (finding.start, finding.end))
            if digest(document.content) != entry.digest or any(document.location(at.offset) != at for at in places):
                return None
        report = Report(document, entry.findings, unsafe_fixes=task.unsafe_fixes, left=entry.left, recalled=True)
        return None if task.fix and any(map(report.fixable, report.findings)) else report

    def _keep(self, item: Candidate, task: _Task, entry: Entry) -> None:
        cache = self._cache(self.configuration.settings(item.folder))
        if cache is not None and item.status is not None:
            found = record(cache, entry, task.digest)
            cache.shelf(item.folder).note(os.path.basename(item.path), item.status, found)

    def check_source(self, source: bytes, path: str | None) -> Report | Problem:
        """Lint, or fix, ``source`` as if it were in the file at ``path``; nothing is written."""
        name = path or "-"
        try:
            return self.check_document(Document.from_bytes(name, source))
        except DocumentError as error:
            return Problem(name, error.message)

    def mentions(self, text: str) -> bool:
        """Whether any rule may have something to say about ``text``."""
        return self._registry.mentions.stand_in(text.encode("utf-8", "surrogatepass"))

    def check_document(self, document: Document) -> Report:
        """Lint, or fix, ``document`` as if it stood in its file; nothing is written."""
        name = document.filename
        absolute = os.path.abspath("stdin.py" if name == "-" else name)
        if self._options.force_exclude and Discovery(self.configuration, Mentions(())).excludes(absolute):
            return Report(document)
        task = replace(self._task(name, os.path.dirname(absolute)), write=False)
        return _treat(document, task)

    def files(self, paths: Sequence[str]) -> Iterator[str | Problem]:
        """The files below ``paths`` that are looked into; raises :class:`amplint.config.ConfigError`."""
        for item in self._discovery(Mentions([b""])).find(paths):
            yield item if isinstance(item, Problem) else item.path

    def codes(self, path: str, settings: Settings) -> frozenset[str]:
        """The codes of the rules that run over the file at ``path``."""
        codes = self._resolve(settings).codes
        if settings.per_file_ignores:
            steady = {rule.code for rule in self._registry.rules if not rule.selectable}
            codes -= settings.ignored(os.path.abspath(path), self._registry) - steady
        return codes

    def target_torch(self, folder: str) -> TargetTorch | None:
        """The lowest torch that the files in ``folder`` meet."""
        return self._options.target_torch or self.configuration.target_torch(folder)

    def unsafe_fixes(self, settings: Settings) -> bool:
        """Whether unsafe fixes are applied."""
        asked = self._options.unsafe_fixes
        return settings.unsafe_fixes if asked is None else asked

    def include_docs(self, settings: Settings) -> bool:
        """Whether code blocks of pages are looked into."""
        asked = self._options.include_docs
        return settings.include_docs if asked is None else asked

    def _discovery(
        self, mentions: Mentions, caches: Callable[[Settings], Cache | None] = lambda settings: None
    ) -> Discovery:
        return Discovery(
            self.configuration,
            mentions,
            force_exclude=self._options.force_exclude,
            include_docs=self._options.include_docs,
            caches=caches,
        )

    def _resolve(self, settings: Settings) -> _Resolved:
        resolved = self._resolved.get(id(settings))
        if resolved is None:
            registry = self._registry
            rules = settings.rules(registry, self._options.selection)
            resolved = self._resolved[id(settings)] = _Resolved(
                frozenset(rule.code for rule in rules), settings.fixable(registry), settings.severities(registry)
            )
        return resolved

    def _task(self, path: str, folder: str) -> _Task:
        settings = self.configuration.settings(folder)
        resolved = self._resolve(settings)
        return _Task(
            path,
            self.codes(path, settings),
            self.target_torch(folder),
            self._options.fix,
            self._options.write,
            self.unsafe_fixes(settings),
            resolved.fixable,
            resolved.severities,
            self._options.verify,
        )


_Done = tuple[Report | Problem, Entry | None]
"""What came of a file, and what of that may be kept for the next time."""


def _do(task: _Task) -> _Done:
    start = perf_counter()
    try:
        document = Document.read(task.path)
        content = document.content
        report = _treat(document, task) if document.holds(installed().mentions) else Report(document)
    except DocumentError as error:
        return Problem(task.path, error.message), None
    except Exception as error:  # a fault of amplint's in one file must not cost the others their findings
        return Problem(task.path, f"amplint failed: {type(error).__name__}: {error}; please report it"), None
    _collect_after(len(content))
    of_use = not (report.problems or report.healed or (task.fix and task.verify))
    entry = Entry(digest(content), report.findings, report.left, report.consulted) if of_use else None
    return replace(report, seconds=perf_counter() - start), entry


def _treat(document: Document, task: _Task) -> Report:
    from amplint.config.requirements import torch_of
    from amplint.fixer import Fixer

    registered = installed().rules
    selected = [rule for rule in registered if rule.code in task.codes]
    prover = _prover() if task.fix and task.verify else None
    object_to = prover.object_to if prover else None
    target = torch_of(document.text, task.target_torch)
    fixer = Fixer(selected, registered, target, fixable=task.fixable, object_to=object_to)
    if not task.fix:
        result = fixer.lint(document)
        return Report(
            document,
            _weighed(result.findings, task),
            problems=_said(result.crashes),
            unsafe_fixes=task.unsafe_fixes,
            left=result.left,
            consulted=result.consulted,
        )
    fixed = fixer.fix(document, unsafe=task.unsafe_fixes)
    problems = _said(fixed.remaining.crashes)
    if fixed.healed and task.write:
        try:
            fixed.document.write()
        except DocumentError as error:
            before = fixer.lint(document)
            findings = _weighed(before.findings, task)
            return Report(document, findings, (), (*problems, error.message), unsafe_fixes=task.unsafe_fixes)
    return Report(
        fixed.document,
        _weighed(fixed.remaining.findings, task),
        _weighed(fixed.healed, task),
        problems,
        document,
        unsafe_fixes=task.unsafe_fixes,
        left=fixed.remaining.left,
        consulted=fixed.remaining.consulted,
    )


def _prover() -> Prover:
    from amplint.harness.standins.proof import Prover

    return Prover()


def _weighed(findings: tuple[Finding, ...], task: _Task) -> tuple[Finding, ...]:
    """``findings`` with the severities that the settings give them."""
    given = task.severities
    return tuple(replace(each, severity=given[each.code]) if each.code in given else each for each in findings)


def _said(errors: Iterable[Exception]) -> tuple[str, ...]:
    return tuple(map(str, errors))


def _pays(tasks: Sequence[_Task], size: int) -> bool:
    return len(tasks) > 1 and size > _POOL_BYTES and _processors() > 1


def _processors() -> int:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, 61)  # the most that Windows waits for


def _in_pool(tasks: Sequence[_Task], size: int) -> Iterator[_Done]:
    """The reports of ``tasks``, in order, from as many processes as there is work for."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import active_children

    workers = min(_processors(), len(tasks), 1 + size // _POOL_BYTES)
    done = 0
    with ProcessPoolExecutor(workers, initializer=_start_worker) as pool:
        try:
            for result in pool.map(_do_in_worker, tasks):
                yield result
                done += 1
        except BrokenProcessPool:
            for task in tasks[done:]:
                yield Problem(task.path, "the process that looked into it ended unexpectedly"), None
        except KeyboardInterrupt:
            for worker in active_children():
                worker.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def collect_seldom() -> None:
    """Let Python look for garbage less often: trees are millions of objects that go when their document is done."""
    import gc

    gc.set_threshold(100_000, 20, 50)


_due = 0


def _collect_after(size: int) -> None:
    """Look for the garbage of documents once they come to many bytes: it would pile up over a large project."""
    global _due
    _due += size
    if _due > _GARBAGE_BYTES:
        import gc

        _due = 0
        gc.collect()


def _start_worker() -> None:
    collect_seldom()
    _obey_the_parent()


def _obey_the_parent() -> None:
    """An interrupt from the keyboard reaches every process: let the parent alone act on it, by ending the others."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def _do_in_worker(task: _Task) -> _Done:
    try:
        return _do(task)
    except SystemExit:  # unwound, so that no half-written file is left; the pool would go on with the next task
        os._exit(1)
