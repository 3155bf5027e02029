"""Training loops run with stand-ins for everything that they do not define themselves."""

from __future__ import annotations

from amplint.harness.standins.extraction import NothingToRun
from amplint.harness.standins.rehearsal import Rehearsal, rehearse

__all__ = ["NothingToRun", "Rehearsal", "rehearse"]
