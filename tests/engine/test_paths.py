import pytest

from handrail.engine.model import Requirements, Workflow
from handrail.engine.paths import (
    find_path_placeholders,
    find_requirements,
    find_shortest_paths,
    find_start_requirements,
    group_rows_by_state,
    list_targets,
)
from helpers.workflows import load_valid_workflow

FLOW = """
workflow: explored
version: 1
authority: files
inputs: {goal: string}
vars: {back: state?, note: string?}
tools: {go: {params: {word: string?}}, tidy: {}, jump: {}, mark: {}, stay: {}, stop: {}}
texts:
  told: "{{criteria.total}} of {{run.inputs.goal}} {{marked.checked}} {{now}}"
  shut: "{{comments.exists}}"
states:
  Home: {}
  sort: {router: true}
  far: {router: true}
  Left: {}
  Right: {}
  Over: {terminal: true}
transitions:
  - id: go
    from: Home
    trigger: go
    when: [plan.exists && run.vars.back == null]
    accept: ['event.word == "x"']
    to: sort
  - id: tidy
    from: Home
    trigger: tidy
    do: [{archive: ["{task.name}.md", b.md], to: "old/{item.type}-{now}"}]
    to: Left
  - {id: mark, from: Home, trigger: mark, draft: {marked: criteria.check_off}, accept: marked.ok, say: told}
  - id: stay
    from: Home
    trigger: stay
    set: {note: "@task.name", back: "@state"}
    do: [{write: c.md, template: shut}]
  - {id: stop, from: Home, trigger: stop, when: review_task.exists, refuse: shut}
  - {id: jump, from: Left, trigger: jump, to: "@back"}
  - id: left
    from: sort
    when: task.exists
    to: Left
    draft: {doc: items.document}
    do: [{write: d.md, from: doc.text}]
  - {id: onward, from: sort, when: results.exists, set: {back: far}, to: far}
  - {id: right, from: far, when: review_results.exists, to: Right}
  - {id: round, from: far, to: sort}
  - {id: end, from: Right, trigger: stop, to: Over}
"""


def flow() -> Workflow:
    return load_valid_workflow(FLOW)


def found(state: str, trigger: str | None = None) -> tuple[list[str], list[tuple[str, str]]]:
    needed = find_requirements(flow(), state, trigger)
    return sorted(needed.facts), sorted(needed.drafts)


def test_a_row_needs_the_facts_of_its_guards_and_those_of_the_routers_behind_it() -> None:
    assert found("Home", "go") == (
        ["plan.exists", "results.exists", "review_results.exists", "task.exists"],
        [("doc", "items.document")],
    )


def test_a_row_needs_the_facts_in_the_paths_of_its_effects() -> None:
    assert found("Home", "tidy") == (["item.type", "task.name"], [])


def test_a_row_needs_its_drafts_and_the_facts_in_its_texts() -> None:
    assert found("Home", "mark") == (["criteria.total"], [("marked", "criteria.check_off")])


def test_a_row_needs_the_facts_it_sets_and_those_in_its_templates() -> None:
    assert found("Home", "stay") == (["comments.exists", "task.name"], [])


def test_a_row_that_refuses_needs_the_facts_in_what_it_says() -> None:
    assert found("Home", "stop") == (["comments.exists", "review_task.exists"], [])


def test_a_row_to_a_variable_needs_what_the_routers_it_may_hold_need() -> None:
    assert found("Left", "jump") == (
        ["results.exists", "review_results.exists", "task.exists"],
        [("doc", "items.document")],
    )


def test_without_a_trigger_everything_a_state_may_need_is_needed() -> None:
    facts, drafts = found("Home")
    assert facts == [
        "comments.exists",
        "criteria.total",
        "item.type",
        "plan.exists",
        "results.exists",
        "review_results.exists",
        "review_task.exists",
        "task.exists",
        "task.name",
    ]
    assert drafts == [("doc", "items.document"), ("marked", "criteria.check_off")]


def test_a_router_needs_what_its_own_rows_name() -> None:
    assert found("sort")[0] == ["results.exists", "review_results.exists", "task.exists"]


@pytest.mark.parametrize(("state", "trigger"), [("Over", None), ("Home", "unknown"), ("Right", "stop")])
def test_nothing_is_needed_where_no_row_names_anything(state: str, trigger: str | None) -> None:
    assert find_requirements(flow(), state, trigger) == Requirements(frozenset(), frozenset())


