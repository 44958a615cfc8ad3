from build import workflow
from handrail.engine.check import check


def _codes(rows: str, states: str = "Home: {}, sort: {router: true}, Over: {terminal: true}") -> list[str]:
    text = f"workflow: w\nversion: 1\nauthority: files\nstates: {{{states}}}\ntransitions:\n{rows}"
    return [problem.code for problem in check(workflow(text))]


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
    assert [problem.code for problem in check(workflow(text))] == ["guard-can-fail", "shadowed-row"]
    mended = text.replace("[run.inputs.limit > 3]", "[run.inputs.limit != null, run.inputs.limit > 3]")
    assert check(workflow(mended)) == ()
