"""# autocast-not-entered (AMP208)

## What it does
Finds an `autocast` that is named or built, and whose region is never entered:

- `with autocast:`, `@autocast` and `stack.enter_context(autocast)`, where the class is not called;
- `with region:` where `region` is a function, lambda or `functools.partial` that makes a region, and is not called;
- `autocast(model(x))`, where the result of the model is taken for the first argument of a region, and
  `model.forward = autocast(model.forward)`, which wraps nothing;
- a region that is built as a statement of its own, or kept in a local name that nothing reads.

## Why is this bad?
`with autocast:` raises, as does the bare decorator `@torch.autocast`. The bare decorator of `torch.cuda.amp` is silent
where the function is defined: the function becomes a region that takes it for `enabled`. A call of it raises a
`TypeError`, or, with a model for its argument, returns a wrapper of the model where the result was expected. A region
that is only built changes nothing: the model runs in float32.

## Example
```python
from torch.cuda.amp import autocast


@autocast
def evaluate(model, batch):
    return model(batch)
```

## Use instead
```python
from torch.amp import autocast


@autocast("cuda")
def evaluate(model, batch):
    return model(batch)
```

## Fix safety
The fix is safe where it adds the missing call; a new `autocast` gets the device type that the rest of the file gives,
or no fix where that cannot be seen. It is unsafe where it puts a computation into a region, `y = autocast(model(x))`,
since it then runs in half precision for the first time. What belongs into a region that is never entered cannot be
seen.

## References
- [Autocasting](https://docs.pytorch.org/docs/stable/amp.html#autocasting)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Applicability, Finding, Fix, Severity
from amplint.rule import Context, Rule


class AutocastNotEntered(Rule):
    """An autocast region that is never entered."""

    code = "AMP208"
    name = "autocast-not-entered"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "`with autocast:`, `@autocast` without a call, `autocast(model(x))`, a region that is never entered"
    fixable = "sometimes"
    mentions = (b"autocast",)

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the regions that are never entered."""
        from amplint.rules.migration.api import amp_names
        from amplint.rules.migration.regions import Regions

        names = amp_names(context)
        if not names.uses:
            return
        for found in Regions(names).not_entered():
            applicability = Applicability.SAFE if found.certain else Applicability.UNSAFE
            fixes = (Fix("Enter the region", context.edits(found.changes), applicability),) if found.changes else ()
            yield context.finding(
                self,
                found.node,
                found.message,
                help="Enter the region: `with autocast(...):`, or `@autocast(...)`",
                candidates=fixes,
                no_fix_reason=found.reason or (None if fixes else "what it is called with cannot be seen"),
            )
