"""Load the statements for PostgreSQL, create and migrate its tables, and fill a new store with a copy.

The statements are the common ones; those that need other SQL here are overridden by files beside this one.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

import psycopg

from handrail.runtime.errors import Busy, NewerFormat, Unreadable
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.connections import Connection, PgFaults, connect
from handrail.stores.sql.schema import (
    CREATE_COPY_MARK,
    QueryResult,
    Table,
    bad_row_fault,
    check_resumable,
    list_tables,
    load_migrations,
    load_queries,
    occupied_fault,
    unfinished_copy_fault,
)

# A placeholder in the common statements, with its number if it has one.
_PLACEHOLDER: Final = re.compile(r"\?(\d*)")
# The advisory lock that a process holds while it changes the schema.
_SCHEMA_LOCK: Final = 0x48524C31
# How many seconds the server may take to release the lock of a copy that was just ended.
_LOCK_TIMEOUT_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.02
_CREATE_VERSION_TABLE: Final = "CREATE TABLE IF NOT EXISTS handrail_schema (version BIGINT NOT NULL)"
_INDEX_STATEMENT: Final = re.compile(r"^CREATE INDEX (\w+) (.+);$", re.MULTILINE)
_COUNT_TABLES: Final = (
    "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'p', 'v')"
    " AND relnamespace = current_schema::regnamespace"
)


@cache
def load_statements(file: str = "queries.sql") -> Mapping[str, str]:
    """Return the statements of a file by name."""
    own = load_queries(f"postgres/{file}") if (Path(__file__).parent / file).is_file() else {}
    return {name: _number_placeholders(text) for name, text in {**load_queries(file), **own}.items()}


def _number_placeholders(statement: str) -> str:
    places = count(1)  # those without a number are counted in order
    return _PLACEHOLDER.sub(lambda found: f"${found[1] or next(places)}", statement)


def program_schema_version() -> int:
    """Return the schema version of this program."""
    return len(_migration_scripts())


def prepare_schema(place: DatabaseUrl) -> None:
    """Create the tables or migrate them. Writers and migration wait for each other."""
    with connect(place) as connection, PgFaults(place):
        if read_schema_version(place, connection) == program_schema_version():
            return
        connection.execute("SELECT pg_advisory_lock($1)", (_SCHEMA_LOCK,))
        for number in range(read_schema_version(place, connection) + 1, program_schema_version() + 1):
            with connection.transaction():
                connection.execute(_CREATE_VERSION_TABLE)
                # Readers of the version wait until it has changed.
                connection.execute("LOCK TABLE handrail_schema IN ACCESS EXCLUSIVE MODE")
                connection.execute(_migration_scripts()[number - 1], prepare=False)
                connection.execute("DELETE FROM handrail_schema")
                connection.execute("INSERT INTO handrail_schema (version) VALUES ($1)", (number,))


def has_store(place: DatabaseUrl) -> bool:
    """True if the database has a store. Raises `Unreadable` if it is an unfinished copy."""
    with connect(place) as connection, PgFaults(place):
        if copied := read_copy_mark(connection):
            raise unfinished_copy_fault(place, copied[0])
        return _has_schema(connection)


def read_schema_version(place: DatabaseUrl, connection: Connection) -> int:
    """Return the schema version; 0 if the database is empty. Raises `NewerFormat` or `Unreadable`."""
    if not _has_schema(connection):
        if copied := read_copy_mark(connection):
            raise unfinished_copy_fault(place, copied[0])
        if not _fetch_number(connection, _COUNT_TABLES):
            return 0
        if not _has_schema(connection):
            message = f"{place} has tables of another program"
            raise Unreadable(message, "name an empty database with --store or HANDRAIL_STORE")
    found = int(_fetch_number(connection, "SELECT version FROM handrail_schema"))
    if found > program_schema_version():
        raise newer_schema_fault(place, found)
    return found


def read_copy_mark(connection: Connection) -> tuple[str, int] | None:
    """Return the source and schema version of an unfinished copy; None if the database is not one."""
    if not _fetch_number(connection, "SELECT to_regclass('handrail_copy') IS NOT NULL"):
        return None
    row = connection.execute("SELECT source, version FROM handrail_copy").fetchone()
    return (row[0], row[1]) if row else None


def begin_copy(place: DatabaseUrl, connection: Connection, source: str) -> bool:
    """Create the tables of an unfinished copy of this source. Return True if they existed.

    Until the connection ends, no other process changes the schema. Raises `Busy` if one is doing that.
    """
    last = time.monotonic() + _LOCK_TIMEOUT_SECONDS
    while not _fetch_number(connection, f"SELECT pg_try_advisory_lock({_SCHEMA_LOCK})"):
        if time.monotonic() > last:
            raise Busy(f"somebody else is filling {place}", "wait for it, or end it; then say the same again")
        time.sleep(_POLL_SECONDS)
    found = read_copy_mark(connection)
    if found:
        check_resumable(place, source, found, program_schema_version())
        return True
    if read_schema_version(place, connection):
        raise occupied_fault(place)
    with connection.transaction():
        for script in _migration_scripts():
            connection.execute(script, prepare=False)
        connection.execute(f"DROP INDEX {', '.join(_index_definitions())}")
        connection.execute(f"TRUNCATE {_table_list()}")
        connection.execute(CREATE_COPY_MARK)
        connection.execute("INSERT INTO handrail_copy VALUES ($1, $2)", (source, program_schema_version()))
    return False


def newer_schema_fault(place: DatabaseUrl, found: int) -> NewerFormat:
    """Return the fault for a database that is newer than this program."""
    known = program_schema_version()
    message = f"a newer Handrail has brought {place} to schema {found}, this program knows {known}"
    return NewerFormat(message, "update Handrail here too, and start it again")


def _table_list() -> str:
    return ", ".join(table.name for table in list_tables())


@cache
def _index_definitions() -> Mapping[str, str]:
    return dict(_INDEX_STATEMENT.findall("\n".join(_migration_scripts())))


def _has_schema(connection: Connection) -> bool:
    return bool(_fetch_number(connection, "SELECT to_regclass('handrail_schema') IS NOT NULL"))


def _fetch_number(connection: Connection, statement: str) -> int:
    """Return the first value of the result; 0 if there is none."""
    row = connection.execute(statement).fetchone()
    return int(row[0]) if row else 0


def _migration_scripts() -> tuple[str, ...]:
    return load_migrations("postgres/migrations")


@contextmanager
def open_copy_target(place: DatabaseUrl, source: str) -> Iterator["PgCopyTarget"]:
    """Open the database that a store is copied into: new, or left by an earlier copy of the same source."""
    with connect(place) as connection, PgFaults(place):
        connection.execute("SET statement_timeout = 0")
        yield PgCopyTarget(connection, continued=begin_copy(place, connection, source))


class PgCopyTarget:
    """`CopyTarget` in PostgreSQL."""

    def __init__(self, connection: Connection, *, continued: bool) -> None:
        self._connection = connection
        self.continued = continued

    def sql(self, file: str) -> Mapping[str, str]:
        """Return the statements of a file by name."""
        return load_statements(file)

    def execute(self, statement: str, values: Sequence[Any]) -> QueryResult:
        """Run a query."""
        return self._connection.execute(statement, values)

    def put(self, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Insert these rows, all or none."""
        statement = f"COPY {table.name} ({', '.join(table.columns)}) FROM STDIN"
        try:
            with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)
        except (psycopg.IntegrityError, psycopg.DataError) as error:
            raise bad_row_fault(table, error) from error

    def clear(self) -> None:
        """Delete every row."""
        self._connection.execute(f"TRUNCATE {_table_list()}")

    def finish(self) -> None:
        """Turn the copy into a store, atomically. New rows continue its numbers."""
        connection = self._connection
        connection.execute(f"ANALYZE {_table_list()}")
        with connection.transaction():
            # This is faster than row by row. A copy that an older Handrail began already has the indexes.
            for name, of in _index_definitions().items():
                connection.execute(f"CREATE INDEX IF NOT EXISTS {name} {of}")
            for table, column in (("runs", "k"), ("events", "id")):  # the columns with sequences
                sequence = f"pg_get_serial_sequence('{table}', '{column}')"
                connection.execute(f"SELECT setval({sequence}, max({column})) FROM {table}")  # noqa: S608 - names of our tables
            connection.execute("DROP TABLE handrail_copy")
            connection.execute(_CREATE_VERSION_TABLE)
            version = program_schema_version()
            connection.execute("INSERT INTO handrail_schema (version) VALUES ($1)", (version,))
