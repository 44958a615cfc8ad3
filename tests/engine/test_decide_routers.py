import pytest
from msgspec.structs import replace

from handrail.engine.facts import Value
from handrail.engine.model import Accepted, Actor, Event, FactReading, Lifecycle, Move, Option, Write
from handrail.engine.refusals import RefusalCode
from helpers.workflows import (
    GATED,
    create_idle_run,
    expect_refusal,
    list_open_states,
    load_valid_workflow,
    move_run,
    send_event,
    start_run,
)

FLOW = """
workflow: routed
version: 1
authority: files
vars: {seen: string?, back: state?}
texts: {off: Off, first: First, second: Second, no: No}
states:
  Home: {}
  kind: {router: true}
  size: {router: true}
  Small: {}
  Large: {}
  Bug: {}
transitions:
  - id: go
    from: Home
    trigger: go
    set: {seen: gone}
    to: kind
    say: off
    do: [{write: a.md, template: off}]
  - {id: bug, from: kind, when: 'item.type == "bugfix"', to: Bug, say: first}
  - id: sized
    from: kind
    when: [plan.exists, 'run.vars.seen == "gone"', 'run.state == "kind"']
    to: size
    say: first
    set: {seen: sized, back: "@state"}
    do: [{write: b.md, template: first}]
  - {id: small, from: size, when: ["criteria.total < 2", 'run.vars.seen == "sized"'], to: Small, say: second}
  - {id: large, from: size, when: "criteria.total >= 2", to: Large}
"""
CODE = {"item.type": "code", "plan.exists": True, "criteria.total": 1}


def test_routers_are_walked_at_once_with_effects_and_texts_in_order() -> None:
    flow = load_valid_workflow(FLOW)
    decision = send_event(flow, start_run(flow), "go", CODE)
    assert isinstance(decision, Accepted)
    assert decision.moves == (
        Move("go", "Home", "kind"),
        Move("sized", "kind", "size"),
        Move("small", "size", "Small"),
    )
    assert decision.says == ("off", "first", "second")
    assert decision.effects == (Write("a.md", template="off"), Write("b.md", template="first"))
    assert list_open_states(decision.run) == ["Small"]


def test_a_router_opens_no_step_and_counts_no_attempt() -> None:
    flow = load_valid_workflow(FLOW)
    run = move_run(flow, start_run(flow), "go", CODE)
    assert (run.steps, run.attempts) == (2, {"Home": 1, "Small": 1})
    assert run.vars == {"seen": "sized", "back": "kind"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"item.type": "bugfix"}, "Bug"),
        ({"criteria.total": 2}, "Large"),
        ({"criteria.total": 0}, "Small"),
    ],
)
def test_a_router_leads_where_its_facts_say(changes: dict[str, Value], expected: str) -> None:
    flow = load_valid_workflow(FLOW)
    assert list_open_states(move_run(flow, start_run(flow), "go", {**CODE, **changes})) == [expected]


def test_a_router_of_which_no_row_holds_refuses_and_changes_nothing() -> None:
    flow = load_valid_workflow(FLOW)
    refusal = expect_refusal(flow, start_run(flow), "go", {**CODE, "plan.exists": False})
    assert (refusal.code, refusal.rule) == (RefusalCode.ROUTER_STUCK, "bug, sized")
    assert refusal.seen == (FactReading("item.type", "code"), FactReading("plan.exists", value=False))
    assert refusal.needed == ('item.type = "bugfix"', "plan.exists = true")
    assert refusal.next == (Option("go", Actor.AGENT),)


def test_a_guard_that_goes_wrong_in_a_router_refuses_and_changes_nothing() -> None:
    flow = load_valid_workflow(FLOW)
    refusal = expect_refusal(flow, start_run(flow), "go", {**CODE, "criteria.total": "many"})
    assert (refusal.code, refusal.rule) == (RefusalCode.GUARD_ERROR, "small")


