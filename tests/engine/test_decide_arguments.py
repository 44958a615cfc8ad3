import pytest

from handrail.engine.facts import Value
from handrail.engine.model import Actor, Event, FactReading, Option
from handrail.engine.refusals import RefusalCode
from helpers.workflows import (
    create_idle_run,
    expect_refusal,
    list_open_states,
    load_valid_workflow,
    move_run,
    start_run,
)

FLOW = """
workflow: arguments
version: 1
authority: sql
inputs:
  goal: string
  size: {type: int, default: 3}
  pace: {choices: [slow, fast], default: slow}
  way: {type: string?, choices: [left, right]}
  share: float?
  labels: strings?
  at: state?
  data: json?
tools:
  note: {params: {text: string, count: {type: int, default: 1}, pace: {choices: [slow, fast], default: slow}}}
  plain: {}
states: {Home: {}, Away: {}}
transitions:
  - {id: note, from: Home, trigger: note, accept: ["event.count == 1", 'event.pace == "slow"'], to: Away}
  - {id: plain, from: Home, trigger: plain, to: Away}
"""
NAMES = "at, data, goal, labels, pace, share, size, way"


def test_inputs_that_are_not_given_have_their_defaults() -> None:
    assert start_run(load_valid_workflow(FLOW), goal="mend").inputs == {
        "goal": "mend",
        "size": 3,
        "pace": "slow",
        "way": None,
        "share": None,
        "labels": None,
        "at": None,
        "data": None,
    }


def test_inputs_are_kept_as_given() -> None:
    given: dict[str, Value] = {
        "goal": "",
        "size": -5,
        "pace": "fast",
        "way": "left",
        "share": 1,
        "labels": ["a"],
        "at": "Away",
        "data": {"a": [None, 1.5]},
    }
    assert start_run(load_valid_workflow(FLOW), **given).inputs == given


@pytest.mark.parametrize(
    ("given", "name", "value", "needed"),
    [
        ({}, "goal", None, "goal: a value of type string"),
        ({"goal": None}, "goal", None, "goal: a value of type string"),
        ({"goal": 5}, "goal", 5, "goal: a value of type string"),
        ({"goal": ["x"]}, "goal", ["x"], "goal: a value of type string"),
        ({"goal": "x", "size": "3"}, "size", "3", "size: a value of type int"),
        ({"goal": "x", "size": True}, "size", True, "size: a value of type int"),
        ({"goal": "x", "size": 1.0}, "size", 1.0, "size: a value of type int"),
        ({"goal": "x", "size": None}, "size", None, "size: a value of type int"),
        ({"goal": "x", "pace": "mid"}, "pace", "mid", "pace: slow or fast"),
        ({"goal": "x", "pace": None}, "pace", None, "pace: slow or fast"),
        ({"goal": "x", "pace": ["slow"]}, "pace", ["slow"], "pace: slow or fast"),
        ({"goal": "x", "way": "up"}, "way", "up", "way: left or right"),
        ({"goal": "x", "share": "1"}, "share", "1", "share: a value of type float?"),
        ({"goal": "x", "share": True}, "share", True, "share: a value of type float?"),
        ({"goal": "x", "labels": ["a", 1]}, "labels", ["a", 1], "labels: a value of type strings?"),
        ({"goal": "x", "labels": "a"}, "labels", "a", "labels: a value of type strings?"),
        ({"goal": "x", "at": "Gone"}, "at", "Gone", "at: a value of type state?"),
        ({"goal": "x", "Goal": "y"}, "Goal", "y", f"Goal: one of {NAMES}"),
    ],
)
def test_an_input_that_is_missing_unknown_or_wrong_is_refused(
    given: dict[str, Value], name: str, value: Value, needed: str
) -> None:
    flow = load_valid_workflow(FLOW)
    refusal = expect_refusal(flow, create_idle_run(flow), Event("start", given))
    assert (refusal.code, refusal.rule) == (RefusalCode.ARGUMENTS, "start")
    assert (refusal.seen, refusal.needed) == ((FactReading(name, value),), (needed,))
    assert refusal.next == (Option("start", Actor.AGENT),)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 2**63),
        ("share", float("nan")),
        ("share", 10**400),
        ("goal", "\ud800"),
        ("data", [float("inf")]),
        ("data", {"a": object()}),
    ],
)
def test_an_input_that_could_not_be_kept_is_refused_in_words_that_can(name: str, value: Value) -> None:
    flow = load_valid_workflow(FLOW)
    refusal = expect_refusal(flow, create_idle_run(flow), Event("start", {"goal": "x", name: value}))
    assert refusal.code == RefusalCode.ARGUMENTS
    assert refusal.seen == (FactReading(name, f"<{type(value).__name__} that cannot be written down>"),)


