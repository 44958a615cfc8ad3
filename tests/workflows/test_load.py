"""What each construct of the long form becomes."""

import pytest

from handrail.engine.facts import Kind, Type
from handrail.engine.model import (
    Actor,
    Archive,
    Authority,
    Brief,
    Contract,
    FactReference,
    LiteralValue,
    Stay,
    ToState,
    ToVariable,
    Transition,
    Write,
)
from handrail.engine.problems import Place
from handrail.workflows.load import WorkflowSource, load_workflow
from helpers.workflow_files import (
    list_problems,
    load_sound_workflow,
    load_text,
    read_sound_text,
    read_text,
    require_workflow,
)

HEAD = "workflow: w\nversion: 1\nauthority: files\n"
TWO = HEAD + "states:\n  A:\n  Z: {terminal: true}\ntransitions:\n"


def row(name: str) -> Transition:
    (found,) = [row for row in load_sound_workflow("everything.yaml").rows if row.id == name]
    return found


def test_the_head_of_a_file_is_the_workflow() -> None:
    found = load_sound_workflow("everything.yaml")

    assert (found.name, found.version, found.authority) == ("everything", 3, Authority.FILES)
    assert (found.about, found.initial, found.derive) == ("Every key of the long form", "writing", "")
    assert found.place == Place("everything.yaml", 2, 11, 10)


def test_states_keep_their_order_and_what_is_said_of_them() -> None:
    states = load_sound_workflow("everything.yaml").states

    assert list(states) == ["writing", "reading", "sort", "done"]
    writing = states["writing"]
    assert (writing.about, writing.phase, writing.attempts) == ("A text is written", "Write", 5)
    assert writing.extra == {"skill": "writing", "level": 3, "tags": ["a", {"b": "c"}]}
    assert states["sort"].router
    assert states["done"].terminal
    assert states["reading"].brief is None


def test_a_state_with_a_task_asks_for_an_output() -> None:
    writing = load_sound_workflow("everything.yaml").states["writing"]
    task = "Write about {{run.inputs.topic|quote}} in {{run.vars.title}}, round {{run.vars.round}}.\n"
    schema = {
        "properties": {"verdict": {"enum": ["good", "bad"]}, "length": {"type": "integer"}},
        "required": ["verdict"],
    }

    assert writing.brief == Brief(
        agent="writer",
        task=task,
        names=("run.inputs.topic", "run.vars.title", "run.vars.round"),
        inputs=("the topic",),
        allowed_actions=("Write",),
        forbidden_actions=("Delete anything",),
        done_when=("It reads well",),
        contract=Contract(("draft",), 0.5, no_blockers=True, schema=schema),
    )
    assert writing.outputs["output.verdict"].domain == ("good", "bad")
    assert writing.outputs["output.length"].type == Type(Kind.INT, optional=True)


def test_rows_keep_their_order_and_their_ids() -> None:
    ids = ["W1", "W2", "W3", "L1", "L2", "L3", "R1", "R2", "R3", "R4"]

    assert [row.id for row in load_sound_workflow("everything.yaml").rows] == ids


def test_a_row_says_where_from_on_what_and_where_to() -> None:
    assert (row("W1").sources, row("W1").trigger, row("W1").to) == (
        ("writing",),
        "continue",
        ToState("sort"),
    )
    assert (row("R1").sources, row("R1").to) == (("reading", "writing"), ToVariable("back"))
    assert (row("L3").trigger, row("W3").to) == (None, Stay())


def test_a_star_leaves_every_state_in_which_a_run_can_stay_but_the_excepted() -> None:
    assert row("R2").sources == ("reading",)
    assert row("R3").sources == ("writing", "reading")


def test_guards_are_kept_as_written_with_the_facts_they_name() -> None:
    assert [guard.text for guard in row("W1").when] == ["run.attempts < 3", "run.vars.round < 9"]
    assert [guard.text for guard in row("W1").accept] == [
        'output.verdict == "good"',
        "output.confidence >= 0.5",
    ]
    (block,) = row("L1").when
    assert [fact.name for fact in block.facts] == ["run.inputs.tone", "run.vars.seen"]
    assert block.place == Place("everything.yaml", 69, 9, 1)


