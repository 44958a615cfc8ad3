"""A program that takes the turn A2 in child processes and kills each before another of its changes.

Started with a folder to work in; it forks and has one thread only. It prints how many changes the turn has,
how many histories of one or two kills there were, and what was wrong.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from handrail.stores.files.disk import DiskWorkspace
from helpers.crash import digest_folder, prepare_to_fork
from helpers.run_folders import A2, begin_folder, judge_folder, load_run, open_folder_runs, take_turn_to

FOLDER = ".ai/task"
ACKNOWLEDGED = 7


class Killer:
    """Counts the changes; the process dies before the k-th."""

    def __init__(self, at: int = 0) -> None:
        self.at, self.count = at, 0

    def __call__(self, _: str) -> None:
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def kill_child(root: Path, work: Callable[[DiskWorkspace], bool], at: int) -> bool:
    """True if a child did the work and acknowledged it; it dies before its k-th change."""
    child = os.fork()
    if child == 0:
        os._exit(ACKNOWLEDGED if work(DiskWorkspace(root, FOLDER, Killer(at))) else 1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == ACKNOWLEDGED, status
    return not os.WIFSIGNALED(status)


def take_turn_a2(disk: DiskWorkspace) -> bool:
    """Take the turn."""
    return take_turn_to(open_folder_runs(disk), "DRAFTING", A2)


def recover_folder(disk: DiskWorkspace) -> bool:
    """Recover, as every turn begins."""
    with open_folder_runs(disk).hold_lock("", 0):
        return True


def count_changes(root: Path, work: Callable[[DiskWorkspace], bool]) -> int:
    """How many changes the work makes."""
    killer = Killer()
    work(DiskWorkspace(root, FOLDER, killer))
    return killer.count


def inspect_folder(root: Path, known: dict[bytes, str]) -> str:
    """How the folder is after a recovery; and what the same call gets now, which must be the same reply.

    Most kills leave the same bytes as an earlier one: then it is `known`.
    """
    left = digest_folder(root)
    if left not in known:
        known[left] = _look(root)
    return known[left]


def _look(root: Path) -> str:
    disk = DiskWorkspace(root, FOLDER)
    recover_folder(disk)
    runs, task = open_folder_runs(disk), root / FOLDER
    found = judge_folder(runs, read_tree(task), (task / ".handrail/history.jsonl").read_bytes())
    if found == "before" and not take_turn_to(runs, "DRAFTING", A2):
        return "the turn could not be taken again"
    now = judge_folder(runs, read_tree(task), (task / ".handrail/history.jsonl").read_bytes())
    return found if now == "after" and load_run(runs).revision == 2 else f"{found}, then {now}"


def read_tree(folder: Path) -> dict[str, bytes]:
    """The files of a folder, but for those of the store."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    named = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    return {path: data for path, data in named.items() if not path.startswith(".handrail/")}


def copy_folder(root: Path, name: str) -> Path:
    """A copy of a folder."""
    return Path(shutil.copytree(root, root.with_name(name), dirs_exist_ok=False))


def kill_recovery(left: Path, known: dict[bytes, str], *, acknowledged: bool) -> tuple[list[str], int]:
    """What is wrong if the recovery of a folder is killed before each of its changes, or not at all."""
    spare = copy_folder(left, "spare")
    points = count_changes(spare, recover_folder)
    shutil.rmtree(spare)
    wrong, good = [], {"after"} if acknowledged else {"before", "after"}
    for at in range(points + 1):
        again = copy_folder(left, "again")
        if at:
            kill_child(again, recover_folder, at)
        found = inspect_folder(again, known)
        wrong += [] if found in good else [f"killed in recovery before change {at}: {found}"]
        shutil.rmtree(again)
    return wrong, points + 1


def main(work: Path) -> None:
    """Kill everywhere."""
    prepare_to_fork()
    known: dict[bytes, str] = {}
    start = work / "start"
    start.mkdir()
    begin_folder(DiskWorkspace(start, FOLDER))
    whole = copy_folder(start, "whole")
    points = count_changes(whole, take_turn_a2)
    wrong, histories = [], 0
    for at in range(1, points + 2):
        left = copy_folder(start, "left")
        acknowledged = kill_child(left, take_turn_a2, at)
        found, count = kill_recovery(left, known, acknowledged=acknowledged)
        wrong += [f"killed before change {at}: {what}" for what in found]
        histories += count
        shutil.rmtree(left)
    json.dump({"points": points, "histories": histories, "wrong": wrong}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
