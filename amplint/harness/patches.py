"""Attributes that are replaced for a while."""

from __future__ import annotations

from types import TracebackType

_ABSENT = object()


class Patches:
    """A context that puts back, last first, every attribute that was :meth:`set` inside it."""

    def __init__(self) -> None:
        self._replaced: list[tuple[object, str, object]] = []

    def __enter__(self) -> Patches:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        while self._replaced:
            owner, name, before = self._replaced.pop()
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

    def set(self, owner: object, name: str, value: object) -> None:
        """Replace ``owner.name``; what a class or module only inherits is uncovered again afterwards."""
        self._replaced.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, value)