def test_a_router_without_rows_refuses_by_its_name() -> None:
    flow = load_valid_workflow(
        """
workflow: bare
version: 1
authority: sql
states: {Home: {}, nowhere: {router: true}}
transitions: [{id: go, from: Home, trigger: go, to: nowhere}]
"""
    )
    refusal = expect_refusal(flow, start_run(flow), "go")
    assert (refusal.code, refusal.rule) == (RefusalCode.ROUTER_STUCK, "nowhere")
    assert refusal.seen == (FactReading("run.state", "nowhere"),)
    assert refusal.needed == ("a row that leaves the router",)


LOOP = """
workflow: looping
version: 1
authority: files
vars: {tries: string}
states: {Home: {}, one: {router: true}, two: {router: true}, self: {router: true}, Away: {}}
transitions:
  - {id: go, from: Home, trigger: go, to: one}
  - {id: spin, from: Home, trigger: spin, to: self}
  - {id: forth, from: one, when: "!plan.exists", set: {tries: more}, to: two}
  - {id: out, from: one, when: plan.exists, to: Away}
  - {id: back, from: two, to: one}
  - {id: same, from: self, to: self}
"""


@pytest.mark.parametrize(("trigger", "router"), [("go", "one"), ("spin", "self")])
def test_a_router_that_is_reached_twice_refuses_and_changes_nothing(trigger: str, router: str) -> None:
    flow = load_valid_workflow(LOOP)
    run = start_run(flow)
    refusal = expect_refusal(flow, run, trigger, {"plan.exists": False})
    assert (refusal.code, refusal.rule) == (RefusalCode.ROUTER_LOOP, router)
    assert refusal.seen == (FactReading("run.state", router),)
    assert refusal.needed == ("a way that leaves the routers",)
    assert (run.vars, list_open_states(run)) == ({"tries": ""}, ["Home"])


def test_the_same_router_may_be_reached_in_the_next_turn_again() -> None:
    flow = load_valid_workflow(LOOP)
    run = move_run(flow, start_run(flow), "go", {"plan.exists": True})
    assert list_open_states(run) == ["Away"]
    home = replace(run, open=start_run(flow).open)
    assert list_open_states(move_run(flow, home, "go", {"plan.exists": True})) == ["Away"]


FIRST = """
workflow: first
version: 1
authority: sql
inputs: {size: [small, large]}
states: {sort: {router: true}, Small: {}, Over: {terminal: true}}
transitions:
  - {id: little, from: sort, when: 'run.inputs.size == "small" && tests.pass', to: Small}
  - {id: much, from: sort, when: 'run.inputs.size == "large"', to: Over}
  - {id: end, from: Small, trigger: end, to: Over}
"""


def test_a_workflow_may_begin_with_a_router() -> None:
    flow = load_valid_workflow(FIRST, GATED)
    run = move_run(flow, create_idle_run(flow), Event("start", {"size": "small"}), {"tests.pass": True})
    assert (run.lifecycle, list_open_states(run), run.steps) == (Lifecycle.RUNNING, ["Small"], 1)


def test_a_workflow_may_end_as_soon_as_it_begins() -> None:
    flow = load_valid_workflow(FIRST, GATED)
    run = move_run(flow, create_idle_run(flow), Event("start", {"size": "large"}), {"tests.pass": True})
    assert (run.lifecycle, run.open, run.steps) == (Lifecycle.COMPLETED, (), 0)


def test_a_run_that_finds_no_way_out_of_its_first_router_has_not_started() -> None:
    flow = load_valid_workflow(FIRST, GATED)
    refusal = expect_refusal(
        flow, create_idle_run(flow), Event("start", {"size": "small"}), {"tests.pass": False}
    )
    assert (refusal.code, refusal.rule) == (RefusalCode.ROUTER_STUCK, "little, much")
    assert refusal.next == (Option("start", Actor.AGENT),)
