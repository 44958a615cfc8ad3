"""Many processes that take turns on one store: what each of them measures, and how it is told."""

import os
import random
import sqlite3
import time
from contextlib import chdir
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running
from multiprocessing.process import BaseProcess
from pathlib import Path

from handrail.runtime.errors import Fault
from handrail.runtime.store_address import DatabaseUrl, StoreLocation
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.sqlite import SqliteDatabase, Turnstile, WriteTransactions
from stage import PgStage, Stage, pg_stage, stage

RUNS = 20
"""How many runs each process moves: its own, so that only the store is contended."""

WARM = 10
"""How many turns each process takes before: PostgreSQL plans the first ones anew, and reads its catalogue."""

MOMENT = 0.5
"""How many seconds before they begin all are told when: else those told first would keep it from others."""


@dataclass(frozen=True, slots=True)
class Load:
    """How long to go on; `every` is the mean time between two turns of a process, 0 for no pause at all."""

    seconds: float
    every: float = 0.0
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What a process saw: how long each turn took, and how many failed."""

    taken: list[float]
    errors: int


class Open(Turnstile):
    """A turnstile that lets everybody pass, and keeps the threads of this process apart."""

    def __enter__(self) -> None:
        """Wait for the other threads."""
        self._inside.acquire()

    def __exit__(self, *_: object) -> None:
        """Let the next one in."""
        self._inside.release()


class Plain(SqliteDatabase):
    """A file that whoever is lucky writes to: what SQLite does by itself, with a long `busy_timeout`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.turnstile.close()
        self.turnstile = Open(path)
        self._transactions = WriteTransactions(self.turnstile, self._disk, self._writer)
        self._writer.execute("PRAGMA busy_timeout = 60000")


def work(where: StoreLocation, load: Load, line: Connection) -> None:
    """Take turns from the time that is told until time is up.

    In a session of its own, as a server is: Linux shares cores among sessions first, and each process of
    PostgreSQL has its own. In one session all of them together got as much of a core as any one of those.
    """
    os.setsid()
    play = _opened(where, load)
    play.start(RUNS)
    pick = play.picked(1)
    for _ in range(WARM):
        play.turn(pick())
    line.send("ready")
    answer = _measured(play, load, line.recv())
    line.send("done")
    line.recv()
    line.send(answer)


def _opened(where: StoreLocation, load: Load) -> Stage | PgStage:
    if isinstance(where, DatabaseUrl):
        return pg_stage(PgDatabase(where, connections=2))
    return stage(Plain(where) if load.plain else SqliteDatabase(where))


def _measured(play: Stage | PgStage, load: Load, begin: float) -> Told:
    taken: list[float] = []
    errors = 0
    pick, draw = play.picked(1), random.Random()  # noqa: S311 - no secret is drawn
    until = begin + load.seconds
    time.sleep(max(0.0, begin - time.perf_counter()))
    while time.perf_counter() < until:
        if load.every:
            time.sleep(draw.uniform(0, 2 * load.every))
        began = time.perf_counter()
        try:
            play.turn(pick())
        except (Fault, sqlite3.Error):
            errors += 1
        taken.append(time.perf_counter() - began)
        play.database.do_idle_work()
    return Told(taken, errors)


def _forking() -> ForkServerContext:
    """Makes processes that need not import all of this: forks of one that has, and has opened nothing.

    Of 32 that each do, the last one begins ten seconds after the first.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with chdir(Path(__file__).parent):
        ensure_running()
    return context


class Crowd:
    """Processes on one store, all begun at once."""

    def __init__(self, where: StoreLocation, count: int, load: Load) -> None:
        context = _forking()
        self.processes: list[BaseProcess] = []
        self._lines: list[Connection] = []
        for _ in range(count):
            here, there = context.Pipe()
            process = context.Process(target=work, args=(where, load, there), daemon=True)
            process.start()
            there.close()
            self.processes.append(process)
            self._lines.append(here)
        for line in self._lines:
            line.recv()
        begin = time.perf_counter() + MOMENT
        for line in self._lines:
            line.send(begin)
        time.sleep(max(0.0, begin - time.perf_counter()))

    def kill(self, number: int) -> None:
        """End a process at once, wherever it is."""
        self.processes[number].kill()

    def told(self) -> list[Told]:
        """What those that were not killed have seen; none of them ends before all have measured."""
        left = [line for line in self._lines if self._heard(line)]
        for line in left:
            line.send("tell")
        found = [line.recv() for line in left]
        for process in self.processes:
            process.join()
        return found

    def _heard(self, line: Connection) -> bool:
        """True once the process is done, False if it was killed."""
        try:
            line.recv()
        except EOFError:
            return False
        return True
