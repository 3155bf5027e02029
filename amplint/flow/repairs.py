"""Rewrites that put the calls of the protocol in order: moved, removed, added, taken out of a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from amplint.findings import Applicability, Edit, Fix
from amplint.flow.intent import Intent, bundle
from amplint.protocol import Violation
from amplint.syntax.enclosing import (
    Insertion,
    insert_after,
    insert_before,
    insert_line_before,
    removal,
    statement_of,
    whole_lines,
)
from amplint.syntax.names import within
from amplint.syntax.tree import SyntaxTree


def small_statement(intent: Intent, site: object) -> cst.BaseSmallStatement | None:
    """The statement of one line that the call at ``site`` belongs to."""
    node = intent.report.node(site)
    if isinstance(node, cst.BaseSmallStatement):
        return node
    return statement_of(intent.tree.around(node))


def call_statement(intent: Intent, site: object) -> cst.Expr | None:
    """The statement that is nothing but the call at ``site``."""
    statement = small_statement(intent, site)
    alone = isinstance(statement, cst.Expr) and statement.value is intent.report.node(site)
    return statement if alone and isinstance(statement, cst.Expr) else None


def remove(intent: Intent, site: object) -> Edit | None:
    """The call at ``site``, which is a statement of its own, removed."""
    statement = call_statement(intent, site)
    cut = removal(intent.tree, statement) if statement is not None else None
    return None if cut is None else intent.document.edit(*cut)


def add_before(intent: Intent, site: object, code: str) -> Edit | None:
    """``code`` on lines of its own before the statement of ``site``, or the loop over parameters that it is in."""
    statement = small_statement(intent, site)
    if statement is None:
        return None
    loop = _loop_over_parameters(intent, site)
    if loop is not None:
        insertion: Insertion | None = insert_line_before(intent.tree, loop, code)
    else:
        insertion = insert_before(intent.tree, statement, code)
    if insertion is None:
        return None
    return intent.document.edit(insertion.offset, insertion.offset, insertion.content)


def _loop_over_parameters(intent: Intent, site: object) -> cst.For | None:
    """The outermost loop around ``site`` that does the same to each parameter."""
    found = None
    for node in intent.tree.around(intent.report.node(site)):
        if isinstance(node, (cst.FunctionDef, cst.Lambda)):
            break
        if isinstance(node, cst.For):
            source = intent.tree.code(node.iter)
            if not any(word in source for word in ("parameters()", "param_groups", "params")):
                break
            found = node
    return found


def add_after(intent: Intent, site: object, code: str) -> Edit | None:
    """``code`` as a statement of its own after the one of ``site``."""
    statement = small_statement(intent, site)
    insertion = insert_after(intent.tree, statement, code) if statement is not None else None
    if insertion is None:
        return None
    return intent.document.edit(insertion.offset, insertion.offset, insertion.content)


def code_at(intent: Intent, site: object) -> str:
    """The source of the call at ``site``."""
    start, end = intent.tree.span(intent.report.node(site))
    return intent.tree.text[start:end]


def with_comment(intent: Intent, site: object) -> str:
    """The source of the call at ``site``, with the comment behind it on its line."""
    around = intent.tree.around(intent.report.node(site))
    line = next((node for node in around if isinstance(node, cst.SimpleStatementLine)), None)
    one = intent.tree.whole(line) if line is not None and len(line.body) == 1 else None
    comment = None if one is None else one.trailing_whitespace.comment
    return code_at(intent, site) + ("" if comment is None else f"  {comment.value}")


def move_after(intent: Intent, site: object, place: object) -> list[Edit | None]:
    """The call at ``site``, a statement of its own, moved behind the statement of ``place`` in the same function."""
    if intent.report.scope(site) != intent.report.scope(place):
        return [None]  # its names stand for other things there, or for nothing
    return [remove(intent, site), add_after(intent, place, with_comment(intent, site))]


def comes_always_before(intent: Intent, first: object, second: object) -> bool:
    """Whether the block of the statement of ``first`` holds that of ``second``, after it."""
    one, other = small_statement(intent, first), small_statement(intent, second)
    if one is None or other is None or intent.tree.span(one) >= intent.tree.span(other):
        return False
    return intent.tree.around(one)[1] in intent.tree.around(other)


def replace_call(intent: Intent, site: object, content: str) -> Edit:
    """Something else in the place of the call at ``site``."""
    return intent.document.edit(*intent.tree.span(intent.report.node(site)), content)


def unscale_before(intent: Intent, violation: Violation, scaler: str, optimizer: str) -> tuple[Fix | None, ...]:
    """``unscale_`` right before the place of a violation: added, under the condition of its cause, or moved there."""
    call = f"{scaler}.unscale_({optimizer})"
    add = f"Add `{call}`"
    guard = intent.guard(violation)
    if intent.is_unsayable(violation):
        return ()
    if guard is None:
        fixes = [bundle(add, [add_before(intent, violation.site, call)])]
    else:  # the scaler may be there under this condition only
        test = guard[0] if guard[1] else f"not ({guard[0]})"
        indent = intent.tree.whole(intent.tree.module).default_indent
        fixes = [bundle(add, [add_before(intent, violation.site, f"if {test}:\n{indent}{call}")])]
    for later in _others(intent, violation, call):
        moved = with_comment(intent, later)
        fixes.append(bundle(f"Move `{call}`", [remove(intent, later), add_before(intent, violation.site, moved)]))
    return tuple(fixes)


def _others(intent: Intent, violation: Violation, call: str) -> list[int]:
    """The sites of this very call in the same function."""
    here = intent.report.scope(violation.site)
    sites = intent.report.uses.get(violation.scaler, set())
    return [site for site in sorted(sites) if intent.report.scope(site) == here and code_at(intent, site) == call]


def steps_beside(intent: Intent, violation: Violation) -> list[int]:
    """The sites at which the scaler of a violation steps in the same function, the last first."""
    here = intent.report.scope(violation.site)
    sites = sorted(intent.report.uses.get(violation.scaler, ()), reverse=True)
    calls = [(site, intent.report.node(site)) for site in sites if intent.report.scope(site) == here]
    return [
        site
        for site, call in calls
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "step"
    ]


def last_update_after(intent: Intent, site: object, scaler: str) -> object:
    """The ``update()`` that follows the statement of ``site`` in its block, or else ``site`` itself."""
    statement = small_statement(intent, site)
    if statement is None:
        return site
    line, *around = intent.tree.around(statement)
    block = around[0] if around else None
    body: Sequence[cst.CSTNode] = block.body if isinstance(block, (cst.IndentedBlock, cst.Module)) else ()
    rest = list(body[body.index(line) + 1 :]) if line in body else []
    for candidate, node in enumerate(intent.report.sites):
        if isinstance(node, cst.Call) and code_at(intent, candidate) == f"{scaler}.update()":
            if any(intent.tree.span(other) == intent.tree.span(node) for other in rest):
                return candidate
    return site


def move_behind_step(intent: Intent, violation: Violation, scaler: str) -> Fix | None:
    """The call of a violation moved behind the step that is its cause, and the update that follows this."""
    place = last_update_after(intent, violation.causes[0].site, scaler)
    return bundle("Move it behind the step", move_after(intent, violation.site, place))


def as_unsafe(fix: Fix | None) -> Fix | None:
    """The same fix, for those who ask for more than the same meaning."""
    return None if fix is None else replace(fix, applicability=Applicability.UNSAFE)


def dedent(intent: Intent, site: object) -> Fix | None:
    """The statements from that of ``site`` on taken out of the ``with`` block that they stand in directly.

    Safe where nothing but the protocol's own calls moves out; whatever else moves loses the region, so that is not.
    """
    tree = intent.tree
    statement = small_statement(intent, site)
    if statement is None:
        return None
    line, *around = tree.around(statement)
    if len(around) < 2 or not isinstance(around[0], cst.IndentedBlock) or not isinstance(around[1], cst.With):
        return None
    block, region = around[0], around[1]
    if len(region.items) != 1:
        return None  # the other contexts are meant for what would be moved
    assert isinstance(line, cst.SimpleStatementLine)  # as small statements in a block are
    index = block.body.index(line)
    moved = block.body[index:]
    if index == 0:
        return None
    text = tree.text
    outer = text[whole_lines(tree, region)[0] : tree.span(region)[0]]
    inner = text[whole_lines(tree, line)[0] : tree.span(line)[0]]
    if not inner.startswith(outer):  # a form feed
        return None
    start, end = whole_lines(tree, moved[0])[0], whole_lines(tree, moved[-1])[1]
    body = text[start:end]
    after = _behind(around[2:], region)
    if any(_goes_backward(statement) for statement in (*moved[1:], *_using(after, _assigned(moved)))):
        return None  # a forward pass stands between them that needs the region
    if _holds_text_over_lines(tree, moved) or any(
        part.strip() and not part.startswith(inner) for part in body.splitlines()
    ):
        return None
    content = "".join(
        outer + part[len(inner) :] if part.startswith(inner) else part for part in body.splitlines(keepends=True)
    )
    safe = all(_is_of_the_protocol(statement) for statement in moved)
    applicability = Applicability.SAFE if safe else Applicability.UNSAFE
    edit = intent.document.edit(start, end, content)
    return Fix("Move the step out of the autocast region", (edit,), applicability)


def _behind(around: Sequence[cst.CSTNode], node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    """The statements that follow ``node`` in its block, which is the innermost of those around it."""
    block = around[0] if around else None
    body: list[cst.CSTNode] = list(block.body) if isinstance(block, (cst.IndentedBlock, cst.Module)) else []
    return body[body.index(node) + 1 :] if node in body else []


def _assigned(statements: Sequence[cst.CSTNode]) -> set[str]:
    """The variables that statements bind."""
    targets = (node.target for each in statements for node in within(each) if isinstance(node, cst.AssignTarget))
    return {node.value for target in targets for node in within(target) if isinstance(node, cst.Name)}


def _using(statements: Sequence[cst.CSTNode], names: set[str]) -> list[cst.CSTNode]:
    """Those of the statements in which one of these variables stands."""
    return [
        each for each in statements if any(isinstance(node, cst.Name) and node.value in names for node in within(each))
    ]


_PROTOCOL = frozenset(
    """backward scale step update unscale_ zero_grad clip_grad_norm_ clip_grad_value_ parameters item detach get_scale
    get_last_lr""".split()
)


def _is_of_the_protocol(statement: cst.CSTNode) -> bool:
    calls = [node for node in within(statement) if isinstance(node, cst.Call)]
    names = [call.func.attr.value if isinstance(call.func, cst.Attribute) else "" for call in calls]
    return bool(calls) and all(name in _PROTOCOL for name in names)


def _goes_backward(statement: cst.CSTNode) -> bool:
    attributes = (node.attr.value for node in within(statement) if isinstance(node, cst.Attribute))
    return any("backward" in attribute for attribute in attributes)


def _holds_text_over_lines(tree: SyntaxTree, statements: Sequence[cst.CSTNode]) -> bool:
    tree.whole(tree.module)
    strings = (node for statement in statements for node in within(statement) if isinstance(node, _STRINGS))
    return any("\n" in cst.Module([]).code_for_node(string) for string in strings)


_STRINGS = (cst.SimpleString, cst.FormattedString)


def scale_backward(intent: Intent, site: object, scaler: str) -> tuple[Fix | None, ...]:
    """``loss.backward()`` as ``scaler.scale(loss).backward()``, without a dropped ``scale`` right before it.

    Of ``torch.autograd.backward`` the losses are scaled: one, or a list of them.
    """
    call = intent.report.node(site)
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return ()
    backpropagated = call.func.value
    if intent.tree.code(call.func).endswith("autograd.backward"):  # the function, which is given losses
        if not call.args or call.args[0].star or call.args[0].keyword is not None:
            return ()
        backpropagated = call.args[0].value
    loss = intent.tree.code(backpropagated)
    start, end = _with_parentheses(intent, backpropagated)
    scaled = intent.document.edit(start, end, f"{scaler}.scale({loss})")
    message = f"Backpropagate `{scaler}.scale({loss})`"
    dropped = [
        remove(intent, other)
        for other, node in enumerate(intent.report.sites)
        if isinstance(node, cst.Call)
        and code_at(intent, other) == f"{scaler}.scale({loss})"
        and intent.report.scope(other) == intent.report.scope(site)
        and call_statement(intent, other) is not None
    ]
    return (bundle(message, [scaled, *dropped]), bundle(message, [scaled]))


def _with_parentheses(intent: Intent, node: cst.BaseExpression) -> tuple[int, int]:
    """Start and end of an expression with the parentheses around it."""
    (start, end), text = intent.tree.span(node), intent.tree.text
    for _ in intent.tree.whole(node).lpar:
        start, end = text.rindex("(", 0, start), text.index(")", end) + 1
    return start, end


def _method_calls(intent: Intent, violation: Violation) -> list[tuple[int, cst.Call]]:
    """The calls of methods in a violation's function; none where a number is divided by the scale somewhere."""
    here = intent.report.scope(violation.site)
    sites = [
        (site, node)
        for site, node in enumerate(intent.report.sites)
        if intent.report.scope(site) == here and isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
    ]
    names = {node.func.attr.value for _, node in sites if isinstance(node.func, cst.Attribute)}
    return [] if names & {"get_scale", "_scale"} else sites