def test_what_a_row_sets_is_a_value_or_a_fact() -> None:
    assert row("W1").set == (
        ("seen", LiteralValue(value=True)),
        ("round", LiteralValue(1)),
        ("weight", LiteralValue(2.0)),
        ("title", LiteralValue("x")),
        ("names", LiteralValue(["a"])),
        ("anything", LiteralValue({"a": [1]})),
        ("back", FactReference("run.state")),
        ("mood", LiteralValue("calm")),
    )
    assert row("R1").set == (
        ("mood", FactReference("event.mood")),
        ("title", FactReference("task.name")),
        ("names", FactReference("marked.checked")),
    )
    assert row("L3").set == (("home", FactReference("run.vars.home")), ("back", LiteralValue(None)))


def test_a_whole_number_for_a_float_becomes_a_float() -> None:
    (weight,) = [assigned for name, assigned in row("W1").set if name == "weight"]

    assert isinstance(weight, LiteralValue)
    assert isinstance(weight.value, float)
    assert isinstance(load_sound_workflow("everything.yaml").inputs["share"].default, float)


def test_effects_are_kept_in_order() -> None:
    assert row("R1").drafts == (("marked", "criteria.check_off"),)
    assert row("R1").do == (
        Archive(("task.md", "task-results.md"), "tasks/{task.name}-{now}"),
        Archive(("plan.md",), "plans/{run.vars.title}"),
        Write("plan.md", source="marked.text"),
        Write("notes.md", template="notes", if_absent=True),
        Write("log/{now}.md", template="written"),
    )
    assert (row("R1").say, row("W3").refuse) == ("moved", "again")


def test_inputs_have_types_defaults_and_choices() -> None:
    inputs = load_sound_workflow("everything.yaml").inputs

    assert (inputs["topic"].type, inputs["topic"].required) == (Type(Kind.STRING), True)
    assert (inputs["tone"].choices, inputs["tone"].required) == (("dry", "warm"), True)
    assert (inputs["depth"].default, inputs["depth"].about) == (2, "How many rounds")
    assert (inputs["dry_run"].default, inputs["dry_run"].required) == (False, False)
    assert (inputs["tags"].default, inputs["extra"].type) == (["a", "b"], Type(Kind.JSON, optional=True))
    assert inputs["after"].default == "reading"


def test_variables_start_with_their_default_or_with_nothing() -> None:
    variables = load_sound_workflow("everything.yaml").vars

    assert {name: variable.default for name, variable in variables.items()} == {
        "seen": False,
        "round": 0,
        "weight": 0.5,
        "title": "",
        "names": [],
        "anything": None,
        "back": None,
        "home": "writing",
        "mood": "busy",
    }
    assert not any(variable.required for variable in variables.values())


def test_a_variable_with_choices_starts_with_the_first() -> None:
    found = load_text(HEAD + "vars: {mood: [calm, busy]}\nstates: {Z: {terminal: true}}\n")

    assert found.vars["mood"].default == "calm"


def test_a_prompt_is_a_text_by_a_name_of_its_own() -> None:
    (prompt,) = load_sound_workflow("everything.yaml").prompts.values()

    assert (prompt.name, prompt.about, prompt.text) == ("remind", "What writing is about", "reminder")
    assert prompt.place == Place("everything.yaml", 95, 3, 6)


def test_tools_say_whose_word_they_are_and_what_they_take() -> None:
    tools = load_sound_workflow("everything.yaml").tools

    assert {name: (tool.who, tool.reads) for name, tool in tools.items()} == {
        "go": (Actor.AGENT, False),
        "approve": (Actor.PERSON, False),
        "tick": (Actor.SERVER, False),
        "look": (Actor.AGENT, True),
    }
    assert tools["go"].params["force"].default is False
    assert tools["go"].params["mood"].choices == ("calm", "busy")


