"""SARIF 2.1.0, as code-scanning services take it: rules with their pages, fixes, and the places that explain."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from amplint import __version__
from amplint.documents import Document
from amplint.findings import Finding, Fix, Location, Severity
from amplint.output.fingerprints import fingerprinted
from amplint.output.json_text import dumps
from amplint.output.places import file_message, file_place, related_places
from amplint.output.style import Style, relative
from amplint.project import Report
from amplint.registry import installed
from amplint.rule import Rule

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEM = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}
_ROOT = "SRCROOT"


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports`` as one run of amplint."""
    found = {finding.code for report in reports for finding in report.findings}
    rules = [rule for rule in installed().rules if rule.code in found]
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    run = {
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": f"{Path.cwd().as_uri().rstrip('/')}/"}},
        "results": [
            _result(finding, report.document, fingerprint, numbers)
            for report, finding, fingerprint in fingerprinted(reports)
        ],
        "tool": {
            "driver": {
                "name": "amplint",
                "rules": [_rule(rule) for rule in rules],
                "version": __version__,
            }
        },
    }
    return dumps({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "runs": [run], "version": "2.1.0"})


def _rule(rule: type[Rule]) -> dict[str, Any]:
    page, url = rule.page(), rule.page_url()
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {"text": page, "markdown": page},
        **({"helpUri": url} if url else {}),
        "defaultConfiguration": {"enabled": rule.default, "level": _LEVELS[rule.severity]},
        "properties": {
            "id": rule.code,
            "name": rule.name,
            "problem.severity": _PROBLEM[rule.severity],
            "tags": ["pytorch", "mixed-precision"],
        },
    }


def _result(finding: Finding, document: Document, fingerprint: str, numbers: dict[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": file_message(document, finding) + (f"\n{finding.help}" if finding.help else "")},
        "locations": [_location(document, finding.start, finding.end, snippet=True)],
        "partialFingerprints": {"amplint/v1": fingerprint},
    }
    if finding.code in numbers:
        result["ruleIndex"] = numbers[finding.code]
    if finding.related:
        result["relatedLocations"] = [
            {
                "id": number,
                **_location(home, related.start, related.end),
                "message": {"text": _told(home, related.start, related.message)},
            }
            for number, (home, related) in enumerate(related_places(finding, document), 1)
        ]
    if finding.fix and document.whole:
        result["fixes"] = [_fix(finding.fix, document)]
    return result


def _told(document: Document, start: Location, message: str) -> str:
    found = document.place(start)
    return message if found.cell is None else f"{found}: {message}"


def _location(document: Document, start: Location, end: Location, *, snippet: bool = False) -> dict[str, Any]:
    region: dict[str, Any] = _region(document, start, end)
    if snippet and start != end:
        region["snippet"] = {"text": document.program_at(start).text[start.offset : end.offset]}
    return {"physicalLocation": {"artifactLocation": _artifact(document), "region": region}}


def _artifact(document: Document) -> dict[str, str]:
    path = relative(document.filename)
    if path == "-":
        return {"uri": "stdin"}
    if os.path.isabs(path):
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(os.fsencode(path.replace(os.sep, "/"))), "uriBaseId": _ROOT}


def _region(document: Document, start: Location, end: Location) -> dict[str, int]:
    first, last = file_place(document, start), file_place(document, end)
    return {
        "startLine": first.row,
        "startColumn": first.column,
        "endLine": last.row,
        "endColumn": last.column,
    }


def _fix(fix: Fix, document: Document) -> dict[str, Any]:
    return {
        "description": {"text": fix.message},
        "artifactChanges": [
            {"artifactLocation": _artifact(document), "replacements": list(_replacements(fix, document))}
        ],
    }


def _replacements(fix: Fix, document: Document) -> Iterable[dict[str, Any]]:
    for edit in fix.edits:
        replacement: dict[str, Any] = {"deletedRegion": _region(document, edit.start, edit.end)}
        if edit.content:
            replacement["insertedContent"] = {"text": edit.content}
        yield replacement
