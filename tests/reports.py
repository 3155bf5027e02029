"""What the tests of formats show: findings with all that a format may tell."""

from __future__ import annotations

from amplint.documents import Document
from amplint.findings import Finding, Fix, Related, Severity
from amplint.output import renderer
from amplint.output.style import Style
from amplint.project import Report

PLAIN = Style(False)
SOURCE = 'ä = "𐐀"; backward(x)\nstep(y)\nstep(y)\n'
FIXED = 'ä = "𐐀"; backward(x)\nscaler.step(y)\nscaler.update()\nscaler.step(y)\nscaler.update()\n'


def report(filename: str = "a.py", message: str = "Wrong step", source: str = SOURCE) -> Report:
    """Two findings of AMP101 and one of AMP102, one of them with a fix of two edits and another place to look at."""
    document = Document.from_source(filename, source)

    def finding(code: str, severity: Severity, start: int, end: int) -> Finding:
        return Finding(code, message, severity, document.location(start), document.location(end), "Do it right")

    first, second = source.index("step"), source.rindex("step")
    backward = source.index("backward")
    related = Related("scaled here", document.location(backward), document.location(backward + 11))
    fix = Fix(
        "Step", (document.edit(first, first, "scaler."), document.edit(first + 8, first + 8, "scaler.update()\n"))
    )
    findings = [finding("AMP101", Severity.ERROR, start, start + 7) for start in (first, second)]
    findings[0] = Finding(
        **{field: getattr(findings[0], field) for field in ("code", "message", "severity", "start", "end", "help")},
        related=(related,),
        fix=fix,
    )
    return Report(document, (*findings, finding("AMP102", Severity.INFO, second, second + 7)))


def render(output_format: str, *reports: Report) -> str:
    return renderer(output_format)(reports, PLAIN)
