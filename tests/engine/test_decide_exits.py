import pytest
from msgspec.structs import replace

from handrail.drawing.marks import explain_reasons
from handrail.engine.decide import Availability, Exit, find_exits
from handrail.engine.facts import PENDING, Value
from handrail.engine.model import Lifecycle, Run, Step, Workflow
from helpers.drawings import T
from helpers.workflows import GATED, create_idle_run, load_valid_workflow, move_run, start_run

FLOW = """
workflow: ways
version: 1
authority: files
vars: {back: state?, kind: string?, seen: bool}
tools:
  plain: {}
  guarded: {}
  asked: {params: {word: string?}}
  shut: {}
  late: {}
  gone: {}
  gate: {}
  fill: {}
  sort: {params: {word: string?}}
texts: {no: No}
states:
  Home: {}
  Away: {attempts: 1}
  Sorter: {router: true}
  Second: {router: true}
  Done: {terminal: true}
transitions:
  - {id: plain, from: Home, trigger: plain, to: Away}
  - {id: guarded, from: Home, trigger: guarded, when: [plan.exists, task.exists], to: Away}
  - {id: asked, from: Home, trigger: asked, accept: 'event.word == "please"', to: Done}
  - {id: not-asked, from: Home, trigger: asked, to: Away}
  - {id: shut, from: Home, trigger: shut, when: "!task.exists", refuse: no}
  - {id: not-shut, from: Home, trigger: shut, to: Away}
  - {id: late, from: Home, trigger: late, when: criteria.total > 0, to: Away}
  - {id: later, from: Home, trigger: late, to: Done}
  - {id: gone, from: Home, trigger: gone, to: "@back"}
  - {id: gate, from: Home, trigger: gate, when: tests.pass, to: Away}
  - {id: fill, from: Home, trigger: fill, set: {back: Home}}
  - {id: sort, from: Home, trigger: sort, to: Sorter, set: {kind: "@event.word", seen: true}}
  - {id: by-kind, from: Sorter, when: 'run.vars.kind == "good"', to: Done}
  - {id: unseen, from: Sorter, when: "!run.vars.seen", to: Home}
  - {id: on, from: Sorter, to: Second}
  - {id: round, from: Second, when: criteria.total > 5, to: Sorter}
  - {id: out, from: Second, to: Away}
  - {id: leave, from: Away, trigger: plain, to: Home}
"""
FACTS: dict[str, Value] = {
    "plan.exists": True,
    "task.exists": True,
    "criteria.total": 1,
    "tests.pass": True,
}
OPEN, UNSURE, SHUT = Availability.OPEN, Availability.UNSURE, Availability.SHUT


def flow() -> Workflow:
    return load_valid_workflow(FLOW, GATED)


def told(trigger: str, run: Run | None = None, **changes: Value) -> list[tuple[str, str, Availability, str]]:
    """The ways by a trigger: the row, where it leads, how it stands with it, and why."""
    facts = {**FACTS, **{name.replace("__", "."): value for name, value in changes.items()}}
    found = find_exits(flow(), run or start_run(flow()), facts)
    first = [way for way in found if way.trigger == trigger]
    behind = found[found.index(first[-1]) + 1 :] if first else ()
    routed = [way for way in behind if way.trigger is None] if trigger == "sort" else []
    return [
        (way.row, way.target, way.prospect, "; ".join(explain_reasons(T, way.why)))
        for way in (*first, *routed)
    ]


def test_a_row_without_guards_is_open() -> None:
    assert told("plain") == [("plain", "Away", OPEN, "")]


def test_a_way_says_where_it_begins() -> None:
    assert find_exits(flow(), start_run(flow()), FACTS)[0] == Exit("Home", "Away", "plain", "plain", OPEN)


def test_a_row_is_shut_by_the_guards_that_fail_and_only_by_them() -> None:
    assert told("guarded") == [("guarded", "Away", OPEN, "")]
    assert told("guarded", task__exists=False) == [("guarded", "Away", SHUT, "task.exists")]
    assert told("guarded", task__exists=False, plan__exists=False) == [
        ("guarded", "Away", SHUT, "plan.exists; task.exists")
    ]


def test_what_depends_on_what_comes_with_the_event_is_unsure_and_so_is_what_comes_after_it() -> None:
    assert told("asked") == [
        ("asked", "Done", UNSURE, 'event.word == "please"'),
        ("not-asked", "Away", UNSURE, "row `asked` comes first if it can be taken"),
    ]


def test_a_row_that_refuses_is_no_way_but_shuts_those_after_it() -> None:
    assert told("shut") == [("not-shut", "Away", OPEN, "")]
    reason = "row `shut` comes first, and refuses: !task.exists"
    assert told("shut", task__exists=False) == [("not-shut", "Away", SHUT, reason)]


def test_a_row_behind_one_that_is_taken_is_shut() -> None:
    reason = "row `late` comes first, and is taken: criteria.total > 0"
    assert told("late") == [("late", "Away", OPEN, ""), ("later", "Done", SHUT, reason)]
    assert told("late", criteria__total=0) == [
        ("late", "Away", SHUT, "criteria.total > 0"),
        ("later", "Done", OPEN, ""),
    ]


