"""A cast that is cut off before each of its changes, and each recovery of what that leaves.

Where it is cut off is a `Ground`: what it gives back is what may be left there. Of folders that are alike one
is recovered.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from handrail.runtime.ports.turn import Workspace
from helpers.simulated_disk import FOLDER, SimulatedWorkspace
from helpers.spell_casts import LATER, Cast, find_leftovers, open_spell_runs

Folders: TypeAlias = dict[str, bytes | None]
"""What is in a folder, by path in ascending order; None is a folder."""

Work: TypeAlias = Callable[[Workspace], bool]


@dataclass(frozen=True, slots=True)
class Cuts:
    """What may be left of a work that is cut off: before each of its changes, and when it is done."""

    before: list[list[Folders]]
    after: list[Folders]


class Ground(ABC):
    """Where a cast is cut off. It holds one workspace at a time."""

    @abstractmethod
    def laid(self, left: Folders) -> Workspace:
        """The workspace with this in it, and nothing else."""

    @abstractmethod
    def there(self) -> Folders:
        """What is in it now."""

    @abstractmethod
    def files(self, left: Folders) -> dict[str, bytes]:
        """The files of the task, by their paths in its folder."""

    @abstractmethod
    def cut(self, left: Folders, work: Work) -> Cuts:
        """The work done with this, and what is left wherever it is cut off."""


class Power(Ground):
    """A workspace whose power goes: what was not confirmed is gone, in any combination.

    A `careless` one confirms nothing of its files, or of its folders.
    """

    def __init__(self, careless: str = "") -> None:
        self._careless, self._now = careless, SimulatedWorkspace()

    def laid(self, left: Folders) -> SimulatedWorkspace:
        self._now = SimulatedWorkspace()
        for path, data in left.items():
            if data is None:
                self._now.put_odd(path, FOLDER)
            else:
                self._now.put(path, data)
        return self._now

    def there(self) -> Folders:
        """What is in it, as long as the power is on."""
        return _folders(self._now)

    def files(self, left: Folders) -> dict[str, bytes]:
        return {path: data for path, data in left.items() if data is not None}

    def cut(self, left: Folders, work: Work) -> Cuts:
        """The work done once; before each change, what would be there if the power went now."""
        workspace, before = self.laid(left), list[list[Folders]]()
        workspace.careless = self._careless
        workspace.before = lambda _: before.append(_images(workspace))
        work(workspace)
        return Cuts(before, _images(workspace))


def _images(workspace: SimulatedWorkspace) -> list[Folders]:
    return [_folders(image) for image in workspace.images()]


def _folders(workspace: SimulatedWorkspace) -> Folders:
    named = sorted(workspace.names_now.items())
    return {path: workspace.bytes_now[number] if number > 0 else None for path, number in named}


def recover_workspace(workspace: Workspace) -> bool:
    with open_spell_runs(workspace).hold_lock("", 0):
        return True


@dataclass(frozen=True, slots=True)
class CutResult:
    """What a cut leaves, when it was made, and whether the cast had been answered."""

    when: str
    folders: Folders
    acknowledged: bool = False


@dataclass(slots=True)
class CastCutter:
    """One cast on a ground. `points` are its changes, `again` those of the recoveries, `wrong` what is."""

    ground: Ground
    cast: Cast
    points: int = 0
    again: int = 0
    wrong: list[str] = field(default_factory=list)
    _token: str = ""
    _reply: Mapping[str, Any] = field(default_factory=dict)
    _known: set[tuple[object, ...]] = field(default_factory=set)
    _settled: set[tuple[object, ...]] = field(default_factory=set)

    @property
    def folders(self) -> int:
        """How many different folders were recovered."""
        return len(self._known)

    def cut_everywhere(self) -> None:
        """Cut the cast off everywhere, then the recovery of whatever that leaves, and recover once more."""
        self._token = self.cast.lay_out(self.ground.laid({}))
        cuts = self.ground.cut(self.ground.there(), self._take)
        self.points = len(cuts.before)
        once = [CutResult(f"change {at}", left) for at, every in enumerate(cuts.before, 1) for left in every]
        once += [CutResult("nothing", left, acknowledged=True) for left in cuts.after]
        twice = [again for left in self._new(once) for again in self._recovered(left)]
        for left in self._new(twice):
            recover_workspace(self.ground.laid(left.folders))
            self._look(left)

    def _new(self, every: Iterable[CutResult]) -> Iterator[CutResult]:
        """Those of folders that were not recovered before."""
        for left in every:
            if (key := (*left.folders.items(), left.acknowledged)) not in self._known:
                self._known.add(key)
                yield left

    def _take(self, workspace: Workspace) -> bool:
        self._reply = self.cast.take(workspace, self._token)
        return bool(self._reply["accepted"])

    def _recovered(self, left: CutResult) -> Iterator[CutResult]:
        """What is left of the recovery of a folder if it is cut off; it is done, too."""
        cuts = self.ground.cut(left.folders, recover_workspace)
        self.again += len(cuts.before)
        self._look(left)
        for at, every in enumerate([*cuts.before, cuts.after], 1):
            for seen in every:
                yield CutResult(f"{left.when}, then {at} of the recovery", seen, left.acknowledged)

    def _look(self, left: CutResult) -> None:
        """Look at what a recovery has made of a folder."""
        lost = [f"{path} is lost" for path in self.cast.lost(self.ground.files(left.folders))]
        found = [*lost, *self._amiss(acknowledged=left.acknowledged)]
        self.wrong += [f"{self.cast.row}, cut off before {left.when}: {what}" for what in found]

    def _amiss(self, *, acknowledged: bool) -> list[str]:
        """What is wrong now that the folder is recovered, and the same call is made again, and again.

        Of folders that are alike now, one is looked at.
        """
        there = self.ground.there()
        if (key := (*there.items(), acknowledged)) in self._settled:
            return []
        self._settled.add(key)
        workspace = self.ground.laid(there)
        found = self._judged(workspace)
        if found != "after" and (acknowledged or found != "before"):
            return [f"acknowledged {acknowledged}: {found}"]
        reply, repeated = (self.cast.take(workspace, self._token, ids) for ids in (LATER, 2 * LATER))
        answer = reply == self._reply if found == "after" else reply["accepted"] and reply != self._reply
        now = self._judged(workspace)
        return [
            *([] if answer else [f"{found}, the same call was answered {reply}"]),
            *([] if repeated == reply else [f"{found}, then answered otherwise: {repeated}"]),
            *([] if now == "after" else [f"{found}, then {now}"]),
        ]

    def _judged(self, workspace: Workspace) -> str:
        there = self.ground.files(self.ground.there())
        lying = list(find_leftovers(there))
        return f"unfinished: {lying}" if lying else self.cast.judged(workspace, there)
