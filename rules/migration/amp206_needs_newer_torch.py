"""# needs-newer-torch (AMP206)

## What it does
Finds AMP names that the lowest torch of the project lacks, outside of a gate that tests for them.

| name | first torch |
|---|---|
| `torch.autocast`, `torch.cpu.amp.autocast` | 1.10 |
| `torch.amp.autocast` | 1.12 |
| `torch.amp.GradScaler`, `torch.GradScaler`, `torch.cpu.amp.GradScaler` | 2.3 |
| `torch.amp.custom_fwd`, `torch.amp.custom_bwd` | 2.4 |
| `torch.get_autocast_dtype`, `torch.set_autocast_dtype` | 2.4 |
| `torch.is_autocast_enabled(device_type)`, `torch.set_autocast_enabled(device_type, enabled)` | 2.4 |

The lowest torch is read from `--target-torch`, from `target-torch` in `[tool.amplint]`, from the dependencies in a
script's own metadata (`# /// script`), or from what the project requires in pyproject.toml, setup.cfg or its
requirements files. Where none of them says, nothing is found.

A gate is a `try` that catches what is missing, a test for the name (`hasattr(torch.amp, "GradScaler")`) or for a
version that has it, around the use or left before it. A test that an older torch passes as well is none:
`hasattr(torch, "amp")` and `torch.__version__ >= "2.0"` say nothing of `torch.amp.GradScaler`. A test that cannot be
understood counts as a gate. An import inside of a function is left alone: often it stands there because the name is
not always to be had.

## Why is this bad?
With the lowest torch that the project says it supports, the import raises `ImportError`, or the use `AttributeError`.

## Example
```toml
[project]
dependencies = ["torch>=2.1"]
```
```python
from torch.amp import GradScaler

scaler = GradScaler("cuda")
```

## Use instead
```python
try:
    from torch.amp import GradScaler
except ImportError:
    from torch.cuda.amp import GradScaler

scaler = GradScaler()
```
or require `torch>=2.3`.

## Fix safety
There is no fix: whether the project is to support the older torch is for its authors to say.

## References
- [torch.amp](https://docs.pytorch.org/docs/stable/amp.html)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Finding, Severity
from amplint.rule import Context, Rule


class NeedsNewerTorch(Rule):
    """An AMP name that the project's lowest torch lacks."""

    code = "AMP206"
    name = "needs-newer-torch"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "an AMP name that the lowest torch of the project lacks"
    mentions = (b"autocast", b"GradScaler", b"custom_fwd", b"custom_bwd")

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the names that are too new for the project."""
        target = context.target_torch
        if target is None:
            return
        from amplint.rules.migration.newer import newer_names

        for node, name, needed in newer_names(context, target.version):
            version = ".".join(map(str, needed))
            yield context.finding(
                self,
                node,
                f"`{name}` needs torch {version}, and this project supports torch {target} ({target.source})",
                help=f"Test for it first, or require torch {version}",
                no_fix_reason="whether the project is to support the older torch cannot be seen",
            )
