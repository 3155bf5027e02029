"""What ``__all__`` says a module exports, however it is put together."""

from __future__ import annotations

import pytest

from amplint.syntax.exports import exported_names
from amplint.syntax.tree import SyntaxTree


@pytest.mark.parametrize(
    "text, names",
    [
        ("import torch", set()),
        ("print('autocast')", set()),
        ("all = ['autocast']", set()),
        ("__all__ = ['autocast', 'GradScaler']", {"autocast", "GradScaler"}),
        ("__all__: list[str] = ('autocast',)", {"autocast"}),
        ("__all__ = ['autocast'] + ['GradScaler']", {"autocast", "GradScaler"}),
        ("__all__ = []\n__all__ += ['autocast']", {"autocast"}),
        ("__all__ = []\n__all__.append('autocast')\nprint('GradScaler')", {"autocast"}),
        ("__all__ = []\n__all__.extend(['autocast'])", {"autocast"}),
        ("__all__ = []\nnames.extend(['autocast'])", set()),
    ],
)
def test_literal_lists(text: str, names: set[str]) -> None:
    assert exported_names(SyntaxTree(text).module) == names


@pytest.mark.parametrize(
    "text",
    [
        "__all__ = sorted(names)",
        "__all__ = ['autocast', name]",
        "__all__ = ['autocast'] + names",
        "__all__ = []\n__all__ += names",
        "__all__ = []\n__all__.extend(names)",
        "__all__ = [b'autocast']",
    ],
)
def test_more_than_literal_lists_may_export_anything(text: str) -> None:
    assert exported_names(SyntaxTree(text).module) is None
