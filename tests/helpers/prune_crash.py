"""A program that prunes a store in child processes and kills each at another point.

Started with a folder to work in; it forks and has one thread only. A point is an order to the database, an
opening of the archive, or a line that tells how far it has come. It prints how many there are, and what was
wrong.
"""

import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from handrail.runtime.errors import Fault
from handrail.stores.sql.maintenance import SqlMaintenance
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.history import GATE, ignore_text, list_run_ids, open_sample_store, read_archive

LATER: Final = datetime(2026, 3, 1, tzinfo=UTC)


class Killer:
    """Counts the points; the process dies at the k-th."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def __call__(self, _: str) -> None:
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def prune_apart(path: Path, archive: Path, last: int = 0, room: int = 0) -> tuple[int, str]:
    """How a child ends that prunes, and what it says: how many points it came to, or the code of a fault.

    It dies at its last point, if there is one; and has no more room in a file than so many bytes, if any.
    """
    heard, tells = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(tells, _pruned(path, archive, Killer(last), room).encode())
        os._exit(0)
    os.close(tells)
    with os.fdopen(heard) as answer:
        said = answer.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def _pruned(path: Path, archive: Path, point: Killer, room: int) -> str:
    database = SqliteDatabase(path)
    database.writer_connection().set_trace_callback(point)
    sys.addaudithook(lambda name, given: point(name) if name == "open" and given[0] == archive else None)
    if room:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    try:
        SqlMaintenance(database, batch=1).prune(LATER, archive, point)
    except Fault as fault:
        return fault.code
    return str(point.count)


def list_archived_runs(archives: Iterable[Path]) -> set[str]:
    """The runs in those archives that were finished."""
    found: set[str] = set()
    for archive in archives:
        try:
            answer = read_archive(archive)
        except EOFError:
            continue
        if answer and "end" in answer[-1]:
            found |= {line["run"]["id"] for line in answer if "run" in line}
    return found


def check_pruned_folder(folder: Path, last: int, old: set[str], stays: str) -> list[str]:
    """What is wrong with a folder in which a store was pruned until its last point, and then once more."""
    status, _ = prune_apart(folder / "handrail.db", folder / "a.gz", last)
    found = [] if status == -signal.SIGKILL else [f"it ended with {status}"]
    with closing(SqliteDatabase(folder / "handrail.db")) as database:
        keeper = SqlMaintenance(database)
        found += [f"damaged: {damage}" for damage in keeper.check()]
        if {*list_run_ids(database), *list_archived_runs(folder.glob("a*.gz"))} != {stays, *old}:
            found.append("a run is lost")
        if keeper.count_old_runs(LATER):
            keeper.prune(LATER, folder / "a.gz", ignore_text)
        if list_run_ids(database) != [stays] or list_archived_runs(folder.glob("a*.gz")) != old:
            found.append("it could not be finished")
    return found


def main(work: Path) -> None:
    start = work / "start"
    with open_sample_store(start / "handrail.db") as play:
        old = {play.start("", GATE) for _ in range(2)}
        for run in old:
            play.send(run, "abandon", note="enough")
        stays = play.start("", GATE)
    whole = Path(shutil.copytree(start, work / "whole"))
    status, counted = prune_apart(whole / "handrail.db", whole / "a.gz")
    wrong = [] if status == 0 else [f"nobody killed it, and it ended with {status}"]
    for last in range(1, int(counted) + 1):
        here = Path(shutil.copytree(start, work / "here"))
        wrong += [f"killed at point {last}: {what}" for what in check_pruned_folder(here, last, old, stays)]
        shutil.rmtree(here)
    json.dump({"points": int(counted), "wrong": wrong}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
