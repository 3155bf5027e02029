"""Batches handed to the workers of a Dask cluster, and what comes of them written down once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from amplint.sweep.batches import Batch
from amplint.sweep.store import Store
from amplint.sweep.work import Wishes, failed, lint_batch

_AHEAD = 4
"""Batches that are handed out for each thread of the cluster: enough that none waits, few enough to be forgotten."""


def run(
    client: Any, due: Sequence[Batch], wishes: Wishes, store: Store, tell: Callable[[int], object] = lambda done: None
) -> None:
    """Lint the batches ``due`` on the cluster of ``client``, and tell after each how many are done.

    A batch whose worker ends is done again by another one, and is written once, here; one that ends several workers is
    a problem.
    """
    from distributed import as_completed

    waiting = iter(due)
    batch_of: dict[Any, Batch] = {}

    def hand_out(count: int) -> list[Any]:
        handed = []
        for batch in islice(waiting, count):
            future = client.submit(lint_batch, batch, wishes, key=f"amplint-{batch.name}", pure=False)
            batch_of[future] = batch
            handed.append(future)
        return handed

    threads = sum(client.nthreads().values()) or 1
    coming = as_completed(hand_out(threads * _AHEAD))
    for number, future in enumerate(coming, 1):
        batch = batch_of.pop(future)
        error = future.exception()
        store.keep(batch, future.result() if error is None else failed(batch, f"{type(error).__name__}: {error}"))
        future.release()
        coming.update(hand_out(1))
        tell(number)
