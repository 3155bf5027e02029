"""What the automaton's rules share: one finding for each place that it rejects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from amplint.findings import Finding, Fix, Related
from amplint.mentions import Mention
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    from amplint.flow.intent import Intent
    from amplint.flow.machine import Found

MENTIONS = (
    b"unscale_",
    b"GradScaler",
    b"Accelerator(",
    (b"Scaler(", b".step("),
    (b".scale(", b"backward"),
    (b".scale(", b"scaler"),
    (b"autocast", b".scale"),
    (b"autocast", b"Accelerator"),
)
"""A file without any has no step of a scaler's protocol in it."""


_OF_ACCELERATOR = "Call the accelerator's own `clip_grad_norm_` or `clip_grad_value_`, which unscale first."


class ViolationRule(Rule):
    """A rule that says what the automaton says under the rule's code.

    ``advice`` tells what to do; in it ``{scaler}`` is the scaler as it is called there.
    """

    advice: ClassVar[str]
    mentions: ClassVar[tuple[Mention, ...]] = MENTIONS
    calls_scaler: ClassVar[bool] = True
    """Whether the rewrites call the scaler, which must be reached for it."""

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the places that the automaton rejects."""
        report = context.protocol
        rejected = [found for found in report.violations if found.violation.code == self.code]
        if not rejected:
            return
        from amplint.flow.values import is_accelerators

        intent = context.intent
        for found in rejected:
            if not self.concerns(intent, found):
                continue
            violation = found.violation
            scaler = intent.scaler_text(violation) if self.calls_scaler else ""
            is_local = scaler is not None and not found.elsewhere
            candidates = tuple(
                fix
                for fix in (self.candidates(intent, found, scaler) if is_local else ())
                if fix is not None and intent.heals(fix, violation, scaler or "")
            )
            yield context.finding(
                self,
                report.node(violation.site),
                violation.message,
                help=_OF_ACCELERATOR
                if is_accelerators(violation.scaler)
                else self.advice.format(scaler=scaler or "scaler"),
                related=explanation(context, intent, found),
                candidates=candidates,
                no_fix_reason=None if candidates else self.reason(intent, found, scaler),
            )

    def concerns(self, intent: Intent, found: Found) -> bool:
        """Whether this is the rule that should speak, where several see one mistake."""
        return True

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """The rewrites that may heal the violation, the best first."""
        return ()

    def reason(self, intent: Intent, found: Found, scaler: str | None) -> str | None:
        """Why there is no fix."""
        from amplint.flow.values import is_accelerators

        if is_accelerators(found.violation.scaler):
            return "the accelerator owns the scaler: its own methods unscale first"
        if scaler is None:
            return "the scaler cannot be reached from here"
        if found.elsewhere:
            return "a part of it stands in another file"
        return "none of the rewrites that were tried puts all calls in order"


class ScaledGradientRule(ViolationRule):
    """Something is done to gradients that ``unscale_`` should come before."""

    def candidates(self, intent: Intent, found: Found, scaler: str) -> tuple[Fix | None, ...]:
        """``unscale_`` right before the place, under the condition that scales the gradients."""
        from amplint.flow.repairs import unscale_before

        optimizer = intent.optimizer_text(found.violation)
        return () if optimizer is None else unscale_before(intent, found.violation, scaler, optimizer)

    def reason(self, intent: Intent, found: Found, scaler: str | None) -> str | None:
        """Why ``unscale_`` was not added."""
        if scaler is not None and found.violation.optimizer is None:
            return "which optimizer owns these gradients is not certain"
        if scaler is not None and intent.optimizer_text(found.violation) is None:
            return "the optimizer cannot be reached from here"
        return super().reason(intent, found, scaler)


def explanation(context: Context, intent: Intent, found: Found) -> tuple[Related, ...]:
    """The places that explain a violation: its causes, and the conditions under which a run comes there."""
    report = intent.report
    causes = [context.related(report.node(cause.site), cause.message) for cause in found.violation.causes]
    conditions = [
        context.related(report.node(site), f"reached when `{text}` is {str(truth).lower()}")
        for site, truth, text in intent.conditions(found)
    ]
    return (*found.elsewhere, *causes, *conditions)
