"""Documents that nobody would write, and what must hold of every one of them.

``python tests/trust/hostile.py SEED COUNT [BEGIN]`` looks into ``COUNT`` of them, or into those from ``BEGIN`` on, and
tells what does not hold.
"""

from __future__ import annotations

import ast
import contextlib
import os
import random
import re
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from amplint.config import Selection
from amplint.discovery import Problem
from amplint.documents import Document
from amplint.findings import Edit
from amplint.project import Options, Project, Report

ROOT = Path(__file__).parents[2]
SECONDS = 30
"""The longest that one document may take; the slowest ones need a hundredth of it on a machine that is idle."""
PLANTED = "\n\n\ndef _planted():\n    import torch\n\n    return torch.cuda.amp.autocast()\n"
"""What any selection of all rules finds, wherever it is parsed."""
_SILENCED = re.compile(r"noqa|amplint|nosec", re.IGNORECASE)
# indents of tabs in blocks of spaces, rows that go on before they begin, what follows a keyword without a space
_BEYOND_LIBCST = re.compile(rb"\t|\\[\r\n]|in\*|await[^\s\w(]")
_CODINGS = ("latin-1", "cp1252", "utf-8", "euc-jp", "utf-7", "rot13", "idna", "no-such", "utf-16")


class Broken(AssertionError):
    """What must hold of every document does not hold of this one."""


@dataclass(frozen=True)
class Hostile:
    """One document, how it was made, and whether :data:`PLANTED` stands at its end."""

    kind: str
    content: bytes
    suffix: str = ".py"
    planted: bool = False


def sources() -> list[str]:
    """Training code to spoil: the fixtures of the rules and of the harness."""
    paths = sorted([*ROOT.glob("rules/*/fixtures/**/*.py"), *ROOT.glob("fixtures/**/*.py")])
    return [text for path in paths if len(text := path.read_text(encoding="utf-8")) < 4000]


def documents(seed: int, count: int) -> Iterator[Hostile]:
    """``count`` documents, always the same ones for the same ``seed``."""
    chance = random.Random(seed)
    originals = sources()
    programs = random_programs(seed, count // 40)  # they take longer to write than to lint
    for number in range(count):
        lot = number % 10
        if number % 40 == 0 and programs:
            text = programs.pop()
            yield _planted("random program", text, chance)
        elif lot < 7:
            text = _mutated(chance.choice(originals), chance)
            if chance.random() < 0.5:
                yield _planted("mutated", text, chance)
            else:
                yield Hostile("mutated", _written(text, chance), chance.choice((".py", ".py", ".py", ".pyi")))
        elif lot == 7:
            yield Hostile("mutated bytes", _spoiled(chance.choice(originals).encode(), chance))
        elif lot == 8:
            yield Hostile("raw bytes", b"import torch.cuda.amp\n" + chance.randbytes(chance.randrange(200)))
        else:
            import json

            text = _mutated(chance.choice(originals), chance)
            cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": text.splitlines(True)}
            content = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
            page = f"# Train\n\n```python\n{text}```\n".encode("utf-8", "replace")
            content, suffix = (content, ".ipynb") if chance.random() < 0.6 else (page, ".md")
            yield Hostile("part", content if chance.random() < 0.6 else _spoiled(content, chance), suffix)


def random_programs(seed: int, count: int) -> list[str]:
    """Programs of hypothesmith, which follow Python's grammar and nothing else; none without it."""
    if not count:
        return []
    import hypothesmith
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    found: list[str] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(hypothesmith.from_grammar())
    def take(program: str) -> None:
        found.append(program)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        take()
    return found


def _mutated(text: str, chance: random.Random) -> str:
    """``text`` after a few mutations, of which most leave it Python."""
    wanted = chance.random() < 0.75
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        tries = (chance.choice(_MUTATIONS)(text, chance) for _ in range(6))
        text = next((each for each in tries if not wanted or _is_valid(each)), text)
    return text


def _planted(kind: str, text: str, chance: random.Random) -> Hostile:
    return Hostile(kind, _written(text + PLANTED, chance), planted=True)


def _written(text: str, chance: random.Random) -> bytes:
    """``text`` in one of the ways in which files hold text."""
    way = chance.randrange(12)
    if way == 0:
        text = text.replace("\n", "\r\n")
    elif way == 1:
        text = "".join(chance.choice(("\n", "\r\n", "\r")) if char == "\n" else char for char in text)
    elif way == 2:
        return b"\xef\xbb\xbf" + text.encode("utf-8", "replace")
    elif way == 3:
        coding = chance.choice(_CODINGS)
        with contextlib.suppress(LookupError, UnicodeError):
            return f"# coding: {coding}\n{text}".encode(coding, "replace")
        return f"# coding: {coding}\n{text}".encode("utf-8", "replace")
    elif way == 4:
        text = text.rstrip("\n")
    return text.encode("utf-8", "replace")


def _delete_rows(text: str, chance: random.Random) -> str:
    rows = text.splitlines(True)
    start = chance.randrange(len(rows) + 1)
    return "".join(rows[:start] + rows[start + chance.randrange(1, 4) :])


def _repeat_rows(text: str, chance: random.Random) -> str:
    rows = text.splitlines(True)
    start = chance.randrange(len(rows) + 1)
    end = start + chance.randrange(1, 6)
    return "".join(rows[:end] + rows[start:])


def _swap_rows(text: str, chance: random.Random) -> str:
    rows = text.splitlines(True)
    if len(rows) > 1:
        one, other = chance.sample(range(len(rows)), 2)
        rows[one], rows[other] = rows[other], rows[one]
    return "".join(rows)


def _indent(text: str, chance: random.Random) -> str:
    rows = text.splitlines(True)
    start = chance.randrange(len(rows) + 1)
    end = start + chance.randrange(1, 8)
    by = chance.choice(("    ", "\t", " ", "\f"))
    moved = [by + row if chance.random() < 0.7 else row.removeprefix("    ") for row in rows[start:end]]
    return "".join(rows[:start] + moved + rows[end:])


def _tokens(text: str) -> list[str]:
    return re.findall(r"\w+|\s+|[^\w\s]", text)


def _change_tokens(text: str, chance: random.Random) -> str:
    tokens = _tokens(text)
    for _ in range(chance.randrange(1, 4)):
        if tokens:
            place = chance.randrange(len(tokens))
            tokens[place] = chance.choice(("", tokens[place] * 2, chance.choice(tokens), chance.choice(_WORDS)))
    return "".join(tokens)


def _wrap_rows(text: str, chance: random.Random) -> str:
    """Some rows under one more statement, as a user would put them."""
    rows = text.splitlines(True)
    start = chance.randrange(len(rows) + 1)
    end = start + chance.randrange(1, 10)
    indent = re.match(r"[ \t]*", rows[start])[0] if start < len(rows) else ""  # type: ignore[index]
    moved = [f"    {row}" for row in rows[start:end]]
    return "".join([*rows[:start], f"{indent}{chance.choice(_HEADS)}\n", *moved, *rows[end:]])


def _splice(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text) + 1)
    return text[:place] + chance.choice(_SPLINTERS) + text[place:]


