"""Comments by which a user silences findings.

On the row of the finding or of its statement: ``# noqa``, ``# noqa: AMP101`` and ``# amplint: ignore[AMP101]``. On a
row of their own, for the whole file: ``# amplint: disable-file``, ``# amplint: disable-file[AMP101]``, ``# amplint:
noqa``, and what Ruff reads there, ``# ruff: noqa`` and ``# flake8: noqa``, each of them with codes or without.
"""

from __future__ import annotations

import bisect
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from amplint.documents import Document
from amplint.findings import Finding, Location

_CODE = re.compile(r"\b[A-Za-z]+[0-9]+(?!\w)")
_LIST = rf"{_CODE.pattern}(?:[\s,]+{_CODE.pattern})*"
_NOQA = rf"noqa(?:\s*:\s*(?P<codes>{_LIST})|(?!\s*:)(?![\w-]))"
_BRACKETED = rf"(?:\s*\[\s*(?P<codes>{_LIST})\s*\]|(?!\s*\[)(?![\w-]))"
_ON_ROWS = (
    re.compile(rf"#\s*{_NOQA}", re.IGNORECASE),
    re.compile(rf"#\s*amplint:\s*ignore{_BRACKETED}", re.IGNORECASE),
)
_ON_FILES = (
    re.compile(rf"#\s*(?:amplint|ruff|flake8)\s*:\s*{_NOQA}", re.IGNORECASE),
    re.compile(rf"#\s*amplint:\s*disable-file{_BRACKETED}", re.IGNORECASE),
)
_MEANT = re.compile(  # what none of the above reads, and yet is meant for amplint
    r"#\s*(?:amplint\s*:\s*(?:ignore|disable-file|noqa)\b[^#]*|amplint\s*:\s*[\w-]+\s*\[[^#]*|noqa\s*:\s*AMP\w*\b[^#]*)",
    re.IGNORECASE,
)
_WORDS = re.compile(r"noqa|amplint:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Directive:
    """What one comment silences: ``codes``, or everything where there are none; on its ``row``, or in the file."""

    text: str
    start: Location
    end: Location
    codes: tuple[str, ...] = ()
    codes_start: int = 0
    row: int | None = None

    @property
    def ours(self) -> bool:
        """Whether it speaks to amplint alone, not to other linters as well."""
        return "amplint" in self.text.lower()

    def silences(self, finding: Finding, rows: set[int], *, by_name: bool) -> bool:
        """Whether it silences ``finding``, which stands on ``rows``; ``by_name`` only if it names the code."""
        if self.row is not None and self.row not in rows:
            return False
        return finding.code in self.codes or not (self.codes or by_name)


class Suppressions:
    """The suppression comments of one document, found in its tokens: what a string says does not count."""

    def __init__(self, document: Document) -> None:
        self.directives: list[Directive] = []
        self.malformed: list[Directive] = []  # which silence nothing
        self._document = document
        self._by_row: dict[int | None, list[Directive]] = {}
        self._statements: list[tuple[int, int]] = []  # first and last row of each logical line
        self._open_rows: set[int] = set()  # rows that a comment may end
        self._read()

    @staticmethod
    def stand_in(document: Document) -> bool:
        """Whether there may be any in ``document``, told by a glance."""
        return _WORDS.search(document.text) is not None

    def silences(self, finding: Finding, *, by_name: bool = False) -> bool:
        """Whether a comment on the first or last row of the finding, or of its statement, or for the file silences it.

        With ``by_name``, only a comment that names the code does.
        """
        return any(self.silencing(finding, by_name=by_name))

    def silencing(self, finding: Finding, *, by_name: bool = False) -> Iterator[Directive]:
        """The comments that silence ``finding``."""
        rows = {finding.start.row, finding.end.row}
        rows.update(self._statement(finding.start.row), self._statement(finding.end.row))
        for row in (None, *rows):
            for directive in self._by_row.get(row, ()):
                if directive.silences(finding, rows, by_name=by_name):
                    yield directive

    def row_for(self, finding: Finding) -> int:
        """The row at whose end a comment that silences ``finding`` belongs."""
        row = finding.start.row
        return row if row in self._open_rows else self._statement(row)[1]

    def on_row(self, row: int) -> list[Directive]:
        """The comments on ``row`` that silence what is there."""
        return self._by_row.get(row, [])

    def _statement(self, row: int) -> tuple[int, int]:
        index = bisect.bisect_right(self._statements, (row, row)) - 1
        for first, last in self._statements[max(index, 0) : index + 2]:
            if first <= row <= last:
                return first, last
        return row, row

    def _read(self) -> None:
        first = None
        for token in _tokens(self._document):
            row = token.start[0]
            if token.type == tokenize.COMMENT:
                self._read_comment(token)
            elif token.type == tokenize.NEWLINE:
                self._statements.append((first or row, row))
                self._open_rows.add(row)
                first = None
            elif token.type == tokenize.NL:
                self._open_rows.add(row)
            elif token.type not in (tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
                first = first or row

    def _read_comment(self, token: tokenize.TokenInfo) -> None:
        row, column = token.start
        alone = not self._document.row(row)[:column].strip()
        known: list[tuple[int, int]] = []
        for pattern in (*_ON_ROWS, *(_ON_FILES if alone else ())):
            for match in pattern.finditer(token.string):
                directive = self._directive(row, column, match, row if pattern in _ON_ROWS else None)
                self.directives.append(directive)
                self._by_row.setdefault(directive.row, []).append(directive)
                known.append(match.span())
        for match in _MEANT.finditer(token.string):
            if not any(start <= match.start() < end for start, end in known):
                self.malformed.append(self._directive(row, column, match, row))

    def _directive(self, row: int, column: int, match: re.Match[str], silenced: int | None) -> Directive:
        """What ``match``, in a comment that begins at ``row`` and ``column``, silences."""
        codes = match.groupdict().get("codes")
        text = match[0].rstrip()
        return Directive(
            text,
            self._document.at(row, column + match.start() + 1),
            self._document.at(row, column + match.start() + len(text) + 1),
            tuple(_CODE.findall(codes.upper())) if codes else (),
            match.start("codes") - match.start() if codes else 0,
            silenced,
        )


def _tokens(document: Document) -> Iterator[tokenize.TokenInfo]:
    """The document's tokens, up to where the Python that runs can no longer follow."""
    rows = (document.row(number) + "\n" for number in range(1, document.row_count + 1))
    try:
        yield from tokenize.generate_tokens(lambda: next(rows, ""))
    except (tokenize.TokenError, SyntaxError, UnicodeError):
        return
