"""A SQLite file, opened for a face that asks and keeps house."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from handrail.shell.opening import Store
from handrail.stores.sql.database import Database
from handrail.stores.sql.keeper import SqlKeeper
from handrail.stores.sql.projection import Projection
from handrail.stores.sql.questions import SqlRecords


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """The store in this file, until the block ends."""
    database = Database(path)
    records = SqlRecords(database)
    try:
        yield Store(path, records, SqlKeeper(database), Projection(database), records.pulse)
    finally:
        database.close()