_WORDS = (
    "None",
    "await",
    "yield",
    "lambda: 0",
    "*",
    "**",
    "(",
    ")",
    ":",
    "=",
    ":=",
    "scaler",
    "optimizer",
    "global",
    "f'",
)
_HEADS = ("if flag:", "try:", "while True:", "with x as y:", "def f():", "class A:", "for i in f(i):", "async def f():",
          "match x:", "else:", "finally:", "except* E:", "@decorated")  # fmt: skip
_SPLINTERS = ("\0", "\f", "\t", "\r", "\\\n", '"""', "'", "#", "\ufeff", "\u2028", "\ud800", "\u202e", "é", "𝐱", "{",
              ";", "%cd\n", "!ls\n", "from __future__ import annotations\n", "# noqa: AMP201", "; ", "(" * 150,
              "-" * 4000)  # fmt: skip
_MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    _delete_rows,
    _repeat_rows,
    _swap_rows,
    _swap_rows,
    _indent,
    _change_tokens,
    _wrap_rows,
    _splice,
)


def _spoiled(content: bytes, chance: random.Random) -> bytes:
    spoiled = bytearray(content)
    for _ in range(chance.choice((1, 2, 5, 30))):
        if spoiled:
            place = chance.randrange(len(spoiled))
            end = place + chance.randrange(3)
            spoiled[place:end] = chance.randbytes(chance.randrange(3))
    return bytes(spoiled)


