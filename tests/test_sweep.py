"""``amplint sweep``: many sources, each file once, whatever becomes of the workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Amplint, commit

pytest.importorskip("distributed")
parquet = pytest.importorskip("pyarrow.parquet")

from amplint.config import Selection  # noqa: E402
from amplint.sweep import batches as cut  # noqa: E402
from amplint.sweep.run import run  # noqa: E402
from amplint.sweep.store import Store  # noqa: E402
from amplint.sweep.work import Wishes, lint_batch  # noqa: E402

OLD = "import torch\n\nwith torch.cuda.amp.autocast():\n    pass\n"


def rows(out: Path, room: str = "findings") -> list[dict[str, Any]]:
    found = [row for path in sorted((out / room).glob("*.parquet")) for row in parquet.read_table(path).to_pylist()]
    return sorted(found, key=lambda row: (row["source"], row["path"], row.get("row", 0)))


def test_folders_repositories_and_parquet(tmp_path: Path) -> None:
    import pyarrow

    (tmp_path / "code" / "deep").mkdir(parents=True)
    (tmp_path / "code" / "node_modules").mkdir()
    for name in ("a.py", "deep/b.py", "node_modules/c.py", "d.txt"):
        (tmp_path / "code" / name).write_text(OLD)
    (tmp_path / "code" / "bad.py").write_bytes(b"torch.cuda.amp = '\xe9'\n")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "r.py").write_text(OLD)
    commit(tmp_path / "work")
    subprocess.run(["git", "clone", "-q", "--bare", "work", "bare.git"], cwd=tmp_path, check=True)
    table = pyarrow.table({"content": [OLD, "x = 1\n", None, OLD], "path": ["x/t.py", "y.py", "z.py", "../../up.py"]})
    parquet.write_table(table, tmp_path / "set.parquet", row_group_size=2)
    store = Store(str(tmp_path / "out"))
    wishes = Wishes(Selection(("AMP201",)))
    sources = [str(tmp_path / name) for name in ("code", "bare.git", "set.parquet")]
    found = store.batches(sources, wishes)
    assert [batch.kind for batch in found] == ["files", "repository", "parquet", "parquet"]
    for batch in found:
        store.keep(batch, lint_batch(batch, wishes))
    told = [(Path(row["source"]).name, row["path"], row["row"], row["code"]) for row in rows(tmp_path / "out")]
    assert told == [
        ("bare.git", "r.py", 3, "AMP201"),
        ("code", "a.py", 3, "AMP201"),
        ("code", os.path.join("deep", "b.py"), 3, "AMP201"),
        ("set.parquet", os.path.join("0", "x", "t.py"), 3, "AMP201"),
        ("set.parquet", os.path.join("3", "up.py"), 3, "AMP201"),
    ]
    (problem,) = rows(tmp_path / "out", "problems")
    assert problem["path"] == "bad.py" and "could not be decoded" in problem["message"]
    assert store.totals(found) == (3 + 1 + 4, 5, 1)
    assert Store(str(tmp_path / "out")).batches(sources, wishes) == found
    with pytest.raises(cut.SourceError, match="another sweep"):
        store.batches(sources, Wishes())


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_a_worker_that_is_killed_costs_nothing_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client

    monkeypatch.setattr(cut, "FILES", 2)
    (tmp_path / "code").mkdir()
    for number in range(40):
        filler = "# filler\n" * (18_000 if number < 2 else 0)  # so much that lint would start processes of its own
        (tmp_path / "code" / f"f{number:02}.py").write_text(OLD + filler)
    out = tmp_path / "out"
    store, wishes = Store(str(out)), Wishes(Selection(("AMP201",)))
    due = store.batches([str(tmp_path / "code")], wishes)
    killed = []
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as client:

        def kill(done: int) -> None:
            if done == 3:
                pid = next(iter(client.run(os.getpid).values()))
                os.kill(pid, signal.SIGKILL)
                killed.append(len(due) - done)

        run(client, due, wishes, store, kill)
    assert killed == [17]
    assert Counter(row["path"] for row in rows(out)) == {f"f{number:02}.py": 1 for number in range(40)}
    assert rows(out, "problems") == []


def test_the_same_command_goes_on_where_it_ended(inside: Amplint, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    for number in range(3):
        (tmp_path / "code" / f"f{number}.py").write_text(OLD)
    command = ("sweep", "code", "--out", "out", "--workers", "1", "--select", "AMP201")
    done = inside(*command)
    assert (done.returncode, done.stdout) == (1, b"3 files, 3 findings, 0 problems: out\n")
    (tmp_path / "code" / "f0.py").write_text("x = 1\n")  # what is done is not done again
    assert inside(*command).stdout == done.stdout
    assert inside("sweep", "nowhere", "--out", "other").returncode == 2
    assert inside("sweep", "code", "--out", "out", "--select", "AMP202").returncode == 2


def test_a_repository_by_its_address_on_a_cluster_of_somebody_else(amplint: Amplint, tmp_path: Path) -> None:
    from distributed import LocalCluster

    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "r.py").write_text(OLD)
    commit(tmp_path / "work")
    here, nowhere = ((tmp_path / name).as_uri() for name in ("work", "nowhere"))
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        address = ("--scheduler", cluster.scheduler_address, "--select", "AMP201")
        done = amplint("sweep", here, "--out", "out", *address)
        failed = amplint("sweep", nowhere, "--out", "other", *address)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"1 files, 1 findings, 0 problems: out\n", b"")
    (row,) = rows(tmp_path / "out")
    assert (row["source"], row["path"], row["row"], row["code"]) == (here, "r.py", 3, "AMP201")
    assert (failed.returncode, failed.stdout) == (2, b"0 files, 0 findings, 1 problems: other\n")
    (problem,) = rows(tmp_path / "other", "problems")
    assert problem["source"] == nowhere and "could not be cloned" in problem["message"]


def test_a_scheduler_that_is_not_there(amplint: Amplint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    (tmp_path / "code.py").write_text(OLD)
    done = amplint("sweep", "code.py", "--out", "out", "--scheduler", "tcp://127.0.0.1:9")
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1].startswith("amplint: no Dask scheduler answers at tcp://127.0.0.1:9: ")
    assert "Traceback" not in done.stderr.decode()
