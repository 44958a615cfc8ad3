"""A damaged state file: cut at each byte, each bit turned over, and worse. It is kept, told, never reset."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.engine.refusals import TroubleCode
from handrail.runtime.errors import Unreadable, UnsafePath
from handrail.stores.files.disk import DiskWorkspace
from handrail.stores.files.file_runs import FileRuns
from helpers.crash import Record
from helpers.run_folders import (
    BEFORE,
    STATE_AFTER,
    STATE_BEFORE,
    build_turn,
    get_trouble,
    load_run,
    open_folder_runs,
    take_turn_to,
)
from helpers.simulated_disk import FOLDER, LINK, SimulatedWorkspace

KEPT = ".handrail/quarantine/state.json"
STATE = b"""{
  "current_state": "EXECUTED",
  "context": {
    "back": "DRAFTING"
  },
  "history": [
    {
      "timestamp": "2026-03-01T12:30:00Z",
      "transition": "DRAFTING \xe2\x86\x92 EXECUTED",
      "trigger": "Go",
      "note": "written by hand"
    }
  ],
  "owner": "a person"
}
"""


def cut() -> Iterator[bytes]:
    yield from (STATE[:count] for count in range(len(STATE)))


def flipped() -> Iterator[bytes]:
    for place in range(len(STATE)):
        for bit in range(8):
            yield STATE[:place] + bytes([STATE[place] ^ (1 << bit)]) + STATE[place + 1 :]


@pytest.fixture(scope="module")
def under_way() -> SimulatedWorkspace:
    """A folder whose last turn was taken by us, on top of a state file with more in it."""
    workspace = SimulatedWorkspace()
    workspace.put("plan.md", b"a plan")
    assert take_turn_to(open_folder_runs(workspace), "EXECUTED")
    return workspace.copy()


def judged(under_way: SimulatedWorkspace, data: bytes) -> str:
    """What became of a state file with these bytes: taken as it stands, or set aside with a trouble."""
    workspace = under_way.copy()
    workspace.put("state.json", data)
    runs = open_folder_runs(workspace)
    with runs.hold_lock("", 0):
        stored = load_run(runs)
    tree, everything = workspace.tree(), workspace.everything()
    assert tree["plan.md"] == b"a plan"
    if stored.trouble is None:
        assert tree["state.json"] == data
        assert stored.adopted
        assert stored.run.open[0].state in {"EXECUTED", "DRAFTING", "EDITING"}
        return "taken"
    assert "state.json" not in tree
    assert everything[KEPT] == data
    assert stored.trouble.code in {TroubleCode.DAMAGED, TroubleCode.DIVERGED}
    assert "handrail repair --restore 1" in stored.trouble.repair
    assert stored.revision == 1
    assert saves_nothing(runs)
    return stored.trouble.code


def saves_nothing(runs: FileRuns) -> bool:
    stored = load_run(runs)
    with pytest.raises(Unreadable):
        runs.commit(build_turn(stored, "EDITING"))
    return load_run(runs) == stored


def test_a_state_file_cut_at_any_byte_is_kept_and_told(
    under_way: SimulatedWorkspace, record_property: Record
) -> None:
    found = [judged(under_way, data) for data in cut()]

    record_property("points", len(found))
    assert len(found) == len(STATE)
    assert found[:-1] == ["damaged"] * (len(STATE) - 1)
    assert found[-1] == "taken"  # only the last newline is gone


@pytest.mark.unmeasured
def test_a_state_file_with_any_bit_turned_over_is_taken_as_it_stands_or_kept_and_told(
    under_way: SimulatedWorkspace, record_property: Record
) -> None:
    found = [judged(under_way, data) for data in flipped()]

    record_property("points", len(found))
    assert len(found) == 8 * len(STATE)
    assert set(found) == {"taken", "damaged", "diverged"}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is not JSON"),
        (b"[]", "not an object"),
        (b"null", "not an object"),
        (b"{}", "`current_state` must be the name of a state"),
        (b"\0" * 100, "NUL"),
        (STATE.replace(b"a person", b"a\0person"), "NUL"),
        (STATE.decode().encode("utf-16"), "not UTF-8"),
        (STATE + b" " * 10_000_000, "larger than 1048576 bytes"),
        (STATE.replace(b'"a person"', b"[" * 100_000), "deeper than 32 levels"),
        (STATE.replace(b'"a person"', b"NaN"), "not finite"),
        (STATE.replace(b'"owner"', b'"context"'), "stands twice"),
    ],
)
def test_a_state_file_that_is_none_is_kept_and_told_with_its_flaw(
    under_way: SimulatedWorkspace, data: bytes, why: str
) -> None:
    assert judged(under_way, data) == "damaged"
    workspace = under_way.copy()
    workspace.put("state.json", data)
    trouble = get_trouble(open_folder_runs(workspace))
    assert why in trouble.message


def test_a_state_that_the_workflow_does_not_have_is_kept_and_a_byte_order_mark_ignored(
    under_way: SimulatedWorkspace,
) -> None:
    assert judged(under_way, STATE.replace(b'"EXECUTED"', b'"ELSEWHERE"')) == "diverged"
    assert judged(under_way, b"\xef\xbb\xbf" + STATE) == "taken"


@pytest.mark.parametrize("kind", [FOLDER, LINK])
def test_a_folder_or_a_link_in_place_of_the_state_file_is_left_alone_and_told(
    under_way: SimulatedWorkspace, kind: int
) -> None:
    workspace = under_way.copy()
    workspace.remove("state.json")
    workspace.put_odd("state.json", kind)
    everything = workspace.everything()
    runs = open_folder_runs(workspace)

    with runs.hold_lock("", 0):
        trouble = get_trouble(runs)

    assert (trouble.code, trouble.repair) == (TroubleCode.DAMAGED, "remove it")
    assert (workspace.names_now["state.json"], workspace.everything()) == (kind, everything)


def test_what_is_in_quarantine_is_never_overwritten(under_way: SimulatedWorkspace) -> None:
    workspace = under_way.copy()
    for number in range(3):
        workspace.put("state.json", f"damaged {number}".encode())
        with open_folder_runs(workspace).hold_lock("", 0):
            pass

    stored = {path: data for path, data in workspace.everything().items() if "quarantine" in path}
    assert stored == {KEPT: b"damaged 0", f"{KEPT}-2": b"damaged 1", f"{KEPT}-3": b"damaged 2"}


def test_a_damaged_state_file_is_not_forgotten_while_it_lies_in_quarantine(
    under_way: SimulatedWorkspace,
) -> None:
    workspace = under_way.copy()
    workspace.put("state.json", b"{")
    runs = open_folder_runs(workspace)
    with runs.hold_lock("", 0):
        first = load_run(runs).trouble
    with runs.hold_lock("", 0):
        assert load_run(runs).trouble == first

    workspace.put("state.json", STATE_BEFORE)

    with runs.hold_lock("", 0):
        assert load_run(runs).trouble is None
    assert ".handrail/trouble.json" not in workspace.everything()
    assert take_turn_to(runs, "DRAFTING")
    assert workspace.tree()["state.json"] == STATE_AFTER
    assert BEFORE["state.json"] == STATE_BEFORE


def test_without_a_history_only_a_state_can_be_adopted() -> None:
    workspace = SimulatedWorkspace()
    workspace.put("state.json", b"{")

    trouble = get_trouble(open_folder_runs(workspace))

    assert trouble.repair == "run `handrail repair --adopt STATE` with the state that the files are in"


@pytest.mark.parametrize("kind", ["folder", "link", "second name", "pipe"])
def test_on_the_real_disk_nothing_but_a_plain_file_is_read_or_replaced(tmp_path: Path, kind: str) -> None:
    project, victim = tmp_path / "project", tmp_path / "victim"
    project.mkdir()
    victim.write_bytes(STATE)
    runs = open_folder_runs(DiskWorkspace(project))
    assert take_turn_to(runs, "EXECUTED")
    place = project / "state.json"
    place.unlink()
    match kind:
        case "folder":
            place.mkdir()
        case "link":
            place.symlink_to(victim)
        case "second name":
            place.hardlink_to(victim)
        case _:
            os.mkfifo(place)
    before = place.lstat()

    with runs.hold_lock("", 0):
        trouble = get_trouble(runs)

    assert trouble.code == TroubleCode.DAMAGED
    assert "state.json" in trouble.message
    assert saves_nothing(runs)
    assert (place.lstat().st_ino, place.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert victim.read_bytes() == STATE


def test_a_link_in_place_of_our_own_folder_is_never_followed(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (project / ".handrail").symlink_to(elsewhere)
    runs = open_folder_runs(DiskWorkspace(project))

    with pytest.raises(UnsafePath), runs.hold_lock("", 0):
        pass

    assert list(elsewhere.iterdir()) == []
