"""A PostgreSQL database that a store is copied into: no store before the copy is whole."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from handrail.shell.store_address import Remote
from handrail.stores.sql.postgresql import schema
from handrail.stores.sql.postgresql.connection import Connection, connected
from handrail.stores.sql.postgresql.dialect import statements
from handrail.stores.sql.postgresql.faults import Faults
from handrail.stores.sql.shape import Table, unfit
from handrail.stores.sql.tables import Found


@contextmanager
def unfinished(place: Remote, source: str) -> Iterator["UnfinishedDatabase"]:
    """The database, new or left by an earlier copy of the same source; nobody else fills it in the block.

    Raises `NotWritable` if there is a store in it, `Unreadable` if there is something else.
    """
    with connected(place) as connection, Faults(place):
        connection.execute("SET statement_timeout = 0")
        yield UnfinishedDatabase(connection, continued=schema.begin(place, connection, source))


class UnfinishedDatabase:
    """`Unfinished` in PostgreSQL."""

    def __init__(self, connection: Connection, *, continued: bool) -> None:
        self._connection = connection
        self.continued = continued

    def sql(self, file: str) -> Mapping[str, str]:
        """The statements of a file, by name."""
        return statements(file)

    def execute(self, statement: str, values: Sequence[Any]) -> Found:
        """What a statement finds that only asks."""
        return self._connection.execute(statement, values)

    def put(self, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Add these rows, all or none."""
        statement = f"COPY {table.name} ({', '.join(table.columns)}) FROM STDIN"
        try:
            with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)
        except (psycopg.IntegrityError, psycopg.DataError) as error:
            raise unfit(table, error) from error

    def clear(self) -> None:
        """Take every row out."""
        schema.clear(self._connection)

    def finish(self) -> None:
        """Make a store of it, at one point."""
        schema.finish(self._connection)
