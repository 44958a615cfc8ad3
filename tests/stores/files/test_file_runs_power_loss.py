"""The power goes at any moment, and what was not confirmed is gone in any combination."""

from contextlib import suppress
from functools import cache
from typing import Final

import pytest

from helpers.crash import Record
from helpers.run_folders import (
    A2,
    AFTER,
    BEFORE,
    STATE_BEFORE,
    create_simulated_folder,
    judge_folder,
    load_run,
    open_folder_runs,
    take_turn_to,
)
from helpers.simulated_disk import PowerLoss, SimulatedWorkspace

pytestmark = pytest.mark.unmeasured
JOURNAL = ".handrail/history.jsonl"


class Switch:
    """Turns the power off before the k-th change."""

    def __init__(self, at: int = 0) -> None:
        self.at, self.count = at, 0

    def __call__(self, name: str) -> None:
        self.count += 1
        if self.count == self.at:
            raise PowerLoss(name)


@cache
def _effects() -> int:
    workspace = begun("")
    workspace.before = switch = Switch()
    assert take_turn_to(open_folder_runs(workspace), "DRAFTING", A2)
    assert workspace.tree() == AFTER
    return switch.count


def begun(careless: str) -> SimulatedWorkspace:
    workspace, _ = create_simulated_folder()
    workspace = workspace.copy()
    workspace.careless = careless
    assert workspace.tree() == BEFORE
    return workspace


def _cut(careless: str, at: int) -> tuple[SimulatedWorkspace, bool]:
    """The workspace when the power went before the k-th change, and whether the turn was acknowledged."""
    workspace = begun(careless)
    workspace.before = Switch(at)
    try:
        acknowledged = take_turn_to(open_folder_runs(workspace), "DRAFTING", A2)
    except PowerLoss:
        return workspace, False
    return workspace, acknowledged


_KNOWN: Final[dict[frozenset[tuple[str, int | bytes]], str]] = {}


def _recovered(image: SimulatedWorkspace) -> str:
    """How an image is after its recovery; most are the same as an earlier one."""
    there = frozenset((path, image.bytes_now.get(n, n)) for path, n in image.names_now.items())
    if there not in _KNOWN:
        _KNOWN[there] = _recover(image)
    return _KNOWN[there]


def _recover(image: SimulatedWorkspace) -> str:
    runs = open_folder_runs(image)
    on_paper = runs.load("")
    with runs.hold_lock("", 0):
        found = judge_folder(runs, image.tree(), image.everything().get(JOURNAL, b""))
    return found if runs.load("") == on_paper else f"reading said {on_paper}, recovery did otherwise"


def _wrong(careless: str) -> tuple[list[str], int]:
    """What is wrong in the images of a workspace, and how many there are."""
    wrong, images = [], 0
    for at in range(1, _effects() + 2):
        workspace, acknowledged = _cut(careless, at)
        for image in workspace.images():
            images += 1
            found = _recovered(image)
            if found not in ({"after"} if acknowledged else {"before", "after"}):
                wrong.append(f"power lost before change {at}, acknowledged {acknowledged}: {found}")
    return wrong, images


def test_after_a_power_loss_the_turn_has_happened_or_not_and_if_acknowledged_it_has(
    record_property: Record,
) -> None:
    wrong, images = _wrong("")

    record_property("points", images)
    assert images > 100
    assert wrong == []


def test_a_second_power_loss_during_the_recovery_changes_nothing_of_that(
    record_property: Record,
) -> None:
    wrong, images = [], 0
    for at in range(1, _effects() + 1):
        left = _cut("", at)[0].copy()
        counted = left.copy()
        counted.before = switch = Switch()
        expected = _recover(counted)
        for again in range(1, switch.count + 1):
            workspace = left.copy()
            workspace.before = Switch(again)
            with pytest.raises(PowerLoss):
                _recover(workspace)
            for image in workspace.images():
                images += 1
                wrong += [f"change {at}, then {again}"] if _recovered(image) != expected else []

    record_property("points", images)
    assert images > 100
    assert wrong == []


def test_the_first_turn_of_a_folder_survives_a_power_loss_whole_or_not_at_all(
    record_property: Record,
) -> None:
    wrong, images, at, acknowledged = [], 0, 0, False
    while not acknowledged:
        at += 1
        workspace = SimulatedWorkspace(Switch(at))
        try:
            acknowledged = take_turn_to(open_folder_runs(workspace), "EXECUTED")
        except PowerLoss:
            acknowledged = False
        for image in workspace.images():
            images += 1
            runs = open_folder_runs(image)
            with runs.hold_lock("", 0):
                found = (load_run(runs).revision, load_run(runs).trouble, image.tree().get("state.json"))
            if found not in [(1, None, STATE_BEFORE)] + [(0, None, None)] * (not acknowledged):
                wrong.append(f"power lost before change {at}: {found}")

    record_property("points", images)
    assert images > 50
    assert wrong == []


@pytest.mark.parametrize("careless", ["file", "folder"])
def test_a_workspace_that_confirms_nothing_is_caught(careless: str) -> None:
    wrong, images = _wrong(careless)

    assert images > 100
    assert wrong != []


class Forgetful(SimulatedWorkspace):
    """Leaves out one confirmation, of a file or of the names in a folder, of all that a turn asks for."""

    forgets = 0
    asked = 0

    def remembers(self) -> bool:
        self.asked += 1
        return self.asked != self.forgets

    def _confirm(self, folder: str) -> None:
        if self.remembers():
            super()._confirm(folder)

    def _pour(self, path: str, number: int, data: bytes) -> None:
        self.careless = "" if self.remembers() else "file"
        super()._pour(path, number, data)


def _forgotten(number: int) -> tuple[bool, int]:
    """Whether it is caught that a turn leaves out one confirmation, and how many it asks for."""
    for at in range(1, _effects() + 2):
        workspace = Forgetful(Switch(at))
        given = begun("")
        workspace.names_now, workspace.names_sure = given.names_now, given.names_sure
        workspace.bytes_now, workspace.bytes_sure = given.bytes_now, given.bytes_sure
        workspace.forgets = number
        acknowledged = False
        with suppress(PowerLoss):
            acknowledged = take_turn_to(open_folder_runs(workspace), "DRAFTING", A2)
        good = {"after"} if acknowledged else {"before", "after"}
        if any(_recovered(image) not in good for image in workspace.images()):
            return True, workspace.asked
    return False, workspace.asked


def test_no_confirmation_but_two_can_be_left_out_without_being_caught(
    record_property: Record,
) -> None:
    asked = _forgotten(0)[1]
    uncaught = [number for number in range(1, asked + 1) if not _forgotten(number)[0]]

    record_property("points", asked)
    assert asked == 17
    # the names beside the state file are confirmed again with it, and an intent that comes back is finished
    assert uncaught == [10, 17]