def test_the_index_has_the_rows_of_a_state_and_trigger_in_order() -> None:
    index = load_sound_workflow("everything.yaml").index

    assert [row.id for row in index["writing", "continue"]] == ["W1", "W2", "W3"]
    assert [row.id for row in index["reading", "approve"]] == ["R2", "R4"]
    assert [row.id for row in index["sort", None]] == ["L1", "L2", "L3"]


def test_words_that_other_yaml_takes_for_truth_are_texts() -> None:
    found = load_sound_workflow("crlf.yaml")

    assert list(found.states) == ["on", "no"]
    assert [(row.id, row.trigger) for row in found.rows] == [("yes", "off"), ("n", "off")]
    assert found.texts["y"].parts == {"text": "yes\nno\n"}


def test_the_line_ends_of_a_file_do_not_matter() -> None:
    written = read_sound_text("crlf.yaml")

    assert "\r\n" in written
    assert load_text(written.replace("\r\n", "\n")).digest == load_text(written).digest


BASE = (
    TWO
    + "  - {id: A1, from: A, trigger: go, when: [plan.exists], to: Z}\n"
    + "  - {id: A2, from: A, trigger: go, to: Z}\n"
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("states:", "# a comment\nstates:"),
        ("{terminal: true}", "\n    terminal: true"),
        ("[plan.exists]", '["plan.exists"]'),
        ("\n  - {id: A2", "\n\n  - {id: A2"),
    ],
)
def test_comments_and_layout_do_not_change_the_digest(old: str, new: str) -> None:
    assert BASE.replace(old, new) != BASE
    assert load_text(BASE.replace(old, new)).digest == load_text(BASE).digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("version: 1", "version: 2"),
        ("trigger: go, to: Z", "trigger: on, to: Z"),
        ("plan.exists", "task.exists"),
        ("  A:\n  Z: {terminal: true}\n", "  Z: {terminal: true}\n  A:\n"),
        ("id: A1, from: A", "from: A, id: A1"),
    ],
)
def test_content_and_order_change_the_digest(old: str, new: str) -> None:
    assert BASE.replace(old, new) != BASE
    assert load_text(BASE.replace(old, new)).digest != load_text(BASE).digest


def test_a_text_beside_the_workflow_counts_for_the_digest() -> None:
    written = TWO + "  - {id: A1, from: A, trigger: go, to: Z, say: note}\n"
    first, second = (
        load_workflow(WorkflowSource("f", written, {"note": ("note.md", body)})) for body in ("one", "two")
    )

    assert require_workflow(first).digest != require_workflow(second).digest
    assert require_workflow(first).texts["note"].place == Place("note.md", 1, 1)


def test_a_workflow_found_by_a_name_must_have_it() -> None:
    found = load_workflow(WorkflowSource("f.yaml", BASE, {}, "other"))

    assert [(p.code, p.place.line, p.place.column) for p in found.problems] == [("misnamed", 1, 11)]


def test_problems_of_all_kinds_are_reported_at_once_in_reading_order() -> None:
    written = BASE.replace("version: 1", "version: 0").replace("plan.exists", "plan.exist") + "text: {}\n"

    assert list_problems(written) == [("wrong-type", 2, 10), ("unknown-fact", 8, 43), ("unknown-key", 10, 1)]
    assert read_text(written).workflow is None


def test_a_key_that_is_only_a_little_like_another_is_not_read_as_that() -> None:
    assert list_problems(BASE + "tooled: 5\n") == [("unknown-key", 10, 1)]
    assert list_problems(BASE + "tols: 5\n") == [("unknown-key", 10, 1), ("wrong-type", 10, 7)]


def test_where_no_other_workflow_can_be_found_none_can_be_used() -> None:
    found = load_workflow(WorkflowSource("f.yaml", HEAD + "states: {A: {workflow: other}}\n"))

    assert [problem.code for problem in found.problems] == ["unknown-workflow"]
