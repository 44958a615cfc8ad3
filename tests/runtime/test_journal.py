"""What a turn leaves behind: steps, artifacts and entries, each when something happened and never else."""

from typing import Any

import pytest
from msgspec.structs import replace

from handrail.engine.facts import Value
from handrail.engine.model import Actor, Event, Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.journal import find_agent, read_offered_artifacts, read_reason
from handrail.runtime.records import Artifact, Caller, ClosedStep, OpenedStep, StepStatus, Turn
from handrail.runtime.turn import Call
from helpers.faulty_stores import Recording, read_whole_run
from helpers.requirement import requirement
from helpers.turns import ENDLESS, TurnHarness, load_pinned
from helpers.workflows import build_output

SPEC = {"type": "spec", "title": "The spec", "content": "Words.", "description": "All of them"}
BARE = {"type": "note", "title": "A note", "content": "Tea."}
TWICE = """
workflow: twice
version: 1
authority: sql
states: {Home: {attempts: 1}, Away: {}, Over: {terminal: true}}
transitions:
  - {id: out, from: Home, trigger: go, to: Away}
  - {id: back, from: Away, trigger: go, to: Home}
  - {id: over, from: Home, trigger: end, to: Over}
"""


@pytest.fixture
def harness() -> TurnHarness:
    return TurnHarness(Recording())


def last(turns: TurnHarness) -> Turn:
    assert isinstance(turns.runs, Recording)
    return turns.runs.turns[-1]


def told(turn: Turn) -> list[tuple[str, str, str]]:
    """The entries of a turn: kind, step, agent."""
    return [(str(entry.kind), entry.step, entry.agent) for entry in turn.entries]


@requirement("steps:tel.events")
def test_a_start_is_entered_with_its_step_its_token_and_its_lifecycle(harness: TurnHarness) -> None:
    harness.start()
    turn = last(harness)

    assert told(turn) == [
        (EntryKind.WORKFLOW_CREATED, "", ""),
        (EntryKind.STEP_STARTED, "draft", "writer"),
        (EntryKind.TOKEN_GENERATED, "draft", "writer"),
        (EntryKind.WORKFLOW_STATE_TRANSITION, "", ""),
    ]
    assert turn.entries[0].data == {"workflow": "paper", "version": 1, "by": "agent"}
    assert turn.entries[3].data == {"from": "idle", "to": "running", "by": "agent"}
    assert (turn.closed, turn.opened) == ((), (OpenedStep(1, "draft", "writer"),))
    assert set(turn.tokens) == {1}


@requirement("steps:tel.events", "steps:output.artifacts")
def test_a_step_output_is_kept_with_its_artifacts_by_id(harness: TurnHarness) -> None:
    first = harness.start()
    artifacts: list[Value] = [SPEC, BARE]
    harness.continue_run(first["run"], first["token"], artifacts=artifacts)
    turn = last(harness)

    ids = [artifact.id for artifact in turn.artifacts]
    assert len(set(ids)) == 2
    assert turn.artifacts == (
        Artifact(ids[0], "draft", "writer", "spec", "The spec", "Words.", "All of them"),
        Artifact(ids[1], "draft", "writer", "note", "A note", "Tea.", ""),
    )
    assert told(turn) == [
        (EntryKind.TOKEN_VALIDATED, "draft", "writer"),
        (EntryKind.STEP_COMPLETED, "draft", "writer"),
        (EntryKind.ARTIFACT_STORED, "draft", "writer"),
        (EntryKind.ARTIFACT_STORED, "draft", "writer"),
        (EntryKind.STEP_STARTED, "review", "reader"),
        (EntryKind.TOKEN_GENERATED, "review", "reader"),
    ]
    named = [
        {"artifact_id": ids[0], "type": "spec", "title": "The spec"},
        {"artifact_id": ids[1], "type": "note", "title": "A note"},
    ]
    stored = {"summary": "Done.", "artifacts": named, "references": [], "confidence": 0.8}
    assert turn.closed == (ClosedStep(1, "draft", StepStatus.COMPLETED, stored),)
    assert turn.entries[2].data == {"artifact_id": ids[0], "type": "spec", "by": "agent"}


def test_every_entry_of_a_turn_says_who_called(harness: TurnHarness) -> None:
    answer = harness.start()
    caller = Caller(Actor.PERSON, "ann", "cli", "bot")
    harness.call(Call(answer["run"], Event("continue", build_output()), caller, answer["token"]))

    data = [entry.data for entry in last(harness).entries]
    names = ("by", "principal", "client", "agent")
    assert [tuple(one[name] for name in names) for one in data] == [("person", "ann", "cli", "bot")] * 4


