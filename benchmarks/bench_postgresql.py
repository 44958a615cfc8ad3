"""A turn on PostgreSQL against its bare statements with the same values, recorded, by the same driver.

Both sides begin with a copy of one database and see the same runs move in the same order, a round each in
turn. Besides, what a turn sends, writes and locks: counted, so no clock is asked.
"""

import gc
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, TypeAlias

import psycopg

from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.connections import connect
from handrail.stores.sql.postgres.database import PgDatabase
from rounds import report
from servers import PostgresServer, as_admin, confirming, copied, processor
from stage import PgStage, pg_stage
from wire import Traced

RUNS: Final = 2000
ROUNDS: Final = 15
TURNS: Final = 100
"""How many turns a round has."""

Statements: TypeAlias = list[tuple[str, Sequence[Any]]]
_LOCKS: Final = """
SELECT coalesce(CAST(CAST(relation AS REGCLASS) AS TEXT), locktype), replace(mode, 'Lock', '')
FROM pg_locks
WHERE pid = pg_backend_pid() AND relation IS DISTINCT FROM CAST('pg_locks' AS REGCLASS)
ORDER BY 1, 2
"""
_HOT: Final = """
SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables
WHERE relname IN ('runs', 'steps') ORDER BY relname
"""


class Recorder(PgDatabase):
    """A database that notes what it is told to execute."""

    def __init__(self, place: DatabaseUrl) -> None:
        self.noted: Statements = []
        super().__init__(place)

    def peek(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """A glance that is noted."""
        self.noted.append((statement, values))
        return super().peek(statement, values)

    def execute_transaction(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """A whole transaction that is noted."""
        self.noted.append((statement, values))
        return super().execute_transaction(statement, values)


def recorded(url: str, tokens: dict[str, str], count: int) -> list[Statements]:
    """What so many turns on the store execute, turn by turn."""
    with closing(Recorder(DatabaseUrl(url))) as database:
        copy, found = pg_stage(database, dict(tokens)), []
        pick = copy.picked(1)
        for _ in range(count):
            database.noted = []
            copy.turn(pick())
            found.append(database.noted)
    return found


def bare(url: str, turns: Iterator[Statements]) -> Callable[[], None]:
    """Execute what the next turn did, and nothing else."""
    connection = connect(DatabaseUrl(url))

    def turn() -> None:
        for statement, values in next(turns):
            connection.execute(statement, values).fetchall()

    return turn


def ours(url: str, tokens: dict[str, str]) -> Callable[[], None]:
    """Take the next turn."""
    copy = pg_stage(PgDatabase(DatabaseUrl(url)), dict(tokens))
    pick = copy.picked(1)
    return lambda: copy.turn(pick())


def times_of(sides: Sequence[Callable[[], None]]) -> list[list[float]]:
    """What each side took, in order, in rounds that take turns; the first round of each only warms up."""
    taken: list[list[float]] = [[] for _ in sides]
    for number in range(ROUNDS):
        gc.collect()
        for side, times in zip(sides, taken, strict=True):
            for _ in range(TURNS):
                began = time.perf_counter()
                side()
                if number:
                    times.append(time.perf_counter() - began)
    return [sorted(times) for times in taken]


def timed(server: PostgresServer, first: str, tokens: dict[str, str], noted: list[Statements]) -> None:
    """Print what a turn takes, and what its bare statements do."""
    both = times_of((bare(copied(server, first), iter(noted)), ours(copied(server, first), tokens)))
    for name, part in (("the fastest tenth", 0.1), ("the median", 0.5)):
        floor, turn = (times[int(len(times) * part)] for times in both)
        answer = f"{turn * 1e6:.0f} us, its two statements alone {floor * 1e6:.0f} us"
        print(f"pg_turn, {name}: {answer}, x {turn / floor:.2f}")
    report("pg_turn_x_bare_statements", turn / floor, 1.5)
    report("pg_turn_x_bare_read_and_cte", turn / floor, 1.4)


def worked(server: PostgresServer, turn: Callable[[], None]) -> None:
    """Print the processor time of a turn: here, and in all processes of the server."""
    turn()
    began, there = time.process_time(), processor(server.processes())
    for _ in range(TURNS * 5):
        turn()
    here, spent = time.process_time() - began, processor(server.processes()) - there
    print(
        f"pg_processor: {here / TURNS / 5 * 1e6:.0f} us here, {spent / TURNS / 5 * 1e6:.0f} us at the server"
    )


def counted(server: PostgresServer, url: str, tokens: dict[str, str], folder: Path) -> None:
    """Print what goes over the wire, into the log and onto the disk in a turn."""
    with (
        closing(Traced(DatabaseUrl(url))) as database,
        psycopg.connect(as_admin(server, url), autocommit=True) as admin,
    ):
        play = pg_stage(database, dict(tokens))
        pick = play.picked(1)
        for _ in range(2 * RUNS):
            play.turn(pick())
        with database.overheard(folder / "wire") as wire:
            for _ in range(TURNS):
                play.turn(pick())
        report("pg_statements_per_turn", wire.statements / TURNS, 2)
        report("pg_round_trips_per_turn", wire.round_trips / TURNS, 2)
        print(f"pg_wire: {wire.sent / TURNS:.0f} bytes sent, {wire.received / TURNS:.0f} received per turn")
        _logged(admin, play, pick)
        _stored(admin, play, pick)


def _logged(admin: "psycopg.Connection[tuple[Any, ...]]", play: PgStage, pick: Callable[[], str]) -> None:
    """Print what turns write to the log; the first change to a page behind a checkpoint writes all of it."""
    admin.execute("CHECKPOINT")
    for name in ("behind a checkpoint", "later"):
        before = _one(admin, "SELECT pg_current_wal_insert_lsn() - '0/0'")
        for _ in range(TURNS):
            play.turn(pick())
        after = _one(admin, "SELECT pg_current_wal_insert_lsn() - '0/0'")
        print(f"pg_wal {name}: {(after - before) / TURNS / 1024:.1f} KiB per turn")
        for _ in range(2 * RUNS if name != "later" else 0):
            play.turn(pick())
    report("pg_wal_kib_per_turn", (after - before) / TURNS / 1024, 36)


def _stored(admin: "psycopg.Connection[tuple[Any, ...]]", play: PgStage, pick: Callable[[], str]) -> None:
    """Print what turns add to the tables, and how many of their updates touch no index."""
    before, count = play.database.size(), 2 * RUNS
    for _ in range(count):
        play.turn(pick())
    print(f"pg_stored: {(play.database.size() - before) / count:.0f} bytes per turn, with indexes")
    play.database.close()
    for table, updated, hot in admin.execute(_HOT):
        print(f"pg_hot {table}: {hot / updated:.3f} of the updates touch no index")


def locked(url: str, turn: Statements) -> None:
    """Print which locks a turn holds when it commits; what it has read before was a transaction by itself."""
    with connect(DatabaseUrl(url)) as connection:
        connection.execute("BEGIN")
        connection.execute(*turn[-1])
        found = connection.execute(_LOCKS).fetchall()
        connection.execute("ROLLBACK")
    strong = [what for what, mode in found if mode not in {"AccessShare", "RowShare", "RowExclusive"}]
    print(f"pg_locks: {len(found)} per turn; stronger than for writing rows: {', '.join(strong)}")
    for mode in sorted({mode for _, mode in found}):
        print(f"pg_locks {mode}: {', '.join(what for what, one in found if one == mode)}")


def _one(connection: "psycopg.Connection[tuple[Any, ...]]", statement: str) -> int:
    row = connection.execute(statement).fetchone()
    return int(row[0]) if row else 0


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name, confirming() as server:
        url = server.create_database()
        with closing(PgDatabase(DatabaseUrl(url))) as database:
            first = pg_stage(database)
            first.start(RUNS)
        noted = recorded(copied(server, url), first.tokens, ROUNDS * TURNS)
        timed(server, url, first.tokens, noted)
        worked(server, ours(copied(server, url), first.tokens))
        locked(copied(server, url), noted[0])
        counted(server, copied(server, url), first.tokens, Path(name))


if __name__ == "__main__":
    main()
