from build import moved, refused, send, started, states, workflow
from handrail.engine.model import Accepted, Move, Run, Seen, Workflow

SUB = """
workflow: review
version: 1
authority: files
vars: {from_state: state?, copy: state?, rounds: string}
texts: {hello: Hello, no: No}
states: {Read: {}, Write: {attempts: 2}, Accepted: {terminal: true}, Dropped: {terminal: true}}
transitions:
  - {id: read, from: Read, trigger: go, set: {from_state: "@state", rounds: one}, to: Write, say: hello}
  - {id: copy, from: Write, trigger: copy, set: {copy: "@vars.from_state"}}
  - {id: back, from: Write, trigger: back, when: 'run.vars.from_state == "Read"', to: "@copy"}
  - {id: fix, from: Write, trigger: fix, set: {copy: Write}, do: [{write: a.md, template: hello}]}
  - id: take
    from: Write
    trigger: take
    when: ['run.state == "Write"', 'run.vars.rounds == "one"']
    to: Accepted
  - {id: drop, from: Write, trigger: drop, to: Dropped}
  - {id: never, from: Write, trigger: never, refuse: no}
"""
FLOW = """
workflow: outer
version: 1
authority: files
vars: {rounds: string, from_state: state?}
states: {First: {workflow: review}, Read: {}, Second: {workflow: review}, Over: {terminal: true}}
transitions:
  - {id: on, from: First, to: Read}
  - {id: next, from: Read, trigger: go, set: {rounds: outer}, to: Second}
  - {id: end, from: Second, to: Over}
  - {id: out, from: First, trigger: out, set: {from_state: "@state"}, to: Read}
  - {id: again, from: Read, trigger: again, to: "@from_state"}
"""


def flow() -> Workflow:
    return workflow(FLOW, subs={"review": SUB})


def after(*triggers: str) -> Run:
    run = started(flow())
    for trigger in triggers:
        run = moved(flow(), run, trigger)
    return run


def test_a_sub_workflow_is_entered_at_its_first_state() -> None:
    assert states(after()) == ["First/Read"]


def test_a_sub_workflow_ends_along_the_rows_that_leave_its_state() -> None:
    decision = send(flow(), after("go"), "drop")
    assert isinstance(decision, Accepted)
    assert decision.moves == (
        Move("First/drop", "First/Write", "First/Dropped"),
        Move("on", "First/Dropped", "Read"),
    )
    assert decision.run.lifecycle == "running"


def test_the_run_is_completed_only_at_the_outer_end() -> None:
    run = after("go", "take", "go", "go")
    assert states(run) == ["Second/Write"]
    assert moved(flow(), run, "take").lifecycle == "completed"


def test_rows_see_names_of_their_own_file() -> None:
    assert states(after("go", "take")) == ["Read"]


def test_variables_of_two_uses_do_not_mix() -> None:
    run = after("go", "take", "go")
    assert run.vars == {
        "rounds": "outer",
        "from_state": None,
        "First/from_state": "First/Read",
        "First/copy": None,
        "First/rounds": "one",
        "Second/from_state": None,
        "Second/copy": None,
        "Second/rounds": "",
    }
    assert moved(flow(), run, "go").vars["Second/from_state"] == "Second/Read"


def test_a_state_copied_from_variable_to_variable_stays_inside_the_sub_workflow() -> None:
    run = after("go", "copy")
    assert run.vars["First/copy"] == "First/Read"
    assert states(moved(flow(), run, "back")) == ["First/Read"]


def test_a_state_written_in_a_sub_workflow_is_one_of_its_own() -> None:
    run = after("go", "fix")
    assert run.vars["First/copy"] == "First/Write"
    assert states(moved(flow(), run, "back")) == ["First/Write"]


def test_attempts_of_two_uses_do_not_mix() -> None:
    run = after("go", "fix", "back", "take", "go", "go")
    assert (run.attempts["First/Write"], run.attempts["Second/Write"]) == (2, 1)


def test_texts_and_templates_are_those_of_the_sub_workflow() -> None:
    decision = send(flow(), after(), "go")
    assert isinstance(decision, Accepted)
    assert decision.says == ("First/hello",)
    assert flow().texts["First/hello"].parts == {"text": "Hello"}
    assert refused(flow(), after("go"), "never").say == "First/no"


def test_the_outer_workflow_can_leave_from_inside_and_come_back() -> None:
    run = after("go", "out")
    assert (states(run), run.vars["from_state"]) == (["Read"], "First/Write")
    assert states(moved(flow(), run, "again")) == ["First/Write"]


def test_a_refusal_names_the_row_with_its_use_and_the_facts_as_the_row_does() -> None:
    run = after("go", "take", "go", "go")
    refusal = refused(flow(), run, "back")
    assert (refusal.code, refusal.rule) == ("no_target", "Second/back")
    refusal = refused(flow(), run, "again")
    assert refusal.seen[0] == Seen("run.state", "Second/Write")
