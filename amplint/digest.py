"""Short names for contents."""

from __future__ import annotations

try:  # what hashlib has it from, without OpenSSL, which takes long to load
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b


def digest(content: bytes | str) -> str:
    """What tells ``content`` from any other."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return blake2b(data, digest_size=16).hexdigest()
