"""Running a file as ``python FILE`` does."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any


def run_script(script: str, args: Sequence[str] = ()) -> dict[str, Any]:
    """Run ``script`` as ``__main__`` and return its globals; what it raises goes through, SystemExit too.

    Raises OSError where the file cannot be read.
    """
    path = os.path.abspath(script)
    with io.open_code(path) as file:
        source = file.read()
    module = types.ModuleType("__main__")
    module.__file__ = path
    module.__dict__["__builtins__"] = __builtins__
    with _as_main(module, script, args):
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


@contextlib.contextmanager
def _as_main(module: types.ModuleType, script: str, args: Sequence[str]) -> Iterator[None]:
    main, argv, path = sys.modules["__main__"], sys.argv, sys.path
    sys.modules["__main__"] = module
    sys.argv = [script, *args]
    sys.path = [os.path.dirname(os.path.realpath(script)), *path[1:]]
    try:
        yield
    finally:
        sys.modules["__main__"], sys.argv, sys.path = main, argv, path
