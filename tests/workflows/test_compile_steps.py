"""The short form: what a list of steps becomes."""

from handrail.engine.decide import decide
from handrail.engine.model import Accepted, Event, Lifecycle, Run, ToState
from helpers.workflow_files import list_problems, load_text

HEAD = "workflow: w\nversion: 1\nauthority: sql\n"
THREE = (
    HEAD
    + """
steps:
  - {name: write, about: Words, phase: One, attempts: 2, agent: writer, task: Write it.}
  - name: read
    agent: reader
    task: Read it.
    contract: {schema: {properties: {good: {type: boolean}}, required: [good]}}
    next:
      - {when: [plan.exists], accept: ["!output.good"], to: write, say: again}
      - {accept: [output.good]}
      - {to: "@end"}
  - {name: send, agent: sender, task: Send it.}
texts: {again: Once more.}
"""
)


def test_each_step_is_a_state_and_the_list_ends_in_a_state_of_its_own() -> None:
    states = load_text(THREE).states

    assert list(states) == ["write", "read", "send", "@end"]
    assert (states["write"].about, states["write"].phase, states["write"].attempts) == ("Words", "One", 2)
    assert [name for name, state in states.items() if state.terminal] == ["@end"]
    assert load_text(THREE).initial == "write"


def test_a_step_leads_to_the_one_that_follows_and_the_last_to_the_end() -> None:
    rows = {row.id: row for row in load_text(THREE).rows}

    assert (rows["write.1"].trigger, rows["write.1"].to) == ("continue", ToState("read"))
    assert rows["send.1"].to == ToState("@end")


def test_the_rows_of_next_are_numbered_and_go_on_where_they_do_not_say_where_to() -> None:
    rows = load_text(THREE).rows

    assert [(row.id, row.sources, row.to) for row in rows[1:4]] == [
        ("read.1", ("read",), ToState("write")),
        ("read.2", ("read",), ToState("send")),
        ("read.3", ("read",), ToState("@end")),
    ]
    assert ([guard.text for guard in rows[1].when], rows[1].say) == (["plan.exists"], "again")
    assert [guard.text for guard in rows[2].accept] == ["output.good"]


def test_a_run_walks_the_steps_on_their_outputs() -> None:
    workflow = load_text(THREE)
    output = {"summary": "Done.", "artifacts": [], "references": [], "confidence": 1.0}
    run = Run("r", workflow.name, workflow.digest)
    for event in (
        Event("start"),
        Event("continue", output),
        Event("continue", {**output, "good": True}),
        Event("continue", output),
    ):
        decision = decide(workflow, run, event, {"plan.exists": True})
        assert isinstance(decision, Accepted)
        run = decision.run

    assert str(run.lifecycle) == Lifecycle.COMPLETED


def test_the_second_step_of_a_name_is_checked_too() -> None:
    again = "  - {name: read, agent: reader, task: 'Read {{nothing}}.', next: [{to: nowhere}]}\n"
    broken = THREE.replace("texts:", again + "texts:")

    assert list_problems(broken) == [
        ("duplicate-state", 16, 12),
        ("unknown-placeholder", 16, 45),
        ("unknown-state", 16, 72),
    ]


def test_what_is_no_step_is_one_problem_each() -> None:
    assert list_problems(HEAD + "steps: [write, 5, {name: [a]}, {name: true}, {}]\n") == [
        ("wrong-type", 4, 9),
        ("wrong-type", 4, 16),
        ("wrong-type", 4, 26),
        ("wrong-type", 4, 39),
        ("missing-key", 4, 46),
    ]
    assert list_problems(HEAD + "steps: {}\n") == [("wrong-type", 4, 8)]


def test_a_step_may_go_to_the_state_in_a_variable() -> None:
    written = THREE.replace('to: "@end"', 'to: "@back"') + "vars: {back: {type: state, default: write}}\n"

    assert str(load_text(written).rows[3].to) == "ToVariable(name='back')"


def test_rows_out_of_a_sub_workflow_have_no_trigger_and_no_accept() -> None:
    outer = HEAD + "steps:\n  - name: inner\n    workflow: sub\n    next: [{accept: ['true']}]\n"
    inner = HEAD.replace("w\n", "sub\n") + "steps: [{name: a, agent: b, task: c}]\n"

    assert list_problems(outer, sub=inner) == [("accept-in-router", 7, 22)]
