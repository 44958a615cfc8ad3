"""Random sound workflows, random events: what holds for every one of them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.engine.decide import Availability, decide, find_exits, find_options
from handrail.engine.facts import Value
from handrail.engine.lifecycle import CONTINUE, RESERVED_TRIGGERS, START
from handrail.engine.model import (
    Accepted,
    Actor,
    Decision,
    Event,
    Lifecycle,
    Refused,
    Run,
    Waiting,
)
from handrail.stores.sql.rows import decode_run, encode_run
from helpers.random_workflows import Case, cases, draw_output, events, facts

pytestmark = pytest.mark.unmeasured
Turn = tuple[Event, dict[str, Value]]
EXAMPLES = 600


@dataclass(frozen=True)
class Walk:
    """A run of a workflow that has gone its way, what comes then, and what comes after that."""

    case: Case
    world: dict[str, Value]
    way: list[Turn]
    event: Event
    seen: dict[str, Value]
    after: list[Turn]

    @cached_property
    def start(self) -> Run:
        """The run as it begins."""
        idle = Run("r", "random", self.case.workflow.digest)
        decision = decide(self.case.workflow, idle, Event(START), self.world)
        assert isinstance(decision, Accepted)
        return decision.run

    @cached_property
    def run(self) -> Run:
        """The run at the end of its way."""
        run = self.start
        for event, seen in self.way:
            run = _after(run, decide(self.case.workflow, run, event, seen))
        return run

    def decided(self, event: Event | None = None) -> Decision:
        """What comes of an event then, or of the one that comes."""
        return decide(self.case.workflow, self.run, event or self.event, self.seen)


walks = st.lists(st.tuples(events(), facts()), max_size=12)


def _after(run: Run, decision: Decision) -> Run:
    return run if isinstance(decision, Refused) else decision.run


def a_run_is_never_in_a_state_outside_its_workflow(walk: Walk) -> None:
    run = walk.start
    for event, seen in walk.way:
        run = _after(run, decide(walk.case.workflow, run, event, seen))
        for step in run.open:
            state = walk.case.workflow.states[step.state]
            assert not state.router
            assert not state.terminal
            assert step.attempt <= (state.attempts or step.attempt)


def an_illegal_event_is_refused_and_a_refusal_says_why(walk: Walk) -> None:
    legal = {option.trigger for option in find_options(walk.case.workflow, walk.run, walk.seen)}
    decision = walk.decided()
    if walk.event.trigger not in RESERVED_TRIGGERS and walk.event.trigger not in legal:
        assert isinstance(decision, Refused)
    if isinstance(decision, Refused):
        assert decision.code
        assert decision.rule
        assert {option.trigger for option in decision.next} <= legal | RESERVED_TRIGGERS


def the_same_question_gets_the_same_answer(walk: Walk) -> None:
    before = encode_run(walk.run)
    other_order = dict(reversed(walk.seen.items()))

    first = walk.decided()

    assert decide(walk.case.workflow, walk.run, walk.event, other_order) == first
    assert encode_run(walk.run) == before


def options_are_exactly_the_triggers_that_some_good_payload_gets_accepted(walk: Walk) -> None:
    open_now = {option.trigger for option in find_options(walk.case.workflow, walk.run, walk.seen)}
    triggers = {row.trigger for row in walk.case.workflow.rows if row.trigger}

    accepted = set()
    for trigger in triggers:
        payloads = [draw_output(good=True), draw_output(good=False)] if trigger == CONTINUE else [{}]
        answers = [walk.decided(Event(trigger, payload, Actor.PERSON)) for payload in payloads]
        if not all(isinstance(answer, Refused) for answer in answers):
            accepted.add(trigger)

    assert open_now == accepted


def a_run_that_is_saved_and_read_again_goes_on_as_if_nothing_had_happened(walk: Walk) -> None:
    run, workflow = walk.run, walk.case.workflow
    restored = decode_run(encode_run(run))
    assert restored == run
    for event, seen in walk.after:
        decision = decide(workflow, run, event, seen)
        assert decide(workflow, restored, event, seen) == decision
        run, restored = _after(run, decision), decode_run(encode_run(_after(restored, decision)))


def an_ended_run_never_moves_again(walk: Walk) -> None:
    run, decision = walk.run, walk.decided()
    if run.lifecycle in {Lifecycle.COMPLETED, Lifecycle.FAILED, Lifecycle.ABANDONED, Lifecycle.DIVERGED}:
        assert isinstance(decision, Refused)
        assert run.open == ()
    assert not isinstance(decision, Waiting)


def every_move_was_told_as_a_way_and_a_way_that_is_open_is_the_one_taken(walk: Walk) -> None:
    answer = find_exits(walk.case.workflow, walk.run, walk.seen)
    here = {step.state for step in walk.run.open}
    for trigger in {way.trigger for way in answer if way.trigger}:
        payloads = [draw_output(good=True), draw_output(good=False)] if trigger == CONTINUE else [{}]
        taken = [way.row for way in answer if way.trigger == trigger and way.prospect is Availability.OPEN]
        for payload in payloads:
            decision = walk.decided(Event(trigger, payload, Actor.PERSON))
            moves = decision.moves if isinstance(decision, Accepted) else ()
            passed = {
                (way.source, way.target, way.row) for way in answer if way.prospect is not Availability.SHUT
            }
            assert {(move.source, move.target, move.row) for move in moves} <= passed
            assert not moves or moves[0].source in here
            assert not taken or [move.row for move in moves[:1]] == taken


HOLDS: tuple[Callable[[Walk], None], ...] = (
    a_run_is_never_in_a_state_outside_its_workflow,
    an_illegal_event_is_refused_and_a_refusal_says_why,
    the_same_question_gets_the_same_answer,
    options_are_exactly_the_triggers_that_some_good_payload_gets_accepted,
    a_run_that_is_saved_and_read_again_goes_on_as_if_nothing_had_happened,
    an_ended_run_never_moves_again,
    every_move_was_told_as_a_way_and_a_way_that_is_open_is_the_one_taken,
)
"""A workflow takes longer to make than to be asked: each is asked for all of these."""


@settings(max_examples=EXAMPLES)
@given(st.builds(Walk, cases(), facts(), walks, events(), facts(), walks))
def test_what_holds_for_every_run_of_every_workflow(walk: Walk) -> None:
    for holds in HOLDS:
        holds(walk)
