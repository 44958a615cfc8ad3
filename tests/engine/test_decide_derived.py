import pytest

from handrail.engine.facts import PENDING, Value
from handrail.engine.model import Accepted, Actor, Describe, Event, FactReading, Lifecycle, Move, Option
from handrail.engine.refusals import RefusalCode
from helpers.workflows import expect_refusal, load_valid_workflow, move_run, send_event, start_run

FLOW = """
workflow: derived
version: 1
authority: description
derive: plan.stage
vars: {count: int}
states: {empty: {}, planned: {attempts: 1}, None: {}, sealed: {terminal: true}}
transitions:
  - id: plan
    from: [empty, planned]
    trigger: plan
    draft: {edited: plan.with_tasks}
    accept: [edited.ok]
    to: "@derived"
    set: {count: 1}
    do: [{describe: edited.text}]
  - {id: look, from: [planned, None], trigger: look}
"""


def drafted(stage: Value, now: Value = "empty") -> dict[str, Value]:
    return {"plan.stage": now, "edited.ok": True, "edited.problems": [], "edited.stage": stage}


def test_a_derived_run_starts_without_a_step() -> None:
    run = start_run(load_valid_workflow(FLOW))
    assert (run.lifecycle, run.open, run.steps, run.attempts) == (Lifecycle.RUNNING, (), 0, {})


def test_the_state_is_the_fact_before_and_after_and_is_never_stored() -> None:
    flow = load_valid_workflow(FLOW)
    decision = send_event(flow, start_run(flow), "plan", drafted("planned"))
    assert isinstance(decision, Accepted)
    assert decision.moves == (Move("plan", "empty", "planned"),)
    assert decision.effects == (Describe("edited.text"),)
    run = decision.run
    assert (run.open, run.steps, run.attempts, run.vars) == ((), 0, {}, {"count": 1})


def test_a_row_that_stays_moves_from_the_state_to_itself() -> None:
    flow = load_valid_workflow(FLOW)
    decision = send_event(flow, start_run(flow), "look", {"plan.stage": "planned"})
    assert isinstance(decision, Accepted)
    assert (decision.moves, decision.run) == ((Move("look", "planned", "planned"),), start_run(flow))


def test_a_cap_cannot_be_used_up_where_no_step_is_stored() -> None:
    flow = load_valid_workflow(FLOW)
    run = start_run(flow)
    for _ in range(3):
        run = move_run(flow, run, "plan", drafted("planned", now="planned"))
    assert run.lifecycle == Lifecycle.RUNNING


@pytest.mark.parametrize("value", ["gone", "", "EMPTY", 3, True, None, PENDING])
def test_a_value_that_is_no_state_is_told_and_never_guessed(value: Value) -> None:
    refusal = expect_refusal(
        load_valid_workflow(FLOW), start_run(load_valid_workflow(FLOW)), "look", {"plan.stage": value}
    )
    assert (refusal.code, refusal.rule) == (RefusalCode.UNKNOWN_STATE, "states")
    assert refusal.seen == (FactReading("plan.stage", value),)
    assert refusal.next == ()


def test_a_fact_that_was_not_read_is_no_state_whatever_states_are_called() -> None:
    flow = load_valid_workflow(FLOW)
    refusal = expect_refusal(flow, start_run(flow), "look", {})
    assert (refusal.code, refusal.seen) == (RefusalCode.UNKNOWN_STATE, (FactReading("plan.stage", None),))


@pytest.mark.parametrize("stage", ["gone", None])
def test_a_draft_that_leads_to_no_state_is_refused(stage: Value) -> None:
    flow = load_valid_workflow(FLOW)
    refusal = expect_refusal(flow, start_run(flow), "plan", drafted(stage))
    assert (refusal.code, refusal.rule) == (RefusalCode.NO_TARGET, "plan")
    assert refusal.seen == (FactReading("target", stage),)
    assert refusal.next == (Option("plan", Actor.AGENT),)


def test_a_state_that_ends_the_way_knows_no_trigger() -> None:
    flow = load_valid_workflow(FLOW)
    assert expect_refusal(flow, start_run(flow), "plan", {"plan.stage": "sealed"}).code == RefusalCode.NO_ROW


def test_no_numbered_step_can_be_meant() -> None:
    refusal = expect_refusal(
        load_valid_workflow(FLOW),
        start_run(load_valid_workflow(FLOW)),
        Event("look", step=4),
        {"plan.stage": "planned"},
    )
    assert (refusal.code, refusal.needed) == (RefusalCode.WHICH_STEP, ("one of 0",))
