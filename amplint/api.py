"""amplint from Python: :func:`lint_source`, :func:`fix_source` and :func:`lint_paths`, as ``amplint`` exports them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from amplint.config import Selection, parse_target_torch, select_rules
from amplint.documents import PROSE_SUFFIXES, Document, Place
from amplint.findings import Finding
from amplint.fixer import Fixer
from amplint.registry import installed
from amplint.rule import TargetTorch

_NO_PYTHON = (".ipynb", *PROSE_SUFFIXES)


@dataclass(frozen=True)
class Outcome:
    """What came of one file or source.

    ``source`` is its text as it is now: changed, where fixes were asked for. ``findings`` remain to be said about
    it, ``fixed`` were found before and are gone. ``problems`` are what amplint could not do, in words: a file that
    cannot be read, say, or a rule that failed.
    """

    path: str
    source: str
    findings: tuple[Finding, ...] = ()
    fixed: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()
    _document: Document | None = field(default=None, repr=False, compare=False)

    def place(self, finding: Finding) -> Place:
        """Row and column (1-based) of ``finding``, and in a notebook its cell, as a reader of the file finds it."""
        if self._document is None:
            return Place(finding.start.row, finding.start.column)
        return self._document.place(finding.start)


def lint_source(
    source: str,
    filename: str = "<source>",
    *,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    extend_select: Iterable[str] = (),
    target_torch: str | None = None,
) -> Outcome:
    """What is found in ``source``.

    Selectors are codes, their beginnings, names or ``ALL``, as on the command line; no settings are read from files. A
    ``filename`` that ends with ``.ipynb`` makes the source a notebook's JSON.

    Raises :class:`amplint.UnknownRule` for a selector that means nothing, :class:`ValueError` for a version of
    torch that is none, :class:`amplint.UnreadableDocument` for a notebook that is none. Invalid syntax is a finding,
    AMP902.
    """
    document = _document(source, filename)
    result = _fixer(document, _selection(select, ignore, extend_select), _target(target_torch)).lint(document)
    return _outcome(document, result.findings, (), map(str, result.crashes))


def fix_source(
    source: str,
    filename: str = "<source>",
    *,
    unsafe_fixes: bool = False,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    extend_select: Iterable[str] = (),
    target_torch: str | None = None,
) -> Outcome:
    """What fixes make of ``source``: the ``source`` of the outcome.

    Fixes that change numerics or structure are applied only with ``unsafe_fixes``. The rest is as for
    :func:`lint_source`.
    """
    document = _document(source, filename)
    fixer = _fixer(document, _selection(select, ignore, extend_select), _target(target_torch))
    fixed = fixer.fix(document, unsafe=unsafe_fixes)
    return _outcome(fixed.document, fixed.remaining.findings, fixed.healed, map(str, fixed.remaining.crashes))


def lint_paths(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = ".",
    *,
    fix: bool = False,
    unsafe_fixes: bool | None = None,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    extend_select: Iterable[str] = (),
    target_torch: str | None = None,
) -> list[Outcome]:
    """What is found in the files below ``paths``, as the command ``amplint`` finds it, by the files' own settings.

    ``paths`` is one path or several.

    With ``fix`` the files are changed. There is an outcome for each file that amplint looked into, which are those that
    mention AMP, and for each path about which it could not do its job.

    Raises :class:`amplint.UnknownRule`, :class:`ValueError`, and :class:`amplint.ConfigError` for settings that mean
    nothing.
    """
    from amplint.baseline import BaselineError, without_known
    from amplint.project import Options, Project, Report

    options = Options(
        selection=_selection(select, ignore, extend_select),
        target_torch=_target(target_torch),
        fix=fix,
        unsafe_fixes=unsafe_fixes,
    )
    outcomes = []
    project = Project(options)
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    for result in project.check([os.fspath(path) for path in several]):
        if not isinstance(result, Report):
            outcomes.append(Outcome(result.path, "", problems=(result.message,)))
            continue
        problems = result.problems
        try:
            result = without_known(result, project.configuration)
        except BaselineError as error:
            problems = (*problems, str(error))
        outcomes.append(_outcome(result.document, result.findings, result.healed, problems))
    return outcomes


def _outcome(
    document: Document, findings: tuple[Finding, ...], fixed: tuple[Finding, ...], problems: Iterable[str]
) -> Outcome:
    source = document.encode().decode() if document.filename.endswith(_NO_PYTHON) else document.text
    return Outcome(document.filename, source, findings, fixed, tuple(problems), document)


def _document(source: str, filename: str) -> Document:
    if filename.endswith(_NO_PYTHON):
        return Document.from_bytes(filename, source.encode())
    return Document.from_source(filename, source)


def _fixer(document: Document, selection: Selection, target_torch: TargetTorch | None) -> Fixer:
    from amplint.config.requirements import torch_of

    registry = installed()
    return Fixer(select_rules(registry, (selection,)), registry.rules, torch_of(document.text, target_torch))


def _selection(select: Iterable[str] | None, ignore: Iterable[str], extend_select: Iterable[str]) -> Selection:
    selection = Selection(None if select is None else _words(select), _words(ignore), _words(extend_select))
    for word in (*(selection.select or ()), *selection.ignore, *selection.extend_select):
        installed().matching(word)
    return selection


def _words(words: Iterable[str]) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else tuple(words)


def _target(version: str | None) -> TargetTorch | None:
    return None if version is None else parse_target_torch(version, "`target_torch`")
