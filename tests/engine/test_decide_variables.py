import pytest
from msgspec.structs import replace

from handrail.engine.facts import Value
from handrail.engine.model import Actor, Event, FactReading, Option, Run
from handrail.engine.refusals import RefusalCode
from helpers.workflows import (
    GATED,
    expect_refusal,
    list_open_states,
    load_valid_workflow,
    move_run,
    start_run,
)

FLOW = """
workflow: variables
version: 1
authority: files
inputs: {goal: string}
vars:
  back: state?
  other: state?
  name: string?
  count: int
  done: bool
  share: {type: float, default: 0.5}
  labels: strings
  mode: [slow, fast]
  data: json?
tools: {keep: {params: {name: string?, data: json?}}, go: {}, ret: {}, hop: {}, copy: {}, clear: {}}
states: {Home: {}, Away: {}, Far: {}}
transitions:
  - {id: go, from: [Home, Away], trigger: go, set: {back: "@state", count: 7, labels: [a, b]}, to: Far}
  - {id: return, from: Far, trigger: ret, set: {back: null}, to: "@back"}
  - {id: hop, from: Home, trigger: hop, set: {back: Away, other: "@vars.back"}, to: Away}
  - id: copy
    from: Away
    trigger: copy
    set: {other: "@run.vars.back", name: "@task.name", count: "@criteria.total"}
  - {id: clear, from: Home, trigger: clear, set: {done: true, share: 1, data: {a: [1]}}}
  - {id: keep, from: Home, trigger: keep, set: {name: "@event.name", data: "@event.data"}}
"""
START: dict[str, Value] = {
    "back": None,
    "other": None,
    "name": None,
    "count": 0,
    "done": False,
    "share": 0.5,
    "labels": [],
    "mode": "slow",
    "data": None,
}


def home() -> Run:
    return start_run(load_valid_workflow(FLOW), goal="x")


def test_variables_begin_with_their_defaults() -> None:
    assert home().vars == START


def test_a_row_sets_values_as_written_and_the_state_being_left() -> None:
    run = move_run(load_valid_workflow(FLOW), home(), "go")
    assert run.vars == {**START, "back": "Home", "count": 7, "labels": ["a", "b"]}


def test_a_row_goes_to_the_state_in_a_variable_as_it_was_before_the_row_sets_it() -> None:
    flow = load_valid_workflow(FLOW)
    run = move_run(flow, move_run(flow, home(), "go"), "ret")
    assert (list_open_states(run), run.vars["back"]) == (["Home"], None)


@pytest.mark.parametrize(
    ("held", "expected"),
    [("Away", "Away"), (None, "Home"), ("Nowhere", "Home"), (7, "Home"), (["Away"], "Home")],
)
def test_a_state_that_there_is_not_reads_as_none_for_people_edit_state_files(
    held: Value, expected: str
) -> None:
    flow = load_valid_workflow("""
workflow: edited
version: 1
authority: files
vars: {back: state?}
states: {Far: {}, Home: {}, Away: {}}
transitions:
  - {id: known, from: Far, trigger: ret, when: run.vars.back != null, to: "@back"}
  - {id: lost, from: Far, trigger: ret, to: Home}
""")

    assert list_open_states(move_run(flow, replace(start_run(flow), vars={"back": held}), "ret")) == [
        expected
    ]


def test_a_variable_takes_what_another_held_before_the_row() -> None:
    run = move_run(load_valid_workflow(FLOW), home(), "hop")
    assert (run.vars["back"], run.vars["other"]) == ("Away", None)


def test_a_variable_takes_a_fact() -> None:
    flow = load_valid_workflow(FLOW)
    run = move_run(flow, move_run(flow, home(), "hop"), "copy", {"task.name": "mend", "criteria.total": 3})
    assert (run.vars["other"], run.vars["name"], run.vars["count"]) == ("Away", "mend", 3)


def test_a_value_of_any_type_can_be_written() -> None:
    run = move_run(load_valid_workflow(FLOW), home(), "clear")
    assert (run.vars["done"], run.vars["share"], run.vars["data"]) == (True, 1, {"a": [1]})


def test_a_variable_takes_what_came_with_the_event() -> None:
    run = move_run(load_valid_workflow(FLOW), home(), "keep", {}, name="n", data={"b": None})
    assert (run.vars["name"], run.vars["data"]) == ("n", {"b": None})
    assert move_run(load_valid_workflow(FLOW), run, "keep").vars["name"] is None


