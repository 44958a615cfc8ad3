"""Recovery, row by row, in a folder: what is done, what is told, and that nothing is lost."""

import hashlib
from datetime import timedelta

import pytest

from handrail.engine.refusals import TroubleCode
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.errors import NewerFormat, Unreadable
from handrail.stores.files.file_runs import FileRuns
from handrail.stores.files.redo_log import Head, RecordDamage, seal_record, unseal_record
from helpers.requirement import requirement
from helpers.run_folders import (
    A2,
    AFTER,
    AT,
    BEFORE,
    ORIGIN,
    PLANNED,
    RUN,
    build_turn,
    check_chain,
    create_simulated_folder,
    create_stopped_folder,
    get_trouble,
    judge_folder,
    load_run,
    open_folder_runs,
    take_turn_to,
)
from helpers.simulated_disk import SimulatedWorkspace

HEAD, INTENT = ".handrail/head.json", ".handrail/intent.json"
HISTORY, QUARANTINE = ".handrail/history.jsonl", ".handrail/quarantine"
WAYS_OUT = (
    "run `handrail repair --restore 1` to go back to the last turn, "
    "or run `handrail repair --adopt STATE` with the state that the files are in"
)


def committed() -> SimulatedWorkspace:
    """A folder whose process died right behind the commit point of the turn A2."""
    return create_stopped_folder("mkdir tasks")


def recovered(workspace: SimulatedWorkspace) -> FileRuns:
    runs = open_folder_runs(workspace)
    on_paper = load_run(runs)
    with runs.hold_lock("", 0):
        assert load_run(runs) == on_paper
    return runs


def journal(workspace: SimulatedWorkspace) -> bytes:
    return workspace.everything()[HISTORY]


@requirement("spells:persist.recover")
def test_before_the_commit_point_the_turn_never_happened_and_its_litter_is_removed() -> None:
    workspace = create_stopped_folder("rename .handrail/intent.json.tmp .handrail/intent.json")
    assert workspace.names(".handrail/stage") == ("2-0", "2-1", "2-3", "2-4")

    runs = recovered(workspace)

    assert judge_folder(runs, workspace.tree(), journal(workspace)) == "before"
    assert workspace.names(".handrail/stage") == ()
    assert workspace.names(".handrail") == (".gitignore", "head.json", "history.jsonl", "stage")


@requirement("spells:persist.recover")
def test_behind_the_commit_point_the_turn_is_finished_and_the_same_call_gets_its_reply() -> None:
    workspace = committed()
    assert workspace.tree() == BEFORE

    runs = recovered(workspace)

    assert judge_folder(runs, workspace.tree(), journal(workspace)) == "after"
    spent = runs.find_recorded_call(RUN, 1)
    assert spent is not None
    assert (spent.token, spent.reply) == ("token 1", b"reply 1 to DRAFTING")


def test_whoever_reads_sees_an_unfinished_turn_as_taken_and_writes_nothing() -> None:
    workspace = committed()
    everything = workspace.everything()
    runs = open_folder_runs(workspace)

    assert load_run(runs).revision == 2
    assert load_run(runs).run.open[0].state == "DRAFTING"
    assert runs.find_recorded_call(RUN, 1) is not None
    assert [entry.revision for entry in runs.entries(RUN)] == [1, 2]
    assert workspace.everything() == everything


def test_a_note_after_a_crash_stands_behind_the_turn_that_was_unfinished() -> None:
    workspace = committed()
    runs = open_folder_runs(workspace)

    runs.note(RUN, AT, (Entry(EntryKind.ERROR_OCCURRED),))

    assert [written.revision for written in runs.entries(RUN)] == [1, 2, 0]
    assert judge_folder(runs, workspace.tree(), journal(workspace)) == "after"


@requirement("spells:persist.recover")
def test_a_state_file_that_is_missing_or_damaged_is_written_from_the_intent_and_kept() -> None:
    missing, damaged = committed(), committed()
    missing.remove("state.json")
    damaged.put("state.json", b"{]")

    for workspace in (missing, damaged):
        assert judge_folder(recovered(workspace), workspace.tree(), journal(workspace)) == "after"
    assert damaged.everything()[".handrail/conflict-2-state.json"] == b"{]"


@requirement("spells:persist.recover")
def test_a_turn_that_is_done_but_for_its_intent_is_only_tidied_up() -> None:
    workspace = create_stopped_folder("unlink .handrail/intent.json")
    workspace.put("plan.md", b"edited since")

    runs = recovered(workspace)

    assert load_run(runs).revision == 2
    assert workspace.tree() == {**AFTER, "plan.md": b"edited since"}
    assert INTENT not in workspace.everything()


@requirement("spells:persist.recover")
def test_an_intent_that_does_not_follow_the_last_turn_is_set_aside_and_a_person_asked() -> None:
    late = committed()
    workspace, runs = create_simulated_folder()
    assert take_turn_to(runs, "EDITING")
    assert take_turn_to(runs, "EDITING")
    before = workspace.tree()
    intent = late.everything()[INTENT]
    workspace.put(INTENT, intent)
    workspace.put(".handrail/stage/2-0", PLANNED)

    trouble = get_trouble(recovered(workspace))

    assert trouble.code == TroubleCode.DIVERGED
    assert "files were put back" in trouble.message
    assert "handrail repair --restore 3" in trouble.repair
    assert workspace.tree() == before
    assert workspace.everything()[f"{QUARANTINE}/intent.json"] == intent
    assert workspace.everything()[f"{QUARANTINE}/2-0"] == PLANNED
    assert get_trouble(recovered(workspace)) == trouble


