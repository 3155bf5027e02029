"""# deprecated-cuda-amp (AMP201)

## What it does
Finds `autocast` and `GradScaler` taken from `torch.cuda.amp`, `torch.cpu.amp` or their submodules, however they are
imported, aliased or used: in a call, as a decorator, a base class, an annotation, in `isinstance`, in
`functools.partial`. An import of such a name is one finding for all of its uses; a use through a module
(`torch.cuda.amp.autocast(...)`, `amp.autocast(...)`) is one finding each.

Import shims (`try: ... except ImportError:`), tests for a name (`hasattr(torch.amp, "GradScaler")`) and the arm of a
version gate that only an older torch takes are right as they stand, and nothing is found there. In the other arm, such
as that of `if torch.__version__ >= "1.6":`, the old name is found and not fixed, since older versions take it too.

## Why is this bad?
Since PyTorch 2.4 each of these calls raises a `FutureWarning`, and the names are to be removed. The advice in the
warning itself is wrong for positional arguments: `autocast(False)` rewritten as `autocast("cuda", False)` passes
`False` as the dtype, and entering the region raises a `TypeError`. `GradScaler(1024.)` that only changes its import
takes 1024. for the device.

## Example
```python
from torch.cuda.amp import GradScaler, autocast

scaler = GradScaler(enabled=use_amp)
with autocast(use_amp):
    loss = model(batch)
```

## Use instead
```python
from torch.amp import GradScaler, autocast

scaler = GradScaler("cuda", enabled=use_amp)
with autocast("cuda", enabled=use_amp):
    loss = model(batch)
```

## Fix safety
The fix is safe: an import moves together with all of its uses, or nothing changes, and arguments keep their meaning.
It is unsafe for an `autocast` without a dtype inside a region that sets another dtype, since the new `autocast` takes
over the dtype of the region around it, where the old one went back to its default. A region that encloses it only at
run time is not seen.

The fix is not offered, and the finding says why, where

- the project supports a torch that lacks the new name (`torch.amp.autocast` came with 1.12, `torch.amp.GradScaler`
  with 2.3);
- another module may import the name from this one: it stands in `__all__` or in an `__init__.py`, or nothing here uses
  it;
- the name is passed on, and what calls it cannot be seen; or it is called with `*args`, whose order would change;
- the use is wrong already in a way that leaves open what was meant, such as `autocast` without a call as a decorator,
  or a device given as `init_scale`;
- objects of the new class would fail a check for the old one that stays.

## References
- [torch.amp](https://docs.pytorch.org/docs/stable/amp.html)
- [Gradient scaling](https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Finding, Severity
from amplint.rule import Context, Rule


class DeprecatedCudaAmp(Rule):
    """``autocast`` and ``GradScaler`` of ``torch.cuda.amp`` and ``torch.cpu.amp``."""

    code = "AMP201"
    name = "deprecated-cuda-amp"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "`autocast` or `GradScaler` from `torch.cuda.amp` or `torch.cpu.amp`"
    fixable = "sometimes"
    mentions = (b"autocast", b"GradScaler")

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the imports and uses of the deprecated classes."""
        from amplint.rules.migration.plan import findings

        yield from findings(self, context)