@pytest.mark.parametrize(
    ("facts", "seen"),
    [
        ({"task.name": "n"}, (FactReading("criteria.total", None),)),
        (
            {"task.name": 3, "criteria.total": True},
            (FactReading("task.name", 3), FactReading("criteria.total", value=True)),
        ),
        ({"task.name": "n", "criteria.total": 2.5}, (FactReading("criteria.total", 2.5),)),
    ],
)
def test_a_fact_that_the_variable_may_not_hold_is_refused(
    facts: dict[str, Value], seen: tuple[FactReading, ...]
) -> None:
    flow = load_valid_workflow(FLOW)
    refusal = expect_refusal(flow, move_run(flow, home(), "hop"), "copy", facts)
    assert (refusal.code, refusal.rule, refusal.seen) == (RefusalCode.WRONG_VALUE, "copy", seen)
    assert refusal.needed[-1] == "a value that `count` may hold"


CHOICE = """
workflow: choice
version: 1
authority: sql
vars: {kind: [task, bugfix, code]}
states: {Here: {}}
transitions: [{id: pick, from: Here, trigger: pick, set: {kind: "@item.type"}}]
"""


def test_a_variable_with_choices_takes_none_but_those() -> None:
    flow = load_valid_workflow(CHOICE)
    assert move_run(flow, start_run(flow), "pick", {"item.type": "code"}).vars == {"kind": "code"}
    refusal = expect_refusal(flow, start_run(flow), "pick", {"item.type": "chore"})
    assert (refusal.code, refusal.seen) == (RefusalCode.WRONG_VALUE, (FactReading("item.type", "chore"),))


EMPTY = """
workflow: empty
version: 1
authority: files
vars: {back: state?}
states: {Home: {}, Away: {}}
transitions:
  - {id: ret, from: Home, trigger: ret, to: "@back"}
  - {id: other, from: Home, trigger: ret, to: Away}
  - {id: set, from: Home, trigger: set, set: {back: Away}}
"""


def test_a_variable_that_holds_no_state_leads_nowhere() -> None:
    flow = load_valid_workflow(EMPTY)
    refusal = expect_refusal(flow, start_run(flow), "ret")
    assert (refusal.code, refusal.rule) == (RefusalCode.NO_TARGET, "ret")
    assert refusal.seen == (FactReading("target", None),)
    assert refusal.needed == ("a state to go to",)
    assert refusal.next == (Option("set", Actor.AGENT),)


def test_once_it_holds_one_the_way_is_open() -> None:
    flow = load_valid_workflow(EMPTY)
    run = move_run(flow, start_run(flow), "set")
    assert list_open_states(move_run(flow, run, "ret")) == ["Away"]


GUARDED = """
workflow: guarded
version: 1
authority: sql
inputs: {size: {type: int, default: 2}, hint: string?}
vars: {back: state?, name: string}
states: {Home: {}, Away: {}}
transitions:
  - {id: out, from: Home, trigger: out, set: {back: "@state", name: set}, to: Away}
  - id: back
    from: Away
    trigger: back
    when:
      - 'run.vars.back == "Home"'
      - 'run.vars.name == "set"'
      - run.inputs.size == 2 && run.inputs.hint == null
      - 'run.state == "Away"'
      - run.attempts == 1 && run.open == 1
    accept: ['event.by == "person"', 'event.note == "go"']
    to: "@back"
"""


def test_guards_see_the_run_its_variables_its_inputs_and_who_sent_the_event() -> None:
    flow = load_valid_workflow(GUARDED)
    away = move_run(flow, start_run(flow), "out")
    assert list_open_states(move_run(flow, away, Event("back", by=Actor.PERSON, note="go"))) == ["Home"]
    refusal = expect_refusal(flow, away, Event("back", note="go"))
    assert (refusal.code, refusal.seen) == (RefusalCode.NOT_ACCEPTED, (FactReading("event.by", "agent"),))
    assert refusal.needed == ('event.by = "person"',)


def test_facts_of_the_world_cannot_speak_for_the_run() -> None:
    flow = load_valid_workflow(GUARDED)
    away = move_run(flow, start_run(flow, size=3), "out")
    lies = {"run.inputs.size": 2, "run.vars.name": "set", "run.attempts": 1, "event.by": "person"}
    assert (
        expect_refusal(flow, away, Event("back", by=Actor.PERSON, note="go"), lies).code
        == RefusalCode.NOT_NOW
    )


STATE = """
workflow: named
version: 1
authority: sql
vars: {at: state?}
tools: {jump: {params: {to: state}}, leap: {}}
states: {Home: {}, Away: {}}
transitions:
  - {id: jump, from: Home, trigger: jump, set: {at: "@event.to"}}
  - {id: leap, from: Home, trigger: leap, when: tests.pass, to: "@at"}
"""


def test_a_parameter_of_type_state_must_name_one() -> None:
    flow = load_valid_workflow(STATE, GATED)
    run = move_run(flow, start_run(flow), "jump", {}, to="Away")
    assert list_open_states(move_run(flow, run, "leap", {"tests.pass": True})) == ["Away"]
    refusal = expect_refusal(flow, start_run(flow), "jump", {}, to="Nowhere")
    assert (refusal.code, refusal.needed) == (RefusalCode.ARGUMENTS, ("to: a value of type state",))
