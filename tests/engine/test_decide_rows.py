import pytest

from handrail.engine.facts import Value
from handrail.engine.model import Accepted, Actor, Archive, Event, FactReading, Move, Option, Run, Write
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

ROWS = """
workflow: rows
version: 1
authority: files
tools: {go: {params: {where: string?}}, ask: {who: person}, look: {reads: true}}
texts: {no: "Not with {{plan.exists}}", yes: "Off to {{event.where}}"}
states: {Home: {}, Left: {}, Right: {}, Shut: {}}
transitions:
  - {id: shut, from: Home, trigger: go, when: [results.exists, task.exists], refuse: no}
  - {id: left, from: Home, trigger: go, when: plan.exists, accept: event.where == "left", to: Left, say: yes}
  - {id: right, from: Home, trigger: go, when: plan.exists, accept: 'event.where == "right"', to: Right}
  - {id: late, from: Home, trigger: go, when: comments.exists, to: Shut}
  - {id: asked, from: Home, trigger: ask, to: Shut}
"""
NOTHING = {"plan.exists": False, "results.exists": False, "task.exists": False, "comments.exists": False}


def facts(*true: str) -> dict[str, Value]:
    return {**NOTHING, **dict.fromkeys(true, True)}


def home() -> Run:
    return start_run(load_valid_workflow(ROWS))


@pytest.mark.parametrize(
    ("true", "where", "expected"),
    [
        (("plan.exists",), "left", "Left"),
        (("plan.exists",), "right", "Right"),
        (("plan.exists", "comments.exists"), "left", "Left"),
        (("plan.exists", "comments.exists"), "elsewhere", "Shut"),
        (("comments.exists",), "left", "Shut"),
        (("results.exists", "plan.exists"), "left", "Left"),
    ],
)
def test_the_first_row_whose_guards_hold_is_the_row(true: tuple[str, ...], where: str, expected: str) -> None:
    assert list_open_states(move_run(load_valid_workflow(ROWS), home(), "go", facts(*true), where=where)) == [
        expected
    ]


def test_a_row_that_is_taken_is_told_with_its_move_and_its_text() -> None:
    decision = send_event(load_valid_workflow(ROWS), home(), "go", facts("plan.exists"), where="left")
    assert isinstance(decision, Accepted)
    assert decision.moves == (Move("left", "Home", "Left"),)
    assert decision.says == ("yes",)
    assert decision.effects == ()


def test_a_row_that_refuses_says_its_text_and_what_it_saw() -> None:
    flow = load_valid_workflow(ROWS)
    refusal = expect_refusal(
        flow, home(), "go", facts("results.exists", "task.exists", "plan.exists"), where="left"
    )
    assert (refusal.code, refusal.rule, refusal.say) == (RefusalCode.REFUSED, "shut", "no")
    assert refusal.seen == (FactReading("results.exists", value=True), FactReading("task.exists", value=True))
    assert refusal.next == (Option("ask", Actor.PERSON),)


def test_without_an_open_row_each_line_that_failed_is_told() -> None:
    refusal = expect_refusal(load_valid_workflow(ROWS), home(), "go", facts("results.exists"), where="left")
    assert (refusal.code, refusal.rule) == (RefusalCode.NOT_NOW, "shut, left, right, late")
    assert refusal.seen == (
        FactReading("task.exists", value=False),
        FactReading("plan.exists", value=False),
        FactReading("comments.exists", value=False),
    )
    assert refusal.needed == ("task.exists = true", "plan.exists = true", "comments.exists = true")
    assert refusal.next == (Option("ask", Actor.PERSON),)


def test_what_came_with_the_event_is_looked_at_only_if_a_row_is_open() -> None:
    flow = load_valid_workflow(ROWS)
    assert expect_refusal(flow, home(), "go", facts(), where=5).code == RefusalCode.NOT_NOW
    assert expect_refusal(flow, home(), "go", facts("plan.exists"), where=5).code == RefusalCode.ARGUMENTS


def test_a_payload_that_no_open_row_accepts_is_told_line_by_line() -> None:
    refusal = expect_refusal(load_valid_workflow(ROWS), home(), "go", facts("plan.exists"), where="up")
    assert (refusal.code, refusal.rule) == (RefusalCode.NOT_ACCEPTED, "left, right")
    assert refusal.seen == (FactReading("event.where", "up"),)
    assert refusal.needed == ('event.where == "left"', 'event.where == "right"')
    assert refusal.next == (Option("go", Actor.AGENT), Option("ask", Actor.PERSON))


@pytest.mark.parametrize("trigger", ["back", "look", "continue", "Home", ""])
def test_a_trigger_that_the_state_does_not_know_is_refused_with_those_it_knows(trigger: str) -> None:
    refusal = expect_refusal(load_valid_workflow(ROWS), home(), trigger, facts("plan.exists"))
    assert (refusal.code, refusal.rule) == (RefusalCode.NO_ROW, "Home")
    assert refusal.seen == (FactReading("run.state", "Home"), FactReading("event.trigger", trigger))
    assert refusal.needed == ("a trigger that is open here",)
    assert [option.trigger for option in refusal.next] == ["go", "ask"]


