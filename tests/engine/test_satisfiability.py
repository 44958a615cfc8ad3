from handrail.engine.facts import Fact, Kind, Provenance, Type
from handrail.engine.satisfiability import MAX_TRIES_PER_WORKFLOW, Answer, Domains, Search, scope_guard
from handrail.engine.soundness import check_soundness
from handrail.workflows.registry import build_registry
from helpers.workflows import load_valid_workflow


def _codes(rows: str, states: str = "Home: {}, sort: {router: true}, Over: {terminal: true}") -> list[str]:
    text = f"workflow: w\nversion: 1\nauthority: files\nstates: {{{states}}}\ntransitions:\n{rows}"
    return [problem.code for problem in check_soundness(load_valid_workflow(text))]


def test_a_router_has_no_attempts_of_its_own() -> None:
    rows = """
  - {id: go, from: Home, trigger: go, when: [plan.exists], to: sort}
  - {id: on, from: sort, when: [run.attempts >= 1], to: Home}
  - {id: out, from: sort, to: Over}
"""
    assert _codes(rows) == ["constant-guard"]


def test_a_row_to_a_state_with_a_cap_does_not_shadow_those_behind_it() -> None:
    rows = """
  - {id: again, from: Home, trigger: go, to: Away}
  - {id: enough, from: Home, trigger: go, to: Over}
  - {id: back, from: Away, trigger: go, to: Home}
"""
    states = "Home: {}, Away: {attempts: 2}, Over: {terminal: true}"
    assert _codes(rows, states) == []
    assert _codes(rows, states.replace("{attempts: 2}", "{}")) == [
        "unreachable-state",
        "loop-without-cap",
        "shadowed-row",
    ]


def test_a_row_behind_one_that_goes_wrong_is_never_reached() -> None:
    text = """
workflow: w
version: 1
authority: files
inputs: {limit: int?}
states: {Home: {}, Over: {terminal: true}}
transitions:
  - {id: more, from: Home, trigger: go, when: [run.inputs.limit > 3], to: Over}
  - {id: none, from: Home, trigger: go, when: [run.inputs.limit == null], to: Over}
"""
    assert [problem.code for problem in check_soundness(load_valid_workflow(text))] == [
        "guard-can-fail",
        "shadowed-row",
    ]
    mended = text.replace("[run.inputs.limit > 3]", "[run.inputs.limit != null, run.inputs.limit > 3]")
    assert check_soundness(load_valid_workflow(mended)) == ()


def test_a_text_that_is_looked_up_in_a_list_is_tried_with_each_of_its_items() -> None:
    rows = """
  - {id: one, from: Home, trigger: go, when: ['task.name in ["a", "b"]'], to: Over}
  - {id: two, from: Home, trigger: go, when: ['task.name == "b"'], to: Over}
"""
    states = "Home: {}, Over: {terminal: true}"
    assert _codes(rows, states) == ["shadowed-row"]
    assert _codes(rows.replace('== "b"', '== "c"'), states) == []


def test_a_circle_of_routers_is_told_once_though_others_lead_into_it() -> None:
    rows = """
  - {id: go, from: Home, trigger: go, when: [plan.exists], to: first}
  - {id: in, from: first, to: second}
  - {id: on, from: second, to: third}
  - {id: round, from: third, when: [task.exists], to: second}
  - {id: out, from: third, to: Over}
"""
    routers = ", ".join(f"{name}: {{router: true}}" for name in ("first", "second", "third"))
    assert _codes(rows, f"Home: {{}}, {routers}, Over: {{terminal: true}}") == ["router-loop"]


def test_routers_that_change_what_they_ask_about_are_not_called_a_circle() -> None:
    text = """
workflow: w
version: 1
authority: files
vars: {seen: bool}
states: {Home: {}, first: {router: true}, second: {router: true}, Over: {terminal: true}}
transitions:
  - {id: go, from: Home, trigger: go, when: [plan.exists], to: first}
  - {id: on, from: first, when: ["!run.vars.seen"], set: {seen: true}, to: second}
  - {id: out, from: first, to: Over}
  - {id: back, from: second, to: first}
"""
    assert check_soundness(load_valid_workflow(text)) == ()


def test_a_question_about_too_many_facts_is_left_open() -> None:
    names = [f"light.n{number}" for number in range(101)]
    many = build_registry(tuple(_switch(name) for name in names), (), ())
    guard = " && ".join(names)
    text = f"""
workflow: w
version: 1
authority: sql
states: {{Home: {{}}, Over: {{terminal: true}}}}
transitions:
  - {{id: all, from: Home, trigger: go, when: ["{guard}"], to: Over}}
  - {{id: one, from: Home, trigger: go, when: ["{guard}", "!{names[0]}"], to: Over}}
"""
    assert check_soundness(load_valid_workflow(text, many)) == ()


def test_a_question_is_left_open_once_all_tries_are_spent() -> None:
    text = """
workflow: w
version: 1
authority: sql
states: {Home: {}, Over: {terminal: true}}
transitions: [{id: lit, from: Home, trigger: go, when: [light.on], to: Over}]
"""
    of = load_valid_workflow(text, build_registry((_switch("light.on"),), (), ()))
    asked = scope_guard(of.rows[0].when[0], {}, "")

    assert Search(Domains(of)).can_hold([asked]) is Answer.YES
    assert Search(Domains(of), tries_made=MAX_TRIES_PER_WORKFLOW).can_hold([asked]) is Answer.UNKNOWN


def _switch(name: str) -> Fact:
    return Fact(name, Type(Kind.BOOL), Provenance.OBSERVED, name, (True, False), closed=True)
