"""Random sound workflows, random events: what holds for every one of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.engine.decide import decide
from handrail.engine.facts import Value
from handrail.engine.lifecycle import CONTINUE, RESERVED, START
from handrail.engine.model import Accepted, Decision, Event, Lifecycle, Refused, Run, Waiting, Who
from handrail.engine.options import options
from handrail.engine.record import dump, load
from random_workflows import Case, cases, events, facts, output

pytestmark = pytest.mark.unmeasured

Turn = tuple[Event, dict[str, Value]]
turns = st.lists(st.tuples(events(), facts()), max_size=12)
many = settings(max_examples=300)


def _after(run: Run, decision: Decision) -> Run:
    return run if isinstance(decision, Refused) else decision.run


def _start(case: Case, world: dict[str, Value]) -> Run:
    decision = decide(case.workflow, Run("r", "random", case.workflow.digest), Event(START), world)
    assert isinstance(decision, Accepted)
    return decision.run


def _walked(case: Case, world: dict[str, Value], way: list[Turn]) -> Run:
    run = _start(case, world)
    for event, seen in way:
        run = _after(run, decide(case.workflow, run, event, seen))
    return run


@many
@given(cases(), facts(), turns)
def test_a_run_is_never_in_a_state_outside_its_workflow(
    case: Case, world: dict[str, Value], way: list[Turn]
) -> None:
    run = _start(case, world)
    for event, seen in way:
        run = _after(run, decide(case.workflow, run, event, seen))
        for step in run.open:
            state = case.workflow.states[step.state]
            assert not state.router
            assert not state.terminal
            assert step.attempt <= (state.attempts or step.attempt)


@many
@given(cases(), facts(), turns, events(), facts())
def test_an_illegal_event_is_refused_and_a_refusal_says_why(
    case: Case, world: dict[str, Value], way: list[Turn], event: Event, seen: dict[str, Value]
) -> None:
    run = _walked(case, world, way)
    legal = {option.trigger for option in options(case.workflow, run, seen)}
    decision = decide(case.workflow, run, event, seen)
    if event.trigger not in RESERVED and event.trigger not in legal:
        assert isinstance(decision, Refused)
    if isinstance(decision, Refused):
        assert decision.code
        assert decision.rule
        assert {option.trigger for option in decision.next} <= legal | RESERVED


@many
@given(cases(), facts(), turns, events(), facts())
def test_the_same_question_gets_the_same_answer(
    case: Case, world: dict[str, Value], way: list[Turn], event: Event, seen: dict[str, Value]
) -> None:
    run = _walked(case, world, way)
    before = dump(run)
    other_order = dict(reversed(seen.items()))

    first = decide(case.workflow, run, event, seen)

    assert decide(case.workflow, run, event, other_order) == first
    assert dump(run) == before


@many
@given(cases(), facts(), turns, facts())
def test_options_are_exactly_the_triggers_that_some_good_payload_gets_accepted(
    case: Case, world: dict[str, Value], way: list[Turn], seen: dict[str, Value]
) -> None:
    run = _walked(case, world, way)
    open_now = {option.trigger for option in options(case.workflow, run, seen)}
    triggers = {row.trigger for row in case.workflow.rows if row.trigger}

    accepted = set()
    for trigger in triggers:
        payloads = [output(good=True), output(good=False)] if trigger == CONTINUE else [{}]
        asked = [Event(trigger, payload, Who.PERSON) for payload in payloads]
        answers = [decide(case.workflow, run, event, seen) for event in asked]
        if not all(isinstance(answer, Refused) for answer in answers):
            accepted.add(trigger)

    assert open_now == accepted


@many
@given(cases(), facts(), turns, turns)
def test_a_run_that_is_saved_and_read_again_goes_on_as_if_nothing_had_happened(
    case: Case, world: dict[str, Value], before: list[Turn], after: list[Turn]
) -> None:
    run = _walked(case, world, before)
    restored = load(dump(run))
    assert restored == run
    for event, seen in after:
        decision = decide(case.workflow, run, event, seen)
        assert decide(case.workflow, restored, event, seen) == decision
        run, restored = _after(run, decision), load(dump(_after(restored, decision)))


@many
@given(cases(), facts(), turns, events(), facts())
def test_an_ended_run_never_moves_again(
    case: Case, world: dict[str, Value], way: list[Turn], event: Event, seen: dict[str, Value]
) -> None:
    run = _walked(case, world, way)
    decision = decide(case.workflow, run, event, seen)
    if run.lifecycle in {Lifecycle.COMPLETED, Lifecycle.FAILED, Lifecycle.ABANDONED, Lifecycle.DIVERGED}:
        assert isinstance(decision, Refused)
        assert run.open == ()
    assert not isinstance(decision, Waiting)
