"""Rules that look into what a document imports: run over the merged text, and told as findings of the document."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from amplint.analysis import Analyses
from amplint.documents import Document
from amplint.findings import Finding, Location, Related
from amplint.mentions import Mention, Mentions
from amplint.merging import Merged, Part, merge
from amplint.modules import Source
from amplint.rule import Context, Rule
from amplint.syntax.units import Units


class Importing:
    """A document with those definitions that it imports which hold one of ``mentions``."""

    def __init__(self, context: Context, mentions: Iterable[Mention]) -> None:
        self._context = context
        self._mentions = Mentions(mentions)
        self._alone: dict[tuple[str, str], frozenset[int]] = {}

    def check(self, rule: Rule) -> Iterator[Finding]:
        """What ``rule`` finds in the document, and what comes of it in the files that it imports from."""
        merged = self._merged
        if merged is None:
            yield from rule.check(self._context)
            return
        for finding in rule.check(self._whole):
            if finding.start.offset < merged.own:
                yield self._told(finding, merged)
                continue
            part = merged.part(finding.start.row)
            call = None if part is None else self._call(part)
            if part is None or call is None or self._row(part, finding.start) in self._rows_alone(part.path, rule):
                continue  # said of that file, or by no doing of this one
            there = self._elsewhere(Related("it happens here", finding.start, finding.end), part)
            finding = replace(finding, start=call[0], end=call[1], candidates=())
            finding = finding.without_fix("a part of it stands in another file")
            yield self._told(replace(finding, related=(there, *finding.related)), merged)

    @cached_property
    def _merged(self) -> Merged | None:
        modules = self._context.analyses.modules
        if modules is None:
            return None

        def matters(text: str) -> bool:
            return self._mentions.stand_in(text.encode("utf-8", "surrogatepass"))

        return merge(self._context.document.text, modules, matters)

    @cached_property
    def _whole(self) -> Context:
        assert self._merged is not None
        context = self._context
        document = Document.from_source(context.document.filename, self._merged.text)
        return Context(document, context.target_torch, context.analyses.of_merged, offers_fixes=context.offers_fixes)

    def _told(self, finding: Finding, merged: Merged) -> Finding:
        """The finding without edits of other files, and with the places in those that explain it."""
        related = []
        for place in finding.related:
            part = None if place.filename or place.start.offset < merged.own else merged.part(place.start.row)
            related.append(place if part is None else self._elsewhere(place, part))
        candidates = tuple(
            fix for fix in finding.candidates if all(edit.end.offset <= merged.own for edit in fix.edits)
        )
        return replace(finding, related=tuple(related), candidates=candidates)

    def _row(self, part: Part, place: Location) -> int:
        return place.row - part.row + part.first

    def _elsewhere(self, place: Related, part: Part) -> Related:
        """A place of the merged text as one in the file that it comes from."""
        start, end = ((self._row(part, each), each.column) for each in (place.start, place.end))
        return self._source(part.path).related(place.message, start, end)

    def _source(self, path: str) -> Source:
        modules = self._context.analyses.modules
        assert modules is not None
        return modules.source(path)

    def _rows_alone(self, path: str, rule: Rule) -> frozenset[int]:
        """The rows at which ``rule`` finds something in another file by itself."""
        if (path, rule.code) not in self._alone:
            context = Context(
                Document.from_source(path, self._source(path).text), self._context.target_torch, Analyses()
            )
            self._alone[path, rule.code] = frozenset(finding.start.row for finding in type(rule)().check(context))
        return self._alone[path, rule.code]

    def _call(self, part: Part) -> tuple[Location, Location] | None:
        """The first call, or else the first use, that the document makes of what needs a part."""
        units = Units(self._context.document.text)
        names = (node for node in ast.walk(units.tree) if isinstance(node, ast.Name) and node.id in part.names)
        used = [name for name in names if isinstance(name.ctx, ast.Load)]
        calls = {id(node.func): node for node in ast.walk(units.tree) if isinstance(node, ast.Call)}
        for name in sorted(used, key=lambda name: (id(name) not in calls, name.lineno, name.col_offset)):
            node = calls.get(id(name), name)
            start = units.offset(node.lineno, node.col_offset)
            end = units.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
            return self._context.document.location(start), self._context.document.location(end)
        return None
