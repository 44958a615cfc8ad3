"""People edit: the state file is taken as they leave it, and no byte they wrote is ever lost."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from handrail.engine.model import Lifecycle
from handrail.engine.refusals import TroubleCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.errors import Unreadable, UnsafePath
from handrail.stores.files.disk import DiskWorkspace
from handrail.stores.files.file_runs import FileRuns
from helpers.crash import Record
from helpers.run_folders import (
    A2,
    AFTER,
    FILES_BEFORE,
    IDLE,
    PLAN,
    PLANNED,
    RESULTS,
    RUN,
    STATE_BEFORE,
    TASK,
    begin_folder,
    build_final,
    build_turn,
    create_simulated_folder,
    get_trouble,
    load_run,
    open_folder_runs,
    take_turn_to,
)
from helpers.simulated_disk import PowerLoss, SimulatedWorkspace, StopAtChange, act_at_change

BY_HAND = (
    b'{"owner": "me", "current_state": "DRAFTING", "context": {"back": "EDITING", "x": null}, "y": [1.5]}'
)


def test_a_new_folder_has_a_run_that_is_not_there_yet() -> None:
    workspace = SimulatedWorkspace()

    stored = load_run(open_folder_runs(workspace))

    assert (stored.run, stored.revision, stored.trouble, stored.adopted) == (IDLE, 0, None, "")
    assert workspace.names("") == ()


def test_a_state_file_that_comes_with_a_clone_is_taken_as_it_stands_and_said() -> None:
    workspace = SimulatedWorkspace()
    workspace.put("state.json", BY_HAND)
    runs = open_folder_runs(workspace)

    stored = load_run(runs)

    assert (stored.run.id, stored.revision, stored.run.lifecycle) == (RUN, 0, Lifecycle.RUNNING)
    assert [(step.number, step.state, step.attempt) for step in stored.run.open] == [(1, "DRAFTING", 1)]
    assert stored.run.vars == {"back": "EDITING", "x": None}
    assert "without a history" in stored.adopted
    assert take_turn_to(runs, "EXECUTED")
    assert json.loads(workspace.tree()["state.json"]) == {
        "owner": "me",
        "current_state": "EXECUTED",
        "context": {"back": "EDITING", "x": None},
        "y": [1.5],
        "history": [
            {
                "timestamp": "2026-03-01T12:30:00Z",
                "transition": "DRAFTING → EXECUTED",
                "trigger": "Go",
            }
        ],
    }
    assert [(str(w.entry.kind), w.entry.step, w.revision) for w in runs.entries(RUN)] == [
        (EntryKind.STATE_ADOPTED, "DRAFTING", 1),
        (EntryKind.STEP_STARTED, "EXECUTED", 1),
    ]


def test_an_edited_state_file_is_taken_and_opens_a_step_of_its_own() -> None:
    workspace, runs = create_simulated_folder()
    workspace.put("state.json", BY_HAND)

    stored = load_run(runs)

    assert [(step.number, step.state) for step in stored.run.open] == [(2, "DRAFTING")]
    assert (stored.revision, stored.run.vars["back"]) == (1, "EDITING")
    assert "changed since the last turn" in stored.adopted
    assert take_turn_to(runs, "EDITING")
    assert load_run(runs).adopted == ""
    assert [str(written.entry.kind) for written in runs.entries(RUN)] == [
        EntryKind.STEP_STARTED,
        EntryKind.STATE_ADOPTED,
        EntryKind.STEP_STARTED,
    ]


def test_an_edit_that_leaves_the_state_leaves_the_step_open() -> None:
    workspace, _ = create_simulated_folder()
    workspace.put("state.json", STATE_BEFORE.replace(b'"context": {}', b'"context": {"back": "EDITING"}'))

    run = load_run(open_folder_runs(workspace)).run

    assert [(step.number, step.state) for step in run.open] == [(1, "EXECUTED")]
    assert run.vars == {"back": "EDITING"}


def test_an_edit_to_a_state_in_which_a_run_is_over_ends_it_and_one_back_goes_on() -> None:
    workspace, runs = create_simulated_folder()
    workspace.put("state.json", b'{"current_state": "OVER"}')

    over = load_run(runs).run

    assert (over.lifecycle, over.open) == (Lifecycle.COMPLETED, ())
    workspace.put("state.json", b'{"current_state": "EDITING"}')
    assert load_run(runs).run.lifecycle is Lifecycle.RUNNING


@pytest.mark.parametrize(("path", "edit"), [("state.json", BY_HAND), ("plan.md", b"edited")])
def test_an_edit_between_loading_and_saving_lets_the_turn_begin_again(path: str, edit: bytes) -> None:
    workspace, runs = create_simulated_folder()
    with runs.hold_lock("", 0):
        stored = load_run(runs)
        workspace.put(path, edit)

        assert not runs.commit(build_turn(stored, "DRAFTING", A2))

    assert workspace.tree() == {**FILES_BEFORE, "state.json": STATE_BEFORE, path: edit}


def _on_disk(root: Path, *, aged: bool, before: Callable[[str], None] = lambda _: None) -> FileRuns:
    """A folder on the disk in which A2 can be taken; its files were saved just now, or an hour ago."""
    begin_folder(DiskWorkspace(root, "task"))
    for path in (root / "task").rglob("*") if aged else ():
        os.utime(path, (1_000_000_000.5, 1_000_000_000.5))
    return open_folder_runs(DiskWorkspace(root, "task", before))


def _in_place(path: Path) -> bytes:
    """Save other bytes of the same length in a file, as an editor may; these bytes."""
    data = path.read_bytes().replace(b"w", b"W").replace(b"t", b"T").replace(b"XECUTED", b"DITING ")
    with path.open("r+b") as file:
        file.write(data)
    return data


@pytest.mark.parametrize("aged", [True, False])
@pytest.mark.parametrize("path", ["plan.md", "task-results.md", "state.json"])
def test_an_edit_of_the_same_length_after_the_file_was_read_lets_the_turn_begin_again(
    tmp_path: Path, path: str, *, aged: bool
) -> None:
    runs = _on_disk(tmp_path, aged=aged)
    with runs.hold_lock("", 0):
        stored = load_run(runs)
        assert {name: runs.read(name) for name in FILES_BEFORE} == FILES_BEFORE
        edit = _in_place(tmp_path / "task" / path)

        if path == "state.json":
            with pytest.raises(Unreadable):
                runs.commit(build_turn(stored, "DRAFTING", A2))
        else:
            assert not runs.commit(build_turn(stored, "DRAFTING", A2))

    there = (tmp_path / "task").rglob(path)
    assert edit in [found.read_bytes() for found in there]


@pytest.mark.parametrize("aged", [True, False])
@pytest.mark.parametrize("path", ["plan.md", "task-results.md"])
def test_an_edit_of_the_same_length_while_the_turn_is_done_is_kept_as_a_conflict_copy(
    tmp_path: Path, path: str, *, aged: bool
) -> None:
    edits: list[bytes] = []
    edit = act_at_change("mkdir tasks", lambda: edits.append(_in_place(tmp_path / "task" / path)))
    runs = _on_disk(tmp_path, aged=aged, before=edit)
    with runs.hold_lock("", 0):
        stored = load_run(runs)
        assert {name: runs.read(name) for name in FILES_BEFORE} == FILES_BEFORE
        assert runs.commit(build_turn(stored, "DRAFTING", A2))

    assert [(tmp_path / f"task/.handrail/conflict-2-{path}").read_bytes()] == edits


def test_what_a_turn_leaves_is_known_without_reading_it(tmp_path: Path) -> None:
    runs = _on_disk(tmp_path, aged=True)
    with runs.hold_lock("", 0):
        assert runs.commit(build_turn(load_run(runs), "DRAFTING", A2))
        known = (load_run(runs), runs.entries(""), {path: runs.read(path) for path in AFTER})

    assert known == (load_run(runs), runs.entries(""), AFTER)


def test_a_look_before_the_lock_is_not_trusted_under_it(tmp_path: Path) -> None:
    first, second = _on_disk(tmp_path, aged=True), open_folder_runs(DiskWorkspace(tmp_path, "task"))
    with first.take_snapshot():
        assert (load_run(first).revision, first.read("plan.md")) == (1, PLAN)
        assert take_turn_to(second, "DRAFTING", A2)
        assert (load_run(first).revision, first.read("plan.md")) == (1, PLAN)
        with first.hold_lock("", 0):
            assert (load_run(first).revision, first.read("plan.md")) == (2, PLANNED)


@pytest.mark.parametrize("path", ["plan.md", "task-results.md", "state.json"])
def test_bytes_saved_while_the_turn_is_done_are_kept_as_a_conflict_copy(path: str) -> None:
    workspace, _ = create_simulated_folder()
    workspace.before = act_at_change("mkdir tasks", lambda: workspace.put(path, b"a stranger's"))

    assert take_turn_to(open_folder_runs(workspace), "DRAFTING", A2)
    assert workspace.tree() == AFTER
    assert workspace.everything()[f".handrail/conflict-2-{path}"] == b"a stranger's"


@pytest.mark.parametrize("path", ["plan.md", "task.md", "task-results.md", "state.json"])
def test_what_a_person_saves_between_a_crash_and_the_recovery_is_never_lost(
    path: str, record_property: Record
) -> None:
    edit = STATE_BEFORE.replace(b"EXECUTED", b"EDITING") if path == "state.json" else b"a stranger's"
    codes, at, taken = set(), 0, False
    while not taken:
        at += 1
        workspace, _ = create_simulated_folder()
        workspace.before = StopAtChange(at)
        with suppress(PowerLoss):
            taken = take_turn_to(open_folder_runs(workspace), "DRAFTING", A2)
        after = workspace.copy()
        after.put(path, edit)
        runs = open_folder_runs(after)
        with runs.hold_lock("", 0):
            trouble = load_run(runs).trouble
        codes.add(trouble.code if trouble else "")
        replaced = FILES_BEFORE.get(path)
        assert {edit, TASK, RESULTS} - {replaced} <= set(after.everything().values())

    record_property("points", at - 1)
    assert at > 10
    assert codes <= {"", "diverged"}


def test_conflict_copies_of_one_name_do_not_overwrite_each_other() -> None:
    workspace, _ = create_simulated_folder()

    def edit() -> None:
        workspace.put("plan.md", b"a stranger's")
        workspace.put(".handrail/conflict-2-plan.md", b"an older one")

    workspace.before = act_at_change("mkdir tasks", edit)
    assert take_turn_to(open_folder_runs(workspace), "DRAFTING", A2)

    stored = {path: data for path, data in workspace.everything().items() if "conflict" in path}
    assert stored == {
        ".handrail/conflict-2-plan.md": b"an older one",
        ".handrail/conflict-2-plan.md-2": b"a stranger's",
    }


def test_a_crash_behind_a_conflict_copy_makes_no_second_copy() -> None:
    workspace, _ = create_simulated_folder()

    def edit(name: str) -> None:
        if name == "mkdir tasks":
            workspace.put("plan.md", b"a stranger's")
        if name == "rename .handrail/stage/2-0 plan.md":
            raise PowerLoss

    workspace.before = edit
    with pytest.raises(PowerLoss):
        take_turn_to(open_folder_runs(workspace), "DRAFTING", A2)
    after = workspace.copy()
    with open_folder_runs(after).hold_lock("", 0):
        pass

    assert [path for path in after.everything() if "conflict" in path] == [".handrail/conflict-2-plan.md"]
    assert after.tree() == AFTER


def test_a_folder_that_a_person_removed_meanwhile_is_made_again() -> None:
    workspace, _ = create_simulated_folder()
    workspace.put_odd("notes", -1)

    workspace.before = act_at_change("open .handrail/intent.json.tmp", lambda: workspace.remove("notes"))

    assert take_turn_to(open_folder_runs(workspace), "DRAFTING", (build_final("notes/a.md", None, b"a"),))
    assert workspace.tree()["notes/a.md"] == b"a"


def test_a_folder_that_a_person_removed_with_a_file_that_was_to_go_is_let_be() -> None:
    workspace, _ = create_simulated_folder()
    workspace.put_odd("notes", -1)
    workspace.put("notes/a.md", b"a")

    def vanish() -> None:
        workspace.remove("notes/a.md")
        workspace.remove("notes")

    workspace.before = act_at_change("open .handrail/intent.json.tmp", vanish)

    assert take_turn_to(open_folder_runs(workspace), "DRAFTING", (build_final("notes/a.md", b"a", None),))
    assert workspace.names("") == (".handrail", "plan.md", "state.json", "task-results.md", "task.md")


def test_a_deleted_state_file_is_told_and_the_run_may_begin_again() -> None:
    workspace, runs = create_simulated_folder()
    workspace.remove("state.json")

    stored = load_run(runs)

    assert get_trouble(runs).code == TroubleCode.ORPHANED
    assert (stored.revision, stored.run.open, stored.run.steps) == (1, (), 1)
    assert stored.run.lifecycle is Lifecycle.IDLE
    assert take_turn_to(runs, "EDITING")
    assert (load_run(runs).revision, load_run(runs).trouble) == (2, None)


def test_only_files_that_are_signs_of_a_run_make_a_folder_without_state_an_orphan() -> None:
    workspace = SimulatedWorkspace()
    workspace.put("plan.md", PLAN)

    assert load_run(open_folder_runs(workspace)).trouble is not None
    assert load_run(open_folder_runs(workspace, signs={"task.md"})).trouble is None
    workspace.put("task.md", PLANNED)
    assert load_run(open_folder_runs(workspace, signs={"task.md"})).trouble is not None


@pytest.mark.parametrize("path", ["state.json", ".handrail/head.json", ".handrail"])
def test_a_turn_cannot_write_the_files_of_the_store(path: str) -> None:
    _, runs = create_simulated_folder()

    with pytest.raises(UnsafePath, match="the store's own"):
        runs.commit(build_turn(load_run(runs), "EDITING", (build_final(path, None, b""),)))


def test_a_turn_cannot_write_one_file_twice() -> None:
    _, runs = create_simulated_folder()
    twice = (build_final("plan.md", PLAN, b"1"), build_final("plan.md", PLAN, b"2"))

    with pytest.raises(UnsafePath, match="written twice"):
        runs.commit(build_turn(load_run(runs), "EDITING", twice))
