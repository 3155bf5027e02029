"""Files as they were read, and as they are written back."""

from amplint.documents.document import (
    PROSE_SUFFIXES,
    Document,
    DocumentError,
    Place,
    UnopenedDocument,
    UnreadableDocument,
    UnwritableDocument,
    apply_edits,
    read_regular_file,
    read_with_status,
)

__all__ = [
    "PROSE_SUFFIXES",
    "Document",
    "DocumentError",
    "Place",
    "UnopenedDocument",
    "UnreadableDocument",
    "UnwritableDocument",
    "apply_edits",
    "read_regular_file",
    "read_with_status",
]
