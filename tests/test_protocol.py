"""The automaton: what it rejects, and that PyTorch rejects the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplint.protocol import Event, EventKind, ProtocolState, Violation, advance

CALLS = {
    "new": EventKind.NEW_SCALER,
    "unscale": EventKind.UNSCALE,
    "step": EventKind.SCALER_STEP,
    "plain-step": EventKind.OPTIMIZER_STEP,
    "update": EventKind.UPDATE,
    "clear": EventKind.CLEAR_GRADS,
    "clip": EventKind.CLIP,
    "read": EventKind.USE_GRADS,
    "forget": EventKind.FORGET,
    "retire": EventKind.RETIRE,
}
OF_A_SCALER = {"new", "unscale", "step", "update", "forget", "retire", "scaled-backward"}


def event(call: str, site: int) -> Event:
    """``step b`` is a step of optimizer b by the only scaler; without a letter it is optimizer a's."""
    name, _, optimizer = call.partition(" ")
    scaler = "scaler" if name in OF_A_SCALER else None
    kind = EventKind.BACKWARD if name.endswith("backward") else CALLS[name]
    optimizers = () if name in ("new", "update", "retire") else tuple(optimizer or "a")
    return Event(kind, site, scaler, optimizers)


def run(calls: str) -> list[Violation]:
    state, found = ProtocolState(), []
    for site, call in enumerate(part.strip() for part in calls.split(",")):
        state, violations = advance(state, event(call, site))
        found += violations
    return found


@pytest.mark.parametrize(
    "calls",
    [
        "new, scaled-backward, step, update",
        "new, scaled-backward, unscale, clip, step, update, clear, scaled-backward, step, update",
        "new, scaled-backward, scaled-backward, unscale, read, step, update",
        "new, scaled-backward ab, unscale a, step a, step b, update",
        "new, scaled-backward, unscale, update",
        "plain-backward, clip, plain-step, clear, plain-backward, plain-step",
        "scaled-backward, forget, plain-step",
    ],
)
def test_right_orders_are_silent(calls: str) -> None:
    assert run(calls) == []


@pytest.mark.parametrize(
    ("calls", "code", "site"),
    [
        ("new, scaled-backward, plain-step", "AMP101", 2),
        ("new, scaled-backward, unscale, plain-step, update", "AMP101", 3),
        ("new, scaled-backward, step, plain-step", "AMP101", 3),
        ("new, scaled-backward ab, step a, plain-step b", "AMP101", 3),
        ("new, scaled-backward, step, scaled-backward, step", "AMP102", 2),
        ("new, scaled-backward, step, retire", "AMP102", 2),
        ("new, scaled-backward ab, step a, step b, scaled-backward ab, step a", "AMP102", 3),
        ("new, scaled-backward, clip", "AMP103", 2),
        ("new, scaled-backward, read", "AMP104", 2),
        ("new, plain-backward, step", "AMP105", 1),
        ("new, scaled-backward, plain-backward, unscale", "AMP105", 2),
        ("new, scaled-backward, unscale, unscale", "AMP106", 3),
        ("new, scaled-backward, step, unscale", "AMP106", 3),
        ("new, scaled-backward, step, update, update", "AMP107", 4),
        ("new, scaled-backward ab, step a, update, step b", "AMP107", 3),
        ("new, scaled-backward, unscale, scaled-backward", "AMP109", 3),
        ("new, scaled-backward, step, step", "AMP110", 3),
    ],
)
def test_wrong_orders_are_found_where_they_go_wrong(calls: str, code: str, site: int) -> None:
    assert [(violation.code, violation.site) for violation in run(calls)] == [(code, site)]


def test_one_missing_update_is_said_once() -> None:
    iterations = ", ".join(["scaled-backward ab, step a, step b"] * 3)
    found = run(f"new, {iterations}")
    assert [violation.code for violation in found] == ["AMP102", "AMP102"]  # one for each time round


