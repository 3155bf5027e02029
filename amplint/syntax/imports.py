"""Small edits of import statements by offsets: move names to another module, rename them, drop them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Sequence

import libcst as cst

from amplint.syntax.arguments import Change
from amplint.syntax.names import ImportedName, Names, module_of

_PRAGMA = re.compile(r"#\s*(?:noqa|type:|pyright|pylint|isort|mypy|ruff)", re.IGNORECASE)


class Imports:
    """Edits the import statements of one document."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.tree = names.tree
        self.text = names.tree.text

    def move(self, moved: Sequence[ImportedName], module: str) -> list[Change]:
        """Let names of one ``from`` import come from ``module``.

        An existing import of ``module`` beside it takes them in; a statement that is left empty goes.
        """
        statement = moved[0].statement
        assert isinstance(statement, cst.ImportFrom) and not isinstance(statement.names, cst.ImportStar)
        aliases = [imported.alias for imported in moved if imported.alias is not None]
        spelled = [self.tree.code(alias) for alias in aliases]
        whole = len(aliases) == len(statement.names)
        existing = self._existing(statement, module)
        if whole and (existing is None or self._has_comment(statement) or not self.removable(statement)):
            assert statement.module is not None
            return [Change(*self.tree.span(statement.module), module)]
        if existing is not None:
            added = self.add(existing, spelled)
            return [*added, *(self.remove_statement(statement) if whole else self.remove(statement, aliases))]
        comments = self._comments_of(statement, aliases)
        code = f"from {module} import {', '.join(spelled)}"
        return [self.insert_before(statement, code, comments), *self.remove(statement, aliases)]

    def rename(self, renamed: Iterable[tuple[ImportedName, str]]) -> list[Change]:
        """Import other names of the same module: ``from torch import old`` becomes ``from torch import new``."""
        changes: list[Change] = []
        dropped: list[cst.ImportAlias] = []
        statement: cst.ImportFrom | None = None
        kept: set[str] = set()
        for imported, new in renamed:
            alias = imported.alias
            assert alias is not None and isinstance(imported.statement, cst.ImportFrom)
            statement = imported.statement
            if alias.asname is None:
                if new in kept or new in imported.scope.bindings:
                    dropped.append(alias)
                    continue
                kept.add(new)
            changes.append(Change(*self.tree.span(alias.name), new))
        if dropped and statement is not None:
            assert not isinstance(statement.names, cst.ImportStar)
            if len(dropped) == len(statement.names):
                return changes + self.remove_statement(statement)
            changes += self.remove(statement, dropped)
        return changes

    def insert_before(self, statement: cst.BaseSmallStatement, code: str, comments: Sequence[str] = ()) -> Change:
        """Put the statement ``code`` before ``statement``, on a line of its own where that one begins its line."""
        start, _ = self.tree.span(statement)
        indent = self.text[self._line_start(start) : start]
        if indent.strip():
            return Change(start, start, f"{code}; ")
        trailing = "".join(f"  {comment}" for comment in comments)
        return Change(start, start, f"{code}{trailing}{self.newline}{indent}")

    @property
    def newline(self) -> str:
        """The newline that the document uses."""
        found = re.search(r"\r\n|\n|\r", self.text)
        return found.group() if found else "\n"

    def removable(self, statement: cst.BaseSmallStatement) -> bool:
        """Whether a block would still have a statement without this one."""
        line = self.names.parent(statement)
        if not isinstance(line, cst.SimpleStatementLine):
            return False
        if len(line.body) > 1:
            return True
        block = self.names.parent(line)
        return isinstance(block, cst.Module) or (isinstance(block, cst.IndentedBlock) and len(block.body) > 1)

    def remove_statement(self, statement: cst.BaseSmallStatement) -> list[Change]:
        """Drop a removable statement, with its line where it has one of its own; comments stay."""
        line = self.names.parent(statement)
        assert isinstance(line, cst.SimpleStatementLine)
        start, end = self.tree.span(statement)
        if len(line.body) > 1:
            index = line.body.index(statement)
            if index + 1 < len(line.body):
                return [Change(start, self.tree.span(line.body[index + 1])[0], "")]
            return [Change(self.tree.span(line.body[index - 1])[1], end, "")]
        comment = self.tree.whole(line).trailing_whitespace.comment
        if comment is not None and not _PRAGMA.match(comment.value):
            return [Change(start, self.text.index(comment.value, end), "")]
        return [Change(self._line_start(start), self._line_end(end), "")]

    def remove(self, statement: cst.Import | cst.ImportFrom, aliases: Collection[cst.ImportAlias]) -> list[Change]:
        """Drop some, not all, of the names of a statement."""
        assert not isinstance(statement.names, cst.ImportStar)
        parenthesised = isinstance(statement, cst.ImportFrom) and self.tree.whole(statement).lpar is not None
        changes: list[Change] = []
        kept: cst.ImportAlias | None = None
        run: list[cst.ImportAlias] = []
        rest: list[cst.ImportAlias] = []
        for alias in statement.names:
            own_lines = self._own_lines(alias) if parenthesised and alias in aliases else None
            if own_lines is not None:
                changes.append(Change(*own_lines, ""))
            else:
                rest.append(alias)
        # The others go with the comma after them, or before them where nothing kept follows.
        for follower in (*rest, None):
            if follower is not None and follower in aliases:
                run.append(follower)
                continue
            if run:
                if kept is not None:
                    changes.append(Change(self.tree.span(kept)[1], self.tree.span(run[-1])[1], ""))
                else:
                    assert follower is not None
                    changes.append(Change(self.tree.span(run[0])[0], self.tree.span(follower)[0], ""))
                run = []
            kept = follower or kept
        return [
            change
            for change in changes
            if not any(o is not change and o.start <= change.start and change.end <= o.end for o in changes)
        ]

    # -- the parts of a statement --------------------------------------------------------------------------------

    def _existing(self, statement: cst.ImportFrom, module: str) -> cst.ImportFrom | None:
        """An import of ``module`` in the same block that runs before ``statement``, or after imports only."""
        block = self.names.parent(self.names.parents[statement])
        if not isinstance(block, (cst.Module, cst.IndentedBlock)):
            return None
        found: cst.ImportFrom | None = None
        passed = False
        for line in block.body:
            small = line.body if isinstance(line, cst.SimpleStatementLine) else ()
            for candidate in small:
                if candidate is statement:
                    if found is not None:
                        return found
                    passed = True
                elif (
                    isinstance(candidate, cst.ImportFrom)
                    and not isinstance(candidate.names, cst.ImportStar)
                    and module_of(candidate) == module
                ):
                    found = candidate
                    if passed:
                        return found
            if passed and not all(
                isinstance(candidate, (cst.Import, cst.ImportFrom)) for candidate in small or (line,)
            ):
                return None
        return None

    def add(self, statement: cst.ImportFrom, spelled: Iterable[str]) -> list[Change]:
        """Import more names by a statement, where its own are sorted in their places."""
        assert not isinstance(statement.names, cst.ImportStar)
        present = {self.tree.code(alias) for alias in statement.names}
        missing = [code for code in spelled if code not in present]
        if not missing:
            return []
        start, end = self.tree.span(statement.names[-1])
        indent = self.text[self._line_start(start) : start]
        own_line = self.tree.whole(statement).lpar is not None and not indent.strip()
        separator = f",{self.newline}{indent}" if own_line else ", "
        places: dict[int, list[str]] = {}
        for code in missing:
            places.setdefault(self._place_for(code, statement.names), []).append(code)
        changes: list[Change] = []
        for place, codes in places.items():
            if place == len(statement.names):
                changes.append(Change(end, end, "".join(separator + code for code in codes)))
            else:
                before, _ = self.tree.span(statement.names[place])
                changes.append(Change(before, before, "".join(code + separator for code in codes)))
        return changes

    def _place_for(self, code: str, aliases: Sequence[cst.ImportAlias]) -> int:
        """Before which of a statement's names another one goes: where they are sorted, in their order; else last."""
        names = [self.tree.code(alias) for alias in aliases]
        if any("#" in self.text[self.tree.span(a)[0] : self.tree.span(b)[0]] for a, b in itertools.pairwise(aliases)):
            return len(names)
        if names == sorted(names, key=_order):
            return next((index for index, name in enumerate(names) if _order(name) > _order(code)), len(names))
        return len(names)

    def _own_lines(self, alias: cst.ImportAlias) -> tuple[int, int] | None:
        """The lines of an alias that has them for itself, with its comma and comment."""
        start, end = self.tree.span(alias)
        first = self._line_start(start)
        comma = self.tree.whole(alias).comma
        if isinstance(comma, cst.Comma):
            end = self.tree.span(comma)[1]
        last = self._line_end(end)
        rest = self.text[end:last].strip()
        if self.text[first:start].strip() or (rest and not rest.startswith("#")):
            return None
        return first, last

    def _has_comment(self, statement: cst.ImportFrom) -> bool:
        line = self.names.parent(statement)
        return self._trailing(line) is not None or "#" in self.tree.code(statement)

    def _comments_of(self, statement: cst.ImportFrom, aliases: Sequence[cst.ImportAlias]) -> list[str]:
        """The comments that a new statement for ``aliases`` must have: theirs, and pragmas for the whole statement."""
        comments: list[str] = []
        for change in self.remove(statement, aliases):
            comments += re.findall(r"#[^\r\n]*", self.text[change.start : change.end])
        line = self.names.parent(statement)
        trailing = self._trailing(line)
        if trailing is not None and _PRAGMA.match(trailing.value):
            comments.append(trailing.value)
        return [comment.rstrip() for comment in comments]

    def _trailing(self, line: cst.CSTNode | None) -> cst.Comment | None:
        return self.tree.whole(line).trailing_whitespace.comment if isinstance(line, cst.SimpleStatementLine) else None

    def _line_start(self, offset: int) -> int:
        return max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1

    def _line_end(self, offset: int) -> int:
        """The offset behind the newline that ends the line of ``offset``."""
        found = re.compile(r"\r\n|\n|\r").search(self.text, offset)
        return found.end() if found else len(self.text)


def _order(name: str) -> tuple[int, str]:
    """The order that isort and Ruff give the names of an import: constants, classes, others."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name.lower()
