"""Put a SQL store together: its tables, runs, queries, feed and writer threads.

`StoreKind` opens a store for the CLI, for turns, or for a server; `SQLITE_STORE` is the SQLite one.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from msgspec import Struct

from handrail.runtime.ports.open_store import ServingStore, Store, StoreLoad
from handrail.runtime.store_address import DatabaseUrl, StoreLocation
from handrail.runtime.sweep import abandon_idle_runs, read_idle_limits
from handrail.runtime.system import RandomIds, SystemClock
from handrail.runtime.tokens import read_token_lifetime
from handrail.runtime.world import World, build_workflow_lookup
from handrail.stores.sql.access import SqlAccessTokens, SqlProjectRegistry
from handrail.stores.sql.maintenance import SqlMaintenance
from handrail.stores.sql.projection import SqlRunMirrors
from handrail.stores.sql.queries import SqlRunQueries
from handrail.stores.sql.runs import POLL_SECONDS, BaseSqlRuns, SqlFeed, SqliteRuns
from handrail.stores.sql.schema import SqlDatabase
from handrail.stores.sql.sqlite import SqliteDatabase, open_copy_target
from handrail.stores.sql.summaries import SqlMeasures
from handrail.stores.sql.writer import BatchOpener, Writer, run_after_call

if TYPE_CHECKING:
    from handrail.stores.sql.copy import CopyTarget


Location = TypeVar("Location", Path, DatabaseUrl)
AnyDatabase = TypeVar("AnyDatabase", bound=SqlDatabase)


class StoreKind(Struct, Generic[Location, AnyDatabase], frozen=True):
    """How to open stores of one kind: their tables, and the runs in them. Missing tables are created.

    A server takes as many turns at once as `threads`. With `batch_commits`, waiting turns of one thread share
    one sync. `poll_seconds` is the time between two looks for unannounced changes. `open_copy_target` opens a
    new store to copy into, given the name of its source.
    """

    tables: Callable[[Location], AnyDatabase]
    runs: Callable[[AnyDatabase], BaseSqlRuns]
    store_exists: Callable[[Location], bool]
    open_copy_target: "Callable[[Location, str], AbstractContextManager[CopyTarget]]"
    threads: int = 1
    poll_seconds: float = POLL_SECONDS
    batch_commits: Callable[[AnyDatabase], AbstractContextManager[None]] | None = None

    @contextmanager
    def open_tables(self, where: Location) -> Iterator[AnyDatabase]:
        """Open the tables of a store for the block."""
        with closing(self.tables(where)) as tables:
            yield tables

    @contextmanager
    def open_store(self, where: Location) -> Iterator[Store]:
        """Open a store for queries and maintenance for the block."""
        with self.open_tables(where) as tables:
            yield _build_store(where, tables)

    @contextmanager
    def open_world(self, where: Location) -> Iterator[World]:
        """Open what turns need of a store for the block."""
        read_token_lifetime()
        with self.open_tables(where) as tables:
            yield _build_world(self.runs(tables), SqlFeed(tables, self.poll_seconds))

    @contextmanager
    def open_serving(self, where: Location) -> Iterator[ServingStore]:
        """Open what a server needs of a store for the block."""
        read_token_lifetime(), read_idle_limits()
        with self.open_tables(where) as tables:
            runs = self.runs(tables)
            together = partial(self.batch_commits, tables) if self.batch_commits else None
            with _open_serving_store(
                tables, runs, SqlFeed(tables, self.poll_seconds), self.threads, together
            ) as found:
                yield found


def _build_store(where: StoreLocation, tables: SqlDatabase) -> Store:
    """Return a store in these tables, for queries and maintenance."""
    return Store(
        where,
        SqlRunQueries(tables),
        SqlMaintenance(tables),
        SqlRunMirrors(tables),
        SqlMeasures(tables),
        SqlAccessTokens(tables),
        SqlProjectRegistry(tables),
        tables.data_version,
    )


def _build_world(runs: BaseSqlRuns, feed: SqlFeed) -> World:
    """Return what turns of these runs need."""
    ports = (runs, SystemClock(), RandomIds(), feed)
    return World(*ports, runs.load_token_key(), build_workflow_lookup(runs), lifetime=read_token_lifetime())


@contextmanager
def _open_serving_store(
    tables: SqlDatabase, runs: BaseSqlRuns, feed: SqlFeed, threads: int, together: BatchOpener | None
) -> Iterator[ServingStore]:
    """Open what a server needs of these tables for the block, with so many writer threads."""
    limits = read_idle_limits()
    world, mirrors = _build_world(runs, feed), SqlRunMirrors(tables, feed)
    idle_workers = (tables, SqlMeasures(tables))
    writer, aside = (
        Writer(*idle_workers, threads=threads, together=together),
        Writer(*idle_workers, threads=threads),
    )
    secret = hmac.digest(world.key, b"request-state", hashlib.sha256)

    def sweep() -> tuple[str, ...]:
        with tables.elect("sweep") as elected:
            return abandon_idle_runs(world, runs, limits) if elected else ()

    def measure_load() -> StoreLoad:
        tables.check_reachable()
        return StoreLoad(writer.waiting, feed.count_undelivered())

    try:
        yield ServingStore(
            world,
            SqlRunQueries(tables),
            writer,
            aside,
            secret,
            sweep,
            limits.sweep_seconds,
            SqlAccessTokens(tables),
            SqlProjectRegistry(tables),
            partial(run_after_call, mirrors.update),
            partial(SqlRunQueries, tables),
            measure_load,
            SqlMeasures(tables),
            mirrors.projects,
        )
    finally:
        writer.close()
        aside.close()


SQLITE_STORE: Final = StoreKind(
    SqliteDatabase, SqliteRuns, Path.is_file, open_copy_target, batch_commits=SqliteDatabase.batch_commits
)
"""A store in a SQLite file."""

open_world, open_serving = SQLITE_STORE.open_world, SQLITE_STORE.open_serving
