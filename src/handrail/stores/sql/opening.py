"""A SQLite file, opened for a face: to ask and keep house, to take turns, or to serve."""

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from handrail.shell.definitions import pinned_by
from handrail.shell.opening import Serving, Store, Strain, lifetime, limits
from handrail.shell.sweep import sweep
from handrail.shell.system import RandomIds, SystemClock
from handrail.shell.world import World
from handrail.stores.sql.access import SqlAccess, SqlRegistry
from handrail.stores.sql.database import Database
from handrail.stores.sql.feed import SqlFeed
from handrail.stores.sql.keeper import SqlKeeper
from handrail.stores.sql.projection import Projection
from handrail.stores.sql.questions import SqlRecords
from handrail.stores.sql.runs import SqlRuns
from handrail.stores.sql.summaries import Summaries
from handrail.stores.sql.writer import Writer


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """The store in this file, until the block ends."""
    database = Database(path)
    records = SqlRecords(database)
    try:
        keeper, mirrors, measures = SqlKeeper(database), Projection(database), Summaries(database)
        access, registry = SqlAccess(database), SqlRegistry(database)
        yield Store(path, records, keeper, mirrors, measures, access, registry, database.pulse)
    finally:
        database.close()


@contextmanager
def turning(path: Path) -> Iterator[World]:
    """The world of turns over this file, until the block ends; the file is made if it is not there."""
    good_for = lifetime()
    database = Database(path)
    runs = SqlRuns(database)
    ports = (runs, SystemClock(), RandomIds(), SqlFeed(database))
    try:
        yield World(*ports, runs.key(), pinned_by(runs), lifetime=good_for)
    finally:
        database.close()


@contextmanager
def serving(path: Path) -> Iterator[Serving]:
    """What a server needs of this file, until the block ends; the file is made if it is not there."""
    good_for, given = lifetime(), limits()
    database = Database(path)
    runs = SqlRuns(database)
    key = runs.key()
    feed = SqlFeed(database)
    world = World(runs, SystemClock(), RandomIds(), feed, key, pinned_by(runs), lifetime=good_for)
    writer, aside = (Writer(database, Summaries(database)) for _ in range(2))
    secret = hmac.digest(key, b"request-state", hashlib.sha256)

    def strain() -> Strain:
        database.there()
        return Strain(writer.waiting, feed.behind())

    try:
        yield Serving(
            world,
            SqlRecords(database),
            writer,
            aside,
            secret,
            lambda: sweep(world, runs, given),
            given.every,
            SqlAccess(database),
            SqlRegistry(database),
            Projection(database).mirror,
            partial(SqlRecords, database),
            strain,
        )
    finally:
        writer.close()
        aside.close()
        database.close()
