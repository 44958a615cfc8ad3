"""A program that copies a store in child processes and kills each before another call that it makes there.

Started with a folder to work in, a kind of store, and the folder of a PostgreSQL server. Counted are calls
to the database of those files that fill a new store, but for those that only ask: each is a point at which a
child dies. It prints how many there are, and what was wrong. It forks, and has one thread only.
"""

import json
import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any, Final

import psycopg

from handrail.runtime.store_address import DatabaseUrl, StoreLocation
from handrail.stores.sql import copy as copying
from handrail.stores.sql import sqlite as file
from handrail.stores.sql import store as opening
from handrail.stores.sql.postgres import pg_runs as opening_there
from handrail.stores.sql.postgres import schema
from handrail.stores.sql.postgres import schema as database
from helpers.crash import prepare_to_fork
from helpers.postgres import PostgresServer
from helpers.store_copies import Rows, create_full_store, read_indexes, read_rows, run_copy

IMPORTED: Final = (copying, opening, opening_there)
"""What each child would import for itself."""

FILES: Final = frozenset(module.__file__ for module in (file, database, schema))
CALLS: Final = frozenset({"execute", "executemany", "executescript", "copy", "__exit__"})
ASKS: Final = frozenset({"execute", "_one", "half"})
WHOLE: Final = {"sqlite": "PRAGMA user_version", "postgresql": "SELECT to_regclass('handrail_schema')"}


class Killer:
    """Counts the calls; the process dies before the k-th."""

    def __init__(self, at: int = 0) -> None:
        self.at, self.count = at, 0

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:  # noqa: ANN401 - Python gives it
        if event == "c_call":
            name = called.__name__
        elif event == "call":
            name = frame.f_code.co_name
        else:
            return
        if name not in CALLS:
            return
        caller = frame if event == "c_call" else frame.f_back
        code = caller.f_code if caller else None
        if code is None or code.co_filename not in FILES or code.co_name in ASKS:
            return
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def try_copy(source: Path, target: StoreLocation, killer: Killer | None) -> tuple[int, bool]:
    """How many calls were counted in a child that copies, if it was not killed; and whether it was."""
    heard, tells = os.pipe()
    child = os.fork()
    if child == 0:
        sys.setprofile(killer)
        run_copy(source, target)
        sys.setprofile(None)
        os.write(tells, str(killer.count if killer else 0).encode())
        os._exit(0)
    os.close(tells)
    with os.fdopen(heard) as answer:
        said = answer.read()
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
    return int(said or 0), os.WIFSIGNALED(status)


def is_whole_store(target: StoreLocation) -> bool:
    """True if it is a store."""
    if isinstance(target, DatabaseUrl):
        with psycopg.connect(target.url) as asked:
            found = asked.execute(WHOLE["postgresql"].encode()).fetchone()
            return bool(found and found[0])
    if not target.exists():  # killed before the file was made
        return False
    with closing(sqlite3.connect(target)) as opened:
        return bool(opened.execute(WHOLE["sqlite"]).fetchone()[0])


class CopyTargets:
    """Places for copies, one after the other."""

    def __init__(self, folder: Path, kind: str, server: PostgresServer) -> None:
        self.folder, self.kind, self.server, self.made = folder, kind, server, 0

    def new(self) -> StoreLocation:
        self.made += 1
        new = self.kind == "postgresql"
        return DatabaseUrl(self.server.create_database()) if new else self.folder / f"{self.made}" / "copy.db"

    def drop(self, target: StoreLocation) -> None:
        if isinstance(target, DatabaseUrl):
            self.server.drop(target.url)


def read_store(target: StoreLocation) -> tuple[Rows, dict[str, str]]:
    return read_rows(target), read_indexes(target)


def check_killed_copy(
    source: Path, wanted: tuple[Rows, dict[str, str]], target: StoreLocation, kills: int
) -> str:
    """What is wrong if a copy is killed before its k-th call, and the next one is not."""
    _, killed = try_copy(source, target, Killer(kills))
    if not killed:
        return "it came to its end"
    if is_whole_store(target):
        return "" if read_store(target) == wanted else "a store, and not what was copied"
    try_copy(source, target, None)
    return "" if is_whole_store(target) and read_store(target) == wanted else "it was not finished"


def main(folder: Path, kind: str, server: PostgresServer) -> None:
    source = create_full_store(folder / "full" / "handrail.db").path
    bench = CopyTargets(folder, kind, server)
    run_copy(source, bench.new())  # the children need not read the statements and compile them
    points, _ = try_copy(source, once := bench.new(), Killer())
    prepare_to_fork()
    wanted = read_rows(source), read_indexes(once)
    wrong = []
    for at in range(1, points + 1):
        target = bench.new()
        found = check_killed_copy(source, wanted, target, at)
        wrong += [f"killed before call {at}: {found}"] if found else []
        bench.drop(target)
    json.dump({"points": points, "wrong": wrong}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], PostgresServer(Path(sys.argv[3])))
