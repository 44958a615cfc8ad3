"""A turn against the bare transaction: the same statements with the same values, recorded, and no engine.

All sides begin with a copy of one store and see the same runs move in the same order, a round each in turn.
"""

import gc
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

from handrail.stores.sql.schema import Execute, QueryResult
from handrail.stores.sql.sqlite import SqliteDatabase, open_connection
from handrail.stores.sql.writer import Writer
from rounds import report
from stage import Stage, stage

RUNS: Final = 2000
ROUNDS: Final = 15
TURNS: Final = 100
"""How many turns a round has."""

Statements: TypeAlias = list[tuple[str, Sequence[Any]]]


class Recorder(SqliteDatabase):
    """A database that notes what it is told to execute: what is read before a transaction belongs to it."""

    def __init__(self, path: Path) -> None:
        self.noted: Statements = []
        super().__init__(path)

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        """A transaction whose statements are noted, with its begin and its end."""
        with super().transaction() as execute:
            self.noted.append(("BEGIN IMMEDIATE", ()))
            yield self._noting(execute)
            self.noted.append(("COMMIT", ()))

    def peek(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """A glance that is noted."""
        self.noted.append((statement, values))
        return super().peek(statement, values)

    def _noting(self, execute: Execute) -> Execute:
        def noting(statement: str, values: Sequence[Any]) -> QueryResult:
            self.noted.append((statement, values))
            return execute(statement, values)

        return noting


def recorded(path: Path, first: Stage, count: int) -> list[Statements]:
    """What so many turns on the store execute, turn by turn."""
    database = Recorder(path)
    copy, found = stage(database, dict(first.tokens)), []
    pick = copy.picked(1)
    for _ in range(count):
        database.noted = []
        copy.turn(pick())
        found.append(database.noted)
    database.close()
    return found


def bare(path: Path, turns: Iterator[Statements], synchronous: str) -> Callable[[], None]:
    """Execute what the next turn did, and nothing else."""
    connection = open_connection(path)
    connection.execute(f"PRAGMA synchronous = {synchronous}")

    def turn() -> None:
        for statement, values in next(turns):
            connection.execute(statement, values).fetchall()

    return turn


def ours(path: Path, first: Stage, synchronous: str) -> Callable[[], None]:
    """Take the next turn."""
    database = SqliteDatabase(path)
    database.writer_connection().execute(f"PRAGMA synchronous = {synchronous}")
    copy = stage(database, dict(first.tokens))
    pick = copy.picked(1)
    return lambda: copy.turn(pick())


def threaded(path: Path, first: Stage, synchronous: str) -> Callable[[], None]:
    """Take the next turn in the thread that writes."""
    turn, writer = ours(path, first, synchronous), Writer()
    return lambda: writer.call(turn)


def medians(sides: Sequence[Callable[[], None]]) -> list[float]:
    """The median time of each side, in rounds that take turns; the first round of each only warms up."""
    taken: list[list[float]] = [[] for _ in sides]
    for number in range(ROUNDS):
        gc.collect()
        for side, times in zip(sides, taken, strict=True):
            for _ in range(TURNS):
                began = time.perf_counter()
                side()
                if number:
                    times.append(time.perf_counter() - began)
    return [median(times) for times in taken]


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = stage(SqliteDatabase(folder / "first.db"))
        first.start(RUNS)
        first.database.close()

        def copy(word: str) -> Path:
            return Path(shutil.copy(folder / "first.db", folder / f"{word}.db"))

        noted = recorded(copy("noted"), first, ROUNDS * TURNS)
        for synchronous, goal in (("FULL", 1.3), ("NORMAL", 1.4)):
            floor, inline, thread = medians(
                (
                    bare(copy(f"bare_{synchronous}"), iter(noted), synchronous),
                    ours(copy(f"ours_{synchronous}"), first, synchronous),
                    threaded(copy(f"thread_{synchronous}"), first, synchronous),
                )
            )
            report(f"turn_{synchronous.lower()}_x_bare", inline / floor, goal)
            if synchronous == "FULL":
                report("turn_full_in_thread_x_bare", thread / floor, 1.7)


if __name__ == "__main__":
    main()
