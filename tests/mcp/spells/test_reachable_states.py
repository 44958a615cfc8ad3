"""Everywhere that spells can lead: each state with each context, found by casting them all."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Final, TypeAlias

import pytest
from msgspec.structs import replace

from handrail.engine.decide import decide
from handrail.engine.facts import Value
from handrail.engine.model import Accepted, Actor, Event, Run, Step
from handrail.engine.paths import find_requirements
from helpers.requirement import requirement
from helpers.spell_table import load_spells

FLOW: Final = load_spells()
PLACES: Final = 156
"""How many there are: counted by a second reading of the source, in a program that knows no workflow file."""

ASKING: Final = {"PR_CONFIRM_RESTART_COMMENTS", "PR_CONFIRM_RESTART_TASK"}
REVIEWING: Final = {
    *ASKING,
    "PR_GATHERING_COMMENTS",
    "PR_REVIEW_TASK_DRAFT",
    "PR_APPLIED_PENDING_ARCHIVE",
    "ERROR_COMMENTS_MISSING",
    "ERROR_REVIEW_TASK_MISSING",
}
WORDS: Final = ("Accio", "Expecto", "Reparo", "Reverto", "Finite")
SAID: Final = (
    *(Event(word, by=Actor.PERSON) for word in WORDS),
    Event("Reparo", {"resume": True}, by=Actor.PERSON),
)

Place: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]


def _seen(state: str, word: str) -> Iterator[Mapping[str, Value]]:
    """Whatever can be seen there that matters to the word; each other file is missing."""
    rows, wanted = FLOW.index.get((state, word), ()), find_requirements(FLOW, state)
    other = {name: _values(name)[0] for name in [*wanted.facts, *(f"{name}.ok" for name, _ in wanted.drafts)]}
    names = sorted({fact.name for row in rows for guard in (*row.when, *row.accept) for fact in guard.facts})
    matters = [name for name in names if name in other]
    for seen in product(*map(_values, matters)):
        yield {**other, **dict(zip(matters, seen, strict=True))}


def _values(fact: str) -> tuple[Value, Value]:
    """A file is there or not, untouched or not, empty or not; there are criteria or none."""
    return (0, 1) if fact.startswith(("criteria.", "links.")) else (False, True)


def _standing(place: Place) -> Run:
    state, context = place
    step = Step(1, state, 1)
    started = decide(FLOW, Run("run", FLOW.name, FLOW.digest), Event("start"), {})
    assert isinstance(started, Accepted)
    return replace(started.run, open=(step,), vars={**dict.fromkeys(FLOW.vars), **dict(context)})


def _led(place: Place) -> Iterator[Place]:
    """Where each spell leads from there, whatever is seen."""
    run = _standing(place)
    for event in SAID:
        for seen in _seen(place[0], event.trigger):
            decision = decide(FLOW, run, event, seen)
            if isinstance(decision, Accepted):
                held = decision.run.vars.items()
                context = sorted((name, str(value)) for name, value in held if value is not None)
                yield decision.run.open[0].state, tuple(context)


def _reached() -> set[Place]:
    found: set[Place] = {(FLOW.initial, ())}
    fresh = list(found)
    while fresh:
        new = set(_led(fresh.pop())) - found
        found |= new
        fresh += new
    return found


@requirement("spells:context.clear")
def test_the_context_holds_what_its_state_needs_and_forgets_it_when_that_is_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reached = _reached()

    with capsys.disabled():
        print(f" [{len(reached)} places]", end="")  # noqa: T201 - the count
    assert len(reached) == PLACES
    assert {state for state, _ in reached} == set(FLOW.states)
    for state, pairs in reached:
        context = dict(pairs)
        assert ("pr_return_state" in context) is (state in REVIEWING), (state, context)
        assert ("confirm_return_state" in context) is (state in ASKING), (state, context)
        assert context.get("pr_return_state") not in REVIEWING, (state, context)
        if state not in REVIEWING:
            assert ("error_original_state" in context) is state.startswith("ERROR_"), (state, context)
        if context.get("pr_return_state", "").startswith("ERROR_"):
            assert context["error_original_state"].startswith("ACHIEVE_"), (state, context)