@requirement("spells:persist.recover")
def test_a_damaged_intent_is_set_aside_and_the_state_kept() -> None:
    workspace = committed()
    torn = workspace.everything()[INTENT][:-9]
    workspace.put(INTENT, torn)

    trouble = get_trouble(recovered(workspace))

    assert (trouble.code, trouble.repair) == (TroubleCode.DIVERGED, WAYS_OUT)
    assert workspace.tree() == BEFORE
    assert workspace.everything()[f"{QUARANTINE}/intent.json"] == torn
    assert workspace.names(QUARANTINE) == ("2-0", "2-1", "2-3", "2-4", "intent.json")


@requirement("spells:persist.recover")
def test_if_staged_bytes_are_gone_nothing_is_overwritten_or_saved_and_a_person_asked() -> None:
    workspace = committed()
    workspace.remove(".handrail/stage/2-3")

    runs = recovered(workspace)

    trouble = get_trouble(runs)
    assert (trouble.code, trouble.repair) == (TroubleCode.DIVERGED, WAYS_OUT)
    with pytest.raises(Unreadable, match="the bytes staged in") as raised:
        runs.commit(build_turn(load_run(runs), "EDITING"))
    assert raised.value.repair == WAYS_OUT
    assert workspace.tree() == BEFORE
    assert workspace.names(".handrail/stage") == ("2-0", "2-1", "2-4")


def test_a_damaged_head_is_set_aside_and_the_run_goes_on_from_its_history() -> None:
    workspace, _ = create_simulated_folder()
    torn = workspace.everything()[HEAD].replace(b"EXECUTED", b"EXECUTES")
    workspace.put(HEAD, torn)

    runs = recovered(workspace)

    stored = load_run(runs)
    assert (stored.revision, stored.run.open[0].state, stored.trouble) == (1, "EXECUTED", None)
    assert "goes on from the history" in stored.adopted
    assert workspace.everything()[f"{QUARANTINE}/head.json"] == torn
    assert (stored.started, stored.opened, stored.origin) == (None, {}, ORIGIN)
    assert take_turn_to(runs, "DRAFTING", A2)
    assert (workspace.tree(), check_chain(journal(workspace))) == (AFTER, [1, 2])
    later = AT + timedelta(seconds=1)
    assert (load_run(runs).started, load_run(runs).opened) == (later, {2: later})
    assert [str(written.entry.kind) for written in runs.entries(RUN)] == [
        EntryKind.STEP_STARTED,
        EntryKind.STATE_REPAIRED,
        EntryKind.STEP_STARTED,
    ]


def test_a_damaged_head_under_an_unfinished_turn_does_not_stop_the_turn() -> None:
    workspace = committed()
    workspace.put(HEAD, b"")

    assert judge_folder(recovered(workspace), workspace.tree(), journal(workspace)) == "after"
    assert workspace.everything()[f"{QUARANTINE}/head.json"] == b""


def test_a_turn_whose_line_is_written_and_whose_head_is_gone_is_finished_once() -> None:
    workspace = create_stopped_folder("open .handrail/head.json.tmp")
    workspace.remove(HEAD)

    assert judge_folder(recovered(workspace), workspace.tree(), journal(workspace)) == "after"


@requirement("spells:persist.recover")
@pytest.mark.parametrize("path", [HEAD, INTENT])
def test_where_a_newer_program_was_the_run_can_be_read_and_nothing_is_written(path: str) -> None:
    workspace = committed()
    workspace.put(path, newer(workspace.everything()[path]))
    everything = workspace.everything()
    runs = open_folder_runs(workspace)

    stored, trouble = load_run(runs), get_trouble(runs)

    assert trouble.code == TroubleCode.NEWER
    with pytest.raises(NewerFormat, match="a newer Handrail") as raised, runs.hold_lock("", 0):
        pass
    assert raised.value.repair == trouble.repair
    with pytest.raises(NewerFormat):
        runs.note(RUN, build_turn(stored, "EDITING").at, ())
    with pytest.raises(NewerFormat):
        runs.commit(build_turn(stored, "EDITING"))
    assert workspace.everything() == everything


def newer(sealed: bytes) -> bytes:
    """The record as a newer program would have written it."""
    start = len(b'{"sum":"')
    body = sealed[start + 64 + len(b'","body":') : -1].replace(b'"format":1', b'"format":2')
    return b'{"sum":"' + hashlib.sha256(body).hexdigest().encode() + b'","body":' + body + b"}"


def test_a_trouble_that_cannot_be_read_is_a_trouble() -> None:
    workspace, _ = create_simulated_folder()
    workspace.put(".handrail/trouble.json", b"{}")

    trouble = get_trouble(recovered(workspace))

    assert trouble.code == TroubleCode.DIVERGED
    assert "handrail repair --adopt" in trouble.repair


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"sum":"","body":{}}', seal_record({"format": 1}), seal_record([])]
)
def test_bytes_that_are_no_record_of_ours_are_damaged(data: bytes) -> None:
    assert unseal_record(data, Head) is RecordDamage.BAD