@pytest.mark.parametrize("by", [Actor.AGENT, Actor.SERVER])
def test_nobody_else_can_say_the_word_of_a_person(by: Actor) -> None:
    flow = load_valid_workflow(ROWS)
    refusal = expect_refusal(flow, home(), Event("ask", by=by), facts())
    assert (refusal.code, refusal.rule) == (RefusalCode.NOT_YOURS, "ask")
    assert refusal.seen == (FactReading("event.by", by.value),)
    assert refusal.needed == ("event.by = person",)
    assert list_open_states(move_run(flow, home(), Event("ask", by=Actor.PERSON), facts())) == ["Shut"]


@pytest.mark.parametrize("by", list(Actor))
def test_anybody_can_say_the_word_of_an_agent(by: Actor) -> None:
    event = Event("go", {"where": "left"}, by)
    assert list_open_states(move_run(load_valid_workflow(ROWS), home(), event, facts("plan.exists"))) == [
        "Left"
    ]


@pytest.mark.parametrize(
    ("fact", "error"),
    [
        ("yes", "`plan.exists` is no value of type bool"),
        (1, "`plan.exists` is no value of type bool"),
        (None, "`plan.exists` is no value of type bool"),
    ],
)
def test_a_row_whose_guard_goes_wrong_refuses_and_is_never_jumped_over(fact: Value, error: str) -> None:
    given = {**facts("comments.exists"), "plan.exists": fact}
    refusal = expect_refusal(load_valid_workflow(ROWS), home(), "go", given, where="left")
    assert (refusal.code, refusal.rule) == (RefusalCode.GUARD_ERROR, "left")
    assert refusal.seen == (FactReading("plan.exists", fact), FactReading("guard.error", error))
    assert refusal.needed == ("`plan.exists` that can be evaluated",)
    assert refusal.next == (Option("ask", Actor.PERSON),)


def test_a_fact_that_was_not_read_is_a_guard_that_goes_wrong() -> None:
    refusal = expect_refusal(load_valid_workflow(ROWS), home(), "go", {}, where="left")
    assert (refusal.code, refusal.rule) == (RefusalCode.GUARD_ERROR, "shut")
    assert refusal.seen[1].value == 'UNKNOWN: No value with name "results.exists" found in Activation'


def test_a_row_that_goes_wrong_after_the_row_that_is_taken_does_not_matter() -> None:
    given = {**facts("plan.exists"), "comments.exists": "broken"}
    assert list_open_states(move_run(load_valid_workflow(ROWS), home(), "go", given, where="left")) == [
        "Left"
    ]


def test_false_together_with_an_error_closes_the_row() -> None:
    given = {**facts("comments.exists"), "results.exists": False, "task.exists": "broken"}
    assert list_open_states(move_run(load_valid_workflow(ROWS), home(), "go", given, where="left")) == [
        "Shut"
    ]


ERRORS = """
workflow: errors
version: 1
authority: sql
states: {Home: {}, Away: {}}
transitions:
  - {id: sum, from: Home, trigger: go, when: "100 / tests.failed > 1", to: Away}
  - {id: key, from: Home, trigger: read, when: tests.report.ok == true, to: Away}
  - {id: any, from: Home, trigger: go, to: Away}
  - {id: any-read, from: Home, trigger: read, to: Away}
"""


@pytest.mark.parametrize(
    ("trigger", "given", "rule", "error"),
    [
        ("go", {"tests.failed": 0}, "sum", "INVALID_ARGUMENT: divide by zero"),
        ("go", {"tests.failed": 2**63}, "sum", "`tests.failed` is no value of type int"),
        ("read", {"tests.report": {}}, "key", 'NOT_FOUND: Key not found in map : "ok"'),
    ],
)
def test_a_guard_error_is_told_in_words_that_can_be_journalled(
    trigger: str, given: dict[str, Value], rule: str, error: str
) -> None:
    flow = load_valid_workflow(ERRORS, GATED)
    refusal = expect_refusal(flow, start_run(flow), trigger, given)
    assert (refusal.code, refusal.rule) == (RefusalCode.GUARD_ERROR, rule)
    assert refusal.seen[-1] == FactReading("guard.error", error)


def test_a_fact_that_cannot_be_written_down_is_told_by_its_type() -> None:
    flow = load_valid_workflow(ERRORS, GATED)
    refusal = expect_refusal(flow, start_run(flow), "go", {"tests.failed": 2**63})
    assert refusal.seen[0] == FactReading("tests.failed", "<int that cannot be written down>")


