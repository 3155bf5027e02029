"""``amplint server``: what editors talk to, in the Language Server Protocol.

Importing this package imports pygls, which the extra ``server`` installs.
"""

from __future__ import annotations

from amplint.server.features import make_server

__all__ = ["make_server"]
