import pytest
from msgspec.structs import replace

from handrail.engine.decide import find_closed_tools, find_open_steps, find_options
from handrail.engine.facts import PENDING, Value
from handrail.engine.model import Actor, Event, Lifecycle, Option, Refused, Run, Step, Workflow
from helpers.workflows import GATED, create_idle_run, load_valid_workflow, move_run, send_event, start_run

FLOW = """
workflow: options
version: 1
authority: files
vars: {back: state?}
tools:
  plain: {}
  guarded: {}
  asked: {params: {word: string?}}
  shut: {}
  half: {params: {word: string?}}
  late: {}
  gone: {}
  gate: {}
  person: {who: person}
  fill: {}
texts: {no: No}
states: {Home: {}, Away: {}}
transitions:
  - {id: plain, from: Home, trigger: plain, to: Away}
  - {id: guarded, from: Home, trigger: guarded, when: plan.exists, to: Away}
  - {id: asked, from: Home, trigger: asked, when: plan.exists, accept: 'event.word == "please"', to: Away}
  - {id: shut, from: Home, trigger: shut, when: "!task.exists", refuse: no}
  - {id: not-shut, from: Home, trigger: shut, to: Away}
  - {id: half-shut, from: Home, trigger: half, accept: 'event.word == "no"', refuse: no}
  - {id: half-open, from: Home, trigger: half, when: plan.exists, to: Away}
  - {id: late, from: Home, trigger: late, when: criteria.total > 0, to: Away}
  - {id: later, from: Home, trigger: late, to: Away}
  - {id: gone, from: Home, trigger: gone, to: "@back"}
  - {id: gate, from: Home, trigger: gate, when: tests.pass, to: Away}
  - {id: person, from: Home, trigger: person, to: Away}
  - {id: fill, from: Home, trigger: fill, set: {back: Away}}
  - {id: leave, from: Away, trigger: plain, to: Home}
"""
FACTS: dict[str, Value] = {
    "plan.exists": True,
    "task.exists": True,
    "criteria.total": 1,
    "tests.pass": True,
}


def flow() -> Workflow:
    return load_valid_workflow(FLOW, GATED)


def offered(run: Run, **changes: Value) -> list[str]:
    facts = {**FACTS, **{name.replace("__", "."): value for name, value in changes.items()}}
    return [option.trigger for option in find_options(flow(), run, facts)]


def test_options_stand_in_the_order_of_the_rows() -> None:
    assert offered(start_run(flow())) == [
        "plain",
        "guarded",
        "asked",
        "shut",
        "half",
        "late",
        "gate",
        "person",
        "fill",
    ]


def test_an_option_says_whose_word_it_is() -> None:
    found = find_options(flow(), start_run(flow()), FACTS)
    assert found[0] == Option("plain", Actor.AGENT)
    assert Option("person", Actor.PERSON) in found


def test_a_trigger_whose_rows_all_fail_is_no_option() -> None:
    assert {"guarded", "asked", "half"}.isdisjoint(offered(start_run(flow()), plan__exists=False))


def test_a_trigger_that_a_row_refuses_is_no_option() -> None:
    assert "shut" not in offered(start_run(flow()), task__exists=False)


def test_a_row_that_refuses_some_payloads_leaves_the_question_to_the_next_row() -> None:
    assert "half" in offered(start_run(flow()))


@pytest.mark.parametrize("total", ["many", None, 2**64])
def test_a_trigger_whose_row_goes_wrong_is_no_option_even_if_a_later_row_holds(total: Value) -> None:
    assert "late" not in offered(start_run(flow()), criteria__total=total)


def test_a_trigger_that_waits_for_a_fact_is_an_option() -> None:
    assert "gate" in offered(start_run(flow()), tests__pass=PENDING)
    assert "shut" in offered(start_run(flow()), task__exists=PENDING)
    assert "gate" not in offered(start_run(flow()), tests__pass=False)


def test_a_row_to_the_state_of_an_empty_variable_is_no_option_until_it_is_filled() -> None:
    run = start_run(flow())
    assert "gone" not in offered(run)
    assert "gone" in offered(move_run(flow(), run, "fill"))


@pytest.mark.parametrize("lifecycle", [one for one in Lifecycle if one is not Lifecycle.RUNNING])
def test_a_run_that_is_not_running_has_no_options(lifecycle: Lifecycle) -> None:
    assert offered(replace(start_run(flow()), lifecycle=lifecycle)) == []


def test_options_of_two_open_steps_are_told_once_each() -> None:
    run = replace(start_run(flow()), open=(Step(1, "Away", 1), Step(2, "Home", 1)))
    assert offered(run, plan__exists=False) == ["plain", "shut", "late", "gate", "person", "fill"]


def test_a_state_that_the_workflow_does_not_know_has_no_options() -> None:
    assert offered(replace(start_run(flow()), open=(Step(1, "Gone", 1),))) == []


@pytest.mark.parametrize("plan", [True, False, "broken"])
@pytest.mark.parametrize("task", [True, False, PENDING])
@pytest.mark.parametrize("total", [0, 1, "broken"])
@pytest.mark.parametrize("tests", [True, False, PENDING])
def test_options_and_decisions_agree(plan: Value, task: Value, total: Value, tests: Value) -> None:
    facts = {"plan.exists": plan, "task.exists": task, "criteria.total": total, "tests.pass": tests}
    run = start_run(flow())
    open_ = {option.trigger for option in find_options(flow(), run, facts)}
    for trigger in flow().tools:
        payload = {"word": "please"} if trigger in {"asked", "half"} else {}
        decision = send_event(flow(), run, Event(trigger, payload, Actor.PERSON), facts)
        assert isinstance(decision, Refused) is (trigger not in open_), trigger


DERIVED = """
workflow: derived
version: 1
authority: description
derive: plan.stage
states: {empty: {}, planned: {}}
transitions: [{id: look, from: planned, trigger: look}]
"""


def test_where_the_state_is_derived_the_step_exists_for_the_question_only() -> None:
    derived = load_valid_workflow(DERIVED)
    run = start_run(derived)
    assert find_open_steps(derived, run, {"plan.stage": "planned"}) == (Step(0, "planned", 1),)
    assert [option.trigger for option in find_options(derived, run, {"plan.stage": "planned"})] == ["look"]
    assert find_options(derived, run, {"plan.stage": "empty"}) == ()
    assert find_options(derived, run, {}) == ()
    assert find_options(derived, create_idle_run(derived), {"plan.stage": "planned"}) == ()


def test_what_is_closed_is_told_with_the_text_that_refuses_it() -> None:
    flow_ = load_valid_workflow(FLOW.replace("  fill: {}\n", "  fill: {}\n  look: {reads: true}\n"), GATED)
    run = start_run(flow_)

    shut = find_closed_tools(
        flow_, run, {**FACTS, "task.exists": False, "plan.exists": False, "criteria.total": None}
    )

    assert shut == {"guarded": "", "asked": "", "shut": "no", "half": "", "late": "", "gone": ""}
