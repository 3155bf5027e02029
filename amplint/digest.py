"""Short names for contents."""

from __future__ import annotations

from hashlib import blake2b


def digest(content: bytes | str) -> str:
    """What tells ``content`` from any other."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return blake2b(data, digest_size=16).hexdigest()
