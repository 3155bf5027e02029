"""What ``--fix`` would change, as a unified diff that ``patch`` and ``git apply`` take."""

from __future__ import annotations

import difflib
import os

from amplint.documents import Document
from amplint.output.style import Style, harmless_source, relative, shown_path

_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", 9: "\\t", 10: "\\n", 13: "\\r"}


def render(before: Document, after: Document, style: Style, *, terminal: bool = False) -> str:
    """The diff from ``before`` to ``after``; on a ``terminal`` nothing in it can steer that."""
    name = _named(before.filename)
    parts = []
    for (cell, old), (_, new) in zip(before.pages(), after.pages(), strict=True):
        path = name if cell is None else f"{name.rstrip()}:cell {cell}"
        if cell is not None:  # whose last row need not have an end
            old, new = (text if text.endswith("\n") else f"{text}\n" for text in (old, new))
        lines = list(difflib.unified_diff(_rows(old), _rows(new), path, path))
        parts += [] if path == "-" else [style("bold", line.rstrip("\n")) + "\n" for line in lines[:2]]
        parts += (_painted(line, style, terminal) for line in lines[2:])
    return "".join(parts)


def _named(filename: str) -> str:
    """The file's name as Git writes it and ``patch`` reads it: quoted if need be, or ended by a tab."""
    path = shown_path(filename)
    plain = relative(filename)
    if path != plain or path.startswith('"') or "\\" in path and os.sep == "/":
        quoted = (_ESCAPES.get(byte, chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in os.fsencode(plain))
        return f'"{"".join(quoted)}"'
    return f"{path}\t" if " " in path else path


def _rows(text: str) -> list[str]:
    """The rows as ``patch`` counts them: only ``\\n`` ends one."""
    rows = text.split("\n")
    return [f"{row}\n" for row in rows[:-1]] + ([rows[-1]] if rows[-1] else [])


def _painted(line: str, style: Style, terminal: bool) -> str:
    body = line.removesuffix("\n")
    missing = "" if line.endswith("\n") else "\n\\ No newline at end of file"
    if terminal:
        body = harmless_source(body.removesuffix("\r").replace("\t", "    "))
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(body[:1])
    return f"{style(colour, body) if colour else body}{missing}\n"
