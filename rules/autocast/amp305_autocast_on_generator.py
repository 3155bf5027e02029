"""# autocast-on-generator (AMP305)

## What it does
Finds `autocast` as the decorator of a generator or of an `async def`.

## Why is this bad?
The decorator is on while the function is called, and calling a generator function or a coroutine function runs none of
its body: that runs later, when it is iterated or awaited, and autocast is off by then. Measured with torch 2.13:
`torch.is_autocast_enabled("cpu")` is False in the body of both, without a word. (`torch.no_grad` knows generators;
`autocast` does not.) Batches in float16 fail then: `RuntimeError: mat1 and mat2 must have the same dtype`.

## Example
```python
@torch.autocast("cuda")
def predictions(model, loader):
    for x in loader:
        yield model(x)
```

## Use instead
```python
def predictions(model, loader):
    for x in loader:
        with torch.autocast("cuda"):
            y = model(x)
        yield y
```

Do not put the `yield` itself into the region: the caller's code between two items would run in it.

## References
- [torch.autocast](https://docs.pytorch.org/docs/stable/amp.html#torch.autocast)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Finding, Severity
from amplint.mentions import OF_PRECISION
from amplint.rule import Context, Rule

_HARMLESS = {"staticmethod", "classmethod", "contextmanager", "asynccontextmanager", "no_grad", "inference_mode"}


class AutocastOnGenerator(Rule):
    """The decorator where the body runs later."""

    code = "AMP305"
    name = "autocast-on-generator"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "`autocast` decorates a generator or an `async def`, whose body runs without it"
    mentions = (b"autocast",)
    imported_mentions = OF_PRECISION

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the decorators that are off when the body runs."""
        text = context.document.text
        if "autocast" not in text or not ("yield" in text or "async" in text):
            return
        from amplint.precision import decorator_name

        for function, (decorator, _) in context.precision.decorated.items():
            inner = function.decorators[function.decorators.index(decorator) + 1 :]
            # any other decorator may iterate or await the function, and so run the body in the region
            if not all(decorator_name(other) in _HARMLESS for other in inner):
                continue
            if function.asynchronous is not None:
                kind, when = "a coroutine function", "awaited"
            elif function in context.precision.generators:
                kind, when = "a generator", "iterated"
            else:
                continue
            yield context.finding(
                self,
                decorator.decorator,
                f"`{function.name.value}` is {kind}: its body runs when it is {when}, and autocast is off by then",
                help="Enter autocast in the body, by `with`.",
                related=(context.related(function.name, "this body runs without autocast"),),
                no_fix_reason="which part of the body is to run in the region cannot be seen",
            )
