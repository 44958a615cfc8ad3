"""The way a run has gone, from its journal."""

from handrail.app.run_pictures import VisitHistory, build_visit_history
from handrail.engine.facts import Value
from handrail.runtime.entries import Entry, EntryKind
from helpers.workflows import load_valid_workflow

FLOW = """
workflow: trail
version: 1
authority: files
vars: {back: state?}
tools: {go: {}, ask: {}, home: {}, note: {}}
states:
  plan: {}
  build: {}
  help: {}
  sort: {router: true}
  again: {router: true}
  done: {terminal: true}
transitions:
  - {id: begin, from: plan, trigger: go, to: build}
  - {id: built, from: build, trigger: go, to: sort}
  - {id: sorted, from: sort, when: plan.exists, to: again}
  - {id: missing, from: sort, to: plan}
  - {id: over, from: again, when: task.exists, to: done}
  - {id: repeat, from: again, to: build}
  - {id: ask, from: [plan, build], trigger: ask, to: help, set: {back: "@state"}}
  - {id: home, from: help, trigger: home, to: "@back"}
  - {id: note, from: [plan, build], trigger: note}
  - {id: redo, from: build, trigger: home, to: build}
"""
DERIVED = """
workflow: derived
version: 1
authority: description
derive: plan.stage
tools: {show: {reads: true}, draft: {params: {text: string}}}
states: {PLANNING: {}, EXECUTING: {}, COMPLETE: {}, NONE: {}, INVALID: {}}
transitions:
  - id: draft
    from: "*"
    trigger: draft
    draft: {edit: plan.with_goal}
    to: "@derived"
"""


def opened(state: str) -> Entry:
    return Entry(EntryKind.STEP_STARTED, state)


def closed(state: str, to: str, *rows: Value, kind: EntryKind = EntryKind.STEP_COMPLETED) -> Entry:
    return Entry(kind, state, data={"rows": list(rows), "to": to})


def told(*entries: Entry) -> VisitHistory:
    return build_visit_history(load_valid_workflow(FLOW), entries)


def test_a_run_that_has_not_begun_has_no_trail() -> None:
    assert told(Entry(EntryKind.WORKFLOW_CREATED)) == VisitHistory({}, {})


def test_steps_are_counted_by_state_and_moves_by_their_ends() -> None:
    trail = told(
        opened("plan"),
        closed("plan", "build", "begin"),
        opened("build"),
        closed("build", "build", "redo"),
        opened("build"),
    )
    assert trail == VisitHistory(
        {"plan": 1, "build": 2}, {("plan", "build"): 1, ("build", "build"): 1}, "build"
    )


def test_routers_and_ends_are_counted_as_they_are_passed() -> None:
    trail = told(
        opened("build"),
        closed("build", "build", "built", "sorted", "repeat"),
        opened("build"),
        closed("build", "done", "built", "sorted", "over"),
    )
    assert trail == VisitHistory(
        {"build": 2, "sort": 2, "again": 2, "done": 1},
        {("build", "sort"): 2, ("sort", "again"): 2, ("again", "build"): 1, ("again", "done"): 1},
        "done",
    )


def test_a_way_back_leads_where_the_entry_says() -> None:
    trail = told(opened("help"), closed("help", "plan", "home"), opened("plan"))
    assert trail.moves == {("help", "plan"): 1}


def test_a_row_that_stays_is_not_a_move() -> None:
    trail = told(opened("plan"), closed("plan", "plan", "note", kind=EntryKind.STEP_STAYED))
    assert trail == VisitHistory({"plan": 1}, {}, "plan")


def test_a_state_that_was_taken_over_is_entered_unless_the_run_is_there() -> None:
    adopted = Entry(EntryKind.STATE_ADOPTED, "build")
    restored = Entry(EntryKind.STATE_REPAIRED)
    assert told(opened("plan"), adopted, adopted, restored) == VisitHistory(
        {"plan": 1, "build": 1}, {}, "build"
    )


def test_a_step_that_failed_or_was_ended_by_a_person_took_no_way() -> None:
    failed = Entry(EntryKind.STEP_FAILED, "plan", data={"rows": []})
    odd = Entry(EntryKind.STEP_COMPLETED, "plan", data={"rows": "begin"})
    assert told(opened("plan"), failed, odd, Entry(EntryKind.TOKEN_GENERATED, "plan")) == VisitHistory(
        {"plan": 1}, {}, "plan"
    )


def test_what_rows_of_another_text_did_is_left_out() -> None:
    gone = closed("plan", "done", "gone", "over")
    assert told(opened("plan"), gone) == VisitHistory({"plan": 1, "done": 1}, {("again", "done"): 1}, "done")
    assert told(opened("plan"), closed("plan", "attic", "begin")).visits == {"plan": 1}
    assert told(closed("help", "done", "home", "ask", "over")).moves == {}


def test_where_the_state_is_derived_the_states_are_those_that_were_come_to() -> None:
    derived = load_valid_workflow(DERIVED)
    entries = [
        closed("", "PLANNING", "draft", kind=EntryKind.STEP_STAYED),
        closed("", "EXECUTING", "draft", kind=EntryKind.STEP_STAYED),
        closed("", "EXECUTING", "draft", kind=EntryKind.STEP_STAYED),
        closed("", "PLANNING", "draft", kind=EntryKind.STEP_STAYED),
    ]
    assert build_visit_history(derived, entries) == VisitHistory(
        {"PLANNING": 2, "EXECUTING": 1},
        {("PLANNING", "EXECUTING"): 1, ("EXECUTING", "PLANNING"): 1},
        "PLANNING",
    )