def test_equal_states_are_equal_however_they_came_about() -> None:
    state = ProtocolState()
    state, _ = advance(state, event("scaled-backward", 1))
    state, _ = advance(state, event("forget", 2))
    state = ProtocolState(gradients=state.gradients)
    assert state == ProtocolState() and hash(state) == hash(ProtocolState())


LOUD = {"AMP102", "AMP106", "AMP107", "AMP110"}
"""What PyTorch itself raises for."""


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.sampled_from(["backward", "unscale a", "unscale b", "step a", "step b", "update", "clear"]), max_size=14
    )
)
def test_pytorch_raises_exactly_where_the_automaton_says(calls: list[str]) -> None:
    """One scaler, two optimizers, any order of calls on gradients that are there."""
    torch = pytest.importorskip("torch")
    weights = {name: torch.nn.Parameter(torch.ones(2)) for name in "ab"}
    optimizers = {name: torch.optim.SGD([weight], lr=0.01) for name, weight in weights.items()}
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    state, _ = advance(ProtocolState(), event("new", 0))
    scaler.scale(sum(weight.sum() for weight in weights.values())).backward()
    state, _ = advance(state, event("scaled-backward ab", 1))
    for site, call in enumerate(calls, 2):
        name, _, optimizer = call.partition(" ")
        if optimizer and weights[optimizer].grad is None:
            continue
        state, violations = advance(state, event("scaled-backward ab" if name == "backward" else call, site))
        if name == "clear":
            state, violations = advance(state, event("clear ab", site))
        said = {violation.code for violation in violations} & LOUD
        early = {violation.code for violation in violations if violation.code == "AMP107" and violation.site != site}
        try:
            if name == "backward":
                scaler.scale(sum(weight.sum() for weight in weights.values())).backward()
            elif name == "clear":
                for each in optimizers.values():
                    each.zero_grad()
            elif name == "update":
                scaler.update()
            else:
                getattr(scaler, {"unscale": "unscale_", "step": "step"}[name])(optimizers[optimizer])
        except (RuntimeError, AssertionError) as error:
            assert said, f"PyTorch raised {error}"
            return
        assert not said - early, f"PyTorch took {call}"


SEQUENCES = (Path(__file__).parent / "protocol_sequences.txt").read_text(encoding="utf-8").split("\n\n")
"""Sequences of events, each with all that is said of it.

An event is the word of its kind, its scaler as a capital, its optimizers, ``?`` where it is not certain, and its site
if that is not its number. What is said: code, site, scaler, optimizer, the stage that lacks an update, the message and
the causes.
"""
WITH_A_SCALER = {
    *("new-scaler", "unscale", "scaler-step", "update", "scale", "rescale", "use-loss", "closure-step"),
    *("wrong-argument", "retire"),
}


def spelled(words: str, number: int) -> Event:
    kind, *rest = words.split()
    scaler = next((word for word in rest if word.isupper()), "S" if kind in WITH_A_SCALER else None)
    optimizers = next((word for word in rest if word.islower()), "")
    site = next((int(word[1:]) for word in rest if word.startswith("@")), number)
    return Event(EventKind(kind), site, scaler, tuple(optimizers), "?" not in rest)


def said(violation: Violation) -> str:
    stage = f" {violation.stage.value}" if violation.stage else ""
    whose = f"{violation.scaler} {violation.optimizer}{stage}"
    causes = "".join(f"; {cause.message} @{cause.site}" for cause in violation.causes)
    return f"{violation.code} @{violation.site} {whose}: {violation.message}{causes}"


def all_said(events: str) -> list[str]:
    state, found = ProtocolState(), []
    for number, words in enumerate(events.split(",")):
        state, violations = advance(state, spelled(words, number))
        found += map(said, violations)
    return found


@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda sequence: sequence.partition("\n")[0])
def test_what_is_said_of_a_sequence(sequence: str) -> None:
    events, *expected = sequence.splitlines()
    assert all_said(events) == [line.strip() for line in expected]
