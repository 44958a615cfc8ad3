import pytest

from handrail.engine.facts import PENDING
from handrail.engine.model import Accepted, FactReading, Lifecycle, Run, Waiting, Workflow
from handrail.engine.refusals import RefusalCode
from helpers.workflows import (
    GATED,
    build_output,
    expect_refusal,
    list_open_states,
    load_valid_workflow,
    move_run,
    send_event,
    start_run,
)

FLOW = """
workflow: tries
version: 1
authority: sql
states: {Home: {}, Try: {attempts: 2}, Help: {}, Over: {terminal: true}}
transitions:
  - {id: try, from: Home, trigger: go, to: Try}
  - {id: back, from: Try, trigger: back, to: Home}
  - {id: again, from: Try, trigger: again, to: Try}
  - {id: retry, from: Try, trigger: retry, to: Try}
  - {id: give-way, from: Try, trigger: retry, to: Help}
  - {id: stay, from: Try, trigger: stay}
  - {id: end, from: Help, trigger: end, to: Over}
"""


def used_up(flow: Workflow) -> Run:
    run = move_run(flow, start_run(flow), "go")
    run = move_run(flow, run, "again")
    assert run.attempts == {"Home": 1, "Try": 2}
    return run


def test_each_step_opened_in_a_state_is_an_attempt() -> None:
    flow = load_valid_workflow(FLOW)
    run = move_run(flow, move_run(flow, start_run(flow), "go"), "again")
    (step,) = run.open
    assert (step.number, step.attempt) == (3, 2)


def test_a_row_for_the_case_is_taken_once_the_attempts_are_used_up() -> None:
    flow = load_valid_workflow(FLOW)
    assert list_open_states(move_run(flow, move_run(flow, start_run(flow), "go"), "retry")) == ["Try"]
    assert list_open_states(move_run(flow, used_up(flow), "retry")) == ["Help"]


def test_without_such_a_row_the_run_fails_with_a_reason() -> None:
    flow = load_valid_workflow(FLOW)
    decision = send_event(flow, used_up(flow), "again")
    assert isinstance(decision, Accepted)
    assert (decision.run.lifecycle, decision.run.open) == (Lifecycle.FAILED, ())
    assert decision.run.reason == (
        "row `again` leads to a state whose attempts are used up, and no other row is open"
    )
    assert (decision.moves, decision.effects, decision.says) == ((), (), ())


def test_staying_is_no_attempt() -> None:
    flow = load_valid_workflow(FLOW)
    run = used_up(flow)
    for _ in range(5):
        run = move_run(flow, run, "stay")
    assert (list_open_states(run), run.attempts["Try"]) == (["Try"], 2)


def test_attempts_count_over_the_whole_run_whichever_way_the_state_is_reached() -> None:
    flow = load_valid_workflow(FLOW)
    run = move_run(flow, used_up(flow), "back")
    assert move_run(flow, run, "go").lifecycle == Lifecycle.FAILED


ASKED = """
workflow: asked
version: 1
authority: sql
steps:
  - name: build
    agent: a
    task: Build it
    attempts: 1
  - name: judge
    agent: a
    task: Judge it
    contract: {schema: {properties: {verdict: {enum: [good, again, unsure]}}, required: [verdict]}}
    next:
      - {when: [tests.pass], accept: ['output.verdict == "again"'], to: build}
      - {accept: ['output.verdict == "good"']}
"""


def judging(flow: Workflow) -> Run:
    return move_run(flow, start_run(flow), "continue", {}, **build_output())


def test_an_output_that_the_row_to_a_used_up_state_does_not_accept_is_told_by_that_line_too() -> None:
    flow = load_valid_workflow(ASKED, GATED)
    refusal = expect_refusal(
        flow, judging(flow), "continue", {"tests.pass": True}, **build_output(verdict="unsure")
    )
    assert (refusal.code, refusal.rule) == (RefusalCode.NOT_ACCEPTED, "judge.2, judge.1")
    assert refusal.seen == (FactReading("output.verdict", "unsure"),)
    assert refusal.needed == ('output.verdict = "good"', 'output.verdict = "again"')


def test_a_run_waits_before_it_fails_if_that_hangs_on_a_fact_to_come() -> None:
    flow = load_valid_workflow(ASKED, GATED)
    run = judging(flow)
    decision = send_event(flow, run, "continue", {"tests.pass": PENDING}, **build_output(verdict="again"))
    assert isinstance(decision, Waiting)
    assert (decision.rule, decision.waits_for) == ("judge.1", ("tests.pass",))
    assert (
        move_run(flow, run, "continue", {"tests.pass": True}, **build_output(verdict="again")).lifecycle
        == Lifecycle.FAILED
    )


