"""A rule pack as a team would write its own: small rules over words, by which amplint's machinery is tested."""

from __future__ import annotations

import re
from collections.abc import Iterator

from amplint.findings import Applicability, Finding, Fix, Related, Severity
from amplint.rule import Context, Rule


class _Word(Rule):
    """Finds every name ``word``; ``replacements`` are its candidates."""

    severity = Severity.ERROR
    since = "1.0"
    summary = "a word that should not be there"
    word = ""
    replacements: tuple[tuple[str, Applicability], ...] = ()
    reason: str | None = None

    def check(self, context: Context) -> Iterator[Finding]:
        document = context.document
        for match in re.finditer(rf"\b{self.word}\b", document.text):
            start, end = match.span()
            yield Finding(
                self.code,
                f"`{self.word}` is found",
                self.severity,
                document.location(start),
                document.location(end),
                help=f"Do without `{self.word}`",
                candidates=tuple(
                    Fix(f"Replace by `{text}`", (document.edit(start, end, text),), applicability)
                    for text, applicability in self.replacements
                ),
                no_fix_reason=self.reason,
            )


class Bad(_Word):
    """Has a safe fix."""

    code, name, word = "DEMO001", "bad-word", "bad"
    fixable = "always"
    mentions = (b"bad",)
    replacements = (("good", Applicability.SAFE),)


class Risky(_Word):
    """Has an unsafe fix."""

    code, name, word = "DEMO002", "risky-word", "risky"
    severity = Severity.WARNING
    mentions = (b"risky",)
    replacements = (("calm", Applicability.UNSAFE),)


class Stuck(_Word):
    """Has no fix, and another place to point to."""

    code, name, word = "DEMO003", "stuck-word", "stuck"
    mentions = (b"stuck",)
    reason = "nobody knows how"

    def check(self, context: Context) -> Iterator[Finding]:
        from dataclasses import replace

        document = context.document
        for finding in super().check(context):
            yield replace(
                finding, related=(Related("the file begins here", document.location(0), document.location(1)),)
            )


class Crash(Rule):
    """Fails where it is asked to."""

    code, name, severity, since, summary = "DEMO004", "crash", Severity.ERROR, "1.0", "fails"
    mentions = (b"crash_here",)

    def check(self, context: Context) -> Iterator[Finding]:
        if "crash_here" in context.document.text:
            raise ZeroDivisionError("as asked")
        return iter(())


class Hopeless(_Word):
    """Its fixes break the syntax, change nothing, or bring another finding."""

    code, name, word = "DEMO005", "hopeless-word", "hopeless"
    mentions = (b"hopeless",)
    replacements = (("(", Applicability.SAFE), ("+hopeless", Applicability.SAFE), ("stuck", Applicability.SAFE))


class Second(_Word):
    """Its first fix does not heal, its second does."""

    code, name, word = "DEMO006", "second-word", "second"
    mentions = (b"second",)
    replacements = (("stuck", Applicability.SAFE), ("fine", Applicability.SAFE))


class Line(_Word):
    """Inserts a line after the word's."""

    code, name, word = "DEMO008", "lonely-word", "lonely"
    mentions = (b"lonely",)

    def check(self, context: Context) -> Iterator[Finding]:
        from dataclasses import replace

        document = context.document
        if "import company" in document.text:
            return
        for finding in super().check(context):
            fix = Fix("Add company", (document.edit(0, 0, "import company\n"),))
            yield replace(finding, candidates=(fix,))


class Optional(_Word):
    """Off unless asked for."""

    code, name, word = "DEMO101", "optional-word", "optional"
    default = False
    mentions = (b"optional",)


RULES = (Bad, Risky, Stuck, Crash, Hopeless, Second, Line, Optional)
