"""Repair: a person says where the run stands, or goes back to a turn; entered, and nothing is lost by it."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from handrail.engine.refusals import TroubleCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.errors import Unreadable, UnsafePath
from handrail.stores.files.file_runs import FileRuns
from helpers.crash import Record
from helpers.run_folders import (
    A2,
    AT,
    BEFORE,
    FILES_BEFORE,
    NEXT_TASK,
    PLANNED,
    RESULTS,
    RUN,
    STATE_BEFORE,
    check_chain,
    create_simulated_folder,
    create_stopped_folder,
    get_trouble,
    load_run,
    open_folder_runs,
    take_turn_to,
)
from helpers.simulated_disk import LINK, PowerLoss, SimulatedWorkspace, StopAtChange

KEPT = ".handrail/quarantine/state.json"
MARK = ".handrail/trouble.json"


def state(workspace: SimulatedWorkspace) -> dict[str, object]:
    document = json.loads(workspace.tree()["state.json"])
    assert isinstance(document, dict)
    return document


def kinds(runs: FileRuns) -> list[str]:
    return [str(written.entry.kind) for written in runs.entries(RUN)]


def test_a_state_is_adopted_for_what_is_there_and_the_old_bytes_are_kept() -> None:
    workspace, runs = create_simulated_folder()
    workspace.put("state.json", b"{ damaged")

    stored = runs.repair(AT, adopt="EDITING")

    assert (stored.revision, stored.trouble, stored.adopted) == (2, None, "")
    assert [(step.number, step.state) for step in stored.run.open] == [(2, "EDITING")]
    assert workspace.everything()[KEPT] == b"{ damaged"
    assert MARK not in workspace.everything()
    assert state(workspace) == {
        "current_state": "EDITING",
        "context": {},
        "history": [
            {
                "timestamp": "2026-03-01T12:30:00Z",
                "transition": "EDITING → EDITING",
                "trigger": "repair",
            }
        ],
    }
    assert kinds(runs) == [EntryKind.STEP_STARTED, EntryKind.STATE_REPAIRED]
    assert check_chain(workspace.everything()[".handrail/history.jsonl"]) == [1, 2]
    assert take_turn_to(runs, "DRAFTING", A2)


def test_adopting_over_a_good_state_file_keeps_its_variables_its_other_keys_and_its_bytes() -> None:
    workspace, _ = create_simulated_folder()
    by_hand = b'{"owner": "me", "current_state": "DRAFTING", "context": {"back": "EDITING"}}'
    workspace.put("state.json", by_hand)
    runs = open_folder_runs(workspace)

    stored = runs.repair(AT, adopt="EXECUTED")

    assert stored.run.vars["back"] == "EDITING"
    assert workspace.everything()[KEPT] == by_hand
    assert (state(workspace)["owner"], state(workspace)["context"]) == ("me", {"back": "EDITING"})
    assert "DRAFTING → EXECUTED" in workspace.tree()["state.json"].decode()


def test_a_repair_opens_the_steps_that_were_not_open_until_then() -> None:
    _, runs = create_simulated_folder()
    later = AT + timedelta(hours=1)
    assert load_run(runs).opened == {1: AT}

    assert runs.repair(later, adopt="EXECUTED").opened == {1: AT}
    assert runs.repair(later, adopt="EDITING").opened == {2: later}
    assert runs.repair(later + timedelta(hours=1), restore=1).opened == {1: later + timedelta(hours=1)}
    assert load_run(runs).origin.metadata == {"left": 0}


def test_a_turn_is_restored_with_its_document_and_its_run() -> None:
    workspace, runs = create_simulated_folder()
    first = load_run(runs).run
    runs.note(RUN, AT, ())
    assert take_turn_to(runs, "DRAFTING")
    assert take_turn_to(runs, "EDITING", note="on the way")
    last = workspace.tree()["state.json"]

    stored = runs.repair(AT, restore=1)

    assert (stored.revision, stored.run) == (4, first)
    assert workspace.tree()["state.json"] == STATE_BEFORE
    assert workspace.everything()[KEPT] == last
    assert kinds(runs)[-1] == EntryKind.STATE_REPAIRED
    assert runs.repair(AT, restore=3).revision == 5
    assert workspace.tree()["state.json"] == last


def test_what_a_person_edited_between_turns_is_restored_too() -> None:
    workspace, runs = create_simulated_folder()
    workspace.put("state.json", b'{"z": 1, "history": [{"by": "hand"}], "current_state": "EDITING", "a": 2}')
    assert take_turn_to(runs, "DRAFTING")
    document = workspace.tree()["state.json"]
    assert take_turn_to(runs, "EDITING")

    runs.repair(AT, restore=2)

    assert workspace.tree()["state.json"] == document
    assert list(state(workspace)) == ["z", "history", "current_state", "a"]


def without_staged_bytes() -> SimulatedWorkspace:
    """A folder with an unfinished turn, for which some of the bytes are gone."""
    workspace = create_stopped_folder("mkdir tasks")
    workspace.remove(".handrail/stage/2-3")
    return workspace


def with_damaged_state() -> SimulatedWorkspace:
    workspace, _ = create_simulated_folder()
    workspace.put("state.json", b"{ damaged")
    return workspace


def test_a_repair_ends_a_trouble_that_nothing_else_ends() -> None:
    workspace = without_staged_bytes()
    runs = open_folder_runs(workspace)
    assert get_trouble(runs).code == TroubleCode.DIVERGED

    stored = runs.repair(AT, restore=1)

    assert (stored.trouble, stored.revision) == (None, 2)
    assert workspace.tree() == BEFORE
    assert workspace.names(".handrail/quarantine") == ("2-0", "2-1", "2-4", "intent.json", "state.json")
    assert take_turn_to(runs, "DRAFTING", A2)


@pytest.mark.parametrize(
    ("made", "code", "kept"),
    [
        (with_damaged_state, "damaged", {b"{ damaged"}),
        (without_staged_bytes, "diverged", {PLANNED, NEXT_TASK, RESULTS}),
    ],
)
def test_a_repair_killed_anywhere_has_happened_or_not(
    made: Callable[[], SimulatedWorkspace], code: str, kept: set[bytes], record_property: Record
) -> None:
    found, at, repaired = [], 0, False
    while not repaired:
        at += 1
        workspace = made()
        workspace.before = StopAtChange(at)
        try:
            repaired = open_folder_runs(workspace).repair(AT, adopt="EDITING").revision == 2
        except PowerLoss:
            after = workspace.copy()
            runs = open_folder_runs(after)
            with runs.hold_lock("", 0):
                stored = load_run(runs)
            assert kept <= set(after.everything().values())
            found.append((stored.revision, stored.trouble.code if stored.trouble else ""))

    record_property("points", len(found))
    assert len(found) > 10
    assert set(found) == {(1, code), (2, "")}
    assert found == sorted(found)


def test_a_state_that_the_workflow_does_not_have_cannot_be_adopted() -> None:
    workspace, _ = create_simulated_folder()
    everything = workspace.everything()

    with pytest.raises(Unreadable, match="no state 'ELSEWHERE'") as raised:
        open_folder_runs(workspace).repair(AT, adopt="ELSEWHERE")

    assert raised.value.repair == "name one of DRAFTING, EDITING, EXECUTED, OVER"
    assert workspace.everything() == everything


def test_a_turn_that_the_history_does_not_have_cannot_be_restored() -> None:
    with pytest.raises(Unreadable, match="no turn 7") as raised:
        create_simulated_folder()[1].repair(AT, restore=7)
    assert raised.value.repair == "name one that it has (1)"

    with pytest.raises(Unreadable) as raised:
        open_folder_runs(SimulatedWorkspace()).repair(AT, restore=7)
    assert raised.value.repair == "name one that it has (none: adopt a state instead)"


def test_a_link_in_place_of_the_state_file_must_be_removed_by_the_person() -> None:
    workspace, _ = create_simulated_folder()
    workspace.remove("state.json")
    workspace.put_odd("state.json", LINK)

    with pytest.raises(UnsafePath, match=r"state\.json"):
        open_folder_runs(workspace).repair(AT, adopt="EDITING")


def test_a_folder_that_never_had_a_state_file_can_be_given_one() -> None:
    workspace = SimulatedWorkspace()
    for path, data in FILES_BEFORE.items():
        workspace.put(path, data)
    runs = open_folder_runs(workspace)

    assert runs.repair(AT, adopt="EXECUTED").revision == 1
    assert take_turn_to(runs, "DRAFTING", A2)
