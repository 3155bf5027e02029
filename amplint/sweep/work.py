"""What a worker does: one batch to rows, of findings and of problems."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from amplint.config import Selection
from amplint.discovery import Problem
from amplint.documents import read_regular_file
from amplint.project import Options, Project, Report, collect_seldom
from amplint.registry import installed
from amplint.sweep.batches import Batch, python_files

_CLONING = 600  # seconds


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is asked of all batches: the rules, and the columns of Parquet files with the code and its path."""

    selection: Selection = field(default_factory=Selection)
    isolated: bool = False
    content: str = "content"
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a batch of so many ``files``."""

    findings: list[dict[str, Any]]
    problems: list[dict[str, str]]
    files: int


def lint_batch(batch: Batch, wishes: Wishes) -> Done:
    """The findings of ``batch``; whatever fails in it is one of its problems."""
    collect_seldom()
    try:
        if batch.kind == "repository":
            return _repository(batch, wishes)
        if batch.kind == "parquet":
            return _parquet(batch, wishes)
        return _done(batch, _files(batch.source, batch.files, wishes), len(batch.files), batch.source)
    except Exception as error:
        return failed(batch, f"{type(error).__name__}: {error}")


def failed(batch: Batch, why: str) -> Done:
    """That nothing is known of ``batch``."""
    return Done([], [{"source": batch.source, "path": "", "message": why}], len(batch.files))


def _files(folder: str, files: Sequence[str], wishes: Wishes) -> Iterator[Report | Problem]:
    """What comes of the files that may hold something, one by one: a worker starts no processes of its own."""
    project = Project(Options(selection=wishes.selection, isolated=wishes.isolated))
    for path in (os.path.join(folder, name) for name in files):
        if _may_hold_something(path):
            yield from project.check([path])


def _may_hold_something(path: str) -> bool:
    try:
        return installed().mentions.stand_in(read_regular_file(path))
    except OSError:
        return True  # why it cannot be read is to be told


def _repository(batch: Batch, wishes: Wishes) -> Done:
    """A clone of the newest commit, for as long as it is looked into."""
    with tempfile.TemporaryDirectory(prefix="amplint-") as folder:
        place = os.path.join(folder, "clone")
        command = ["git", "-c", "core.hooksPath=", "clone", "-q", "--depth=1", "--no-tags", "--", batch.source, place]
        environment = os.environ | {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}
        cloned = subprocess.run(command, capture_output=True, text=True, timeout=_CLONING, env=environment)
        if cloned.returncode:
            return failed(batch, f"could not be cloned: {cloned.stderr.strip()}")
        files = python_files(place)
        return _done(batch, list(_files(place, files, wishes)), len(files), place)


def _parquet(batch: Batch, wishes: Wishes) -> Done:
    """The rows of one group, each as a file that is in no folder; by no settings but those of the command."""
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(batch.source)
    names = set(file.schema_arrow.names)
    if wishes.content not in names:
        return failed(batch, f"there is no column `{wishes.content}`")
    column = wishes.path or next((name for name in ("path", "max_stars_repo_path", "file_path") if name in names), None)
    columns = [wishes.content] if column is None else [wishes.content, column]
    table = file.read_row_group(batch.group, columns=columns).to_pydict()
    first = sum(file.metadata.row_group(group).num_rows for group in range(batch.group))
    project = Project(Options(selection=wishes.selection, isolated=True))
    results: list[Report | Problem] = []
    contents = table[wishes.content]
    for number, content in enumerate(contents):
        told = str(table[column][number]) if column is not None else ""
        parts = [part for part in re.split(r"[\\/]", told) if part not in ("", os.curdir, os.pardir)]
        if not told.endswith((".py", ".ipynb")):
            parts = ["code.py"]
        path = os.path.join(batch.source, str(first + number), *parts)
        source = content.encode("utf-8", "replace") if isinstance(content, str) else bytes(content or b"")
        if installed().mentions.stand_in(source):
            results.append(project.check_source(source, path))
    return _done(batch, results, len(contents), batch.source)


def _done(batch: Batch, results: Iterable[Report | Problem], files: int, folder: str) -> Done:
    findings: list[dict[str, Any]] = []
    problems: list[dict[str, str]] = []
    for result in results:
        path = os.path.relpath(result.path if isinstance(result, Problem) else result.document.filename, folder)
        told = (result.message,) if isinstance(result, Problem) else result.problems
        problems += ({"source": batch.source, "path": _text(path), "message": _text(why)} for why in told)
        if isinstance(result, Report):
            findings += _rows(batch, result, path)
    return Done(findings, problems, files)


def _rows(batch: Batch, report: Report, path: str) -> Iterator[dict[str, Any]]:
    for finding in report.findings:
        start, end = (report.document.place(at) for at in (finding.start, finding.end))
        rule = installed().get(finding.code)
        yield {
            "source": batch.source,
            "path": _text(path),
            "cell": start.cell,
            "row": start.row,
            "column": start.column,
            "end_row": end.row,
            "end_column": end.column,
            "code": finding.code,
            "name": rule.name if rule else "",
            "severity": finding.severity.value,
            "message": _text(finding.message),
            "fix": finding.fix.applicability.value if finding.fix else None,
        }


def _text(text: str) -> str:
    """``text`` as Parquet can hold it."""
    return text.encode("utf-8", "backslashreplace").decode()
