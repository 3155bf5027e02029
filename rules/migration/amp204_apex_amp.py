"""# apex-amp (AMP204)

## What it does
Finds imports of `apex.amp`, the mixed precision of NVIDIA's Apex, and its uses through `import apex`.

An import whose absence is provided for is left alone: in a `try` whose handler goes on without it, or under a test for
the module itself, such as `importlib.util.find_spec("apex.amp")`. A handler that raises provides for nothing, and a
test for `apex` alone is passed by an Apex that has no `amp`. Left alone, too, is an import in a function or under a
condition where the file has PyTorch's own AMP beside it: Apex is an option there.

## Why is this bad?
Apex deprecated `apex.amp` in favour of `torch.amp` years ago and deleted it in April 2025: with an Apex of today the
import raises `ImportError`. Its `O1` patches functions of PyTorch behind the program's back, where `torch.autocast`
does so in a region.

## Example
```python
from apex import amp

model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for batch in loader:
    loss = model(batch)
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
```

## Use instead
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for batch in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(batch)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Fix safety
There is no fix: what `amp.initialize` did to the model depends on the level that it was given.

## References
- [Automatic mixed precision](https://docs.pytorch.org/docs/stable/notes/amp_examples.html)
- [apex.amp](https://nvidia.github.io/apex/amp.html)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Finding, Severity
from amplint.rule import Context, Rule


class ApexAmp(Rule):
    """``apex.amp``, which is no more."""

    code = "AMP204"
    name = "apex-amp"
    severity = Severity.WARNING
    since = "0.1.0"
    summary = "`apex.amp`, which Apex deleted in 2025"
    mentions = tuple((b"apex", before + b"amp") for before in (b".", b" ", b"\t", b"\n", b"(", b","))

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the imports and uses of ``apex.amp``."""
        from amplint.rules.migration.apex import uses_of_apex_amp
        from amplint.rules.migration.api import amp_names

        native = bool(amp_names(context).uses)
        for node, name in uses_of_apex_amp(context.names, native=native):
            yield context.finding(
                self,
                node,
                f"`{name}` was deleted from Apex in April 2025",
                help="Use `torch.autocast` and `torch.amp.GradScaler`",
                no_fix_reason="what replaces it depends on the level that `amp.initialize` was given",
            )