def leave_unscaled(intent: Intent, violation: Violation, scaler: str) -> Fix | None:
    """``scaler.scale(loss).item()`` as ``loss.item()``."""
    used = intent.report.node(violation.site)
    if not isinstance(used, cst.Call) or not _method_calls(intent, violation):
        return None
    given = [argument.value for argument in used.args[:1]]
    owner = used.func.value if isinstance(used.func, cst.Attribute) else None
    of = next((each for each in (owner, *given) if isinstance(each, cst.Call)), None)
    if not isinstance(of, cst.Call) or len(of.args) != 1 or intent.tree.code(of.func) != f"{scaler}.scale":
        return None
    loss = of.args[0].value
    code = intent.tree.code(loss)
    bare = of is not owner or isinstance(loss, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
    edit = intent.document.edit(*intent.tree.span(of), code if bare else f"({code})")
    return bundle("Use the loss itself", [edit])


def scale_at_backward(intent: Intent, violation: Violation, scaler: str) -> Fix | None:
    """``loss = scaler.scale(loss)`` and ``loss.backward()`` as ``scaler.scale(loss).backward()``."""
    sites = _method_calls(intent, violation)
    for site, node in sites:
        statement = small_statement(intent, site)
        if not isinstance(statement, cst.Assign) or statement.value is not node or len(statement.targets) != 1:
            continue
        target = statement.targets[0].target
        code = code_at(intent, site)
        if not isinstance(target, cst.Name) or code != f"{scaler}.scale({target.value})":
            continue
        cut = removal(intent.tree, statement)
        backward = [
            other
            for other, call in sites
            if isinstance(call.func, cst.Attribute)
            and call.func.attr.value == "backward"
            and intent.tree.code(call.func.value) == target.value
        ]
        if cut is not None and len(backward) == 1:
            call = intent.report.node(backward[0])
            assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
            start, end = intent.tree.span(call.func.value)
            edits: list[Edit | None] = [intent.document.edit(*cut), intent.document.edit(start, end, code)]
            return bundle(f"Scale it where it is backpropagated: `{code}.backward()`", edits)
    return None


def right_argument(intent: Intent, site: object) -> Fix | None:
    """The argument of a scaler's method that was plainly meant."""
    call = intent.report.node(site)
    if not isinstance(call, cst.Call) or len(call.args) != 1:
        return None
    given = call.args[0].value
    start, end = intent.tree.span(given)
    if isinstance(given, cst.Integer):
        return bundle("Give a float", [intent.document.edit(start, end, f"{given.value}.0")])
    if isinstance(given, cst.Call) and isinstance(given.func, cst.Attribute):
        owner = intent.tree.code(given.func.value)
        if given.func.attr.value == "step" and not given.args:
            return bundle(f"Give `{owner}`", [intent.document.edit(start, end, owner)])
        if given.func.attr.value == "get_scale":
            return bundle("Update without an argument", [intent.document.edit(start, end, "")])
    return None
