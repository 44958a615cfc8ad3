"""The outline of a workflow is the workflow that is loaded in full: its words, its states, what each asks."""

from pathlib import Path

import pytest

from handrail.app.catalog import open_catalog
from handrail.workflows.load import load_workflow
from handrail.workflows.outline import Outline, StateOutline, allows_edit, fill_text, read_outline, read_state

TEA = """
workflow: tea
folder: .tea/{name}
state_file: collab-state.json
tools:
  Boil: {who: person}
  See: {reads: true}
states:
  cold: {about: Nothing is hot, edits: none, face: {guidance: Wait.}}
  hot:
    about: It boils
    task: "Pour {{run.inputs.cups}} cups."
    forbidden_actions: Drink it
    edits: [a.md, "b/**"]
  which: {router: true}
  over: {terminal: true}
  inner: {workflow: milk}
"""
MILK = "steps:\n  - {name: warm, task: Warm it., done_when: [It is warm, It is not hot], edits: milk.md}\n"


def nowhere(_: str) -> str:
    return ""


def test_the_words_the_looking_tool_and_the_places_are_seen() -> None:
    assert read_outline(TEA) == Outline(
        ("Boil", "See"), "See", ".tea/{name}", "collab-state.json", ("cold", "hot", "inner")
    )


def test_tools_that_no_person_says_are_no_words() -> None:
    assert read_outline("tools: {look: {reads: true}, go: {}}") == Outline((), "look")
    assert read_outline("") == read_outline("[1]") == read_outline("tools: 5") == Outline()


def test_a_state_tells_what_it_asks_for() -> None:
    assert read_state(TEA, "cold", nowhere) == StateOutline("Nothing is hot", "Wait.", edits=())
    assert read_state(TEA, "hot", nowhere) == StateOutline(
        "It boils", "Pour {{run.inputs.cups}} cups.", ("Drink it",), edits=("a.md", "b/**")
    )
    assert read_state(TEA, "gone", nowhere) == read_state("steps: [1]", "gone", nowhere) == StateOutline()


def test_a_state_inside_another_workflow_is_found_there() -> None:
    found = read_state(TEA, "inner/warm", {"milk": MILK}.__getitem__)

    assert found == StateOutline("", "Warm it.", (), ("It is warm", "It is not hot"), ("milk.md",))
    assert read_state(TEA, "inner/warm", nowhere) == StateOutline()


def test_what_is_no_yaml_is_said() -> None:
    with pytest.raises(ValueError, match="a workflow is no YAML"):
        read_outline("a: [")


def test_a_text_is_filled_if_everything_in_it_is_known() -> None:
    assert fill_text("Pour {{run.inputs.cups}}.", {"run.inputs.cups": 2}) == "Pour 2."
    assert (
        fill_text("Pour {{run.inputs.cups}} {{x}}.", {"run.inputs.cups": 2})
        == "Pour {{run.inputs.cups}} {{x}}."
    )


@pytest.mark.parametrize(
    ("glob", "path", "good"),
    [
        ("plan.md", "plan.md", True),
        ("plan.md", "a/plan.md", False),
        ("plan.md", "planXmd", False),
        ("docs/*.md", "docs/a.md", True),
        ("docs/*.md", "docs/a/b.md", False),
        ("docs/**", "docs/a/b.md", True),
        ("**/*.md", "a.md", True),
        ("**/*.md", "a/b/c.md", True),
        ("**/*.md", "a.md.py", False),
        ("a?.md", "ab.md", True),
        ("a?.md", "a/.md", False),
        ("*", "a\nb", True),
    ],
)
def test_a_star_stays_within_a_name_and_two_go_through_folders(glob: str, path: str, *, good: bool) -> None:
    assert allows_edit((glob,), path) is good


def test_nothing_said_of_edits_allows_all_and_none_allows_nothing() -> None:
    assert allows_edit(None, "a.md")
    assert not allows_edit((), "a.md")


def test_what_is_seen_of_each_built_in_workflow_is_what_is_loaded() -> None:
    shelf, seen = open_catalog(Path("/nowhere")), 0
    for found in shelf.all():
        workflow = load_workflow(found.source, shelf.source).workflow
        assert workflow is not None
        stays = {
            name: state for name, state in workflow.states.items() if not (state.router or state.terminal)
        }
        short = read_outline(found.source.text)
        assert set(short.states) == set(stays)
        assert short.folder == workflow.folder
        assert short.words == (tuple(workflow.tools) if workflow.name == "spells" else ())
        for name, state in stays.items():
            answer = read_state(found.source.text, name, nowhere)
            assert (answer.about, answer.edits) == (state.about, state.edits)
            if state.brief:
                asked = (state.brief.task, state.brief.forbidden_actions, state.brief.done_when)
                assert (answer.task, answer.forbidden, answer.done_when) == asked
            seen += 1

    assert seen > 80
