"""Files as they were read, and as they are written back."""

from amplint.documents.document import (
    PROSE_SUFFIXES,
    Document,
    DocumentError,
    Place,
    UnreadableDocument,
    UnwritableDocument,
    apply_edits,
    read_regular_file,
)

__all__ = [
    "PROSE_SUFFIXES",
    "Document",
    "DocumentError",
    "Place",
    "UnreadableDocument",
    "UnwritableDocument",
    "apply_edits",
    "read_regular_file",
]
