"""Finding tensors among arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch


def tensors_within(values: Sequence[Any]) -> Iterator[torch.Tensor]:
    """The tensors among ``values``, and in lists and tuples of them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif type(value) in (list, tuple):
            yield from tensors_within(value)
