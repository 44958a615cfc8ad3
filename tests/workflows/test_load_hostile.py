"""Nothing that can be written makes the loader or `check` raise, hang, or say nothing."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.engine.soundness import check_soundness
from handrail.workflows.declarations import (
    CONTRACT_KEYS,
    NEXT_KEYS,
    PROMPT_KEYS,
    ROW_KEYS,
    STATE_KEYS,
    STEP_KEYS,
    TOOL_KEYS,
    TOP_KEYS,
    VARIABLE_KEYS,
)
from handrail.workflows.load import WorkflowSource, load_workflow
from handrail.workflows.nodes import read_yaml, to_plain
from handrail.workflows.problem_report import format_problems
from helpers.workflow_files import list_problems, read_sound_text

KEYS = [
    *dict.fromkeys(
        [
            *TOP_KEYS,
            *STATE_KEYS,
            *ROW_KEYS,
            *STEP_KEYS,
            *NEXT_KEYS,
            *TOOL_KEYS,
            *PROMPT_KEYS,
            *VARIABLE_KEYS,
            *CONTRACT_KEYS,
        ]
    ),
    "A",
    "B",
    "go",
    "write",
    "archive",
    "user",
    "",
]
WORDS = [
    "A",
    "B",
    "*",
    "@state",
    "@v",
    "@derived",
    "@end",
    "go",
    "continue",
    "start",
    "sql",
    "files",
    "state?",
    "plan.exists",
    "plan.stage",
    "run.vars.v == null",
    "output.confidence > 0.5",
    "event.note",
    "criteria.check_off",
    "d.text",
    "{{d.ok|json}}",
    "{{",
    "tasks/{now}",
    "../x",
    "1 +",
    "\n",
    "ü🎉",
    "x" * 70,
]
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**64), 2**64), st.floats(allow_nan=False), st.sampled_from(WORDS)
)
TREES = st.recursive(
    JUNK,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)
SOUND = {
    name: to_plain(root)
    for name in ("everything.yaml", "muessig.yaml")
    if (root := read_yaml(read_sound_text(name), "").root)
}


def _survives(written: str) -> None:
    found = load_workflow(WorkflowSource("f.yaml", written))
    assert (found.workflow is None) == bool(found.problems)
    problems = found.problems if found.workflow is None else check_soundness(found.workflow)
    assert format_problems(problems, {"f.yaml": written})


@pytest.mark.unmeasured
@settings(max_examples=300)
@given(TREES)
def test_no_tree_of_keys_and_junk_makes_the_loader_raise(tree: object) -> None:
    _survives(json.dumps(tree))


@pytest.mark.unmeasured
@settings(max_examples=150)
@given(st.fixed_dictionaries(dict.fromkeys(("workflow", "version", "authority"), TREES)), TREES, TREES, TREES)
def test_no_sections_of_junk_do(head: dict[str, object], states: object, rows: object, rest: object) -> None:
    _survives(
        json.dumps({**head, "states": states, "transitions": [rows, rest], "vars": rest, "texts": rows})
    )


def _with(tree: object, path: list[int], junk: object) -> object:
    """The tree with the value at some place in it replaced."""
    if not path or not isinstance(tree, (dict, list)) or not tree:
        return junk
    here, rest = path[0] % len(tree), path[1:]
    if isinstance(tree, list):
        return [_with(item, rest, junk) if number == here else item for number, item in enumerate(tree)]
    entries = enumerate(tree.items())
    return {key: _with(item, rest, junk) if number == here else item for number, (key, item) in entries}


@pytest.mark.unmeasured
@settings(max_examples=300)
@given(st.sampled_from(sorted(SOUND)), st.lists(st.integers(0, 99), min_size=1, max_size=6), JUNK | TREES)
def test_no_junk_in_a_sound_file_does(name: str, path: list[int], junk: object) -> None:
    _survives(json.dumps(_with(SOUND[name], path, junk), indent=1))


HEAD = "workflow: w\nversion: 1\nauthority: files\n"
TAIL = "transitions:\n  - {id: A1, from: A, trigger: go, to: Z}\n"
STATES = "states:\n  A:\n  Z: {terminal: true}\n"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("5", [("wrong-type", 1, 1)]),
        ("text", [("wrong-type", 1, 1)]),
        (HEAD + "states:\n" + TAIL, [("wrong-type", 4, 8)]),
        (HEAD + "states: [A, Z]\n" + TAIL, [("wrong-type", 4, 9)]),
        (HEAD + "states: {A: 5, Z: {terminal: true}}\n" + TAIL, [("wrong-type", 4, 13)]),
        (HEAD + STATES + "transitions: {A1: go}\n", [("wrong-type", 7, 14)]),
        (HEAD + STATES + "transitions: [A1, [], null]\n", [("wrong-type", 7, c) for c in (15, 19, 23)]),
        (HEAD + STATES + TAIL + "vars: 5\n", [("wrong-type", 9, 7)]),
        (HEAD + STATES + TAIL + "vars: {x: {}}\ninputs: []\n", [("wrong-type", 10, 9)]),
        (HEAD + STATES + TAIL + "texts: {T: [1]}\n", [("wrong-type", 9, 12)]),
        (HEAD + STATES + TAIL + "texts: 5\ntools: [go]\n", [("wrong-type", 9, 8), ("wrong-type", 10, 8)]),
        (HEAD + STATES + TAIL.replace("from: A", "from: {}"), [("wrong-type", 8, 20)]),
        (HEAD + STATES + TAIL.replace("to: Z", "to: Z, set: {x: {}}"), [("unknown-variable", 8, 49)]),
        (HEAD + STATES + TAIL.replace("to: Z", "to: Z, set: [x]"), [("wrong-type", 8, 48)]),
        (HEAD + STATES + TAIL.replace("to: Z", "to: Z, do: write"), [("wrong-type", 8, 47)]),
        (HEAD + STATES + TAIL.replace("to: Z", "to: Z, do: [{}]"), [("wrong-type", 8, 48)]),
        (HEAD + STATES + TAIL.replace("to: Z", "to: Z, do: [{write: [a], template: T}]")
         + "texts: {T: x}\n", [("wrong-type", 8, 56)]),
        (HEAD + STATES + TAIL.replace("to: Z", "to: Z, do: [{write: a, from: []}]"), [("wrong-type", 8, 65)]),
        (HEAD + STATES + TAIL.replace("to: Z", "to: Z, when: [[plan.exists]]"), [("wrong-type", 8, 50)]),
        (HEAD + STATES + TAIL.replace("to: Z", "to: Z, when: {}"), [("wrong-type", 8, 49)]),
        (HEAD + STATES + TAIL.replace("trigger: go", "trigger: [go]"), [("wrong-type", 8, 32)]),
        (HEAD + STATES + TAIL.replace("to: Z", "to: Z, draft: {d: [x]}"), [("wrong-type", 8, 54)]),
        (HEAD + STATES + TAIL.replace("id: A1", "id: 5"), [("wrong-type", 8, 10)]),
        (HEAD + "derive: [a]\n" + STATES + TAIL, [("wrong-type", 4, 9)]),
        (HEAD + "steps: 5\n", [("wrong-type", 4, 8)]),
        (HEAD + "steps:\n  - {name: a, workflow: [b]}\n", [("wrong-type", 5, 25)]),
        (HEAD + "vars: {a: {type: [int]}, b: {type: true}, c: null}\n" + STATES + TAIL,
         [("wrong-type", 4, 18), ("wrong-type", 4, 36), ("wrong-type", 4, 46)]),
    ],
)  # fmt: skip
def test_one_wrong_shape_is_one_problem(written: str, expected: list[tuple[str, int, int]]) -> None:
    assert list_problems(written) == expected


def test_rows_without_an_id_are_not_two_rows_of_one_id() -> None:
    rows = "transitions:\n  - {from: A, trigger: go, to: Z}\n  - {from: A, trigger: on, to: B}\n"

    assert list_problems(HEAD + STATES + rows) == [
        ("missing-key", 8, 5),
        ("missing-key", 9, 5),
        ("unknown-state", 9, 32),
    ]


def test_the_problems_of_yaml_and_of_the_workflow_come_together() -> None:
    written = HEAD + "states:\n  A: !x {phase: 5}\n  Z: {terminal: true}\n" + TAIL

    assert list_problems(written) == [("yaml-tag", 5, 6), ("wrong-type", 5, 17)]