def test_a_guard_that_goes_wrong_on_the_way_to_a_used_up_state_is_an_error() -> None:
    flow = load_valid_workflow(ASKED, GATED)
    refusal = expect_refusal(
        flow, judging(flow), "continue", {"tests.pass": "yes"}, **build_output(verdict="again")
    )
    assert (refusal.code, refusal.rule) == (RefusalCode.GUARD_ERROR, "judge.1")


def test_another_row_is_taken_whatever_the_row_to_a_used_up_state_says() -> None:
    flow = load_valid_workflow(ASKED, GATED)
    given = {"tests.pass": PENDING}
    assert (
        move_run(flow, judging(flow), "continue", given, **build_output(verdict="good")).lifecycle
        == Lifecycle.COMPLETED
    )


THROUGH = """
workflow: through
version: 1
authority: files
vars: {back: state?}
texts: {no: No}
states: {Home: {}, sort: {router: true}, leap: {router: true}, Try: {attempts: 1}, Other: {}, Shut: {}}
transitions:
  - {id: go, from: [Home, Other], trigger: go, set: {back: Try}, to: sort}
  - {id: try, from: sort, to: Try}
  - {id: other, from: sort, when: plan.exists, to: Other}
  - {id: home, from: Try, trigger: home, to: Home}
  - {id: jump, from: [Home, Other], trigger: jump, to: "@back"}
  - {id: no, from: Shut, trigger: jump, refuse: no}
  - {id: shut, from: Home, trigger: shut, to: Try}
  - {id: slip, from: Home, trigger: slip, set: {back: Try}, to: leap}
  - {id: leap, from: leap, to: "@back"}
  - {id: too, from: Home, trigger: shut, refuse: no}
"""


def spent(flow: Workflow) -> Run:
    return move_run(flow, move_run(flow, start_run(flow), "go", {"plan.exists": False}), "home")


def test_a_cap_behind_a_router_makes_the_router_take_its_next_row() -> None:
    flow = load_valid_workflow(THROUGH)
    assert list_open_states(move_run(flow, spent(flow), "go", {"plan.exists": True})) == ["Other"]


def test_a_cap_behind_a_router_without_another_row_fails_the_run_as_it_was() -> None:
    flow = load_valid_workflow(THROUGH)
    run = move_run(flow, spent(flow), "go", {"plan.exists": False})
    assert (run.lifecycle, run.open) == (Lifecycle.FAILED, ())
    assert run.reason.startswith("row `try` leads to a state whose attempts are used up")
    assert (run.vars, run.steps) == (spent(flow).vars, 3)


def test_a_cap_holds_for_a_state_reached_through_a_variable() -> None:
    flow = load_valid_workflow(THROUGH)
    run = move_run(flow, spent(flow), "jump")
    assert run.lifecycle == Lifecycle.FAILED
    assert run.reason.startswith("row `jump` leads")


def test_a_cap_holds_for_a_variable_set_on_the_way_and_the_run_fails_with_what_it_held_before() -> None:
    flow = load_valid_workflow(THROUGH)
    assert list_open_states(move_run(flow, start_run(flow), "slip")) == ["Try"]
    run = move_run(flow, move_run(flow, start_run(flow), "shut"), "home")
    failed = move_run(flow, run, "slip")
    assert (failed.lifecycle, failed.vars) == (Lifecycle.FAILED, {"back": None})
    assert failed.reason.startswith("row `leap` leads")


def test_a_row_that_refuses_is_a_row_for_the_case_too() -> None:
    flow = load_valid_workflow(THROUGH)
    refusal = expect_refusal(flow, spent(flow), "shut")
    assert (refusal.code, refusal.rule) == (RefusalCode.REFUSED, "too")


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_a_state_is_entered_exactly_as_often_as_its_cap_says(cap: int) -> None:
    flow = load_valid_workflow(
        f"""
workflow: capped
version: 1
authority: sql
states: {{Try: {{attempts: {cap}}}}}
transitions: [{{id: again, from: Try, trigger: again, to: Try}}]
"""
    )
    run = start_run(flow)
    entered = 1
    while (run := move_run(flow, run, "again")).lifecycle == Lifecycle.RUNNING:
        entered += 1
    assert entered == cap
