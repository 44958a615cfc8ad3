"""A SQLite file, or any tables, opened for a face: to ask and keep house, to take turns, or to serve."""

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from handrail.shell.definitions import pinned_by
from handrail.shell.opening import Serving, Store, Strain, Where, lifetime, limits
from handrail.shell.sweep import sweep
from handrail.shell.system import RandomIds, SystemClock
from handrail.shell.world import World
from handrail.stores.sql.access import SqlAccess, SqlRegistry
from handrail.stores.sql.database import Database
from handrail.stores.sql.feed import SqlFeed
from handrail.stores.sql.keeper import SqlKeeper
from handrail.stores.sql.projection import Projection
from handrail.stores.sql.questions import SqlRecords
from handrail.stores.sql.runs import RunTables, SqlRuns
from handrail.stores.sql.summaries import Summaries
from handrail.stores.sql.tables import Tables
from handrail.stores.sql.unfinished import unfinished
from handrail.stores.sql.writer import Writer

__all__ = ["opened", "read", "serving", "turning", "unfinished"]


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """The store in this file, until the block ends."""
    with closing(Database(path)) as database:
        yield asked(path, database)


@contextmanager
def read(path: Path) -> Iterator[Tables]:
    """The tables of the store in this file, to be copied, until the block ends."""
    with closing(Database(path)) as database:
        yield database


@contextmanager
def turning(path: Path) -> Iterator[World]:
    """The world of turns over this file, until the block ends; the file is made if it is not there."""
    lifetime()
    with closing(Database(path)) as database:
        yield turned(SqlRuns(database), SqlFeed(database))


@contextmanager
def serving(path: Path) -> Iterator[Serving]:
    """What a server needs of this file, until the block ends; the file is made if it is not there."""
    lifetime(), limits()
    with closing(Database(path)) as database, served(database, SqlRuns(database)) as found:
        yield found


def asked(where: Where, tables: Tables) -> Store:
    """A store in these tables, to ask and to keep house."""
    return Store(
        where,
        SqlRecords(tables),
        SqlKeeper(tables),
        Projection(tables),
        Summaries(tables),
        SqlAccess(tables),
        SqlRegistry(tables),
        tables.pulse,
    )


def turned(runs: RunTables, feed: SqlFeed) -> World:
    """The world of turns of these runs."""
    ports = (runs, SystemClock(), RandomIds(), feed)
    return World(*ports, runs.key(), pinned_by(runs), lifetime=lifetime())


@contextmanager
def served(
    tables: Tables, runs: RunTables, threads: int = 1, every: float | None = None
) -> Iterator[Serving]:
    """What a server needs of these tables, until the block ends; so many turns are taken at once."""
    given = limits()
    feed = SqlFeed(tables) if every is None else SqlFeed(tables, every)
    world, projection = turned(runs, feed), Projection(tables)
    writer, aside = (Writer(tables, Summaries(tables), threads=threads) for _ in range(2))
    secret = hmac.digest(world.key, b"request-state", hashlib.sha256)

    def swept() -> tuple[str, ...]:
        with tables.elected("sweep") as mine:
            return sweep(world, runs, given) if mine else ()

    def strain() -> Strain:
        tables.there()
        return Strain(writer.waiting, feed.behind())

    try:
        yield Serving(
            world,
            SqlRecords(tables),
            writer,
            aside,
            secret,
            swept,
            given.every,
            SqlAccess(tables),
            SqlRegistry(tables),
            projection.mirror,
            partial(SqlRecords, tables),
            strain,
            Summaries(tables),
            projection.projects,
        )
    finally:
        writer.close()
        aside.close()
