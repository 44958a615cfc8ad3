"""A SQLite file, or any tables, opened for a face: to ask and keep house, to take turns, or to serve."""

import hashlib
import hmac
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from msgspec import Struct

from handrail.shell.definitions import pinned_by
from handrail.shell.opening import Serving, Store, Strain, lifetime, limits
from handrail.shell.store_address import Remote, Where
from handrail.shell.sweep import sweep
from handrail.shell.system import RandomIds, SystemClock
from handrail.shell.world import World
from handrail.stores.sql.access import SqlAccess, SqlRegistry
from handrail.stores.sql.database import Database
from handrail.stores.sql.feed import EVERY, SqlFeed
from handrail.stores.sql.keeper import SqlKeeper
from handrail.stores.sql.projection import Projection
from handrail.stores.sql.questions import SqlRecords
from handrail.stores.sql.runs import RunTables, SqlRuns
from handrail.stores.sql.summaries import Summaries
from handrail.stores.sql.tables import Tables
from handrail.stores.sql.writer import Together, Writer

if TYPE_CHECKING:
    from handrail.stores.sql.copying import Unfinished

Place = TypeVar("Place", Path, Remote)
Base = TypeVar("Base", bound=Tables)


class Kind(Struct, Generic[Place, Base], frozen=True):
    """How stores of one kind are opened: their tables, and the runs in them; what is not there is made.

    A server takes so many turns at once in `threads`; in one, turns that wait can be taken `together`, in a
    block at whose end the disk has confirmed them. `every` is how many seconds pass between two looks for
    what was not announced. `unfinished` is a new one that a store is copied into, by the name of its source.
    """

    tables: Callable[[Place], Base]
    runs: Callable[[Base], RunTables]
    there: Callable[[Place], bool]
    unfinished: "Callable[[Place, str], AbstractContextManager[Unfinished]]"
    threads: int = 1
    every: float = EVERY
    together: Callable[[Base], AbstractContextManager[None]] | None = None

    @contextmanager
    def read(self, where: Place) -> Iterator[Base]:
        """The tables of a store, until the block ends."""
        with closing(self.tables(where)) as tables:
            yield tables

    @contextmanager
    def opened(self, where: Place) -> Iterator[Store]:
        """A store to ask and to keep house in, until the block ends."""
        with self.read(where) as tables:
            yield _asked(where, tables)

    @contextmanager
    def turning(self, where: Place) -> Iterator[World]:
        """The world of turns over a store, until the block ends."""
        lifetime()
        with self.read(where) as tables:
            yield _turned(self.runs(tables), SqlFeed(tables, self.every))

    @contextmanager
    def serving(self, where: Place) -> Iterator[Serving]:
        """What a server needs of a store, until the block ends."""
        lifetime(), limits()
        with self.read(where) as tables:
            runs = self.runs(tables)
            together = partial(self.together, tables) if self.together else None
            with _served(tables, runs, SqlFeed(tables, self.every), self.threads, together) as found:
                yield found


def _asked(where: Where, tables: Tables) -> Store:
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


def _turned(runs: RunTables, feed: SqlFeed) -> World:
    """The world of turns of these runs."""
    ports = (runs, SystemClock(), RandomIds(), feed)
    return World(*ports, runs.key(), pinned_by(runs), lifetime=lifetime())


@contextmanager
def _served(
    tables: Tables, runs: RunTables, feed: SqlFeed, threads: int, together: Together | None
) -> Iterator[Serving]:
    """What a server needs of these tables, until the block ends; so many turns are taken at once."""
    given = limits()
    world, projection = _turned(runs, feed), Projection(tables)
    resting = (tables, Summaries(tables))
    writer, aside = Writer(*resting, threads=threads, together=together), Writer(*resting, threads=threads)
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


def _unfinished(path: Path, source: str) -> "AbstractContextManager[Unfinished]":
    from handrail.stores.sql.unfinished import unfinished  # noqa: PLC0415 - only to copy a store

    return unfinished(path, source)


FILE: Final = Kind(Database, SqlRuns, Path.is_file, _unfinished, together=Database.together)
"""A store in a SQLite file."""

turning, serving = FILE.turning, FILE.serving
