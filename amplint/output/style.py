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
    """Paints text, or leaves it plain where there is no ``colour``.

    ``links`` says whether text may lead somewhere by a click, ``width`` how many columns there are, if that counts.
    """

    colour: bool = False
    links: bool = False
    width: int | None = None

    @classmethod
    def of(cls, stream: IO[str], environment: Mapping[str, str] = os.environ, *, colour: bool | None = None) -> Style:
        """What suits ``stream``, and the ``colour`` asked for or the environment's (NO_COLOR, FORCE_COLOR, TERM)."""
        terminal = stream.isatty()
        if colour is None:
            if environment.get("NO_COLOR"):
                colour = False
            elif environment.get("FORCE_COLOR") or environment.get("CLICOLOR_FORCE", "0") != "0":
                colour = True
            else:
                colour = terminal and environment.get("TERM") != "dumb"
        return cls(colour, colour and _knows_links(environment, terminal), _columns(stream) if terminal else None)

    def __call__(self, name: str, text: str) -> str:
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.colour and text else text

    def link(self, text: str, target: str | None) -> str:
        """``text`` that leads to the URL ``target``, if there is one."""
        return f"\x1b]8;;{target}\x1b\\{text}\x1b]8;;\x1b\\" if self.links and target else text


def _knows_links(environment: Mapping[str, str], terminal: bool) -> bool:
    """Whether links in text can be followed: on a terminal known to do so, or where the environment says so."""
    if "FORCE_HYPERLINK" in environment:
        return environment["FORCE_HYPERLINK"] not in ("", "0")
    vte = environment.get("VTE_VERSION", "")
    return terminal and (
        environment.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio")
        or environment.get("TERM") in ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm")
        or any(name in environment for name in ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM", "KITTY_WINDOW_ID"))
        or (vte.isdigit() and int(vte) >= 5000)
    )


def _columns(stream: IO[str]) -> int | None:
    try:
        return os.get_terminal_size(stream.fileno()).columns or None  # some terminals say 0
    except (OSError, ValueError, AttributeError):
        return None


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


def counted(count: int, noun: str) -> str:
    """A number of things: ``1 error``, ``2 errors``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
