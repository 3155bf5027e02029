"""JUnit's XML, which most CI systems show as failed tests: a suite for each file, a case for each finding."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from amplint.findings import Finding
from amplint.output.places import absolute_path, file_place, related_places
from amplint.output.style import Style, harmless, relative
from amplint.project import Report

_NOT_IN_XML = re.compile("[\ufffe\uffff]")  # what is left of those that XML forbids once text is harmless


def render(reports: Sequence[Report], style: Style) -> str:
    """The findings of ``reports``; where there are none, one case that passed."""
    total = sum(len(report.findings) for report in reports)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="amplint" tests="{max(total, 1)}" skipped="0" failures="{total}" errors="0">',
    ]
    for report in reports:
        if report.findings:
            lines += _suite(report)
    if not total:
        lines += [
            '    <testsuite name="amplint" tests="1" skipped="0" errors="0" failures="0" package="org.amplint">',
            '        <testcase name="No errors found" classname="amplint"/>',
            "    </testsuite>",
        ]
    return "\n".join((*lines, "</testsuites>")) + "\n"


def _suite(report: Report) -> Iterator[str]:
    path, count = absolute_path(report.document), len(report.findings)
    yield (
        f'    <testsuite name={_attribute(path)} tests="{count}" skipped="0" errors="0" failures="{count}"'
        ' package="org.amplint">'
    )
    for finding in report.findings:
        start = file_place(report.document, finding.start)
        yield (
            f"        <testcase name={_attribute(f'org.amplint.{finding.code}')}"
            f' classname={_attribute(os.path.splitext(path)[0])} line="{start.row}" column="{start.column}">'
        )
        yield "            <properties>"
        yield f'                <property name="severity" value={_attribute(finding.severity.value)}/>'
        yield "            </properties>"
        text = _text("\n".join(_told(finding, report)))
        yield f"            <failure message={_attribute(finding.message)}>{text}</failure>"
        yield "        </testcase>"
    yield "    </testsuite>"


def _told(finding: Finding, report: Report) -> Iterator[str]:
    found = report.document.place(finding.start)
    cell = "" if found.cell is None else f"cell {found.cell}, "
    yield f"{cell}line {found.row}, col {found.column}, {harmless(finding.message)}"
    for home, related in related_places(finding, report.document):
        file = "" if home is report.document else f"{harmless(relative(home.filename))}:"
        yield f"note: {file}{home.place(related.start)}: {harmless(related.message)}"
    if finding.help:
        yield f"help: {harmless(finding.help)}"


def _text(text: str) -> str:
    return escape(_NOT_IN_XML.sub("\ufffd", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_IN_XML.sub("\ufffd", harmless(text)))
