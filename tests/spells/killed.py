"""A program that casts in child processes and kills each before another of its changes, then its recovery.

Started with a folder to work in; it forks and has one thread only. It prints how many casts there were, their
changes, the kills (of a cast, and of a recovery), the different folders that these left, and what was wrong.
"""

import gc
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from handrail.shell.workspace import Disk
from spells.casting import LATER, Cast, casts, kinds, runs_in, unfinished
from stores.killed import FOLDER, killed

SOME: Final = 20
"""The recovery that is killed once is killed before one of so many changes, each time before another."""

Folders: TypeAlias = dict[str, bytes | None]
"""What is in a folder, by path; None is a folder."""


def read(root: Path) -> Folders:
    """All that is in the folder of a task."""
    return dict(_read(str(root / FOLDER), ""))


def _read(folder: str, above: str) -> Iterator[tuple[str, bytes | None]]:
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.is_dir():
            yield f"{above}{entry.name}", None
            yield from _read(entry.path, f"{above}{entry.name}/")
        else:
            yield f"{above}{entry.name}", Path(entry.path).read_bytes()


def put(root: Path, tree: Folders) -> None:
    """The same, in a folder that is new."""
    shutil.rmtree(root, ignore_errors=True)
    (root / FOLDER).mkdir(parents=True)
    for path, data in tree.items():
        place = root / FOLDER / path
        place.mkdir() if data is None else place.write_bytes(data)


def files(tree: Folders) -> dict[str, bytes]:
    """Its files."""
    return {path: data for path, data in tree.items() if data is not None}


def recover(disk: Disk) -> bool:
    """Recover, as every turn begins."""
    with runs_in(disk).held("", 0):
        return True


@dataclass(slots=True)
class Bench:
    """Where one cast is killed; `wrong` is what was found.

    A `thorough` one kills the cast before each of its changes, and each recovery too. Another one leaves out
    kills of the cast that would leave a folder like a known one, as those before an fsync do, and kills each
    recovery once.
    """

    root: Path
    cast: Cast
    thorough: bool
    token: str = ""
    reply: Mapping[str, Any] = field(default_factory=dict)
    judged: set[tuple[object, ...]] = field(default_factory=set)
    points: int = 0
    again: int = 0
    kills: int = 0
    looked: int = 0
    wrong: list[str] = field(default_factory=list)

    def kill_everywhere(self) -> None:
        """Kill the cast before its changes, and after the last."""
        self.root.mkdir()
        self.token = self.cast.lay_out(Disk(self.root, FOLDER))
        start = read(self.root)
        passed = self._passed(start, self._heard)
        self.points = len(passed)
        for at, seen in enumerate(passed, start=1):
            if not self._known(seen) or self.thorough:
                self._kill(start, self._take, at, seen)
                self._look(f"change {at}", seen)
                self._kill_recovery(f"change {at}", seen, self.kills)
        put(self.root, start)
        assert killed(self.root, self._take, self.points + 1)
        self._look("nothing", read(self.root), acknowledged=True)

    def _take(self, disk: Disk) -> bool:
        return bool(self.cast.take(disk, self.token)["accepted"])

    def _heard(self, disk: Disk) -> bool:
        self.reply = self.cast.take(disk, self.token)
        return True

    def _passed(self, left: Folders, work: Callable[[Disk], bool]) -> list[Folders]:
        """How the folder is before each change of this work, if nobody kills it."""
        put(self.root, left)
        passed: list[Folders] = []
        work(Disk(self.root, FOLDER, lambda _: passed.append(read(self.root))))
        return passed

    def _kill(self, left: Folders, work: Callable[[Disk], bool], at: int, seen: Folders) -> None:
        """Kill the work before a change; it leaves what is seen there."""
        put(self.root, left)
        assert not killed(self.root, work, at)
        self.kills += 1
        assert read(self.root) == seen

    def _kill_recovery(self, when: str, left: Folders, nth: int) -> None:
        """Kill the recovery of a folder, but where that would leave a folder like a known one."""
        if (known := (*left.items(), "recovered")) in self.judged:
            return
        self.judged.add(known)
        passed = self._passed(left, recover) if self.thorough else []
        self.again += len(passed)
        for at, seen in enumerate(passed, start=1):
            if not self._known(seen):
                self._kill(left, recover, at, seen)
                self._look(f"{when}, then {at} of the recovery", seen)
        if not self.thorough:
            self._kill_recovery_once(when, left, nth % SOME + 1)

    def _kill_recovery_once(self, when: str, left: Folders, at: int) -> None:
        """Kill the recovery of a folder before one change, if it has so many."""
        put(self.root, left)
        if not killed(self.root, recover, at):
            self.again += 1
            self.kills += 1
            self._look(f"{when}, then {at} of the recovery", read(self.root))

    def _known(self, tree: Folders) -> bool:
        return (*tree.items(), False) in self.judged

    def _look(self, when: str, left: Folders, *, acknowledged: bool = False) -> None:
        """Look at a folder that a kill left, unless one like it was looked at."""
        if (key := (*left.items(), acknowledged)) in self.judged:
            return
        self.judged.add(key)
        self.looked += 1
        lost = self.cast.lost(files(left))
        put(self.root, left)
        found = [*(f"{path} is lost" for path in lost), *self._wrong(acknowledged=acknowledged)]
        self.wrong += [f"{self.cast.row}, killed before {when}: {what}" for what in found]

    def _wrong(self, *, acknowledged: bool) -> list[str]:
        """What is wrong once the folder is recovered, and the same call is made again, and again."""
        disk = Disk(self.root, FOLDER)
        recover(disk)
        found = self._judged(disk)
        if found != "after" and (acknowledged or found != "before"):
            return [f"acknowledged {acknowledged}: {found}"]
        reply = self.cast.take(disk, self.token, LATER)
        repeated = self.cast.take(disk, self.token, 2 * LATER)
        told = reply == self.reply if found == "after" else reply["accepted"] and reply != self.reply
        now = self._judged(disk)
        return [
            *([] if told else [f"{found}, the same call was answered {reply}"]),
            *([] if repeated == reply else [f"{found}, then answered otherwise: {repeated}"]),
            *([] if now == "after" else [f"{found}, then {now}"]),
        ]

    def _judged(self, disk: Disk) -> str:
        there = files(read(self.root))
        lying = list(unfinished(there))
        return f"unfinished: {lying}" if lying else self.cast.judged(disk, there)


def benches(work: Path) -> Iterator[Bench]:
    """A bench for each cast, when it was killed everywhere; the first of each kind is a thorough one."""
    every = casts(under_way=True)
    first = {cast.row for cast in kinds(every)}
    for number, cast in enumerate(every):
        bench = Bench(work / f"{number}", cast, cast.row in first)
        bench.kill_everywhere()
        yield bench
        shutil.rmtree(bench.root)


def main(work: Path) -> None:
    """Kill everywhere."""
    gc.freeze()
    done = list(benches(work))
    said = {
        "rows": [bench.cast.row for bench in done],
        "points": [bench.points for bench in done],
        "kills": sum(bench.kills for bench in done),
        "again": sum(bench.again for bench in done),
        "folders": sum(bench.looked for bench in done),
        "wrong": [what for bench in done for what in bench.wrong],
    }
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
