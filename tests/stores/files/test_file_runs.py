"""The store of files as `Runs`, beyond what every store promises: what lies in the folder."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from handrail.engine.model import Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.errors import Busy, Unreadable
from handrail.stores.files.disk import DiskWorkspace
from helpers.requirement import requirement
from helpers.run_folders import (
    A2,
    AFTER,
    AT,
    RUN,
    STATE_BEFORE,
    begin_folder,
    build_final,
    build_turn,
    check_chain,
    create_simulated_folder,
    load_run,
    open_folder_runs,
    take_turn_to,
)
from helpers.simulated_disk import SimulatedWorkspace

HISTORY = ".handrail/history.jsonl"
REFUSAL = Entry(EntryKind.ERROR_OCCURRED, step="EDITING", data={"error_type": RefusalCode.REFUSED})


@requirement("spells:persist.shape")
def test_a_turn_is_told_in_the_state_file_with_its_note(tmp_path: Path) -> None:
    runs = open_folder_runs(DiskWorkspace(tmp_path, ".ai/task"))

    assert take_turn_to(runs, "EXECUTED", note="a note")

    assert (tmp_path / ".ai/task/state.json").read_bytes() == STATE_BEFORE.replace(
        b'"trigger": "Go"', b'"trigger": "Go",\n      "note": "a note"'
    )


def test_the_same_is_done_on_the_real_disk(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path, ".ai/task")
    runs = begin_folder(disk)
    (tmp_path / ".ai/task/plan.md").chmod(0o644)

    assert take_turn_to(runs, "DRAFTING", A2)

    task = tmp_path / ".ai/task"
    assert {path: (task / path).read_bytes() for path in AFTER} == AFTER
    assert not (task / "task-results.md").exists()
    assert (task / "plan.md").stat().st_mode & 0o777 == 0o644
    assert (task / ".handrail").stat().st_mode & 0o777 == 0o700
    assert (task / ".handrail/.gitignore").read_text() == "*\n"
    assert sorted(path.name for path in (task / ".handrail").iterdir()) == [
        ".gitignore",
        "head.json",
        "history.jsonl",
        "lock",
        "stage",
    ]
    assert list((task / ".handrail/stage").iterdir()) == []


def test_a_run_that_is_over_keeps_the_state_it_ended_in() -> None:
    workspace, runs = create_simulated_folder()
    turn = build_turn(load_run(runs), "OVER")
    over = replace(turn.run, lifecycle=Lifecycle.COMPLETED, open=())

    assert runs.commit(replace(turn, run=over))
    assert b'"current_state": "OVER"' in workspace.tree()["state.json"]
    assert load_run(runs).run == over
    later = replace(build_turn(load_run(runs), "OVER"), run=over, passages=())
    assert runs.commit(later)
    assert b'"current_state": "OVER"' in workspace.tree()["state.json"]


def test_a_turn_that_says_nothing_of_where_it_leads_is_a_mistake_of_ours() -> None:
    workspace = SimulatedWorkspace()
    runs = open_folder_runs(workspace)
    turn = build_turn(load_run(runs), "EDITING")

    with pytest.raises(ValueError, match="opens no step"):
        runs.commit(replace(turn, run=replace(turn.run, open=()), passages=()))


def test_a_turn_that_would_make_the_state_file_unreadable_is_not_saved() -> None:
    workspace, runs = create_simulated_folder()
    deep: object = "at the bottom"
    for _ in range(31):
        deep = [deep]
    turn = build_turn(load_run(runs), "EDITING")

    with pytest.raises(Unreadable, match="nests deeper than 32 levels"):
        runs.commit(replace(turn, run=replace(turn.run, vars={"back": deep})))

    assert workspace.tree()["state.json"] == STATE_BEFORE


def test_what_is_noted_before_the_first_turn_stands_in_the_journal_before_it() -> None:
    runs = open_folder_runs(SimulatedWorkspace())
    runs.note("", AT, (REFUSAL, REFUSAL))
    assert take_turn_to(runs, "EDITING")

    found = [(w.number, w.run, w.revision, str(w.entry.kind)) for w in runs.entries(RUN)]

    assert found == [
        (1, RUN, 0, EntryKind.ERROR_OCCURRED),
        (2, RUN, 0, EntryKind.ERROR_OCCURRED),
        (3, RUN, 1, EntryKind.STEP_STARTED),
    ]


def test_a_note_about_another_run_is_in_the_history_all_the_same() -> None:
    workspace, runs = create_simulated_folder()
    before = runs.entries(RUN)

    runs.note("another", AT, (REFUSAL,))

    assert workspace.everything()[HISTORY].count(b"error_occurred") == 1
    assert runs.entries(RUN) == before
    assert take_turn_to(runs, "DRAFTING")
    assert check_chain(workspace.everything()[HISTORY]) == [1, 2]


def test_a_torn_line_is_passed_over_and_never_glued_to_the_next() -> None:
    workspace, runs = create_simulated_folder()
    runs.note(RUN, AT, (REFUSAL,))
    journal = workspace.everything()[HISTORY]
    workspace.put(HISTORY, journal[:-5])

    assert take_turn_to(runs, "DRAFTING")

    assert [(w.number, w.revision) for w in runs.entries(RUN)] == [(1, 1), (2, 2)]
    assert check_chain(workspace.everything()[HISTORY]) == [1, 2]


def test_a_note_touches_nothing_but_the_history() -> None:
    workspace, runs = create_simulated_folder()
    before = {path: data for path, data in workspace.everything().items() if path != HISTORY}

    runs.note(RUN, AT, (REFUSAL,))

    assert {path: data for path, data in workspace.everything().items() if path != HISTORY} == before
    assert load_run(runs).revision == 1


def test_looking_after_a_run_writes_nothing() -> None:
    workspace, runs = create_simulated_folder()
    everything = workspace.everything()

    runs.touch(RUN, AT)

    assert workspace.everything() == everything


def test_a_folder_that_moves_while_it_is_read_is_read_again() -> None:
    workspace, runs = create_simulated_folder()

    class Moving(SimulatedWorkspace):
        """Another turn is taken whenever the state file is read, up to a limit."""

        left = 0

        def read(self, path: str) -> bytes | None:
            if path == "state.json" and self.left:
                self.left -= 1
                assert take_turn_to(open_folder_runs(workspace), "EDITING")
            return workspace.read(path)

        def names(self, folder: str) -> tuple[str, ...]:
            return workspace.names(folder)

        def stamp(self, path: str) -> object:
            return workspace.stamp(path)

    moving = Moving()
    moving.left = 3
    assert load_run(open_folder_runs(moving)).revision == 4
    assert load_run(open_folder_runs(moving)).adopted == ""
    moving.left = 1_000_000
    with pytest.raises(Busy, match="moved all the time"):
        open_folder_runs(moving).load(RUN)
    assert load_run(runs).trouble is None


def test_an_empty_file_is_a_file() -> None:
    workspace, runs = create_simulated_folder()

    assert take_turn_to(runs, "EDITING", (build_final("a.md", None, b""),))
    assert workspace.tree()["a.md"] == b""
    assert take_turn_to(runs, "EDITING", (build_final("a.md", b"", None),))
    assert "a.md" not in workspace.tree()


def test_a_turn_that_changes_a_description_is_not_acknowledged() -> None:
    workspace, runs = create_simulated_folder()
    stored = load_run(runs)
    before = workspace.everything()

    with pytest.raises(ValueError, match="its store does not"):
        runs.commit(replace(build_turn(stored, "DRAFTING"), describes="a text"))

    assert (load_run(runs), workspace.everything()) == (stored, before)


def test_whoever_comes_while_another_makes_the_folder_waits_for_it(tmp_path: Path) -> None:
    other = open_folder_runs(DiskWorkspace(tmp_path, ".ai/task"), seconds=0)
    came: list[str] = []

    def meanwhile(name: str) -> None:
        if name == "open .handrail/.gitignore":
            came.append(name)
            with pytest.raises(Busy):
                take_turn_to(other, "EDITING")

    assert take_turn_to(open_folder_runs(DiskWorkspace(tmp_path, ".ai/task", meanwhile)), "EXECUTED")
    assert take_turn_to(other, "EDITING")
    assert len(came) == 1
    assert load_run(other).revision == 2