DERIVED = """
workflow: derived
version: 1
authority: description
derive: plan.stage
states: {empty: {}, planned: {}, lost: {}}
transitions:
  - id: plan
    from: empty
    trigger: plan
    draft: {edited: plan.with_tasks}
    accept: edited.ok
    to: "@derived"
    do: [{describe: edited.text}]
"""


def test_where_the_state_is_derived_its_fact_is_always_needed() -> None:
    derived = load_valid_workflow(DERIVED)
    assert find_requirements(derived, "lost").facts == {"plan.stage"}
    assert find_requirements(derived, "empty", "plan") == Requirements(
        frozenset({"plan.stage"}), frozenset({("edited", "plan.with_tasks")})
    )


def test_where_the_state_is_derived_every_state_may_be_the_first() -> None:
    assert find_shortest_paths(load_valid_workflow(DERIVED)) == {"empty": (), "planned": (), "lost": ()}


def test_a_row_leads_to_its_state_to_what_its_variable_may_hold_or_nowhere() -> None:
    lead = {row.id: list_targets(flow(), row) for row in flow().rows}
    assert lead["go"] == ("sort",)
    assert sorted(lead["jump"]) == ["Home", "far"]
    assert lead["stay"] == lead["stop"] == ()
    assert list_targets(load_valid_workflow(DERIVED), load_valid_workflow(DERIVED).rows[0]) == ()


def test_the_shortest_way_to_each_state_is_found() -> None:
    assert find_shortest_paths(flow()) == {
        "Home": (),
        "sort": ("go",),
        "Left": ("tidy",),
        "far": ("go", "onward"),
        "Right": ("go", "onward", "right"),
        "Over": ("go", "onward", "right", "end"),
    }


def test_rows_that_cannot_fire_are_no_way() -> None:
    ways = find_shortest_paths(flow(), lambda row, state: (row.id, state) != ("go", "Home"))
    assert ways == {
        "Home": (),
        "Left": ("tidy",),
        "far": ("tidy", "jump"),
        "Right": ("tidy", "jump", "right"),
        "sort": ("tidy", "jump", "round"),
        "Over": ("tidy", "jump", "right", "end"),
    }


def test_the_rows_of_each_state_are_those_of_all_its_triggers() -> None:
    rows = {state: [row.id for row in those] for state, those in group_rows_by_state(flow()).items()}
    assert rows == {
        "Home": ["go", "tidy", "mark", "stay", "stop"],
        "sort": ["left", "onward"],
        "far": ["right", "round"],
        "Left": ["jump"],
        "Right": ["end"],
        "Over": [],
    }


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("plain.md", ()),
        ("task-{task.name}-{now}/a.md", ("task.name", "now")),
        ("{a}{b}", ("a", "b")),
        ("{}", ("",)),
        ("{a", ()),
        ("a}", ()),
        ("{{a}}", ("a",)),
    ],
)
def test_names_in_a_path_stand_in_braces(path: str, names: tuple[str, ...]) -> None:
    assert find_path_placeholders(path) == names


def test_what_a_step_tells_the_agent_is_needed_to_come_to_it_and_to_start_in_it() -> None:
    answer = load_valid_workflow("""
workflow: told
version: 1
authority: files
states:
  First: {agent: writer, task: "There are {{criteria.total}}."}
  Second: {agent: writer, task: "{{task.name}} in {{run.state}}"}
  Over: {terminal: true}
transitions:
  - {id: on, from: First, trigger: continue, to: Second}
  - {id: over, from: Second, trigger: continue, to: Over}
""")

    assert find_start_requirements(answer) == Requirements(frozenset({"criteria.total"}), frozenset())
    assert find_requirements(answer, "First") == Requirements(frozenset({"task.name"}), frozenset())
    assert find_start_requirements(flow()) == Requirements(frozenset(), frozenset())


def test_what_a_state_says_is_needed_there() -> None:
    said = load_valid_workflow(
        """
workflow: said
version: 1
authority: files
states: {Home: {say: here}, Away: {}}
transitions: [{id: go, from: Home, trigger: go, when: plan.exists, to: Away}]
texts: {here: "{{task.name}} in {{run.state}}"}
"""
    )

    assert find_requirements(said, "Home").facts == {"plan.exists", "task.name"}
    assert find_requirements(said, "Away").facts == frozenset()
