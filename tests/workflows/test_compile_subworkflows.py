"""Sub-workflows: another workflow's states and rows under the name of the state that uses it."""

from collections.abc import Mapping

from msgspec.structs import replace

from handrail.engine.decide import decide
from handrail.engine.facts import Value
from handrail.engine.model import (
    Accepted,
    Actor,
    Event,
    FactReference,
    LiteralValue,
    Run,
    ToState,
    ToVariable,
)
from handrail.workflows.load import WorkflowSource, load_workflow
from handrail.workflows.registry import BUILT_IN_REGISTRY
from helpers.workflow_files import list_problems, load_sound_workflow, load_text, read_sound_text

OUTPUT: Mapping[str, Value] = {"summary": "Done.", "artifacts": [], "references": [], "confidence": 1.0}
HEAD = "version: 1\nauthority: sql\n"
OUTER = "workflow: outer\n" + HEAD + "states:\n  use: {workflow: sub}\n  Z: {terminal: true}\ntransitions:\n"


def test_the_states_of_a_sub_workflow_stand_under_the_name_of_the_state_that_uses_it() -> None:
    assert list(load_sound_workflow("house/main.yaml").states) == [
        "write",
        "first",
        "first/reading",
        "first/asking",
        "first/polish",
        "first/polish/sand",
        "first/polish/wax",
        "first/polish/@end",
        "first/which",
        "first/agreed",
        "first/dropped",
        "mend",
        "second",
        "second/reading",
        "second/asking",
        "second/polish",
        "second/polish/sand",
        "second/polish/wax",
        "second/polish/@end",
        "second/which",
        "second/agreed",
        "second/dropped",
        "@end",
    ]


def test_the_state_that_uses_it_and_its_ends_are_routers() -> None:
    states = load_sound_workflow("house/main.yaml").states

    assert [name for name, state in states.items() if state.router and name.startswith("first")] == [
        "first",
        "first/polish",
        "first/polish/@end",
        "first/which",
        "first/agreed",
        "first/dropped",
    ]
    assert [name for name, state in states.items() if state.terminal] == ["@end"]


def test_rows_bear_the_prefix_in_ids_sources_targets_and_texts() -> None:
    rows = {row.id: row for row in load_sound_workflow("house/main.yaml").rows}

    assert (rows["first/@in"].sources, rows["first/@in"].to) == (("first",), ToState("first/reading"))
    assert (rows["first/R1"].sources, rows["first/R1"].to) == (("first/reading",), ToState("first/asking"))
    assert rows["first/R1"].set == (
        ("first/asked_in", FactReference("run.state")),
        ("first/times", LiteralValue(1)),
    )
    assert (rows["first/R2"].say, rows["first/R2"].scope) == ("first/thanks", "first/")
    assert rows["first/R3"].to == ToVariable("first/asked_in")
    assert (rows["first/polish/sand.1"].scope, rows["first/polish/@in"].scope) == (
        "first/polish/",
        "first/polish/",
    )


def test_rows_that_leave_a_sub_workflow_leave_its_ends_or_with_a_trigger_its_inside() -> None:
    rows = {row.id: row for row in load_sound_workflow("house/main.yaml").rows}

    assert rows["first.1"].sources == ("first/agreed", "first/dropped")
    assert rows["first/R7"].sources == ("first/polish/@end",)
    assert rows["first/R4"].sources == ("first/polish/sand", "first/polish/wax")
    assert rows["first/R3"].sources == ("first/asking",)


def test_variables_and_their_states_bear_the_prefix() -> None:
    variables = load_sound_workflow("house/main.yaml").vars

    assert {name: variable.default for name, variable in variables.items()} == {
        "first/times": 0,
        "first/asked_in": None,
        "first/start": "first/reading",
        "second/times": 0,
        "second/asked_in": None,
        "second/start": "second/reading",
    }


def test_literal_states_and_templates_bear_the_prefix() -> None:
    inner = (
        "workflow: sub\nversion: 1\nauthority: files\nvars: {back: state?, n: int}\n"
        "states:\n  A:\n  E: {terminal: true}\ntransitions:\n"
        "  - {id: A1, from: A, trigger: go, to: E, set: {back: A, n: 1}, do: [{write: x, template: t},"
        " {archive: y, to: z}]}\n  - {id: A2, from: A, trigger: no, to: '@back', set: {back: null}}\n"
        "  - {id: A3, from: A, trigger: on, when: ['run.vars.n > 0'], refuse: t}\ntexts: {t: x}\n"
    )
    found = load_text(OUTER.replace("sql", "files") + "  - {id: U1, from: use, to: Z}\n", sub=inner)
    rows = {row.id: row for row in found.rows}

    assert rows["use/A1"].set == (("use/back", LiteralValue("use/A")), ("use/n", LiteralValue(1)))
    assert rows["use/A2"].set == (("use/back", LiteralValue(None)),)
    assert [str(effect) for effect in rows["use/A1"].do] == [
        "Write(path='x', source='', template='use/t', if_absent=False)",
        "Archive(paths=('y',), to='z')",
    ]
    assert rows["use/A3"].refuse == "use/t"
    assert list(found.texts) == ["use/t"]


