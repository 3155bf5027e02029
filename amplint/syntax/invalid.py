"""What is raised where there is no tree, apart from the tree: to be ready for it takes no LibCST."""

from __future__ import annotations


class InvalidSyntax(Exception):
    """The text is not Python that amplint can parse; ``row`` and ``column`` are 1-based."""

    def __init__(self, message: str, row: int, column: int) -> None:
        super().__init__(message)
        self.message, self.row, self.column = message, row, column
