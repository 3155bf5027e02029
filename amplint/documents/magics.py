"""IPython's syntax in a notebook cell, masked so that what is left is Python of the same length.

A magic or a shell command becomes a name of underscores, which says nothing to a rule, and every other character keeps
its place. The mask is only looked at: what a cell says is written back as it was.
"""

from __future__ import annotations

import re

from amplint.documents.grammar import is_python

# cell magics that run the rest of their cell as Python in the notebook's own namespace
_PYTHON_CELLS = {"capture", "debug", "memit", "prun", "pyinstrument", "scalene", "snakeviz", "time", "timeit", "wandb"}
# those that take it for something else, or write it down; any other is taken for Python where that is what it holds
_OTHER_CELLS = {
    "",
    *("ai", "bigquery", "cython", "file", "html", "javascript", "js", "latex", "markdown", "mermaid", "skip", "spark"),
    *("sql", "svg", "writefile", "writetemplate"),
    *("bash", "cmd", "powershell", "script", "sh", "shell", "sx", "system", "zsh"),
    *("cpp", "cu", "cuda", "julia", "perl", "pypy", "python", "python2", "python3", "R", "ruby"),
}
_CELL_MAGIC = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r(?!\n)|\n))*%%(\w*)")
_RUNS_PYTHON = re.compile(r"%(?:lprun|memit|mprun|prun|pyinstrument|snakeviz|time|timeit)(?![\w%])")
_SPACES = re.compile(r"[ \t]+")
# what may be said without its % where no variable has the name
_AUTOMAGIC = re.compile(
    r"(?:autoreload|cat|cd|conda|config|cp|env|history|less|load|load_ext|ls|mamba|man|matplotlib|micromamba|mkdir|more"
    r"|mv|pip|prun|pushd|reload_ext|rm|rmdir|run|save|store|time|timeit|uv|who|whos|xmode)[ \t]+[^\s=(\[.,][^\r\n]*"
)
_TOKEN = re.compile(
    r"""
      (?P<newline>\r\n|\r|\n)
    | (?P<continued>\\(?:\r\n|\r|\n))
    | \#[^\r\n]*
    | (?P<quote>\"{3}|'{3}|"|')
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | [-+*/%@&|^:=!<>]= | \*\*= | //= | <<= | >>=
    | =[ \t]*(?P<assigned>[%!])
    | (?P<help>\?)
    """,
    re.VERBOSE,
)
_REST = re.compile(r"(?:\\(?:\r\n|\r|\n)|[^\r\n])*")  # of a line that may be continued
_INDENT = re.compile(r"[ \t\f]*")
_CLOSING = {
    "'": re.compile(r"(?:\\(?:\r\n|[\s\S])|[^\\\r\n'])*'?"),
    '"': re.compile(r'(?:\\(?:\r\n|[\s\S])|[^\\\r\n"])*"?'),
    "'''": re.compile(r"(?:\\[\s\S]|[^\\])*?(?:'''|\Z)"),
    '"""': re.compile(r'(?:\\[\s\S]|[^\\])*?(?:"""|\Z)'),
}
_ROW = re.compile(r"[^\r\n]+")


def masked(source: str) -> str | None:
    """``source`` with its magics masked; None where a cell magic makes something else of it than Python."""
    magic = _CELL_MAGIC.match(source)
    if magic and magic[1] in _OTHER_CELLS:
        return None
    text = _Masking(source).text()
    return text if magic is None or magic[1] in _PYTHON_CELLS or is_python(text) else None


class _Masking:
    """Goes through one cell, logical line by logical line."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._parts: list[str] = []
        self._done = 0  # how much of the source is in the parts

    def text(self) -> str:
        position = 0
        while position < len(self._source):
            position = self._logical_line(position)
        return "".join((*self._parts, self._source[self._done :]))

    def _logical_line(self, start: int) -> int:
        """Mask what is IPython's in the logical line that begins at ``start``, and return where the next one does."""
        begin = _end(_INDENT, self._source, start)
        if self._source[begin : begin + 1] in tuple("%!?,;/") or self._is_automagic(begin):
            return self._hide(begin)
        depth, position = 0, begin
        while token := _TOKEN.search(self._source, position):
            position = token.end()
            if token["newline"] and depth == 0:
                return position
            if token["quote"]:
                position = _end(_CLOSING[token["quote"]], self._source, position)
            elif token["open"]:
                depth += 1
            elif token["close"]:
                depth = max(depth - 1, 0)
            elif token["assigned"] and depth == 0:
                return self._hide(token.start("assigned"), value=True)
            elif token["help"] and depth == 0:
                return self._hide(begin)
        return len(self._source)

    def _is_automagic(self, begin: int) -> bool:
        words = _AUTOMAGIC.match(self._source, begin)
        return words is not None and not is_python(words[0])

    def _hide(self, begin: int, *, value: bool = False) -> int:
        """Mask the line from ``begin`` on, and return where to go on."""
        end = _end(_REST, self._source, begin)
        code = self._run_by(begin, end)
        first, *others = _ROW.finditer(self._source, begin, code or end)
        self._parts.append(self._source[self._done : first.start()])
        width = len(first[0])
        if code:
            self._parts.append(" " * width if value else "_" * (width - 2) + "; ")
        else:
            self._parts.append("_" * width)
        self._done = first.end()
        for row in others:
            self._parts += (self._source[self._done : row.start()], " " * len(row[0]))
            self._done = row.end()
        return code or end

    def _run_by(self, begin: int, end: int) -> int | None:
        """Where the Python begins that the magic at ``begin`` runs, behind its options; None if it runs none."""
        magic = _RUNS_PYTHON.match(self._source, begin, end)
        for space in _SPACES.finditer(self._source, magic.end(), end) if magic else ():
            rest = self._source[space.end() : end]
            if rest and not rest.startswith("-") and is_python(rest):
                return space.end()
        return None


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
