"""Running training scripts under watch. The only room of amplint that imports torch (2.3 or newer)."""

from __future__ import annotations

from amplint.harness.virtual_cuda import virtual_cuda
from amplint.harness.watch import Observation, Report, watch

__all__ = ["Observation", "Report", "virtual_cuda", "watch"]
