"""# wrong-migration-argument (AMP205)

## What it does
Finds what a half-done migration from `torch.cuda.amp` to `torch.amp` leaves: calls whose name is the new one and whose
arguments are the old ones, or the other way round.

| call | what it does |
|---|---|
| `torch.autocast("cuda", False)` | `False` is the dtype |
| `torch.amp.autocast(enabled=False)`, `torch.amp.autocast(False)` | there is no device type |
| `torch.autocast(device="cuda")` | the keyword is `device_type` |
| `torch.amp.GradScaler(False)`, `torch.amp.GradScaler(1024.0)` | the argument is the device |
| `torch.amp.GradScaler("cuda", use_amp)` | `use_amp` is the initial scale |
| `torch.amp.GradScaler(device_type="cuda")` | the keyword is `device` |
| `torch.amp.custom_fwd(cast_inputs=torch.float32)` | there is no device type |
| `torch.cuda.amp.GradScaler("cuda")` | `"cuda"` is the initial scale |
| `torch.cuda.amp.autocast("cuda", enabled=False)` | `"cuda"` is `enabled` as well |
| `torch.cuda.amp.GradScaler(use_amp)` | `use_amp` is the initial scale: 1, or 0 |

A value counts as a bool where the file says so, or by its name (`use_amp`, `self.enable_amp`) if nothing speaks against
it.

## Why is this bad?
Most of these raise a `TypeError` or `ValueError`, some of them only when the region is entered or the first loss is
scaled. The others are silent: `torch.amp.GradScaler(False)` is an enabled scaler, and
`torch.cuda.amp.GradScaler(False)` one with a scale of 0, which makes every weight NaN.

The deprecation warning of PyTorch itself leads here: it advises `torch.amp.autocast('cuda', args...)`, which puts the
`enabled` of `torch.cuda.amp.autocast(False)` in the place of the dtype.

## Example
```python
from torch.amp import GradScaler, autocast

scaler = GradScaler(use_amp)
with autocast("cuda", use_amp):
    loss = model(batch)
```

## Use instead
```python
from torch.amp import GradScaler, autocast

scaler = GradScaler(enabled=use_amp)
with autocast("cuda", enabled=use_amp):
    loss = model(batch)
```

## Fix safety
The fix is safe, and offered only where what was meant is certain: a flag becomes `enabled=`, a wrong keyword the right
one, and a missing device type the one that every other call in the file has, or `"cuda"` where the file is about CUDA
only. New arguments on an old name are mended by moving to the new name, as AMP201 does, or by dropping the device where
that name must stay.

## References
- [torch.autocast](https://docs.pytorch.org/docs/stable/amp.html#torch.autocast)
- [torch.amp.GradScaler](https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Applicability, Finding, Fix, Severity
from amplint.rule import Context, Rule


class WrongMigrationArgument(Rule):
    """Old arguments on a new AMP name, or new ones on an old name."""

    code = "AMP205"
    name = "wrong-migration-argument"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "arguments of `torch.cuda.amp` on a name of `torch.amp`, or the other way round"
    fixable = "sometimes"
    mentions = (b"autocast", b"GradScaler", b"custom_fwd", b"custom_bwd")

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the calls whose arguments are those of another signature."""
        from amplint.rules.migration.api import amp_names
        from amplint.rules.migration.arguments import Arguments
        from amplint.rules.migration.plan import plan_of

        names = amp_names(context)
        if not names.uses:
            return
        arguments = Arguments(names)
        for use in names.uses:
            mistake = arguments.mistake(use)
            if mistake is None:
                continue
            candidates: list[Fix] = []
            if mistake.changes:
                candidates.append(Fix("Give each argument by its own name", context.edits(mistake.changes)))
            if mistake.moves and (place := plan_of(context).place(use.node)) is not None:
                move = plan_of(context).fix(place, context)
                if move is not None:
                    candidates.insert(0 if move.applicability is Applicability.SAFE else 1, move)
            yield context.finding(
                self,
                use.call or use.node,
                mistake.message,
                help="Give the device first, and `enabled` by its name",
                candidates=tuple(candidates),
                no_fix_reason=mistake.reason,
            )
