"""A PostgreSQL database, opened for a face: to ask and keep house, to take turns, or to serve."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

from handrail.shell.opening import Remote, Serving, Store, lifetime, limits
from handrail.shell.world import World
from handrail.stores.sql.feed import SqlFeed
from handrail.stores.sql.opening import asked, served, turned
from handrail.stores.sql.postgresql.database import PgDatabase
from handrail.stores.sql.postgresql.runs import PgRuns
from handrail.stores.sql.postgresql.schema import there
from handrail.stores.sql.postgresql.unfinished import unfinished
from handrail.stores.sql.tables import Tables

__all__ = ["opened", "read", "serving", "there", "turning", "unfinished"]

THREADS: Final = 6
"""How many turns a server takes at once."""

EVERY: Final = 1.0
"""How many seconds pass between two looks for what was not notified."""


@contextmanager
def opened(place: Remote) -> Iterator[Store]:
    """The store in this database, until the block ends."""
    with closing(PgDatabase(place)) as database:
        yield asked(place, database)


@contextmanager
def read(place: Remote) -> Iterator[Tables]:
    """The tables of the store in this database, to be copied, until the block ends."""
    with closing(PgDatabase(place)) as database:
        yield database


@contextmanager
def turning(place: Remote) -> Iterator[World]:
    """The world of turns over this database, until the block ends; tables that are missing are made."""
    lifetime()
    with closing(PgDatabase(place)) as database:
        yield turned(PgRuns(database), SqlFeed(database, EVERY))


@contextmanager
def serving(place: Remote) -> Iterator[Serving]:
    """What a server needs of this database, until the block ends; tables that are missing are made."""
    lifetime(), limits()
    with (
        closing(PgDatabase(place)) as database,
        served(database, PgRuns(database), THREADS, EVERY) as found,
    ):
        yield found
