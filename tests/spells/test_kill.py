"""Nothing is lost while casting: every row that changes files, killed and without power at every change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from killing import said_by
from requirement import requirement
from spells.casting import LATER, Cast, casts, kinds, runs_in, unfinished, with_effects
from stores.simulated import PowerLoss, Simulated, Stop


@requirement("spells:persist.recover")
def test_a_cast_killed_anywhere_has_happened_or_not_and_its_token_gets_the_one_reply(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = said_by("spells/killed.py")
    counts = f"{len(said['rows'])} rows, {sum(said['points'])} kill points, {said['again']} of recoveries"
    with capsys.disabled():
        print(f" [{counts}, {said['kills']} kills, {said['folders']} folders]", end="")  # noqa: T201 - the count
    assert said["rows"] == with_effects()
    assert min(said["points"]) > 20
    assert said["again"] > 1000
    assert said["wrong"] == []


# --- no power -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """A workspace with all that a cast finds, its token, the reply that it gets, and what was judged."""

    cast: Cast
    workspace: Simulated
    token: str
    reply: Mapping[str, Any]
    judged: set[tuple[object, ...]] = field(default_factory=set)

    def cut(self, at: int, careless: str = "") -> tuple[Simulated, bool]:
        """The workspace when the power went before the k-th change, and whether the cast was answered."""
        workspace = self.workspace.copy()
        workspace.before, workspace.careless = Stop(at), careless
        try:
            return workspace, bool(self.cast.take(workspace, self.token))
        except PowerLoss:
            return workspace, False


def _started(cast: Cast) -> Start:
    workspace = Simulated()
    token = cast.lay_out(workspace)
    return Start(cast, workspace, token, cast.take(workspace.copy(), token))


def _alike(image: Simulated) -> tuple[object, ...]:
    """The same for workspaces that are."""
    return (*sorted(image.everything().items()), *sorted(image.names_now))


def _judged(cast: Cast, image: Simulated) -> str:
    with runs_in(image).held("", 0):
        lying = list(unfinished(image.everything()))
        return f"unfinished: {lying}" if lying else cast.judged(image, image.everything())


def _wrong(start: Start, image: Simulated, *, acknowledged: bool) -> list[str]:
    """What is wrong once the power is back, and the same call is made again, and again.

    Of workspaces that are alike once they are recovered, one is looked at.
    """
    cast = start.cast
    lost = [f"{path} is lost" for path in cast.lost(image.everything())]
    with runs_in(image).held("", 0):
        key = (_alike(image), acknowledged)
    if key in start.judged:
        return lost
    start.judged.add(key)
    found = _judged(cast, image)
    if found != "after" and (acknowledged or found != "before"):
        return [*lost, f"acknowledged {acknowledged}: {found}"]
    told, again = (cast.take(image, start.token, ids) for ids in (LATER, 2 * LATER))
    right = told == start.reply if found == "after" else told["accepted"] and told != start.reply
    return [
        *lost,
        *([] if right else [f"{found}, the same call was answered {told}"]),
        *([] if told == again else [f"{found}, then answered otherwise: {again}"]),
        *([] if (now := _judged(cast, image)) == "after" else [f"{found}, then {now}"]),
    ]


def _without_power(cast: Cast, careless: str = "") -> tuple[list[str], int, int]:
    """What is wrong in the images of a cast; how many changes it has, and how many images there are."""
    start = _started(cast)
    wrong, at, acknowledged = [], 0, False
    seen = set[tuple[object, ...]]()
    while not acknowledged:
        at += 1
        workspace, acknowledged = start.cut(at, careless)
        for image in workspace.images():
            if (key := (_alike(image), acknowledged)) not in seen:
                seen.add(key)
                found = _wrong(start, image, acknowledged=acknowledged)
                wrong += [f"{cast.row}, power lost before change {at}: {what}" for what in found]
    return wrong, at - 1, len(seen)


def _counted(those: list[Cast], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What is wrong with any of these, when the counts are printed."""
    wrong, changes, images = zip(*[_without_power(cast) for cast in those], strict=True)
    counts = f"{len(those)} rows, {sum(changes)} changes, {sum(images)} images"
    with capsys.disabled():
        print(f" [{counts}]", end="")  # noqa: T201 - the count
    assert min(images) > 20
    return [what for found in wrong for what in found]


@requirement("spells:persist.recover")
def test_a_cast_without_power_has_happened_or_not_and_if_answered_it_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    those = casts(under_way=True)

    assert [cast.row for cast in those] == with_effects()
    assert _counted(those, capsys) == []


def test_a_first_cast_without_power_has_happened_or_not_whatever_kind_of_effects_it_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    those = kinds(casts(under_way=False))

    assert [cast.row for cast in those] == ["A2", "C1", "C3", "E1", "E2_planless", "P3", "expecto.block"]
    assert _counted(those, capsys) == []


@pytest.mark.parametrize("careless", ["file", "folder"])
def test_a_workspace_that_confirms_nothing_is_caught(careless: str) -> None:
    cast = next(cast for cast in casts(under_way=True) if cast.row == "E3")

    assert _without_power(cast, careless)[0] != []


def test_a_folder_between_the_two_is_neither_and_a_missing_file_is_lost() -> None:
    cast = casts(under_way=True)[0]
    workspace = Simulated()
    cast.lay_out(workspace)
    before = workspace.everything()
    mixed = {path: data for path, data in before.items() if path != "task.md"}

    assert cast.judged(workspace, before) == "before"
    assert cast.judged(workspace, {**before, **cast.after}).startswith("a third state")
    assert cast.judged(workspace, mixed).startswith("a third state")
    assert (cast.lost(before), cast.lost(mixed)) == ([], ["task.md"])
