"""TOML, by whichever parser this Python has."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from amplint.config.keys import ConfigError


def parse_toml(text: str, place: str) -> Mapping[str, Any]:
    """The table that ``text`` is; raises :class:`ConfigError`, which says at what ``place`` it stands."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{place}: not valid TOML: {error}") from None