def test_a_guard_that_goes_wrong_shuts_its_row_and_those_after_it() -> None:
    reason = "row `late` comes first, and its guard went wrong: criteria.total > 0"
    assert told("late", criteria__total="many") == [
        ("late", "Away", SHUT, "criteria.total > 0"),
        ("later", "Done", SHUT, reason),
    ]


def test_a_way_back_is_shut_until_the_variable_holds_a_state() -> None:
    assert told("gone") == [("gone", "", SHUT, "`back` holds no state")]
    filled = move_run(flow(), start_run(flow()), "fill", FACTS)
    assert told("gone", filled) == [("gone", "Home", OPEN, "")]


def test_a_way_back_to_a_state_that_is_not_known_yet_is_unsure() -> None:
    run = replace(start_run(flow()), vars={"back": PENDING})
    assert told("gone", run) == [("gone", "", UNSURE, "where it leads")]


def test_a_fact_that_is_not_known_yet_leaves_the_row_unsure() -> None:
    assert told("gate", tests__pass=PENDING) == [("gate", "Away", UNSURE, "tests.pass")]


def test_a_row_that_stays_is_a_way_to_where_the_run_is() -> None:
    assert told("fill") == [("fill", "Home", OPEN, "")]


def test_a_state_whose_attempts_are_used_up_is_shut_and_does_not_shut_what_comes_after() -> None:
    there = move_run(flow(), start_run(flow()), "plain", FACTS)
    again = move_run(flow(), there, "plain", FACTS)
    reason = "the attempts of `Away` are used up"
    assert told("late", again) == [("late", "Away", SHUT, reason), ("later", "Done", OPEN, "")]


def test_ways_go_on_through_routers_with_what_the_row_sets_and_pass_each_once() -> None:
    first = "row `by-kind` comes first if it can be taken"
    kind = 'run.vars.kind == "good"'
    assert told("sort", criteria__total=9) == [
        ("sort", "Sorter", OPEN, ""),
        ("by-kind", "Done", UNSURE, kind),
        ("unseen", "Home", SHUT, "!run.vars.seen"),
        ("on", "Second", UNSURE, first),
        ("round", "Sorter", UNSURE, first),
        ("out", "Away", SHUT, "row `round` comes first, and is taken: criteria.total > 5"),
    ]


def test_the_ways_of_steps_side_by_side_are_told_one_after_the_other() -> None:
    run = replace(start_run(flow()), open=(Step(1, "Away", 1), Step(2, "Away", 1), Step(3, "Home", 1)))
    first = find_exits(flow(), run, FACTS)[:2]
    assert [(way.source, way.row) for way in first] == [("Away", "leave"), ("Home", "plain")]


SUB = """
workflow: sub
version: 1
authority: files
vars: {kind: string?}
tools: {go: {params: {word: string?}}}
states: {In: {}, Sort: {router: true}, Out: {terminal: true}}
transitions:
  - {id: go, from: In, trigger: go, to: Sort, set: {kind: "@event.word"}}
  - {id: same, from: Sort, when: 'run.vars.kind == "same"', to: In}
  - {id: other, from: Sort, to: Out}
"""
OUTER = """
workflow: outer
version: 1
authority: files
vars: {kind: string?}
tools: {go: {params: {word: string?}}}
states: {Part: {workflow: sub}, Sort: {router: true}, Done: {terminal: true}}
transitions:
  - {id: on, from: Part, to: Sort}
  - {id: none, from: Sort, when: run.vars.kind == null, to: Done}
  - {id: some, from: Sort, to: Part}
"""


def test_ways_lead_through_the_routers_of_sub_workflows_and_each_has_its_own_variables() -> None:
    outer = load_valid_workflow(OUTER, GATED, {"sub": SUB})
    first = "row `Part/same` comes first if it can be taken"
    assert [
        (way.row, way.target, way.prospect, explain_reasons(T, way.why))
        for way in find_exits(outer, start_run(outer), {})
    ] == [
        ("Part/go", "Part/Sort", OPEN, ()),
        ("Part/same", "Part/In", UNSURE, ('run.vars.kind == "same"',)),
        ("Part/other", "Part/Out", UNSURE, (first,)),
        ("on", "Sort", UNSURE, (first,)),
        ("none", "Done", UNSURE, (first,)),
        ("some", "Part", SHUT, ("row `none` comes first, and is taken: run.vars.kind == null",)),
    ]


def test_every_way_of_a_run_that_rests_is_shut_by_that() -> None:
    run = replace(start_run(flow()), lifecycle=Lifecycle.PAUSED)
    assert {(way.prospect, explain_reasons(T, way.why)) for way in find_exits(flow(), run, FACTS)} == {
        (SHUT, ("the run is paused",))
    }


@pytest.mark.parametrize("lifecycle", [Lifecycle.IDLE, Lifecycle.COMPLETED])
def test_a_run_without_an_open_step_has_no_ways(lifecycle: Lifecycle) -> None:
    assert find_exits(flow(), replace(create_idle_run(flow()), lifecycle=lifecycle), FACTS) == ()
