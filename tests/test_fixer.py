"""Fixes: only those that heal, all or nothing, again until nothing changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from amplint.documents import Document, apply_edits
from amplint.findings import Applicability, Edit, Finding, Fix, Severity
from amplint.fixer import Fixed, Fixer
from amplint.registry import installed
from amplint.rule import Context, Rule

pytestmark = pytest.mark.usefixtures("demo_rules")


def fixer(*codes: str) -> Fixer:
    rules = installed().rules
    return Fixer([rule for rule in rules if rule.code in codes] if codes else rules, rules)


def lint(text: str, *codes: str) -> list[Finding]:
    return list(fixer(*codes).lint(Document.from_source("a.py", text)).findings)


def fix(text: str, *codes: str, unsafe: bool = False) -> Fixed:
    return fixer(*codes).fix(Document.from_source("a.py", text), unsafe=unsafe)


def test_a_finding_that_heals_has_its_fix() -> None:
    (finding,) = lint("x = bad\n")
    assert finding.fix is not None
    assert finding.fix.message == "Replace by `good`"
    assert finding.no_fix_reason is None


def test_the_first_candidate_that_heals_is_kept() -> None:
    (finding,) = lint("second\n")
    assert finding.fix is not None
    assert finding.fix.message == "Replace by `fine`"


def test_no_fix_that_does_not_heal_is_offered() -> None:
    (finding,) = lint("hopeless\n")
    assert finding.fix is None
    assert finding.no_fix_reason == "the fix would not heal it: the result does not compile"
    assert fix("hopeless\n").document.text == "hopeless\n"


def test_a_fix_must_bring_no_finding_of_an_unselected_rule() -> None:
    """The first candidate of `second` becomes `stuck`, a finding of DEMO003."""
    (finding,) = lint("second\n", "DEMO006")
    assert finding.fix is not None
    assert finding.fix.message == "Replace by `fine`"


def test_the_reason_of_a_rule_is_kept() -> None:
    (finding,) = lint("stuck\n")
    assert finding.no_fix_reason == "nobody knows how"


def test_one_that_does_not_heal_keeps_none_of_the_others_from_it() -> None:
    fixed = fix("bad\nhopeless\nsecond\nbad\n")
    assert fixed.document.text == "good\nhopeless\nfine\ngood\n"
    assert [finding.code for finding in fixed.healed].count("DEMO001") == 2
    assert [finding.code for finding in fixed.remaining.findings] == ["DEMO005"]


def test_only_selected_findings_are_fixed() -> None:
    assert fix("bad\nsecond\n", "DEMO006").document.text == "bad\nfine\n"


def test_suppressed_findings_are_not_fixed() -> None:
    assert fix("bad  # noqa\nbad\n").document.text == "bad  # noqa\ngood\n"


def test_unsafe_fixes_wait_to_be_asked_for() -> None:
    assert fix("risky, bad\n").document.text == "risky, good\n"
    assert fix("risky, bad\n", unsafe=True).document.text == "calm, good\n"


def test_an_insertion_that_several_findings_share_is_made_once() -> None:
    fixed = fix("lonely, lonely\n")
    assert fixed.document.text == "import company\nlonely, lonely\n"
    assert len(fixed.healed) == 2
    assert not fixed.remaining.findings


def test_inserted_lines_have_the_newlines_of_the_file() -> None:
    assert fix("lonely\r\n").document.text == "import company\r\nlonely\r\n"


def test_overlapping_fixes_of_different_rules_take_one_pass_each() -> None:
    assert fix("second\nlonely, bad\n").document.text == "import company\nfine\nlonely, good\n"


def test_thousands_of_findings_take_no_square_of_the_time() -> None:
    text = "bad\n" * 3000
    assert fix(text).document.text == text.replace("bad", "good")


def test_text_that_does_not_compile_is_not_fixed() -> None:
    fixed = fix("bad\ndef f(:\n")
    assert fixed.document.text == "good\ndef f(:\n"  # the demonstration rules read words; nothing gets worse


def test_a_rule_that_fails_is_named_and_the_others_are_heard() -> None:
    result = fixer().lint(Document.from_source("a.py", "crash_here, bad\n"))
    assert [finding.code for finding in result.findings] == ["DEMO001"]
    (crash,) = result.crashes
    assert str(crash).startswith("rule DEMO004 (crash) failed: ZeroDivisionError: as asked; ")
    assert "please report it" in str(crash)


def test_fixes_that_heal_alone_and_not_together_are_made_one_by_one() -> None:
    class Crowd(Rule):
        """Finds the second `good`."""

        code, name, severity, since, summary = "DEMO009", "crowd", Severity.ERROR, "1.0", "one is enough"
        mentions = (b"good",)

        def check(self, context: Context) -> Iterator[Finding]:
            place = context.document.location(context.document.text.rindex("good"))
            if context.document.text.count("good") > 1:
                yield Finding(self.code, "one is enough", self.severity, place, place)

    rules = [*installed().rules, Crowd]
    fixed = Fixer(rules, rules).fix(Document.from_source("a.py", "bad\nbad\n"))
    assert fixed.document.text == "good\nbad\n"
    (left,) = fixed.remaining.findings
    assert left.no_fix_reason == "the fix would not heal it: DEMO009 would appear"


def test_a_fix_on_which_a_rule_fails_is_not_offered() -> None:
    class Doomed(Rule):
        """Its fix is a word that another rule fails on."""

        code, name, severity, since, summary = "DEMO007", "doomed", Severity.ERROR, "1.0", "fails when fixed"
        mentions = (b"doomed",)

        def check(self, context: Context) -> Iterator[Finding]:
            start, end = (context.document.location(offset) for offset in (0, len("doomed")))
            if context.document.text.startswith("doomed"):
                fix = Fix("Replace it", (context.document.edit(0, len("doomed"), "crash_here"),))
                yield Finding(self.code, "doomed", self.severity, start, end, candidates=(fix,))

    rules = [*installed().rules, Doomed]
    (finding,) = Fixer(rules, rules).lint(Document.from_source("a.py", "doomed\n")).findings
    assert finding.no_fix_reason == "the fix would not heal it: a rule fails on the result"


def test_edits_of_one_place_are_made_in_their_order_and_overlapping_ones_refused() -> None:
    document = Document.from_source("a.py", "abc")

    def edit(start: int, end: int, content: str) -> Edit:
        return document.edit(start, end, content)

    assert apply_edits("abc", [edit(1, 2, "X"), edit(1, 1, "-"), edit(1, 1, "+")]) == "a-+Xc"
    assert apply_edits("abc", [edit(1, 2, ""), edit(2, 3, "")]) == "a"
    with pytest.raises(ValueError, match="overlap"):
        apply_edits("abc", [edit(0, 2, ""), edit(1, 3, "")])


def test_the_applicability_of_the_kept_fix_is_told() -> None:
    (finding,) = lint("risky\n")
    assert finding.fix is not None
    assert finding.fix.applicability is Applicability.UNSAFE
