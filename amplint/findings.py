"""What amplint says about a document: plain data, shared by every layer above."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace


class Severity(enum.Enum):
    """How sure the harm is: error crashes or is silently wrong, warning is likely wrong, info is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Applicability(enum.Enum):
    """Safe fixes keep the meaning or restore the plainly intended one; unsafe ones change numerics or structure."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, order=True, slots=True)
class Location:
    """A place in a document's text.

    ``offset`` counts characters from the start of the text (0-based); ``row`` and ``column`` are 1-based,
    the column in characters.
    """

    offset: int
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from ``start`` up to ``end`` by ``content``; an insertion has ``start == end``."""

    start: Location
    end: Location
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """An atomic bundle: all of its edits are applied, or none of them."""

    message: str
    edits: tuple[Edit, ...]
    applicability: Applicability = Applicability.SAFE


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that explains a finding, such as the backward whose gradients are misused.

    ``filename`` is None for a place in the finding's own document.
    """

    message: str
    start: Location
    end: Location
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault in one document.

    A rule proposes its fixes, best first, in ``candidates``; the fixer keeps as ``fix`` the first one that heals
    the finding and brings no new one. Where there is none, ``no_fix_reason`` says why, in words for the user.
    """

    code: str
    message: str
    severity: Severity
    start: Location
    end: Location
    help: str | None = None
    related: tuple[Related, ...] = ()
    candidates: tuple[Fix, ...] = ()
    fix: Fix | None = None
    no_fix_reason: str | None = None

    def with_fix(self, fix: Fix) -> Finding:
        """The same finding offering ``fix``."""
        return replace(self, fix=fix, no_fix_reason=None)

    def without_fix(self, reason: str | None) -> Finding:
        """The same finding offering no fix, for ``reason``."""
        return replace(self, fix=None, no_fix_reason=reason)
