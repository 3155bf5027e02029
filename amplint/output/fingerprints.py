"""What tells one finding from another when rows have moved between two runs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from amplint.documents import Document
from amplint.findings import Finding
from amplint.output.places import portable_path
from amplint.project import Report


def fingerprinted(
    reports: Sequence[Report], path_of: Callable[[Document], str] = portable_path
) -> Iterator[tuple[Report, Finding, str]]:
    """Every finding with the digest of its file's path, its code and the source it is about, counted where alike."""
    seen: Counter[str] = Counter()
    for report in reports:
        path = path_of(report.document)
        for finding in report.findings:
            source = report.document.program_at(finding.start).text[finding.start.offset : finding.end.offset]
            identity = "\0".join((path, finding.code, " ".join(source.split())))
            seen[identity] += 1
            text = f"{identity}\0{seen[identity]}"
            yield report, finding, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
