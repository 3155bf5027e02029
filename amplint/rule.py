"""What a rule is: its metadata, its page, and the context in which it looks at a document."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, ClassVar

from amplint.analysis import Analyses
from amplint.documents import Document
from amplint.findings import Edit, Finding, Fix, Related, Severity
from amplint.mentions import Mention, Mentions
from amplint.modules import Modules

if TYPE_CHECKING:  # LibCST is imported only when a document needs a tree
    import libcst as cst

    from amplint.flow import ProtocolReport
    from amplint.flow.intent import Intent
    from amplint.precision import PrecisionReport
    from amplint.syntax.names import Names
    from amplint.syntax.tree import SyntaxTree
    from amplint.training.training import Training


@dataclass(frozen=True, slots=True)
class TargetTorch:
    """The lowest torch that a project supports, and where that was read, in words for a message.

    It is ``configured`` where somebody told amplint so.
    """

    version: tuple[int, int]
    source: str
    configured: bool = False

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


class Context:
    """One document as the rules see it; every view of it is made once, when the first rule asks.

    ``analyses`` are those of the texts that came before, where there are any: what a fix makes is looked at again.
    Where nobody is to be offered a fix, ``offers_fixes`` is false, and no time need be spent on them.
    """

    def __init__(
        self,
        document: Document,
        target_torch: TargetTorch | None = None,
        analyses: Analyses | None = None,
        *,
        offers_fixes: bool = True,
    ) -> None:
        self.document = document
        self.target_torch = target_torch
        self.offers_fixes = offers_fixes
        self.analyses = Analyses(Modules.around(document.filename)) if analyses is None else analyses
        self._analysis = self.analyses.of(document.text)

    @property
    def tree(self) -> SyntaxTree:
        """The LibCST tree; raises :class:`amplint.syntax.tree.InvalidSyntax`."""
        return self._analysis.tree

    def afresh(self) -> Context:
        """The same document, looked at as if for the first time."""
        analyses = Analyses(self.analyses.modules)
        return Context(self.document, self.target_torch, analyses, offers_fixes=self.offers_fixes)

    @property
    def is_parsed(self) -> bool:
        """Whether any rule has asked for the tree."""
        return self._analysis.is_parsed

    @property
    def names(self) -> Names:
        """Qualified names of the tree's references, through its imports."""
        return self._analysis.names

    @property
    def protocol(self) -> ProtocolReport:
        """What the gradient-scaler automaton rejects on the document's feasible paths."""
        return self._analysis.protocol

    @property
    def left(self) -> tuple[str, ...]:
        """The functions that :attr:`protocol` left, if any rule has asked for it yet."""
        return self._analysis.left

    @property
    def consulted(self) -> Mapping[str, str | None]:
        """The other files that were looked into, with the digests of their contents: None where there was none."""
        return {} if self.analyses.modules is None else self.analyses.modules.consulted

    @property
    def training(self) -> Training:
        """What the document trains with: scalers, regions, and where their values come from."""
        return self._analysis.training

    @property
    def precision(self) -> PrecisionReport:
        """Where autocast is on, and which operations meet which dtypes."""
        return self._analysis.precision

    @cached_property
    def intent(self) -> Intent:
        """What can be written into the document to mend a violation of the protocol."""
        from amplint.flow.intent import Intent

        return Intent(self.document, self.tree, self.protocol, self.analyses, self.offers_fixes)

    def finding(
        self,
        rule: Rule,
        node: cst.CSTNode,
        message: str,
        *,
        help: str | None = None,
        related: tuple[Related, ...] = (),
        candidates: tuple[Fix, ...] = (),
        no_fix_reason: str | None = None,
    ) -> Finding:
        """A finding of ``rule`` at ``node``."""
        start, end = self.tree.span(node)
        location = self.document.location
        return Finding(
            rule.code,
            message,
            rule.severity,
            location(start),
            location(end),
            help,
            related,
            candidates,
            no_fix_reason=no_fix_reason,
        )

    def edits(self, changes: Iterable[tuple[int, int, str]]) -> tuple[Edit, ...]:
        """The edits of changes by offsets; what is inserted at one place is inserted by one edit."""
        merged: dict[tuple[int, int], str] = {}
        for start, end, content in dict.fromkeys(changes):
            merged[start, end] = merged.get((start, end), "") + content
        return tuple(self.document.edit(start, end, content) for (start, end), content in sorted(merged.items()))

    def related(self, node: cst.CSTNode, message: str) -> Related:
        """A place that explains a finding."""
        start, end = self.tree.span(node)
        return Related(message, self.document.location(start), self.document.location(end))


