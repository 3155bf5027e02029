"""``--watch``: the same command again whenever something changes that may matter to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from time import strftime

_WATCHED = "AMPLINT_WATCHED"
_ENDINGS = (".py", ".ipynb", ".md", ".markdown", ".rst", ".toml", ".gitignore")


def is_watched() -> bool:
    """Whether this process is one of those that a watching one starts."""
    return _WATCHED in os.environ


def watch(paths: Sequence[str]) -> int:
    """Run the command now and after every change below ``paths`` until the user has enough; returns the exit code."""
    if find_spec("watchfiles") is None:
        print("amplint: --watch needs watchfiles: pip install 'amplint[watch]'", file=sys.stderr)
        return 2
    from watchfiles import Change, DefaultFilter
    from watchfiles import watch as changes

    class Filter(DefaultFilter):
        """What an editor or a build leaves behind is none of the user's changes."""

        def __call__(self, change: Change, path: str) -> bool:
            return path.endswith(_ENDINGS) and super().__call__(change, path)

    try:
        _run()
        for _ in changes(*filter(os.path.exists, paths), watch_filter=Filter(), raise_interrupt=True):
            _run()
    except KeyboardInterrupt:
        pass
    except FileNotFoundError as error:
        print(f"amplint: {error}", file=sys.stderr)
        return 2
    return 0


def _run() -> None:
    if sys.stdout.isatty():
        print("\x1b[2J\x1b[3J\x1b[H", end="")
    print(f"[{strftime('%H:%M:%S')}] amplint is watching; Ctrl+C ends it", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "amplint", *sys.argv[1:]], env={**os.environ, _WATCHED: "1"})
