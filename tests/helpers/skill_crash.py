"""A program that makes moves of a session in child processes and kills each before another of its changes.

Started with a folder to work in; it forks and has one thread only. It prints how many changes each move has,
how many kills there were, and what was wrong.
"""

import gc
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from handrail.stores.files.disk import DiskWorkspace
from helpers.folder_crash import FOLDER, copy_folder, count_changes, kill_child
from helpers.skill_moves import LATER, MOVES, Move, open_session_runs


def find_errors(move: Move, root: Path, token: str, reply: object, *, acknowledged: bool) -> Iterator[str]:
    """What is wrong with a folder that a kill left, once it is recovered and the same call is made again."""
    disk = DiskWorkspace(root, FOLDER)
    with open_session_runs(disk).hold_lock("", 0):
        found = move.judged(disk)
    if found != "after" and (acknowledged or found != "before"):
        yield f"acknowledged {acknowledged}: {found}"
    answer, again = (dict(move.take(disk, token, ids)) for ids in (LATER, 2 * LATER))
    if answer != again or not answer["accepted"] or (found == "after" and answer != reply):
        yield f"{found}, the same call was answered {answer}, then {again}"
    if (now := move.judged(disk)) != "after":
        yield f"{found}, then {now}"


def kill_everywhere(move: Move, work: Path) -> tuple[int, list[str]]:
    """How many changes a move has, and what was wrong when it was killed before any of them."""
    start = work / "start"
    start.mkdir()
    token = move.lay_out(DiskWorkspace(start, FOLDER))
    whole = copy_folder(start, "whole")
    replies: list[object] = []

    def heard(disk: DiskWorkspace) -> bool:
        replies.append(dict(move.take(disk, token)))
        return True

    points, found = count_changes(whole, heard), list[str]()
    for at in range(1, points + 2):
        left = copy_folder(start, "left")
        acknowledged = kill_child(left, lambda disk: bool(move.take(disk, token)["accepted"]), at)
        said = find_errors(move, left, token, replies[0], acknowledged=acknowledged)
        found += [f"{move.name}, killed before change {at}: {what}" for what in said]
        shutil.rmtree(left)
    shutil.rmtree(start)
    shutil.rmtree(whole)
    return points, found


def main(work: Path) -> None:
    gc.freeze()
    done = {move.name: kill_everywhere(move, work) for move in MOVES}
    points = {name: count for name, (count, _) in done.items()}
    json.dump({"points": points, "wrong": [what for _, found in done.values() for what in found]}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