def test_the_entry_of_a_completed_step_has_caller_row_and_target(harness: TurnHarness) -> None:
    run = harness.start()["run"]
    harness.clock.move(seconds=2)
    caller = Caller(Actor.PERSON, "ann", "cli", "bot")
    harness.call(Call(run, Event("continue", build_output(), note="at last"), caller))

    assert told(last(harness))[0] == (EntryKind.STEP_COMPLETED, "draft", "writer")
    assert last(harness).entries[0].data == {
        "number": 1,
        "trigger": "continue",
        "by": "person",
        "principal": "ann",
        "client": "cli",
        "agent": "bot",
        "note": "at last",
        "rows": ["draft.1"],
        "to": "review",
        "duration_ms": 2000,
    }


@requirement("steps:life.override")
def test_a_step_that_a_person_did_by_hand_is_entered_as_external_and_differs_in_nothing_else() -> None:
    entries, others = [], []
    for external in (False, True):
        turns = TurnHarness(Recording())
        run = turns.start()["run"]
        turns.call(Call(run, Event("continue", build_output(artifacts=[SPEC])), external=external))
        turn = last(turns)
        entries.append(turn.entries[0].data)
        others.append(replace(turn, entries=turn.entries[1:]))

    assert entries[1] == {**entries[0], "external": True}
    assert others[0] == others[1]


@requirement("steps:life.override")
def test_a_step_done_by_hand_meets_the_same_contract(harness: TurnHarness) -> None:
    run = harness.start()["run"]
    before = read_whole_run(harness.runs, run)

    said = harness.call(Call(run, Event("continue", build_output(confidence=2)), external=True))
    assert (said["code"], read_whole_run(harness.runs, run)) == (RefusalCode.CONTRACT, before)


@requirement("steps:life.override")
def test_a_step_done_by_hand_that_leaves_no_way_on_is_not_completed() -> None:
    turns = TurnHarness(Recording())
    run = turns.start(load_pinned(TWICE))["run"]
    turns.send(run, "go")
    assert turns.call(Call(run, Event("go"), external=True))["lifecycle"] == Lifecycle.FAILED

    assert "external" not in last(turns).entries[0].data


@requirement("steps:tel.events")
def test_a_row_that_stays_closes_nothing_and_issues_a_token(harness: TurnHarness) -> None:
    run = harness.start(load_pinned(ENDLESS))["run"]
    harness.send(run, "wait")
    turn = last(harness)

    assert told(turn) == [(EntryKind.STEP_STAYED, "Home", ""), (EntryKind.TOKEN_GENERATED, "Home", "")]
    assert turn.entries[0].data == {"trigger": "wait", "by": "agent", "rows": ["stay"], "to": "Home"}
    assert (turn.closed, turn.opened, set(turn.tokens)) == ((), (), {1})


@requirement("steps:tel.events", "steps:tel.durations")
def test_the_end_of_a_run_closes_its_step_and_has_its_duration(harness: TurnHarness) -> None:
    run = harness.start(load_pinned(ENDLESS))["run"]
    harness.clock.move(seconds=5)
    harness.send(run, "end")
    turn = last(harness)

    assert told(turn) == [
        (EntryKind.STEP_COMPLETED, "Home", ""),
        (EntryKind.ARTIFACT_STORED, "Home", ""),
        (EntryKind.WORKFLOW_STATE_TRANSITION, "", ""),
    ]
    assert turn.entries[2].data == {"from": "running", "to": "completed", "duration_ms": 5000, "by": "agent"}
    assert turn.closed == (ClosedStep(1, "Home", StepStatus.COMPLETED, {}),)
    assert (turn.opened, dict(turn.tokens)) == ((), {})


@requirement("steps:life.fail", "steps:tel.events")
def test_a_run_that_fails_fails_its_step(harness: TurnHarness) -> None:
    run = harness.start()["run"]
    harness.send(run, Event("fail", note="cannot be done"))
    turn = last(harness)

    assert told(turn) == [
        (EntryKind.STEP_FAILED, "draft", "writer"),
        (EntryKind.WORKFLOW_STATE_TRANSITION, "", ""),
    ]
    assert turn.closed == (ClosedStep(1, "draft", StepStatus.FAILED, None),)
    assert turn.entries[1].data["reason"] == "cannot be done"


