"""How text is shown: colour where a terminal has it, and nothing that could steer the terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

_CODES = {"bold": "1", "red": "1;31", "yellow": "1;33", "blue": "1;34", "cyan": "36", "green": "32"}

# control characters, those that turn the direction of text around, and what no encoding can hold
_HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Style:
    """Paints text, or leaves it plain where there is no ``colour``."""

    colour: bool = False

    @classmethod
    def of(cls, stream: IO[str], environment: Mapping[str, str] = os.environ) -> Style:
        """What suits ``stream`` and the user's environment (NO_COLOR, FORCE_COLOR, TERM)."""
        if environment.get("NO_COLOR"):
            return cls(False)
        if environment.get("FORCE_COLOR") or environment.get("CLICOLOR_FORCE", "0") != "0":
            return cls(True)
        return cls(stream.isatty() and environment.get("TERM") != "dumb")

    def __call__(self, name: str, text: str) -> str:
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.colour and text else text


# the bracket without which "##vso[...]" and "##[...]" anywhere in a line of a log are no commands to Azure or GitHub
COMMAND_BRACKET = re.compile(r"(?<=##)(\w*)\[")


def harmless(text: str) -> str:
    """``text`` on one line, where what could steer a terminal or a CI system's log is written as its escape."""
    text = _HARMFUL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)
    return COMMAND_BRACKET.sub(r"\1\\x5b", text)


def harmless_source(text: str) -> str:
    """A row of source, each harmful character replaced by one that is as wide as it is counted."""
    return COMMAND_BRACKET.sub("\\1\ufffd", _HARMFUL.sub("\ufffd", text))


def relative(path: str) -> str:
    """``path`` as a user knows it: from the working folder where it is below that."""
    if path in ("", "-"):
        return path
    absolute, here = os.path.abspath(path), os.path.join(os.getcwd(), "")
    return absolute[len(here) :] if absolute.startswith(here) else absolute


def shown_path(path: str) -> str:
    """``path`` as a user knows it, and harmless even at the start of a line."""
    path = harmless(relative(path))
    return f".{os.sep}{path}" if path.lstrip().startswith("::") else path  # which GitHub would take for a command
