"""# scaler-recreated (AMP114)

## What it does
Finds a gradient scaler that is built anew while the optimizer that it steps stays the same: inside the loop over
batches or epochs, or in a function that is called once for each.

A loop in which the optimizer is built anew as well, such as one over folds or configurations, is a new training each
time and is left alone. So is a scaler that gets its state back by `load_state_dict()`, or whose arguments change with
the loop.

## Why is this bad?
What a scaler learns is its scale. A new one starts over at 65536 every time: if the gradients overflow there, the first
steps of every epoch are skipped; a scaler built for each batch never learns at all. In a measured run of 20 iterations
whose gradients overflow at the initial scale, a scaler made anew skipped all 20 steps, one made once only the first 15.
A new scaler also hides a missing `update()`, since it has forgotten the last step.

## Example
```python
def train_one_epoch(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        ...


for epoch in range(epochs):
    train_one_epoch(model, loader, optimizer)
```

## Use instead
```python
def train_one_epoch(model, loader, optimizer, scaler):
    for x, y in loader:
        ...


scaler = torch.amp.GradScaler("cuda")
for epoch in range(epochs):
    train_one_epoch(model, loader, optimizer, scaler)
```

## Fix safety
The fix is safe. It moves the statement that builds the scaler in front of the outermost loop for which it is built
anew. It is offered where that loop is in the same function and the statement stands in it unconditionally.

## References
- [torch.amp.GradScaler](https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.findings import Finding, Fix, Severity
from amplint.mentions import OF_TRAINING
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

    from amplint.training.places import Loop
    from amplint.training.scalers import Scaler
    from amplint.training.training import Training


_ABOUT_SCALING = re.compile(r"scal|\bamp\b|precision|fp16|float16", re.IGNORECASE)


class ScalerRecreated(Rule):
    """A scaler with a shorter life than the optimizer that it steps."""

    code = "AMP114"
    name = "scaler-recreated"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = "a gradient scaler built anew in the loop, or in a function called per epoch or batch"
    fixable = "sometimes"
    mentions = (b"GradScaler",)
    imported_mentions = OF_TRAINING

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the constructions that run again while the optimizer lives on."""
        training = context.training
        for scaler in training.scalers.built:
            if scaler.is_off or any(use.method == "load_state_dict" for use in training.scalers.uses(scaler)):
                continue
            optimizers = _optimizers(training, scaler)
            if not optimizers or _in_handler(training, scaler.call):
                continue
            loops = [
                again.loop
                for again in training.lifetimes.repetitions(scaler.call)
                if _starts_over(training, scaler, optimizers, again.loop)
            ]
            if not loops:
                continue
            loop = loops[-1]
            fix = _hoist(context, scaler, loop)
            yield context.finding(
                self,
                scaler.call,
                "a new gradient scaler each time round: its scale starts over while the optimizer goes on",
                help="Build the scaler once, beside the optimizer, and hand it on.",
                related=(context.related(_head(loop), "built again each time this loop comes round"),),
                candidates=(fix,) if fix is not None else (),
                no_fix_reason=None if fix else "only an unconditional statement in the loop itself can be moved safely",
            )


def _head(loop: Loop) -> cst.BaseExpression:
    import libcst as cst

    return loop.iter if isinstance(loop, cst.For) else loop.test


def _optimizers(training: Training, scaler: Scaler) -> list[tuple[cst.BaseExpression, cst.Call]]:
    """The optimizers that a scaler steps and the calls that do it, or that hand both on to do it elsewhere."""
    found = [
        (use.argument, use.call)
        for use in training.scalers.uses(scaler)
        if use.method == "step" and use.argument is not None
    ]
    if found:
        return found
    for call in training.places.every_call():
        if any(_is_reference(training, argument.value, scaler) for argument in call.args):
            found.extend(
                (argument.value, call) for argument in call.args if training.scalers.is_optimizer(argument.value)
            )
    return found


def _is_reference(training: Training, node: cst.BaseExpression, scaler: Scaler) -> bool:
    import libcst as cst

    if node is scaler.call:
        return True
    return isinstance(node, (cst.Name, cst.Attribute)) and scaler.call in training.origins.of(node).passed


