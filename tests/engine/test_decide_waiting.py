import pytest
from msgspec.structs import replace

from handrail.engine.facts import PENDING, Value
from handrail.engine.model import Event, FactReading, Lifecycle, Step, Waiting
from handrail.engine.refusals import RefusalCode
from helpers.workflows import (
    GATED,
    build_output,
    create_idle_run,
    expect_refusal,
    list_open_states,
    load_valid_workflow,
    move_run,
    send_event,
    start_run,
)

FLOW = """
workflow: gated
version: 1
authority: sql
vars: {passed: bool}
states: {Home: {}, gate: {router: true}, Done: {}, Again: {}, Over: {terminal: true}}
transitions:
  - {id: good, from: Home, trigger: go, when: tests.pass, accept: 'event.note == "good"', to: Done}
  - {id: bad, from: Home, trigger: go, accept: 'event.note == "bad"', to: Again}
  - {id: both, from: Home, trigger: both, when: [tests.pass, person.agrees], to: Done}
  - {id: rest, from: Home, trigger: both, to: Again}
  - {id: through, from: Home, trigger: through, set: {passed: true}, to: gate}
  - {id: open, from: gate, when: person.agrees, to: Done}
  - {id: shut, from: gate, when: "!person.agrees", to: Again}
  - {id: nod, from: Home, trigger: nod, when: tests.pass}
  - {id: keep, from: Home, trigger: keep, set: {passed: "@tests.pass"}, to: Done}
"""


def waiting(event: Event, facts: dict[str, Value]) -> Waiting:
    flow = load_valid_workflow(FLOW, GATED)
    decision = send_event(flow, start_run(flow), event, facts)
    assert isinstance(decision, Waiting), decision
    return decision


def test_a_run_that_waits_holds_the_event_and_moves_nothing() -> None:
    event = Event("go", {"a": [1]}, note="good")
    decision = waiting(event, {"tests.pass": PENDING})
    assert (decision.rule, decision.waits_for) == ("good", ("tests.pass",))
    before = start_run(load_valid_workflow(FLOW, GATED))
    assert decision.run == replace(before, open=(Step(1, "Home", 1, event),))


@pytest.mark.parametrize(("passes", "expected"), [(True, ["Done"]), (False, None)])
def test_it_goes_on_when_the_fact_has_come(*, passes: bool, expected: list[str] | None) -> None:
    flow = load_valid_workflow(FLOW, GATED)
    run = waiting(Event("go", note="good"), {"tests.pass": PENDING}).run
    held = run.open[0].held
    assert held is not None
    if expected is None:
        assert expect_refusal(flow, run, held, {"tests.pass": passes}).code == RefusalCode.NOT_ACCEPTED
    else:
        after = move_run(flow, run, held, {"tests.pass": passes})
        assert after.open == (Step(2, "Done", 1),)


def test_all_facts_that_a_row_waits_for_are_told() -> None:
    facts: dict[str, Value] = {"tests.pass": PENDING, "person.agrees": PENDING}
    assert waiting(Event("both"), facts).waits_for == ("tests.pass", "person.agrees")
    facts["tests.pass"] = True
    assert waiting(Event("both"), facts).waits_for == ("person.agrees",)


def test_a_row_that_fails_anyway_is_not_waited_for() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    facts = {"tests.pass": False, "person.agrees": PENDING}
    assert list_open_states(move_run(flow, start_run(flow), "both", facts)) == ["Again"]


def test_a_row_whose_payload_is_not_accepted_is_not_waited_for() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    event = Event("go", note="bad")
    assert list_open_states(move_run(flow, start_run(flow), event, {"tests.pass": PENDING})) == ["Again"]


def test_a_payload_that_no_row_accepts_is_refused_even_while_a_fact_is_pending() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    refusal = expect_refusal(flow, start_run(flow), Event("go", note="neither"), {"tests.pass": PENDING})
    assert (refusal.code, refusal.rule) == (RefusalCode.NOT_ACCEPTED, "good, bad")
    assert refusal.needed == ('event.note == "good"', 'event.note == "bad"')


def test_an_error_is_told_before_a_wait() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    refusal = expect_refusal(flow, start_run(flow), "both", {"tests.pass": PENDING, "person.agrees": "sure"})
    assert (refusal.code, refusal.rule) == (RefusalCode.GUARD_ERROR, "both")
    assert refusal.seen[0] == FactReading("person.agrees", "sure")


