"""Comments by which a user silences findings: ``# noqa``, ``# noqa: AMP101`` and ``# amplint: ignore[AMP101]``."""

from __future__ import annotations

import bisect
import re
import tokenize
from collections.abc import Iterator

from amplint.documents import Document
from amplint.findings import Finding

_CODES = r"[A-Za-z]+[0-9]+(?:[\s,]+[A-Za-z]+[0-9]+)*"
_NOQA = re.compile(rf"#\s*noqa(?:\s*:\s*(?P<codes>{_CODES})|(?!\s*:)(?![\w-]))", re.IGNORECASE)
_IGNORE = re.compile(rf"#\s*amplint:\s*ignore(?:\s*\[\s*(?P<codes>{_CODES})\s*\]|(?!\s*\[)(?![\w-]))", re.IGNORECASE)
_CODE = re.compile(r"[A-Za-z]+[0-9]+")

_EVERY_CODE = frozenset[str]()


class Suppressions:
    """The suppression comments of one document, found in its tokens: what a string says does not count."""

    def __init__(self, document: Document) -> None:
        self._codes: dict[int, list[frozenset[str]]] = {}  # by row; an empty set means every code
        self._statements: list[tuple[int, int]] = []  # first and last row of each logical line
        self._open_rows: set[int] = set()  # rows that a comment may end
        self._read(document)

    def silences(self, finding: Finding) -> bool:
        """Whether a comment on the first or last row of the finding, or of its statement, silences it."""
        rows = {finding.start.row, finding.end.row}
        rows.update(self._statement(finding.start.row), self._statement(finding.end.row))
        return any(codes is _EVERY_CODE or finding.code in codes for row in rows for codes in self._codes.get(row, ()))

    def row_for(self, finding: Finding) -> int:
        """The row at whose end a comment that silences ``finding`` belongs."""
        row = finding.start.row
        return row if row in self._open_rows else self._statement(row)[1]

    def _statement(self, row: int) -> tuple[int, int]:
        index = bisect.bisect_right(self._statements, (row, row)) - 1
        for first, last in self._statements[max(index, 0) : index + 2]:
            if first <= row <= last:
                return first, last
        return row, row

    def _read(self, document: Document) -> None:
        first = None
        for token in _tokens(document):
            row = token.start[0]
            if token.type == tokenize.COMMENT:
                self._codes.setdefault(row, []).extend(_suppressed(token.string))
            elif token.type == tokenize.NEWLINE:
                self._statements.append((first or row, row))
                self._open_rows.add(row)
                first = None
            elif token.type == tokenize.NL:
                self._open_rows.add(row)
            elif token.type not in (tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
                first = first or row


def _tokens(document: Document) -> Iterator[tokenize.TokenInfo]:
    """The document's tokens, up to where the Python that runs can no longer follow."""
    rows = (document.row(number) + "\n" for number in range(1, document.row_count + 1))
    try:
        yield from tokenize.generate_tokens(lambda: next(rows, ""))
    except (tokenize.TokenError, SyntaxError, UnicodeError):
        return


def _suppressed(comment: str) -> Iterator[frozenset[str]]:
    for pattern in (_NOQA, _IGNORE):
        for match in pattern.finditer(comment):
            codes = match["codes"]
            yield frozenset(_CODE.findall(codes.upper())) if codes else _EVERY_CODE