def _starts_over(
    training: Training, scaler: Scaler, optimizers: list[tuple[cst.BaseExpression, cst.Call]], loop: Loop
) -> bool:
    """Whether each round of ``loop`` builds the scaler anew to step optimizers that it did not build."""
    lifetimes, places = training.lifetimes, training.places
    stepped = [optimizer for optimizer, call in optimizers if lifetimes.runs_in(call, loop)]
    if not stepped or not all(lifetimes.outlives(optimizer, loop) for optimizer in stepped):
        return False
    if any(lifetimes.varies(argument, loop) for argument in scaler.call.args):
        return False
    ways = lifetimes.ways_to(scaler.call)
    within = None
    while within is None:  # one of them is by way of the loop
        place = next(ways)
        within = loop if places.holds(loop, place) else None
        if any(_may_be_once(training, scaler, guard.test, loop) for guard in places.guards_of(place, within)):
            return False
    return not any(lifetimes.runs_in(call, loop) for call in places.calls("load_state_dict", "reset_parameters"))


def _may_be_once(training: Training, scaler: Scaler, test: cst.BaseExpression, loop: Loop) -> bool:
    """Whether a condition may let the scaler be built in one round only, as one that asks for the scaler does."""
    if training.lifetimes.varies(test, loop):
        return True
    text = training.tree.code(test)
    return bool(re.search(r"['\"]\w*scaler\w*['\"]", text)) or any(name in text for name in _kept_as(training, scaler))


def _kept_as(training: Training, scaler: Scaler) -> Iterator[str]:
    """How a condition may name the place that a scaler is kept at: its collection, or its attribute in quotes."""
    import libcst as cst

    for parent in training.names.ancestors(scaler.call):
        if isinstance(parent, cst.Assign):
            for target in (each.target for each in parent.targets):
                if isinstance(target, cst.Subscript):
                    yield training.tree.code(target.value)
                elif isinstance(target, cst.Attribute):
                    yield from (f"'{target.attr.value}'", f'"{target.attr.value}"')


def _in_handler(training: Training, node: cst.CSTNode) -> bool:
    import libcst as cst

    return any(isinstance(parent, cst.ExceptHandler) for parent in training.names.ancestors(node))


def _hoist(context: Context, scaler: Scaler, loop: Loop) -> Fix | None:
    """Move the statement that builds the scaler in front of ``loop``."""
    import libcst as cst

    from amplint.syntax.enclosing import whole_lines

    training, tree, document = context.training, context.tree, context.document
    line: cst.SimpleStatementLine | None = None
    for parent, _ in training.places.around(scaler.call):
        if isinstance(parent, cst.SimpleStatementLine):
            line = parent
        elif line is not None and not isinstance(parent, (cst.IndentedBlock, cst.For, cst.While)):
            return None
        if parent is loop:
            break
    else:
        return None
    if line is None or len(line.body) != 1 or not isinstance(assign := line.body[0], cst.Assign):
        return None
    targets = [target.target for target in assign.targets]
    if len(targets) != 1 or not isinstance(targets[0], (cst.Name, cst.Attribute)):
        return None
    if isinstance(targets[0], cst.Name):
        binding = training.places.binding(targets[0])
        if binding is None or len(binding.others) != 1:
            return None
    elif len(training.places.attribute_targets(targets[0].attr.value)) != 1:
        return None
    loop_start, loop_end = whole_lines(tree, loop)
    for reference in training.places.references(assign.value):
        found = training.names.binding(reference)
        if found is not None and any(loop_start <= tree.span(node)[0] < loop_end for node in found.others):
            return None
    start, end = whole_lines(tree, line)
    text = tree.text[start:end]
    if text.count("\n") > 1 or not text.endswith("\n"):
        return None
    margin = tree.text[loop_start : tree.span(loop)[0]]
    comments = _comments(tree.text[:start])
    moved = "".join(margin + part.lstrip() for part in (*comments, text))
    return Fix(
        "Build the scaler before the loop",
        (
            document.edit(loop_start, loop_start, moved),
            document.edit(start - sum(map(len, comments)), end, ""),
        ),
    )


def _comments(before: str) -> list[str]:
    """The lines right before a statement that are comments, if they speak of what a scaler is there for."""
    found: list[str] = []
    for line in reversed(before.splitlines(keepends=True)):
        if not line.lstrip().startswith("#"):
            break
        found.insert(0, line)
    return found if _ABOUT_SCALING.search("".join(found)) else []
