"""# unused-suppression (AMP901)

## What it does
Reports a comment that silences an amplint rule where that rule finds nothing: `# noqa: AMP101`,
`# amplint: ignore[AMP101]`, `# amplint: disable-file`, and their kin. So are a code that no rule has, and a comment
that is plainly meant for amplint but cannot be read, such as `# amplint: ignore[clip-before-unscale]`.

## Why is this bad?
The comment outlives its reason, and then hides the next fault that comes to its line. A step of the optimizer past its
scaler, say, leaves the gradients 65536 times too large without any message.

What may be meant for other linters is left alone: a bare `# noqa`, and codes that are not amplint's. So are codes of
rules that do not run here, and files in which not every function could be followed.

## Example
```python
scaler.step(optimizer)  # noqa: AMP101
```

## Use instead
```python
scaler.step(optimizer)
```

## Fix safety
The fix is safe: it takes the code out of the comment, or the comment away, and changes no code. There is none for a
comment that cannot be read. Only a comment that
names AMP901 silences this rule.

## References
- [Ruff: unused-noqa (RUF100)](https://docs.astral.sh/ruff/rules/unused-noqa/)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.documents import Document
from amplint.findings import Edit, Finding, Fix, Severity
from amplint.rule import Context, Rule, Survey

if TYPE_CHECKING:
    from amplint.suppressions import Directive


class UnusedSuppression(Rule):
    code = "AMP901"
    name = "unused-suppression"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "a comment that silences a rule where it finds nothing"
    fixable = "sometimes"
    by_name = True
    mentions = (b"amplint:", b"noqa: AMP", b"noqa:AMP")

    def check(self, context: Context) -> Iterator[Finding]:
        return iter(())

    def review(self, context: Context, survey: Survey) -> Iterator[Finding]:
        from amplint.suppressions import Suppressions

        if survey.partial or "AMP902" in {finding.code for finding in survey.findings}:
            return
        if not Suppressions.stand_in(context.document):
            return
        suppressions = Suppressions(context.document)
        used = [
            (directive, finding.code)
            for finding in survey.findings
            for directive in suppressions.silencing(finding)
            if _suppressible(finding.code)
        ]
        for directive in suppressions.directives:
            needed = {code for used_directive, code in used if used_directive is directive}
            unused = _unused(directive, needed, survey)
            if unused is not None:
                yield self._finding(context.document, directive, unused)
        for directive in suppressions.malformed:
            yield self._unreadable(directive)

    def _unreadable(self, directive: Directive) -> Finding:
        return Finding(
            self.code,
            "This comment silences nothing: codes of rules, such as `AMP101`, are expected in it",
            self.severity,
            directive.start,
            directive.end,
            help="Name codes, as in `# noqa: AMP101`, `# amplint: ignore[AMP101]` or `# amplint: disable-file[AMP101]`",
            no_fix_reason="it cannot be told what was meant",
        )

    def _finding(self, document: Document, directive: Directive, unused: tuple[str, ...]) -> Finding:
        edit = _without(document, directive, unused)
        whole = not unused or set(directive.codes) <= set(unused)
        return Finding(
            self.code,
            _told(directive, unused),
            self.severity,
            directive.start,
            directive.end,
            help=f"Remove {'the comment' if whole else ' and '.join(unused)}",
            candidates=(Fix("Remove the unused suppression", (edit,)),),
        )


def _told(directive: Directive, unused: tuple[str, ...]) -> str:
    from amplint.spelling import nearest

    codes = [rule.code for rule in _registered()]
    unknown = [code for code in unused if code not in codes]
    idle = " and ".join(code for code in unused if code in codes) or ("" if unknown else "any rule")
    nothing = "nothing is found here" if directive.row is not None else "nothing is found in this file"
    parts = [f"The suppression of {idle} is not used: {nothing}"] if idle else []
    for code in unknown:
        meant = nearest(code, codes)
        parts.append(f"There is no rule {code}" + (f"; did you mean `{meant}`?" if meant else ""))
    return "; ".join((parts[0], *(part[0].lower() + part[1:] for part in parts[1:])))


def _unused(directive: Directive, needed: set[str], survey: Survey) -> tuple[str, ...] | None:
    """The codes that ``directive`` need not name; none of them where it names none and is not needed at all."""
    if directive.codes:
        found = tuple(dict.fromkeys(code for code in directive.codes if _idle(code, needed, survey)))
        return found or None
    everything = all(rule.code in survey.codes for rule in _registered() if rule.default)
    return () if directive.ours and not needed and everything else None


def _idle(code: str, needed: set[str], survey: Survey) -> bool:
    if code in needed or code == UnusedSuppression.code:
        return False
    known = {rule.code for rule in _registered()}
    letters = re.split(r"[0-9]", code)[0]
    return code in survey.codes if code in known else letters == re.split(r"[0-9]", UnusedSuppression.code)[0]


def _suppressible(code: str) -> bool:
    return any(rule.code == code and rule.selectable for rule in _registered())


def _registered() -> tuple[type[Rule], ...]:
    from amplint.registry import installed

    return installed().rules


def _without(document: Document, directive: Directive, unused: tuple[str, ...]) -> Edit:
    """The edit that takes ``unused`` out of ``directive``, or all of it away."""
    kept = [code for code in directive.codes if code not in unused]
    start, end = directive.start.offset, directive.end.offset
    if kept:
        listed = directive.text[directive.codes_start :]
        codes = re.match(r"[\w\s,]*\w", listed)
        length = codes.end() if codes else len(listed)
        begin = start + directive.codes_start
        spelled = {code.upper(): code for code in re.findall(r"\w+", listed[:length])}
        return document.edit(begin, begin + length, ", ".join(spelled[code] for code in kept))
    row = document.row(directive.start.row)
    before, after = row[: directive.start.column - 1], row[directive.end.column - 1 :]
    if after.strip():  # the comment goes on
        rest = after.lstrip()
        return document.edit(start, end + len(after) - len(rest), "" if rest.startswith("#") else "# ")
    first = start - (len(before) - len(before.rstrip()))
    if before.strip() or directive.start.row == document.row_count:
        return document.edit(first, end + len(after), "")
    whole_row = document.at(directive.start.row + 1, 1).offset
    return document.edit(start - len(before), whole_row, "")
