"""A program that cuts casts off in one of three ways, said behind the folder that it works in.

`kill`: the first cast of each kind is made in child processes that are killed before one of its changes each,
then its recovery, on a disk. `disk`: every row is cast there, and the folder noted before each change: a
process that is killed leaves just that, as the first way shows. `power`: the same in memory, and before each
change the power goes. It forks and has one thread only. It prints the rows by what their casts found, their
changes, those of the recoveries, the different folders that were recovered, the kills, and what was wrong.
"""

import gc
import json
import os
import shutil
import sys
from pathlib import Path

from handrail.stores.files.disk import DiskWorkspace
from helpers.folder_crash import FOLDER, kill_child
from helpers.spell_casts import Cast, Past, list_casts, select_one_of_each_kind
from helpers.spell_cuts import CastCutter, Cuts, Folders, Ground, Power, Work, recover_workspace


class Snapshots(Ground):
    """A folder on the disk, or on another kind of it, looked at before each change."""

    def __init__(self, root: Path, kind: type[DiskWorkspace] = DiskWorkspace) -> None:
        self._root, self._kind = root, kind

    def laid(self, left: Folders) -> DiskWorkspace:
        """The folder of the task, in a project that is new."""
        shutil.rmtree(self._root, ignore_errors=True)
        self._root.mkdir()
        for path, data in left.items():
            place = self._root / path
            place.mkdir() if data is None else place.write_bytes(data)
        return self._kind(self._root, FOLDER)

    def there(self) -> Folders:
        return _read(f"{self._root}", "", {})

    def files(self, left: Folders) -> dict[str, bytes]:
        found = {path: data for path, data in left.items() if data is not None}
        return {path.removeprefix(f"{FOLDER}/"): data for path, data in found.items()}

    def cut(self, left: Folders, work: Work) -> Cuts:
        """The work done once; before each change, what is there: what it was, after a mere fsync."""
        self.laid(left)
        before, last = list[list[Folders]](), ""

        def look(change: str) -> None:
            nonlocal last
            before.append(before[-1] if last.startswith("fsync ") else [self.there()])
            last = change

        assert work(self._kind(self._root, FOLDER, look))
        return Cuts(before, [self.there()])


class KilledFolders(Snapshots):
    """The same, and a process is killed there and leaves what was seen.

    A recovery is killed only where that leaves a folder unlike those before.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.count = 0
        self._left: set[tuple[object, ...]] = set()

    def cut(self, left: Folders, work: Work) -> Cuts:
        """The work done once, and killed before its changes."""
        cuts = super().cut(left, work)
        for at, (seen,) in enumerate(cuts.before, start=1):
            if work is not recover_workspace or (*seen.items(),) not in self._left:
                self._left.add((*seen.items(),))
                self._kill(left, work, at, seen)
        if work is not recover_workspace:
            self.laid(left)
            assert kill_child(self._root, work, len(cuts.before) + 1)
            assert self.there() == cuts.after[0]
        self.laid(cuts.after[0])
        return cuts

    def _kill(self, left: Folders, work: Work, at: int, seen: Folders) -> None:
        self.laid(left)
        assert not kill_child(self._root, work, at)
        self.count += 1
        assert self.there() == seen


def _read(folder: str, below: str, into: Folders) -> Folders:
    """What is in a folder of the disk, added to what was found before."""
    with os.scandir(folder) as entries:
        found = sorted((entry.name, entry.is_dir()) for entry in entries)
    for name, is_folder in found:
        path, into[below + name] = f"{folder}/{name}", None
        if is_folder:
            _read(path, f"{below}{name}/", into)
        else:
            into[below + name] = _bytes(path)
    return into


def _bytes(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 1 << 20)
    finally:
        os.close(file)


def _casts(way: str) -> list[Cast]:
    """Every row of a run under way; of first turns, where there is nothing and else one of each kind."""
    under_way = list_casts(Past.UNDER_WAY)
    if way == "kill":
        return [*select_one_of_each_kind(list_casts(Past.NOTHING)), *select_one_of_each_kind(under_way)]
    return [*list_casts(Past.NOTHING), *select_one_of_each_kind(list_casts(Past.BROUGHT)), *under_way]


def main(work: Path, way: str) -> None:
    gc.freeze()
    disk = KilledFolders(work / "project") if way == "kill" else Snapshots(work / "project")
    done = [CastCutter(Power() if way == "power" else disk, cast) for cast in _casts(way)]
    for bench in done:
        bench.cut_everywhere()
    said = {
        "rows": {past.name: [bench.cast.row for bench in done if bench.cast.past is past] for past in Past},
        "points": [bench.points for bench in done],
        "again": sum(bench.again for bench in done),
        "folders": sum(bench.folders for bench in done),
        "kills": disk.count if isinstance(disk, KilledFolders) else 0,
        "wrong": [what for bench in done for what in bench.wrong],
    }
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
