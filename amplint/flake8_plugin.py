"""amplint's rules as a plugin of flake8: same codes, same settings, no fixes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache

from amplint import __version__
from amplint.project import Options, Project


class Plugin:
    """What flake8 calls for each file."""

    name = "amplint"
    version = __version__

    def __init__(self, tree: ast.AST, filename: str = "-", lines: Sequence[str] = ()) -> None:
        self._filename = "-" if filename == "stdin" else filename
        self._text = "".join(lines)

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Yield row, column (0-based), code and message of each finding, as flake8 takes them."""
        from amplint.baseline import without_known
        from amplint.documents import Document

        project = _project()
        if not project.mentions(self._text):
            return
        report = project.check_document(Document.from_source(self._filename, self._text))
        if report.problems:
            raise RuntimeError("; ".join(report.problems))
        for finding in without_known(report, project.configuration).findings:
            yield finding.start.row, finding.start.column - 1, f"{finding.code} {finding.message}", type(self)


@lru_cache(maxsize=1)
def _project() -> Project:
    return Project(Options())