@pytest.mark.parametrize(
    ("trigger", "lifecycle"), [("abandon", Lifecycle.ABANDONED), ("diverge", Lifecycle.DIVERGED)]
)
def test_a_run_that_is_given_up_leaves_its_step_as_it_was(
    harness: TurnHarness, trigger: str, lifecycle: str
) -> None:
    run = harness.start()["run"]
    harness.send(run, Event(trigger, note="enough"))
    turn = last(harness)

    assert turn.run.lifecycle is Lifecycle(lifecycle)
    assert (told(turn), turn.closed) == ([(EntryKind.WORKFLOW_STATE_TRANSITION, "", "")], ())
    assert dict(turn.tokens) == {}


def test_a_pause_voids_the_token_and_its_end_issues_another(harness: TurnHarness) -> None:
    run = harness.start()["run"]
    harness.send(run, Event("pause"))
    paused = last(harness)
    harness.send(run, Event("resume"))
    resumed = last(harness)

    assert told(paused) == [(EntryKind.WORKFLOW_STATE_TRANSITION, "", "")]
    assert told(resumed) == [
        (EntryKind.TOKEN_GENERATED, "draft", "writer"),
        (EntryKind.WORKFLOW_STATE_TRANSITION, "", ""),
    ]
    assert (dict(paused.tokens), set(resumed.tokens)) == ({}, {1})
    assert (paused.closed, paused.opened, resumed.closed, resumed.opened) == ((), (), (), ())


@requirement("steps:life.fail")
def test_a_run_whose_attempts_are_used_up_fails_with_its_step() -> None:
    turns = TurnHarness(Recording())
    run = turns.start(load_pinned(TWICE))["run"]
    turns.send(run, "go")
    assert turns.send(run, "go")["lifecycle"] == Lifecycle.FAILED

    assert [kind for kind, _, _ in told(last(turns))] == [
        EntryKind.STEP_FAILED,
        EntryKind.WORKFLOW_STATE_TRANSITION,
    ]
    assert last(turns).closed == (ClosedStep(2, "Away", StepStatus.FAILED, {}),)
    stored = turns.runs.load(run)
    assert stored is not None
    assert str(stored.origin.metadata["last_transition_reason"]).startswith("row `back` leads to a state")


def test_only_a_step_output_offers_artifacts() -> None:
    payload: dict[str, Any] = {"artifacts": [SPEC, "no artifact", 7]}

    assert read_offered_artifacts(Event("continue", payload)) == [SPEC]
    assert read_offered_artifacts(Event("go", payload)) == []
    assert read_offered_artifacts(Event("continue", {"artifacts": "none"})) == []


@pytest.mark.parametrize("artifact", [SPEC, {"title": 7}])
def test_where_no_contract_asks_for_an_output_nothing_is_taken_for_an_artifact(
    harness: TurnHarness, artifact: Value
) -> None:
    run = harness.start(load_pinned(ENDLESS.replace("trigger: wait", "trigger: continue")))["run"]
    payload: dict[str, Value] = {"artifacts": [artifact]}

    assert harness.send(run, Event("continue", payload))["status"] == "ok"
    assert last(harness).artifacts == ()


def test_a_state_that_is_not_there_has_no_persona() -> None:
    flow = load_pinned().workflow
    assert flow

    assert (find_agent(flow, "draft"), find_agent(flow, "@end"), find_agent(flow, "gone")) == (
        "writer",
        "",
        "",
    )


def test_a_refusal_of_a_run_that_is_not_there_names_no_state(harness: TurnHarness) -> None:
    assert harness.send("nobody", "go")["code"] == RefusalCode.UNKNOWN_RUN
    refused = harness.send(harness.start()["run"], Event("x" * 1000))
    assert refused["code"] == RefusalCode.NO_ROW

    entry = harness.runs.entries("00000000-0000-0000-0000-000000000001")[-1].entry
    assert entry.data["trigger"] == "<str of 1002 bytes>"
    assert (entry.step, entry.agent) == ("draft", "writer")


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({}, ""),
        ({"last_transition_reason": "No reason provided"}, ""),
        ({"last_transition_reason": "done elsewhere"}, "done elsewhere"),
    ],
)
def test_the_default_reason_counts_as_none(metadata: dict[str, Value], reason: str) -> None:
    assert read_reason(metadata) == reason