def test_a_run_waits_before_a_router_that_cannot_tell_yet() -> None:
    event = Event("through")
    decision = waiting(event, {"person.agrees": PENDING})
    assert (decision.rule, decision.waits_for) == ("open", ("person.agrees",))
    assert decision.run.open == (Step(1, "Home", 1, event),)
    assert decision.run.vars == {"passed": False}


@pytest.mark.parametrize(("agrees", "expected"), [(True, ["Done"]), (False, ["Again"])])
def test_it_goes_through_the_router_when_the_fact_has_come(*, agrees: bool, expected: list[str]) -> None:
    flow = load_valid_workflow(FLOW, GATED)
    run = waiting(Event("through"), {"person.agrees": PENDING}).run
    held = run.open[0].held
    assert held is not None
    after = move_run(flow, run, held, {"person.agrees": agrees})
    assert (list_open_states(after), after.vars) == (expected, {"passed": True})
    assert after.open[0].held is None


def test_a_variable_is_not_set_to_a_fact_that_is_yet_to_come() -> None:
    decision = waiting(Event("keep"), {"tests.pass": PENDING})
    assert (decision.rule, decision.waits_for) == ("keep", ("tests.pass",))
    assert decision.run.vars == {"passed": False}
    flow = load_valid_workflow(FLOW, GATED)
    assert move_run(flow, decision.run, "keep", {"tests.pass": True}).vars == {"passed": True}


def test_another_event_may_come_in_the_meantime() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    run = waiting(Event("go", note="good"), {"tests.pass": PENDING}).run
    assert expect_refusal(flow, run, "unknown", {"tests.pass": PENDING}).code == RefusalCode.NO_ROW
    assert move_run(flow, run, Event("go", note="bad"), {"tests.pass": PENDING}).open == (
        Step(2, "Again", 1),
    )


def test_an_event_that_stays_leaves_what_another_waits_with() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    run = waiting(Event("go", note="good"), {"tests.pass": PENDING}).run
    assert move_run(flow, run, "nod", {"tests.pass": True}) == run


def test_an_event_that_waited_and_then_stays_is_held_no_longer() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    run = waiting(Event("nod"), {"tests.pass": PENDING}).run
    assert run.open == (Step(1, "Home", 1, Event("nod")),)
    assert move_run(flow, run, "nod", {"tests.pass": True}).open == (Step(1, "Home", 1),)


def test_a_run_that_waits_can_be_paused_and_still_holds_the_event() -> None:
    flow = load_valid_workflow(FLOW, GATED)
    run = waiting(Event("both"), {"tests.pass": PENDING, "person.agrees": True}).run
    again = move_run(flow, move_run(flow, run, "pause"), "resume")
    assert again == run


CONTRACT = """
workflow: contract
version: 1
authority: sql
steps:
  - name: mend
    agent: a
    task: Mend it
    next: [{when: tests.pass}]
"""


def test_a_bad_output_is_refused_at_once_and_a_good_one_waits() -> None:
    flow = load_valid_workflow(CONTRACT, GATED)
    run = start_run(flow)
    facts = {"tests.pass": PENDING}
    assert expect_refusal(flow, run, "continue", facts, summary="x").code == RefusalCode.CONTRACT
    decision = send_event(flow, run, "continue", facts, **build_output())
    assert isinstance(decision, Waiting)
    assert decision.run.open[0].held == Event("continue", build_output())


FIRST = """
workflow: first
version: 1
authority: sql
states: {sort: {router: true}, Home: {}, Over: {terminal: true}}
transitions:
  - {id: in, from: sort, when: tests.pass, to: Home}
  - {id: end, from: Home, trigger: end, to: Over}
"""


def test_a_run_that_would_wait_before_its_first_step_has_not_started_and_may_be_started_again() -> None:
    flow = load_valid_workflow(FIRST, GATED)
    decision = send_event(flow, create_idle_run(flow), "start", {"tests.pass": PENDING})
    assert isinstance(decision, Waiting)
    assert (decision.rule, decision.waits_for) == ("in", ("tests.pass",))
    assert decision.run == create_idle_run(flow)
    after = move_run(flow, decision.run, "start", {"tests.pass": True})
    assert (after.lifecycle, list_open_states(after)) == (Lifecycle.RUNNING, ["Home"])
