"""The folder that a sweep fills: its batches, and a file of findings and one of problems for each that is done."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from amplint import __version__
from amplint.sweep.batches import Batch, SourceError, batches
from amplint.sweep.work import Done, Wishes


class Store:
    """What is known of a sweep; what is written is whole or not there at all, so a sweep may end at any moment."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def batches(self, sources: Sequence[str], wishes: Wishes) -> list[Batch]:
        """The batches of ``sources``, as they were when the sweep began.

        Raises :class:`SourceError`, also where the folder holds another sweep.
        """
        asked = [__version__, [*map(os.path.abspath, sources)], repr(wishes)]
        path = os.path.join(self.folder, "sweep.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                kept = json.load(file)
            if kept["asked"] != asked:
                raise SourceError(f"{self.folder} holds another sweep: name a folder of its own for this one")
            return [Batch.from_json(batch) for batch in kept["batches"]]
        found = list(batches(sources))
        for name in ("findings", "problems"):
            os.makedirs(os.path.join(self.folder, name), exist_ok=True)
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump({"asked": asked, "batches": [batch.to_json() for batch in found]}, file)
        os.replace(path + ".part", path)
        return found

    def is_done(self, batch: Batch) -> bool:
        """Whether what came of ``batch`` is written."""
        return os.path.exists(self._path("findings", batch))

    def keep(self, batch: Batch, done: Done) -> None:
        """Write what came of ``batch``; its findings last, since they say that it is done."""
        self._write("problems", batch, done.problems, ("source", "path", "message"), done.files)
        self._write("findings", batch, done.findings, _COLUMNS, done.files)

    def totals(self, swept: Iterable[Batch]) -> tuple[int, int, int]:
        """How many files, findings and problems there are in ``swept``."""
        import pyarrow.parquet

        files = findings = problems = 0
        for batch in swept:
            told = pyarrow.parquet.read_metadata(self._path("findings", batch))
            files += int(told.metadata[b"files"])
            findings += told.num_rows
            problems += pyarrow.parquet.read_metadata(self._path("problems", batch)).num_rows
        return files, findings, problems

    def _path(self, room: str, batch: Batch) -> str:
        return os.path.join(self.folder, room, f"{batch.name}.parquet")

    def _write(
        self, room: str, batch: Batch, rows: Sequence[dict[str, Any]], columns: Sequence[str], files: int
    ) -> None:
        import pyarrow
        import pyarrow.parquet

        whole = {"cell", "row", "column", "end_row", "end_column"}
        fields = [(name, pyarrow.int64() if name in whole else pyarrow.string()) for name in columns]
        schema = pyarrow.schema(fields, metadata={"files": str(files)})
        path = self._path(room, batch)
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema=schema), path + ".part")
        os.replace(path + ".part", path)


_COLUMNS = (
    *("source", "path", "cell", "row", "column", "end_row", "end_column"),
    *("code", "name", "severity", "message", "fix"),
)