def examine(document: Hostile, folder: Path) -> None:
    """Lint ``document`` and fix it twice in ``folder``; raises :class:`Broken`."""
    path = folder / f"x{document.suffix}"
    path.write_bytes(document.content)
    valid = _is_valid(document.content)
    linted = _run(path, fix=False)
    _expect(path.read_bytes() == document.content, "it was written without --fix")
    _expect(os.listdir(folder) == [path.name], "something was left beside it")
    said = _codes(linted)
    if isinstance(linted, Report):
        _expect(not linted.problems, f"it could not be done: {linted.problems}")
        if valid and document.suffix.startswith(".py"):
            known = "deeply" in str(linted.findings) or _BEYOND_LIBCST.search(document.content)
            _expect("AMP902" not in said or bool(known), f"it is Python: {linted.findings}")
        if document.planted and valid and "AMP902" not in said and not _SILENCED.search(linted.document.text):
            _expect("AMP201" in said, "it was passed over in silence")
    with _recorded() as edits:
        fixed = _run(path, fix=True)
    content = path.read_bytes()
    if isinstance(fixed, Problem):
        _expect(isinstance(linted, Problem) and content == document.content, f"fixing failed: {fixed.message}")
        return
    _expect(not fixed.problems, f"it could not be fixed: {fixed.problems}")
    _expect(bool(fixed.healed) == (content != document.content), "what was changed is not what was told")
    if fixed.healed and document.suffix.startswith(".py"):
        _expect(not valid or _is_valid(content), "it no longer compiles")
        _expect(content in _reached(document.content, edits), "more than the edits changed")
    again = _run(path, fix=True)
    _expect(path.read_bytes() == content, "fixing it again changed it again")
    _expect(_codes(again) == _codes(fixed), "a second run says something else")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)


def _run(path: Path, *, fix: bool) -> Report | Problem:
    """What comes of the file; of one that is Python and holds no word of any rule nothing does."""
    options = Options(Selection(("ALL",)), fix=fix, unsafe_fixes=True, isolated=True, include_docs=True)
    results = list(Project(options).check([str(path)]))
    return results[0] if results else Report(Document.read(path))


def _codes(result: Report | Problem) -> Counter[str]:
    return Counter() if isinstance(result, Problem) else Counter(finding.code for finding in result.findings)


def _is_valid(content: bytes | str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError):
            return False
    return True


_Edited = tuple[Document, tuple[Edit, ...]]


@contextlib.contextmanager
def _recorded() -> Iterator[list[_Edited]]:
    """Every document that is edited meanwhile, with its edits."""
    known: list[_Edited] = []
    edited = Document.edited

    def record(self: Document, edits: Iterator[Edit]) -> Document:
        kept = tuple(edits)
        known.append((self, kept))
        return edited(self, kept)

    with patch.object(Document, "edited", record):
        yield known


def _reached(content: bytes, edited: list[_Edited]) -> set[bytes]:
    """What ``content`` can have become by the edits, made here on its bytes and not on its text."""
    reached = {content}
    for document, edits in edited:
        before = _encoded(document, document.text)
        if before not in reached:
            continue
        mark = len(before) - len(document.text.encode(document.encoding))
        after, position = b"", 0
        for edit in sorted(set(edits), key=lambda edit: (edit.start.offset, edit.end.offset)):
            start, end = (
                mark + len(document.text[: at.offset].encode(document.encoding)) for at in (edit.start, edit.end)
            )
            after += before[position:start] + edit.content.encode(document.encoding)
            position = end
        reached.add(after + before[position:])
    return reached


def _encoded(document: Document, text: str) -> bytes:
    mark = b"\xef\xbb\xbf" if document.content.startswith(b"\xef\xbb\xbf") else b""
    return mark + text.encode(document.encoding)


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise :class:`Broken` where what is done meanwhile takes longer, if the system can tell."""

    def stop(*_: object) -> None:
        raise Broken(f"it took more than {seconds} seconds")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    known = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, known)


def broken(seed: int, count: int, kept: Path | None = None, begin: int = 0) -> list[str]:
    """What does not hold of ``count`` documents but the first ``begin``, a line each; those go into ``kept``."""
    told = []
    for number, document in enumerate(documents(seed, count)):
        if number < begin:
            continue
        if kept is not None:
            kept.joinpath(f"current{document.suffix}").write_bytes(document.content)
        with tempfile.TemporaryDirectory() as folder:
            try:
                with limited(SECONDS):
                    examine(document, Path(folder))
            except Exception as error:
                told.append(f"{number} ({document.kind}): {type(error).__name__}: {error}")
                if kept is not None:
                    kept.joinpath(f"{seed}-{number}{document.suffix}").write_bytes(document.content)
                    print(told[-1], flush=True)
        if kept is not None and number % 500 == 499:
            print(f"{number + 1} done, {len(told)} broken, {time.process_time():.0f} s", flush=True)
    return told


if __name__ == "__main__":
    here = Path(tempfile.mkdtemp(prefix="hostile-"))
    print(f"what is broken is kept in {here}", flush=True)
    seed, count, *begin = map(int, sys.argv[1:])
    sys.exit(1 if broken(seed, count, here, *begin) else 0)
