"""Full disks, held locks, and two who take the same turn at once."""

from pathlib import Path

import pytest

from handrail.documents.state_file import StateFile
from handrail.runtime.errors import Busy, DiskFull, Missing
from handrail.runtime.records import StoredRun
from handrail.stores.files.disk import DiskWorkspace
from handrail.stores.files.file_runs import FileRuns
from helpers.crash import Record
from helpers.run_folders import (
    A2,
    IDLE,
    ORIGIN,
    RUN,
    STATES,
    begin_folder,
    build_turn,
    check_chain,
    create_simulated_folder,
    judge_folder,
    load_run,
    open_folder_runs,
    take_turn_to,
)
from helpers.simulated_disk import SimulatedWorkspace

JOURNAL = ".handrail/history.jsonl"


class Full:
    """No room from the k-th write on, until the disk is freed."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def __call__(self, name: str) -> None:
        if name.startswith(("write ", "open ", "mkdir ")):
            self.count += 1
            if self.at and self.count >= self.at:
                raise DiskFull(f"there is no room for {name}", "free some room")


def _writes() -> int:
    workspace, _ = create_simulated_folder()
    workspace.before = full = Full(0)
    assert take_turn_to(open_folder_runs(workspace), "DRAFTING", A2)
    return full.count


def test_a_disk_simulated_as_full_from_any_write_on_loses_nothing_and_works_once_freed(
    record_property: Record,
) -> None:
    found = []
    for at in range(1, _writes() + 1):
        workspace = SimulatedWorkspace()
        runs = begin_folder(workspace)
        workspace.before = Full(at)
        with pytest.raises(DiskFull) as raised:
            take_turn_to(runs, "DRAFTING", A2)
        assert "free some room" in raised.value.repair
        saved = "the turn is saved" in raised.value.message
        assert load_run(runs).revision == (2 if saved else 1)

        workspace.before = Full(0)
        with runs.hold_lock("", 0):
            found.append(judge_folder(runs, workspace.tree(), workspace.everything()[JOURNAL]))
        assert found[-1] == ("after" if saved else "before")
        assert saved or take_turn_to(runs, "DRAFTING", A2)
        assert judge_folder(runs, workspace.tree(), workspace.everything()[JOURNAL]) == "after"

    record_property("points", len(found))
    assert set(found) == {"before", "after"}


def test_who_cannot_have_the_lock_in_time_is_told_to_try_again(tmp_path: Path) -> None:
    first, second = (
        open_folder_runs(DiskWorkspace(tmp_path)),
        open_folder_runs(DiskWorkspace(tmp_path), seconds=0.01),
    )

    with (
        first.hold_lock("", 0),
        pytest.raises(Busy, match="held by somebody else") as raised,
        second.hold_lock("", 0),
    ):
        pass

    assert "send the same call again" in raised.value.repair
    with second.hold_lock("", 0):
        pass


def test_whoever_holds_the_folder_can_note_and_renew_meanwhile(tmp_path: Path) -> None:
    runs = open_folder_runs(DiskWorkspace(tmp_path), seconds=0.01)
    with runs.hold_lock("", 0):
        turn = build_turn(load_run(runs), "EDITING")
        runs.note("", turn.at, turn.entries)
        assert runs.commit(turn)
        assert runs.renew_tokens(load_run(runs), {}, turn.at, turn.entries)

    assert [written.revision for written in runs.entries(RUN)] == [0, 1, 0]


class Unchecked(FileRuns):
    """A store that has forgotten to look at the revision."""

    def _is_unchanged(self, stored: StoredRun, before: StoredRun) -> bool:
        return bool(stored) and bool(before)


class Second:
    """Another process, which takes the same turn before the k-th change of the first."""

    def __init__(self, workspace: SimulatedWorkspace, at: int) -> None:
        self.runs = open_folder_runs(workspace)
        self.at, self.count, self.accepted, self.busy = at, 0, 0, 0

    def __call__(self, _: str) -> None:
        self.count += 1
        if self.count == self.at:
            try:
                self.accepted += self.runs.commit(build_turn(load_run(self.runs), "DRAFTING"))
            except Busy:
                self.busy += 1


def _two_at_once(careless: str) -> tuple[list[str], int]:
    """What is wrong if another takes the same turn before each change of it; how often it had to wait."""
    wrong: list[str] = []
    busy, at = 0, 1
    while (second := _interrupted(careless, at, wrong)).count >= at:
        busy += second.busy
        at += 1
    return wrong, busy


def _interrupted(careless: str, at: int, wrong: list[str]) -> Second:
    workspace, _ = create_simulated_folder()
    workspace.careless = careless
    runs = open_folder_runs(workspace)
    stored = load_run(runs)
    workspace.before = second = Second(workspace, at)
    try:
        accepted = runs.commit(build_turn(stored, "DRAFTING")) + second.accepted
        workspace.before = lambda _: None
        with runs.hold_lock("", 0):
            turns = check_chain(workspace.everything()[JOURNAL])
    except (AssertionError, Missing) as torn:
        wrong.append(f"interrupted before change {at}: {torn}")
        return second
    if turns != [1, 2] or accepted != 1:
        wrong.append(f"interrupted before change {at}: {accepted} accepted, turns {turns}")
    return second


def test_of_two_who_take_the_same_turn_at_once_one_is_told_to_wait() -> None:
    wrong, busy = _two_at_once("")

    assert wrong == []
    assert busy > 10


def test_a_workspace_that_does_not_lock_is_caught() -> None:
    wrong, busy = _two_at_once("lock")

    assert wrong != []
    assert busy == 0


@pytest.mark.parametrize(
    ("kind", "accepted", "turns"), [(FileRuns, [True, False], [1, 2]), (Unchecked, [True, True], [1, 2, 2])]
)
def test_of_two_turns_from_one_revision_only_the_first_is_saved_or_it_is_caught(
    kind: type[FileRuns], accepted: list[bool], turns: list[int]
) -> None:
    workspace, _ = create_simulated_folder()
    runs = kind(workspace, StateFile(), IDLE, ORIGIN, STATES)
    stored = load_run(runs)

    assert [runs.commit(build_turn(stored, state)) for state in ("DRAFTING", "EDITING")] == accepted
    assert check_chain(workspace.everything()[JOURNAL]) == turns