def test_a_run_walks_in_through_and_out_of_a_sub_workflow() -> None:
    main = load_sound_workflow("house/main.yaml")
    run = Run("r", main.name, main.digest)
    states = []
    for event in (
        Event("start", {"topic": "bees"}),
        Event("continue", OUTPUT),
        Event("continue", OUTPUT),
        Event("agree", by=Actor.PERSON),
        Event("object", {"why": "dull"}, by=Actor.PERSON),
        Event("continue", OUTPUT),
        Event("agree", by=Actor.PERSON),
        Event("continue", OUTPUT),
        Event("continue", OUTPUT),
    ):
        decision = decide(main, run, event, {"plan.exists": False})
        assert isinstance(decision, Accepted)
        run = decision.run
        states.append(run.open[0].state)

    assert states == [
        "write",
        "first/reading",
        "first/asking",
        "first/polish/sand",
        "first/reading",
        "first/asking",
        "first/polish/sand",
        "first/polish/wax",
        "second/reading",
    ]


def test_a_variable_of_a_sub_workflow_is_its_own() -> None:
    found = load_text(
        OUTER + "  - {id: U1, from: use, when: ['run.vars.n == 1'], to: Z, set: {n: 2}}\n"
        "  - {id: U2, from: use, to: Z}\nvars: {n: int}\n",
        sub="workflow: sub\n" + HEAD + "vars: {n: {type: int, default: 7}}\n"
        "states:\n  A:\n  E: {terminal: true}\ntransitions:\n"
        "  - {id: A1, from: A, trigger: go, when: ['run.vars.n == 7'], to: E, set: {n: 8}}\n",
    )
    started = decide(found, Run("r", "outer", ""), Event("start"), {})
    assert isinstance(started, Accepted)
    gone = decide(found, started.run, Event("go"), {})

    assert isinstance(gone, Accepted)
    assert [move.row for move in gone.moves] == ["use/A1", "U2"]
    assert gone.run.vars == {"n": 0, "use/n": 8}


def test_the_digest_of_a_workflow_changes_with_its_sub_workflows() -> None:
    outer = OUTER + "  - {id: U1, from: use, to: Z}\n"
    inner = "workflow: sub\n" + HEAD + "steps: [{name: a, agent: b, task: c}]\n"

    assert (
        load_text(outer, sub=inner).digest != load_text(outer, sub=inner.replace("task: c", "task: d")).digest
    )
    assert load_text(outer, sub=inner).digest == load_text(outer, sub="# same\n" + inner).digest


def test_what_leads_out_of_a_broken_sub_workflow_is_no_problem_of_its_own() -> None:
    rows = "  - {id: U1, from: use, to: Z}\n  - {id: U2, from: use, trigger: go, accept: [output.x], to: Z}\n"

    assert list_problems(OUTER + rows, sub="nonsense") == [("broken-workflow", 5, 19)]
    assert list_problems(OUTER + rows) == [("unknown-workflow", 5, 19)]


def test_a_state_of_a_sub_workflow_can_be_named_from_outside() -> None:
    inner = "workflow: sub\n" + HEAD + "steps: [{name: a, agent: b, task: c}]\n"
    rows = "  - {id: U1, from: use, to: Z}\n  - {id: U2, from: use/a, trigger: skip, to: Z}\n"

    assert load_text(OUTER + rows, sub=inner).rows[-1].sources == ("use/a",)


def test_a_workflow_that_is_used_twice_is_looked_up_for_both() -> None:
    assert read_sound_text("house/main.yaml").count("workflow: review") == 2
    assert len(load_sound_workflow("house/main.yaml").states) == 23


def test_what_a_state_says_bears_the_prefix_too() -> None:
    sub = (
        "workflow: sub\n"
        + HEAD
        + """states:
  ask: {say: here}
  Z: {terminal: true}
transitions:
  - {id: go, from: ask, trigger: go, to: Z}
texts: {here: Look.}
"""
    )
    found = load_text(OUTER + "  - {id: out, from: use, to: Z}\n", sub=sub)

    assert found.states["use/ask"].say == "use/here"
    assert found.texts["use/here"].parts == {"text": "Look."}


def test_a_text_is_read_anew_only_if_one_that_it_names_has_changed() -> None:
    outer = WorkflowSource("outer.yaml", OUTER + "  - {id: U1, from: use, to: Z}\n")
    inner = "workflow: sub\n" + HEAD + "steps: [{name: a, agent: b, task: c}]\n"
    before, after = (
        WorkflowSource("sub.yaml", text) for text in (inner, inner.replace("task: c", "task: d"))
    )

    first = load_workflow(outer, {"sub": before}.get)

    assert load_workflow(replace(outer), {"sub": replace(before)}.get) is first
    assert load_workflow(outer, {"sub": after}.get) != first
    assert load_workflow(outer).problems[0].code == "unknown-workflow"
    assert load_workflow(outer, {"sub": before}.get) == first
    assert load_workflow(outer, {"sub": before}.get, replace(BUILT_IN_REGISTRY)) == first