STAYS = """
workflow: stays
version: 1
authority: files
texts: {more: More}
states: {Here: {}, There: {}}
transitions:
  - id: stay
    from: Here
    trigger: wait
    do: [{write: a.md, template: more}, {archive: [b.md, c.md], to: "old-{task.name}"}]
    say: more
  - {id: again, from: Here, trigger: again, to: Here}
  - {id: on, from: "*", except: There, trigger: on, to: There}
"""


def test_a_row_without_a_target_stays_in_the_step() -> None:
    flow = load_valid_workflow(STAYS)
    decision = send_event(flow, start_run(flow), "wait", {"task.name": "x"})
    assert isinstance(decision, Accepted)
    assert decision.run == start_run(flow)
    assert decision.moves == (Move("stay", "Here", "Here"),)
    assert decision.effects == (Write("a.md", template="more"), Archive(("b.md", "c.md"), "old-{task.name}"))
    assert decision.says == ("more",)


def test_a_row_to_the_same_state_opens_a_new_step() -> None:
    flow = load_valid_workflow(STAYS)
    (step,) = move_run(flow, start_run(flow), "again").open
    assert (step.number, step.state, step.attempt) == (2, "Here", 2)


def test_a_row_from_everywhere_leaves_all_states_but_those_excepted() -> None:
    flow = load_valid_workflow(STAYS)
    there = move_run(flow, start_run(flow), "on")
    assert list_open_states(there) == ["There"]
    assert expect_refusal(flow, there, "on").code == RefusalCode.NO_ROW


def test_a_decision_is_the_same_each_time() -> None:
    flow = load_valid_workflow(ROWS)
    decisions = [send_event(flow, home(), "go", facts("plan.exists"), where="left") for _ in range(3)]
    assert decisions[0] == decisions[1] == decisions[2]
    assert decisions[0] == send_event(
        load_valid_workflow(ROWS), home(), "go", facts("plan.exists"), where="left"
    )


DRAFTS = """
workflow: drafts
version: 1
authority: files
states: {Here: {}, There: {}}
transitions:
  - id: mark
    from: Here
    trigger: mark
    draft: {marked: criteria.check_off, other: items.document}
    accept: [marked.ok, size(marked.unmatched) == 0]
    to: There
    do: [{write: plan.md, from: marked.text}]
"""
GOOD = {"marked.ok": True, "marked.problems": [], "marked.unmatched": [], "marked.checked": ["one"]}


def test_an_edit_that_cannot_be_made_tells_what_is_wrong_with_it() -> None:
    flow = load_valid_workflow(DRAFTS)
    given = {**GOOD, "marked.ok": False, "marked.problems": ["no such criterion"], "other.problems": ["x"]}
    refusal = expect_refusal(flow, start_run(flow), "mark", given)
    assert refusal.code == RefusalCode.NOT_ACCEPTED
    assert refusal.seen == (
        FactReading("marked.ok", value=False),
        FactReading("marked.problems", ["no such criterion"]),
    )
    assert refusal.needed == ("marked.ok = true",)


def test_an_edit_that_can_be_made_is_an_effect() -> None:
    flow = load_valid_workflow(DRAFTS)
    decision = send_event(flow, start_run(flow), "mark", GOOD)
    assert isinstance(decision, Accepted)
    assert decision.effects == (Write("plan.md", source="marked.text"),)


def test_a_draft_without_words_for_its_problems_tells_none() -> None:
    flow = load_valid_workflow(DRAFTS)
    refusal = expect_refusal(flow, start_run(flow), "mark", {"marked.ok": True, "marked.unmatched": ["two"]})
    assert refusal.seen == (FactReading("marked.unmatched", ["two"]),)
    assert refusal.needed == ("size(marked.unmatched) == 0",)


NEEDED = """
workflow: needed
version: 1
authority: files
vars: {mode: [one, two, three, four, five]}
states: {Here: {}, There: {}}
transitions:
  - {id: some, from: Here, trigger: some, when: 'item.type != "code"', to: There}
  - {id: many, from: Here, trigger: many, when: 'run.vars.mode != "one"', to: There}
  - {id: none, from: Here, trigger: none, when: 'item.type == "other"', to: There}
  - {id: number, from: Here, trigger: number, when: criteria.total > 3, to: There}
  - {id: both, from: Here, trigger: both, when: plan.exists && task.exists, to: There}
"""


@pytest.mark.parametrize(
    ("trigger", "needed"),
    [
        ("some", 'item.type = "task" or "bugfix"'),
        ("many", 'run.vars.mode != "one"'),
        ("none", 'item.type == "other"'),
        ("number", "criteria.total > 3"),
        ("both", "plan.exists && task.exists"),
    ],
)
def test_what_is_needed_is_the_values_where_they_are_few_and_otherwise_the_line(
    trigger: str, needed: str
) -> None:
    flow = load_valid_workflow(NEEDED)
    given = {"item.type": "code", "criteria.total": 0, "plan.exists": True, "task.exists": False}
    refusal = expect_refusal(flow, start_run(flow), trigger, given)
    assert (refusal.code, refusal.needed) == (RefusalCode.NOT_NOW, (needed,))
