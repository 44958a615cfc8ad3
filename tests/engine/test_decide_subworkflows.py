from helpers.workflows import list_open_states, load_valid_workflow, move_run, start_run

SUB = """
workflow: sub
version: 1
authority: sql
vars: {asked: bool, home: state?}
states: {Ask: {}, Wait: {}, Done: {terminal: true}}
transitions:
  - {id: ask, from: Ask, trigger: ask, set: {asked: true, home: "@state"}, to: Wait}
  - {id: done, from: Wait, trigger: done, when: run.vars.asked, to: Done}
"""
OUTER = """
workflow: outer
version: 1
authority: sql
states:
  part: {workflow: sub}
  Between: {}
  Over: {terminal: true}
transitions:
  - {id: out, from: part, to: Between}
  - {id: again, from: Between, trigger: again, to: part}
  - {id: over, from: Between, trigger: over, to: Over}
"""


def test_a_sub_workflow_that_is_entered_again_begins_with_fresh_variables() -> None:
    flow = load_valid_workflow(OUTER, subs={"sub": SUB})

    asked = move_run(flow, start_run(flow), "ask")
    assert asked.vars == {"part/asked": True, "part/home": "part/Ask"}
    between = move_run(flow, asked, "done")
    assert list_open_states(between) == ["Between"]

    again = move_run(flow, between, "again")
    assert (list_open_states(again), again.vars) == (["part/Ask"], {"part/asked": False, "part/home": None})
