"""A file of known findings: what is in it is not reported again, wherever in its file it has moved.

A finding is known by its file, its code and the source that it is about; of those that are alike, as many as there
were.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from amplint.config import Configuration
from amplint.documents import Document, read_regular_file
from amplint.output.fingerprints import fingerprinted
from amplint.project import Report
from amplint.registry import installed

_VERSION = 1


class BaselineError(Exception):
    """A baseline could not be read or written; the message says why."""


@dataclass(frozen=True)
class Known:
    """Reports without what was known, how much that is, and how much of it is gone from the files reported on."""

    reports: tuple[Report, ...]
    hidden: int
    gone: int


class Baseline:
    """The baseline in the file at ``path``; paths in it are relative to its folder."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._folder = os.path.dirname(os.path.abspath(path))

    def apply(self, reports: Sequence[Report]) -> Known:
        """``reports`` without the known findings; raises :class:`BaselineError`."""
        known = {entry["fingerprint"]: entry["path"] for entry in self._read()}
        seen = {fingerprint for _, _, fingerprint in self._fingerprinted(reports)}
        kept: dict[int, list[Any]] = {id(report): [] for report in reports}
        for report, finding, fingerprint in self._fingerprinted(reports):
            if fingerprint not in known or finding.code in _never():
                kept[id(report)].append(finding)
        shown = tuple(replace(report, findings=tuple(kept[id(report)])) for report in reports)
        hidden = sum(len(report.findings) for report in reports) - sum(len(report.findings) for report in shown)
        paths = {self._path_of(report.document) for report in reports}
        gone = sum(path in paths and fingerprint not in seen for fingerprint, path in known.items())
        return Known(shown, hidden, gone)

    def write(self, reports: Sequence[Report]) -> int:
        """Make the findings of ``reports`` the known ones, and return how many; raises :class:`BaselineError`."""
        entries = sorted(
            (self._path_of(report.document), finding.code, fingerprint)
            for report, finding, fingerprint in self._fingerprinted(reports)
            if finding.code not in _never()
        )
        rows = [{"path": path, "code": code, "fingerprint": fingerprint} for path, code, fingerprint in entries]
        if os.path.lexists(self.path):
            try:
                self._read()
            except BaselineError as error:  # settings may name any file, and this one is somebody's
                raise BaselineError(f"{error}; so it was not written over") from None
        try:
            with open(self.path, "w", encoding="utf-8", newline="\n") as file:
                file.write(json.dumps({"version": _VERSION, "findings": rows}, indent=2) + "\n")
        except OSError as error:
            raise BaselineError(f"could not be written: {error.strerror}") from None
        return len(rows)

    def _read(self) -> list[dict[str, str]]:
        try:
            content = json.loads(read_regular_file(self.path))
        except FileNotFoundError:
            raise BaselineError("no such file; --write-baseline makes it") from None
        except OSError as error:
            raise BaselineError(f"could not be read: {error.strerror or error}") from None
        except (ValueError, RecursionError) as error:
            raise BaselineError(f"is no baseline: {error}") from None
        if not isinstance(content, dict) or content.get("version") != _VERSION:
            raise BaselineError(f"is no baseline of version {_VERSION}")
        entries = content.get("findings")
        keys = ("path", "code", "fingerprint")
        if not isinstance(entries, list) or not all(
            isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in keys) for entry in entries
        ):
            raise BaselineError("is no baseline: its findings are no list of path, code and fingerprint")
        return entries

    def _fingerprinted(self, reports: Sequence[Report]) -> Any:
        return fingerprinted(reports, self._path_of)

    def _path_of(self, document: Document) -> str:
        if document.filename == "-":
            return "-"
        try:
            path = os.path.relpath(document.filename, self._folder)
        except ValueError:  # another drive
            path = os.path.abspath(document.filename)
        return path.replace(os.sep, "/")


def baseline_of(filename: str, configuration: Configuration) -> str | None:
    """The baseline that the settings of the file's folder name, if they name one."""
    return configuration.settings(os.path.dirname(os.path.abspath(filename))).baseline


def without_known(report: Report, configuration: Configuration) -> Report:
    """``report`` without what its settings' baseline knows; raises :class:`BaselineError`, which names the file."""
    path = baseline_of(report.document.filename, configuration)
    try:
        return report if path is None else Baseline(path).apply([report]).reports[0]
    except BaselineError as error:
        raise BaselineError(f"{path}: {error}") from None


def _never() -> frozenset[str]:
    """The codes that are always reported."""
    return frozenset(rule.code for rule in installed().rules if not rule.selectable)
