from helpers.workflows import moved, started, states, workflow

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
    flow = workflow(OUTER, subs={"sub": SUB})

    asked = moved(flow, started(flow), "ask")
    assert asked.vars == {"part/asked": True, "part/home": "part/Ask"}
    between = moved(flow, asked, "done")
    assert states(between) == ["Between"]

    again = moved(flow, between, "again")
    assert (states(again), again.vars) == (["part/Ask"], {"part/asked": False, "part/home": None})
