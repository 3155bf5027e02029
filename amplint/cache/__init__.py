"""What earlier runs found: one file a project, believed only where everything that it depends on is as it was."""

from amplint.cache.fingerprint import fingerprint
from amplint.cache.results import Entry, recall, record
from amplint.cache.store import DIRECTORY, Cache, Shelf, remove

__all__ = ["DIRECTORY", "Cache", "Entry", "Shelf", "fingerprint", "recall", "record", "remove"]
