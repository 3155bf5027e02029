"""Running training scripts under watch. The only room of amplint that imports torch (2.3 or newer)."""

from __future__ import annotations

try:
    from torch.amp import GradScaler as _GradScaler
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "amplint.harness runs PyTorch, which is not installed: pip install 'amplint[runtime]'", name="torch"
    ) from None
except ImportError:
    import torch as _torch

    raise ImportError(
        f"amplint.harness needs torch 2.3 or newer; installed is {getattr(_torch, '__version__', 'another')}",
        name="torch",
    ) from None

from amplint.harness.virtual_cuda import virtual_cuda
from amplint.harness.watch import Observation, Report, watch

del _GradScaler
__all__ = ["Observation", "Report", "virtual_cuda", "watch"]
