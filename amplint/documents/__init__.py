"""Files as they were read, and as they are written back."""

from amplint.documents.document import (
    Document,
    DocumentError,
    Place,
    UnreadableDocument,
    UnwritableDocument,
    apply_edits,
    read_regular_file,
)

__all__ = [
    "Document",
    "DocumentError",
    "Place",
    "UnreadableDocument",
    "UnwritableDocument",
    "apply_edits",
    "read_regular_file",
]
