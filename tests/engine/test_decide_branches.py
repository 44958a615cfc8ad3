import pytest
from msgspec.structs import replace

from handrail.engine.facts import PENDING
from handrail.engine.model import Actor, Event, FactReading, Lifecycle, Option, Run, Step, Waiting
from handrail.engine.refusals import RefusalCode
from helpers.workflows import (
    GATED,
    expect_refusal,
    list_open_states,
    load_valid_workflow,
    move_run,
    send_event,
    start_run,
)

FLOW = """
workflow: branches
version: 1
authority: sql
states: {Left: {}, Right: {attempts: 1}, Deep: {}, Over: {terminal: true}}
transitions:
  - {id: down, from: Left, trigger: down, to: Deep}
  - {id: stay, from: Left, trigger: stay}
  - {id: cross, from: Left, trigger: cross, to: Right}
  - {id: gate, from: Left, trigger: gate, when: tests.pass, to: Deep}
  - {id: end, from: "*", trigger: end, to: Over}
  - {id: own, from: Right, trigger: own, when: run.open == 2, to: Deep}
"""
LEFT = Step(1, "Left", 1)
RIGHT = Step(2, "Right", 1)
TWO = Run(
    "run-1", "branches", "digest", Lifecycle.RUNNING, (LEFT, RIGHT), steps=2, attempts={"Left": 1, "Right": 1}
)


@pytest.mark.parametrize("step", [None, 0, 3, -1])
def test_with_two_open_steps_the_event_must_say_which_it_is_for(step: int | None) -> None:
    refusal = expect_refusal(load_valid_workflow(FLOW, GATED), TWO, Event("end", step=step))
    assert (refusal.code, refusal.rule) == (RefusalCode.WHICH_STEP, "open steps")
    assert refusal.seen == (FactReading("event.step", step),)
    assert refusal.needed == ("one of 1, 2",)
    assert Option("end", Actor.AGENT) in refusal.next


def test_with_one_open_step_the_event_need_not_say() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    assert list_open_states(move_run(flow, start_run(flow), "down")) == ["Deep"]
    assert list_open_states(move_run(flow, start_run(flow), Event("down", step=1))) == ["Deep"]


def test_a_step_that_is_over_cannot_be_meant() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    run = move_run(flow, start_run(flow), "down")
    refusal = expect_refusal(flow, run, Event("down", step=1))
    assert (refusal.code, refusal.needed) == (RefusalCode.WHICH_STEP, ("one of 2",))


def test_the_other_step_is_left_as_it_is_and_in_its_place() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    held = Event("own", step=2)
    run = replace(TWO, open=(LEFT, replace(RIGHT, held=held)))
    assert move_run(flow, run, Event("down", step=1)).open == (Step(3, "Deep", 1), Step(2, "Right", 1, held))
    assert move_run(flow, TWO, Event("own", step=2)).open == (LEFT, Step(3, "Deep", 1))
    assert move_run(flow, run, Event("stay", step=1)).open == run.open


def test_ending_one_of_two_does_not_complete_the_run_and_ending_the_last_does() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    one = move_run(flow, TWO, Event("end", step=1))
    assert (one.lifecycle, one.open) == (Lifecycle.RUNNING, (RIGHT,))
    none = move_run(flow, one, "end")
    assert (none.lifecycle, none.open) == (Lifecycle.COMPLETED, ())


def test_waiting_with_one_step_holds_the_event_there_only() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    event = Event("gate", step=1)
    decision = send_event(flow, TWO, event, {"tests.pass": PENDING})
    assert isinstance(decision, Waiting)
    assert decision.run.open == (Step(1, "Left", 1, event), RIGHT)
    assert move_run(flow, decision.run, Event("end", step=2)).open == (Step(1, "Left", 1, event),)


def test_a_trigger_of_the_other_step_is_none_of_this_one() -> None:
    refusal = expect_refusal(
        load_valid_workflow(FLOW, GATED), TWO, Event("own", step=1), {"tests.pass": True}
    )
    assert (refusal.code, refusal.seen[0]) == (RefusalCode.NO_ROW, FactReading("run.state", "Left"))
    assert [option.trigger for option in refusal.next] == ["down", "stay", "cross", "gate", "end", "own"]


def test_using_up_the_attempts_in_one_branch_fails_the_whole_run() -> None:
    run = move_run(load_valid_workflow(FLOW, GATED), TWO, Event("cross", step=1))
    assert (run.lifecycle, run.open) == (Lifecycle.FAILED, ())


def test_a_state_that_the_workflow_does_not_know_is_told_and_never_guessed() -> None:
    run = replace(TWO, open=(Step(1, "Gone", 1),))
    refusal = expect_refusal(load_valid_workflow(FLOW, GATED), run, "end")
    assert (refusal.code, refusal.rule) == (RefusalCode.UNKNOWN_STATE, "states")
    assert (refusal.seen, refusal.needed) == ((FactReading("run.state", "Gone"),), ("a state of `branches`",))
    assert refusal.next == ()
