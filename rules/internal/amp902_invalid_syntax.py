"""# invalid-syntax (AMP902)

## What it does
Reports a file that could not be parsed as Python, at the place where the parser gave up.

## Why is this bad?
Nothing else is known about such a file: a misuse of AMP in it cannot be found, so it must not pass for clean.
The rule cannot be left out by `select`, `ignore` or a suppression comment. To leave a file out, use `exclude`.

A folder's files are parsed only if they hold a word that some rule looks for; a file that you name yourself is always
checked. A cell of a notebook that cannot be parsed cannot run either, so the others are checked without it; it is
reported only if it mentions AMP itself.

## Example
```python
with autocast(device_type="cuda":
    loss = model(x)
```

## Use instead
```python
with autocast(device_type="cuda"):
    loss = model(x)
```

## Fix safety
There is no fix.

## References
- [The Python language reference: full grammar specification](https://docs.python.org/3/reference/grammar.html)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Finding, Severity
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    from amplint.documents import Document
    from amplint.syntax.tree import InvalidSyntax


class InvalidSyntaxRule(Rule):
    code = "AMP902"
    name = "invalid-syntax"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "the file could not be parsed"
    selectable = False
    mentions = (b"cuda.amp", b"cpu.amp", b"torch.amp")

    @classmethod
    def may_concern(cls, content: bytes) -> bool:
        """Any text may be no Python, whatever it mentions."""
        return True

    def check(self, context: Context) -> Iterator[Finding]:
        from amplint.documents.grammar import is_python

        document = context.document
        if context.is_parsed or not is_python(document.text):
            yield from self._check_file(context)
        for offset, source in document.unparsed:
            if _mentions_amp(source):
                from amplint.syntax.tree import InvalidSyntax, SyntaxTree

                try:
                    SyntaxTree(source)
                except InvalidSyntax as error:
                    top = document.location(offset).row
                    yield self._finding("cell", source, error, document, top)

    def _check_file(self, context: Context) -> Iterator[Finding]:
        from amplint.syntax.tree import InvalidSyntax

        document = context.document
        try:
            _ = context.tree
        except InvalidSyntax as error:
            yield self._finding("file", document.text, error, document)

    def _finding(self, what: str, source: str, error: InvalidSyntax, document: Document, top: int = 1) -> Finding:
        """What is wrong with a text that begins at the row ``top`` of its document."""
        python = _python_says(source)
        message, row, column = python or _libcst_says(error)
        place = document.at(top + row - 1, column)
        advice = "Correct the syntax" if python else "What Python reads here LibCST may not: write it in another way"
        return Finding(
            self.code,
            f"The {what} could not be parsed: {message}",
            self.severity,
            place,
            place,
            help=f"{advice}, or leave the {_LEFT_OUT[what]}",
        )


_AMP = re.compile(r"\bamp\b|autocast|GradScaler|unscale_|custom_[fb]wd")
_LEFT_OUT = {
    "file": "file out by `exclude`; nothing else in it was checked",
    "cell": "notebook out by `exclude`; nothing in this cell was checked",
}


def _mentions_amp(source: str) -> bool:
    return _AMP.search(source) is not None


def _python_says(text: str) -> tuple[str, int, int] | None:
    """Message and place in the words of the Python that runs, where it cannot parse the text either."""
    import ast
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except SyntaxError as error:
            return (error.msg, error.lineno, error.offset or 1) if error.lineno else None
        except (ValueError, RecursionError, MemoryError):
            pass
    return None


def _libcst_says(error: InvalidSyntax) -> tuple[str, int, int]:
    told = re.fullmatch(r"parser error: error at (\d+):(\d+): (.*)", error.message, re.DOTALL)
    if told:
        return told[3], int(told[1]), int(told[2]) + 1
    return error.message, error.row, error.column
