"""Nothing is lost while casting: every row, killed and without power at every change, and in its recovery."""

from pathlib import Path
from typing import Any

import pytest

from handrail.stores.files.disk import DiskWorkspace
from helpers.crash import run_crash_program
from helpers.requirement import requirement
from helpers.simulated_disk import SimulatedWorkspace
from helpers.spell_casts import Cast, Past, list_acting_rows, list_casts
from helpers.spell_crash import Snapshots
from helpers.spell_cuts import CastCutter, Power

pytestmark = pytest.mark.unmeasured
FIRST = ["G1", "R1"]
KINDS = ["A1", "A2", "C1", "C3", "E1", "E2_planless", "P3", "expecto.block"]
"""A row of each kind: it moves, rewrites and makes as many files, and folders, as no other one."""


def _said(way: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the program says that cuts casts off in this way, when the counts are printed."""
    said = run_crash_program("helpers/spell_crash.py", way)
    counts = f"{len(said['points'])} casts, {sum(said['points'])} points, {said['again']} of recoveries"
    with capsys.disabled():
        print(f" [{counts}, {said['folders']} folders, {said['kills']} kills]", end="")  # noqa: T201 - the count
    assert min(said["points"]) > 20
    assert said["again"] > sum(said["points"])
    return said


@requirement("spells:persist.recover")
def test_kill_9_anywhere_leaves_a_cast_that_has_happened_or_not_and_just_what_was_seen_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Processes are killed for real, one row of each kind; a folder noted on the way is what that leaves."""
    said = _said("kill", capsys)

    assert said["rows"] == {"NOTHING": ["G1"], "BROUGHT": [], "UNDER_WAY": KINDS}
    assert said["kills"] > sum(said["points"])
    assert said["wrong"] == []


@requirement("spells:persist.recover")
@pytest.mark.parametrize("way", ["disk", "power"])
def test_a_cast_of_any_row_cut_off_anywhere_has_happened_or_not_and_its_token_gets_the_one_reply(
    way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`disk`: no further call is made, as by kill -9. `power`: and what was not confirmed is gone."""
    said = _said(way, capsys)

    assert [row for row in list_acting_rows() if row not in said["rows"]["UNDER_WAY"]] == []
    assert len(list_acting_rows()) == 95
    assert (said["rows"]["NOTHING"], said["rows"]["BROUGHT"]) == (FIRST, KINDS)
    assert said["wrong"] == []


def _cast(row: str) -> Cast:
    return next(cast for cast in list_casts(Past.UNDER_WAY) if cast.row == row)


@pytest.mark.parametrize("careless", ["file", "folder"])
def test_a_workspace_that_confirms_nothing_is_caught(careless: str) -> None:
    bench = CastCutter(Power(careless), _cast("E3"))

    bench.cut_everywhere()

    assert bench.wrong != []


class Piecemeal(DiskWorkspace):
    """Writes a file in its place, where the real one renames it."""

    def rename(self, old: str, new: str) -> None:
        self.write(new, self.read(old) or b"")
        self.unlink(old)


def test_a_disk_that_puts_files_in_their_place_piece_by_piece_is_caught(tmp_path: Path) -> None:
    bench = CastCutter(Snapshots(tmp_path / "project", Piecemeal), _cast("E3"))

    bench.cut_everywhere()

    assert bench.wrong != []


def test_a_folder_between_the_two_is_neither_and_a_missing_file_is_lost() -> None:
    cast = _cast("A2")
    workspace = SimulatedWorkspace()
    cast.lay_out(workspace)
    before = workspace.everything()
    mixed = {path: data for path, data in before.items() if path != "task.md"}

    assert cast.judged(workspace, before) == "before"
    assert cast.judged(workspace, {**before, **cast.after}).startswith("a third state")
    assert cast.judged(workspace, mixed).startswith("a third state")
    assert (cast.lost(before), cast.lost(mixed)) == ([], ["task.md"])