@dataclass(frozen=True, slots=True)
class Survey:
    """What the rules that ran over a document found there, whatever its comments silence.

    ``codes`` are of the rules that ran without failing. What is ``partial`` may lack findings: not every function could
    be followed.
    """

    findings: tuple[Finding, ...]
    codes: frozenset[str]
    partial: bool = False


class Rule:
    """One kind of fault.

    A subclass states its metadata as class attributes and its page as its module's docstring (what it does, why is
    this bad, example, use instead, fix safety, references), and yields its findings from :meth:`check`.

    A rule that is not ``selectable`` reports always, whatever is selected, ignored or suppressed. One that is silenced
    ``by_name`` is so only by a comment that names its code.

    ``mentions`` are byte strings of which a text must hold at least one for the rule to have anything to say; a tuple
    of several stands for all of them together, the rarest first. The prefilter reads nothing more of a file that
    holds none of any rule's, and a rule is asked about no text that holds none of its own.

    ``imported_mentions`` are such byte strings for the definitions that a document imports from its own project: a rule
    that has some sees those that hold one as if they stood in the document.

    ``url`` is where the rule's page is published, if it is; of a rule of amplint's own it follows from the
    documentation that amplint's metadata names, see :meth:`page_url`.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    since: ClassVar[str]
    summary: ClassVar[str]
    fixable: ClassVar[str] = "never"  # never, sometimes or always
    default: ClassVar[bool] = True
    selectable: ClassVar[bool] = True
    by_name: ClassVar[bool] = False
    mentions: ClassVar[tuple[Mention, ...]] = ()
    imported_mentions: ClassVar[tuple[Mention, ...]] = ()
    url: ClassVar[str | None] = None

    @classmethod
    def may_concern(cls, content: bytes) -> bool:
        """Whether the rule may have something to say about a text."""
        return not cls.mentions or Mentions(cls.mentions).stand_in(content)

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield what the rule finds in the document."""
        raise NotImplementedError

    def review(self, context: Context, survey: Survey) -> Iterator[Finding]:
        """Yield what the rule finds in what the others found; most rules have nothing to say to that."""
        return iter(())

    @classmethod
    def is_own(cls) -> bool:
        """Whether it is one of amplint's own."""
        return cls.__module__.startswith("amplint.rules.")

    @classmethod
    def page_url(cls) -> str | None:
        """Where the rule's page is published, if it is: at its ``url``, or on the site of amplint's own rules."""
        site = documentation_url() if cls.url is None and cls.is_own() else None
        return f"{site}/rules/{cls.name}/" if site else cls.url

    @classmethod
    def page(cls) -> str:
        """The rule's documentation in Markdown: its module's docstring, or its own where several share a module."""
        module = inspect.getmodule(cls)
        heading = f"# {cls.name} ({cls.code})"
        for text in (module and module.__doc__, cls.__doc__ or ""):
            page = inspect.cleandoc(text or "")
            if page.startswith(heading):
                return page
        return f"{heading}\n\n{page or cls.summary}"


@cache
def documentation_url() -> str | None:
    """Where amplint's site is published, as its metadata says: ``Documentation`` among ``[project.urls]``, if it is."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        named = metadata("amplint").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    urls = dict(entry.partition(", ")[::2] for entry in named)
    return urls["Documentation"].rstrip("/") if "Documentation" in urls else None
