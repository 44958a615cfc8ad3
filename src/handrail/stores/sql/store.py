"""Put a SQL store together: its tables, runs, queries, feed and writer threads.

`StoreKind.open_store` is the one way to open a store; `SQLITE_STORE` is the SQLite kind.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from msgspec import Struct

from handrail.runtime.ports.open_store import Store, StoreLoad
from handrail.runtime.records import RunChange
from handrail.runtime.store_address import DatabaseUrl
from handrail.runtime.sweep import IdleLimits, abandon_idle_runs
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
from handrail.stores.sql.writer import Writer

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
        """Open a store for the block. What only turns need is made when it is first asked for."""
        with self.open_tables(where) as tables:
            turns, measures = _Turns(self, tables), SqlMeasures(tables)
            mirrors = SqlRunMirrors(tables, turns.announce)
            together = partial(self.batch_commits, tables) if self.batch_commits else None
            writer = Writer(tables, measures, threads=self.threads, together=together)
            side_writer = Writer(tables, measures, threads=self.threads)

            def measure_load() -> StoreLoad:
                tables.check_reachable()
                return StoreLoad(writer.waiting, turns.feed.count_undelivered())

            try:
                yield Store(
                    where,
                    SqlRunQueries(tables),
                    SqlMaintenance(tables),
                    mirrors,
                    measures,
                    SqlAccessTokens(tables),
                    SqlProjectRegistry(tables),
                    tables.data_version,
                    writer,
                    side_writer,
                    lambda: turns.world,
                    partial(SqlRunQueries, tables),
                    turns.sweep,
                    measure_load,
                )
            finally:
                writer.close()
                side_writer.close()


class _Turns(Generic[AnyDatabase]):
    """What turns need of these tables, made when it is first asked for."""

    def __init__(self, kind: StoreKind[Any, AnyDatabase], tables: AnyDatabase) -> None:
        self._kind, self._tables = kind, tables

    @cached_property
    def runs(self) -> BaseSqlRuns:
        """The runs in the tables."""
        return self._kind.runs(self._tables)

    @cached_property
    def feed(self) -> SqlFeed:
        """The changes of the runs."""
        return SqlFeed(self._tables, self._kind.poll_seconds)

    @cached_property
    def world(self) -> World:
        """Everything a turn touches."""
        lifetime, runs = read_token_lifetime(), self.runs
        ports = (runs, SystemClock(), RandomIds(), self.feed)
        return World(*ports, runs.load_token_key(), build_workflow_lookup(runs), lifetime=lifetime)

    def announce(self, change: RunChange) -> None:
        """Wake listeners in this process."""
        self.feed.announce(change)

    def sweep(self, limits: IdleLimits) -> tuple[str, ...]:
        """Abandon idle runs, unless another process is doing it."""
        with self._tables.elect("sweep") as elected:
            return abandon_idle_runs(self.world, self.runs, limits) if elected else ()


SQLITE_STORE: Final = StoreKind(
    SqliteDatabase, SqliteRuns, Path.is_file, open_copy_target, batch_commits=SqliteDatabase.batch_commits
)
"""A store in a SQLite file."""
