"""A run keeps the texts it began with, those of its sub-workflows too."""

import pytest

from handrail.engine.model import Event, Run
from handrail.runtime.errors import Unreadable
from handrail.runtime.records import Definition, StoredRun
from handrail.runtime.world import build_workflow_lookup, pin_workflow
from handrail.workflows.load import WorkflowSource
from helpers.memory_store import MemoryRuns
from helpers.requirement import requirement
from helpers.stores import build_first_turn
from helpers.turns import ORIGIN, TurnHarness, load_pinned

SUB = """
workflow: sub
version: 1
authority: sql
states: {Ask: {}, Done: {terminal: true}}
transitions:
  - {id: ask, from: Ask, trigger: ask, to: Done}
"""
OUTER = """
workflow: outer
version: 1
authority: sql
states: {part: {workflow: sub}, Between: {}, Over: {terminal: true}}
transitions:
  - {id: out, from: part, to: Between}
  - {id: over, from: Between, trigger: over, to: Over}
"""


@requirement("steps:def.pinned")
def test_a_workflow_read_again_from_what_a_run_keeps_is_the_same() -> None:
    found = load_pinned(OUTER, {"sub": SUB})
    assert found.workflow
    assert found.definition
    assert found.definition.digest == found.workflow.digest
    runs = MemoryRuns()
    assert runs.commit(build_first_turn(definition=found.definition))
    stored = StoredRun(Run("r", "outer", found.workflow.digest), ORIGIN)

    again = build_workflow_lookup(runs)(stored.run.digest, stored.run.workflow)
    assert again == found.workflow
    assert list(again.states) == ["part", "part/Ask", "part/Done", "Between", "Over"]


@requirement("steps:def.pinned")
def test_a_run_goes_on_though_its_sub_workflow_is_gone() -> None:
    runs = MemoryRuns()
    answer = TurnHarness(runs).start(load_pinned(OUTER, {"sub": SUB}))

    assert TurnHarness(runs).send(answer["run"], Event("ask"))["state"] == "Between"


def test_a_sub_workflow_that_is_edited_makes_another_definition() -> None:
    edited = SUB.replace("trigger: ask", "trigger: demand")

    assert load_pinned(OUTER, {"sub": SUB}).definition != load_pinned(OUTER, {"sub": edited}).definition
    assert load_pinned(OUTER, {"sub": SUB}).definition == load_pinned(OUTER, {"sub": SUB}).definition


def test_a_text_with_problems_is_not_pinned() -> None:
    found = pin_workflow(WorkflowSource("test.yaml", "workflow: 7\n"), lambda _: None)

    assert (found.workflow, found.definition) == (None, None)
    assert found.problems


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "is not in the store"),
        (b"", "is damaged"),
        (b"\xff", "is damaged"),
        (b'{"source": 7}', "is damaged"),
        (b'{"source": {"file": "a.yaml", "text": "workflow: 7"}}', "this program cannot read the text"),
    ],
)
def test_a_text_that_cannot_be_read_again_is_named_with_its_repair(text: bytes | None, says: str) -> None:
    runs = MemoryRuns()
    definition = None if text is None else Definition("d" * 64, "paper", 1, text)
    turn = build_first_turn(definition=definition)
    assert runs.commit(turn)

    with pytest.raises(Unreadable, match=says) as caught:
        build_workflow_lookup(runs)(turn.run.digest, turn.run.workflow)
    assert "restore the store from a backup" in caught.value.repair


def test_each_text_is_read_once_per_process() -> None:
    found, runs = load_pinned(), MemoryRuns()
    assert found.workflow
    assert runs.commit(build_first_turn(definition=found.definition))
    workflow_of = build_workflow_lookup(runs)
    digest = found.workflow.digest

    assert workflow_of(digest, "paper") is workflow_of(digest, "paper")
