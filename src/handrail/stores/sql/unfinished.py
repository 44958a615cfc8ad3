"""A SQLite file that a store is copied into: no store before the copy is whole."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Final

from handrail.stores.sql.connection import Faults, check_version, connect, half, made
from handrail.stores.sql.reader import APPLICATION
from handrail.stores.sql.shape import MARK, Table, indexes, occupied, resumes, tables, unfit
from handrail.stores.sql.tables import Found
from handrail.stores.sql.text import migrations, queries

_CACHE: Final = "PRAGMA cache_size = -65536"
_AT_ONCE: Final = 16
"""How many rows one statement adds: SQLite takes half the time of one for each."""


@contextmanager
def unfinished(path: Path, source: str) -> Iterator["UnfinishedFile"]:
    """The file, new or left by an earlier copy of the same source; nobody else opens it in the block.

    Raises `NotWritable` if there is a store in it, `Unreadable` if there is something else.
    """
    turnstile = made(path)
    try:
        with turnstile.passed(), Faults(path), closing(connect(path)) as connection:
            continued = _begun(connection, path, source)
            yield UnfinishedFile(connection, continued=continued)
    finally:
        turnstile.close()


class UnfinishedFile:
    """`Unfinished` in SQLite."""

    def __init__(self, connection: sqlite3.Connection, *, continued: bool) -> None:
        self._connection = connection
        self.continued = continued
        connection.execute(_CACHE)

    def sql(self, file: str) -> Mapping[str, str]:
        """The statements of a file, by name."""
        return queries(file)

    def execute(self, statement: str, values: Sequence[Any]) -> Found:
        """What a statement finds that only asks."""
        return self._connection.execute(statement, values)

    def put(self, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Add these rows, all or none."""
        many, one = (_insert(table, count) for count in (_AT_ONCE, 1))
        whole = len(rows) - len(rows) % _AT_ONCE
        groups = (rows[start : start + _AT_ONCE] for start in range(0, whole, _AT_ONCE))
        with self._whole():
            try:
                self._connection.executemany(many, (tuple(chain.from_iterable(group)) for group in groups))
                self._connection.executemany(one, rows[whole:])
            except sqlite3.IntegrityError as error:
                raise unfit(table, error) from error

    def clear(self) -> None:
        """Take every row out."""
        with self._whole():
            for table in reversed(tables()):
                self._connection.execute(f"DELETE FROM {table.name}")  # noqa: S608 - names of our tables

    def finish(self) -> None:
        """Make a store of it, at one point; its indexes are made now, which is faster than row by row."""
        with self._whole():
            for statement in indexes().values():
                self._connection.execute(statement)
            self._connection.execute("DROP TABLE handrail_copy")
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            self._connection.execute(f"PRAGMA user_version = {len(migrations())}")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def _insert(table: Table, count: int) -> str:
    """The statement that adds so many rows."""
    places = f"({', '.join('?' * len(table.columns))})"
    return f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES {', '.join([places] * count)}"  # noqa: S608 - names of our tables


def _begun(connection: sqlite3.Connection, path: Path, source: str) -> bool:
    """Make the tables, and note what they are for; True if that was done before."""
    found = half(connection)
    if found:
        resumes(path, source, found, len(migrations()))
        return True
    if check_version(connection, path):
        raise occupied(path)
    connection.execute("PRAGMA journal_mode = WAL")
    (named,) = connection.execute("SELECT quote(?)", (source,)).fetchone()
    bare = [f"DROP INDEX {name};" for name in indexes()]
    empty = [f"DELETE FROM {table.name};" for table in tables()]  # noqa: S608 - names of our tables
    mark = f"{MARK}; INSERT INTO handrail_copy VALUES ({named}, {len(migrations())});"  # noqa: S608 - quoted by SQLite
    connection.executescript("\n".join(("BEGIN IMMEDIATE;", *migrations(), *bare, *empty, mark, "COMMIT;")))
    return False
