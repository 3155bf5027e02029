"""What ``--show-settings`` and ``--show-files`` print."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence

from amplint.config.requirements import torch_of
from amplint.discovery import Problem
from amplint.documents import Document, DocumentError
from amplint.output.style import harmless, shown_path
from amplint.project import Project
from amplint.registry import installed


def print_files(project: Project, paths: Sequence[str]) -> int:
    """Print the absolute paths of the files that would be looked into, and return the exit code."""
    failed = False
    for item in project.files(paths):
        if isinstance(item, Problem):
            failed = _complain(item)
        else:
            print(harmless(os.path.abspath(item)))
    return 2 if failed else 0


def print_settings(project: Project, paths: Sequence[str]) -> int:
    """Print the settings of the first file below ``paths`` as TOML, and return the exit code."""
    first = paths[0]
    if os.path.isdir(first):
        found = next(iter(project.files(paths)), None)
        if isinstance(found, Problem):
            return 2 if _complain(found) else 0
        first = found or os.path.join(first, "any.py")
    folder = os.path.dirname(os.path.abspath(first))
    settings, registry = project.configuration.settings(folder), installed()
    print(f"# settings of {shown_path(first)}")
    for source in settings.sources:
        print(f"# from {shown_path(source)}")
    target = torch_of(_text_or_nothing(first), project.target_torch(folder))
    if target is not None:
        print(f"# target-torch is from {target.source}")
    print(f"select = {_list(sorted(project.codes(first, settings)))}")
    fixable = settings.fixable(registry)
    if len(fixable) < len(registry.rules):
        print(f"fixable = {_list(sorted(fixable))}")
    print(f"exclude = {_list(pattern for patterns in settings.exclude for pattern in patterns.patterns)}")
    if target is not None:
        print(f'target-torch = "{target}"')
    print(f"unsafe-fixes = {json.dumps(project.unsafe_fixes(settings))}")
    print(f"include-docs = {json.dumps(project.include_docs(settings))}")
    if settings.baseline is not None:
        print(f"baseline = {json.dumps(settings.baseline)}")
    print(f"output-format = {json.dumps(settings.output_format or 'full')}")
    severities = settings.severities(registry)
    if severities:
        print("\n[severity]")
        for code, severity in sorted(severities.items()):
            print(f'{code} = "{severity.value}"')
    if settings.per_file_ignores:
        print("\n[per-file-ignores]")
        for ignore in settings.per_file_ignores:
            pattern = ("!" if ignore.negated else "") + ignore.patterns.patterns[0]
            print(f"{json.dumps(pattern)} = {_list(ignore.selectors)}")
    return 0


def _text_or_nothing(path: str) -> str:
    try:
        return Document.read(path).text
    except DocumentError:
        return ""


def _list(words: Iterable[str]) -> str:
    return json.dumps(list(words))


def _complain(problem: Problem) -> bool:
    print(f"amplint: {shown_path(problem.path)}: {harmless(problem.message)}", file=sys.stderr)
    return True