def test_optional_inputs_may_be_null() -> None:
    given = {"goal": "x", "way": None, "share": None, "labels": None, "at": None, "data": None}
    assert (
        move_run(
            load_valid_workflow(FLOW), create_idle_run(load_valid_workflow(FLOW)), Event("start", given)
        ).inputs["way"]
        is None
    )


def test_everything_wrong_is_told_at_once() -> None:
    flow = load_valid_workflow(FLOW)
    refusal = expect_refusal(flow, create_idle_run(flow), Event("start", {"b": 1, "a": 2, "size": "x"}))
    assert [seen.fact for seen in refusal.seen] == ["a", "b", "goal", "size"]


def test_a_workflow_without_inputs_takes_none() -> None:
    flow = load_valid_workflow("workflow: bare\nversion: 1\nauthority: sql\nstates: {Home: {}}")
    refusal = expect_refusal(flow, create_idle_run(flow), Event("start", {"goal": "x"}))
    assert refusal.needed == ("goal: one of no names at all",)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, ["text"]),
        ({"text": 5}, ["text"]),
        ({"text": "x", "count": "1"}, ["count"]),
        ({"text": "x", "count": None}, ["count"]),
        ({"text": "x", "pace": "mid"}, ["pace"]),
        ({"text": "x", "by": "person"}, ["by"]),
        ({"txt": "x"}, ["txt", "text"]),
    ],
)
def test_the_parameters_of_a_tool_are_checked(given: dict[str, Value], names: list[str]) -> None:
    flow = load_valid_workflow(FLOW)
    refusal = expect_refusal(flow, start_run(flow, goal="x"), Event("note", given))
    assert (refusal.code, refusal.rule) == (RefusalCode.ARGUMENTS, "note")
    assert [seen.fact for seen in refusal.seen] == names
    assert [option.trigger for option in refusal.next] == ["note", "plain"]


def test_a_parameter_that_is_not_given_has_its_default() -> None:
    flow = load_valid_workflow(FLOW)
    assert list_open_states(move_run(flow, start_run(flow, goal="x"), "note", {}, text="hi")) == ["Away"]
    refusal = expect_refusal(flow, start_run(flow, goal="x"), "note", {}, text="hi", count=2)
    assert (refusal.code, refusal.seen) == (RefusalCode.NOT_ACCEPTED, (FactReading("event.count", 2),))


FREE = """
workflow: free
version: 1
authority: sql
states: {Home: {}, Away: {}}
transitions: [{id: go, from: Home, trigger: go, to: Away}]
"""


def test_a_trigger_that_declares_nothing_takes_whatever_could_be_kept() -> None:
    flow = load_valid_workflow(FREE)
    assert list_open_states(move_run(flow, start_run(flow), "go", {}, tasks=[{"name": "x"}])) == ["Away"]
    refusal = expect_refusal(flow, start_run(flow), "go", {}, tasks=[{"name": "\ud800"}, float("nan")])
    assert (refusal.code, refusal.rule) == (RefusalCode.ARGUMENTS, "go")
    assert refusal.seen == (FactReading("go", "<dict that cannot be written down>"),)
    assert refusal.needed == (
        "tasks[0].name must be a text without halves of characters",
        "tasks[1] must be a finite number",
    )


@pytest.mark.parametrize("trigger", ["go", "pause", "abandon", "unknown"])
def test_a_note_that_could_not_be_kept_is_refused_whatever_it_comes_with(trigger: str) -> None:
    flow = load_valid_workflow(FREE)
    refusal = expect_refusal(flow, start_run(flow), Event(trigger, note="half \ud83d"))
    assert (refusal.code, refusal.rule) == (RefusalCode.ARGUMENTS, "event.note")
    assert refusal.seen == (FactReading("event.note", "<str that cannot be written down>"),)
    assert refusal.needed == ("event.note must be a text without halves of characters",)
    assert [option.trigger for option in refusal.next] == ["go"]


def test_a_tool_without_parameters_takes_none() -> None:
    flow = load_valid_workflow(FLOW)
    assert (
        expect_refusal(flow, start_run(flow, goal="x"), "plain", {}, text="hi").code == RefusalCode.ARGUMENTS
    )
    assert list_open_states(move_run(flow, start_run(flow, goal="x"), "plain")) == ["Away"]
