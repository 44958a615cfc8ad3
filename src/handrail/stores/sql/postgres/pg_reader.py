"""Open a PostgreSQL store for reading only, for hooks, `brief` and `doctor`, with one connection.

Hooks must be fast: a server that does not answer within two seconds counts as unreachable.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from handrail.runtime.errors import Busy
from handrail.runtime.ports.queries import ReadOnlyStore, StoreReport
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.connections import Connection, PgFaults, connect
from handrail.stores.sql.postgres.schema import load_statements, program_schema_version
from handrail.stores.sql.queries import SqlRunQueries
from handrail.stores.sql.schema import KEY, Execute

_TIMEOUT_SECONDS: Final = 2
# Sets the limit, and asks in the same round trip whether there is a store.
_PROBE_QUERY: Final = (
    f"SELECT set_config('statement_timeout', '{_TIMEOUT_SECONDS}s', false),"
    " to_regclass('handrail_schema') IS NOT NULL"
)
_WRITERS_QUERY: Final = (
    "SELECT virtualtransaction FROM pg_locks WHERE relation = 'events'::regclass"
    " AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid()"
)
_SETTLE_TIMEOUT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.002


class PgReader:
    """The tables of a database, through one connection. Raises the faults of the server."""

    def __init__(self, place: DatabaseUrl, connection: Connection) -> None:
        self._place, self._connection, self._faults = place, connection, PgFaults(place)

    def sql(self, file: str = "queries.sql") -> Mapping[str, str]:
        """Return the statements of a file by name."""
        return load_statements(file)

    @contextmanager
    def read(self) -> Iterator[Execute]:
        """Open a block for queries. Each statement sees what is committed."""
        with self._faults:
            yield self._connection.execute

    @contextmanager
    def snapshot(self) -> Iterator[Execute]:
        """Like `read`, but every statement of the block sees the same moment."""
        with self.read() as execute:
            execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ())
            try:
                yield execute
            finally:
                execute("ROLLBACK", ())

    def last_settled_entry(self) -> int:
        """Return the last entry number below which no entry can appear any more."""
        return find_last_settled_entry(self._place, self._peek)

    def key(self) -> bytes:
        """Return the key that signs this store's tokens; empty if it has none yet."""
        found = self._peek(load_statements()["setting"], (KEY,))
        return bytes(found[0][0]) if found else b""

    def report(self) -> StoreReport:
        """Return what `doctor` reports about the database."""
        version = self._peek(load_statements()["version"], ())[0][0]
        server = self._connection.info.parameter_status("server_version")
        return StoreReport(str(self._place), version, program_schema_version(), f"PostgreSQL {server}")

    def _peek(self, statement: str, values: Sequence[Any]) -> list[Any]:
        with self.read() as execute:
            return execute(statement, values).fetchall()


@contextmanager
def open_read_only_database(place: DatabaseUrl) -> Iterator[ReadOnlyStore | None]:
    """Open the store in a database for the block; None if it has no tables of ours."""
    with connect(place, _TIMEOUT_SECONDS) as connection:
        with PgFaults(place):
            found = connection.execute(_PROBE_QUERY).fetchone()
        reader = PgReader(place, connection)
        there = bool(found and found[1])
        yield ReadOnlyStore(SqlRunQueries(reader), reader.key, reader.report) if there else None


def find_last_settled_entry(place: DatabaseUrl, peek: Callable[[str, Sequence[Any]], list[Any]]) -> int:
    """Return the last entry number, after waiting for all writers that were active when it was read.

    Numbers are given before the commit, so a smaller one may be committed later.
    """

    def list_writers() -> set[str]:
        return {row[0] for row in peek(_WRITERS_QUERY, ())}

    last = int(peek(load_statements()["last_event"], ())[0][0])
    left, end = list_writers(), time.monotonic() + _SETTLE_TIMEOUT_SECONDS
    while left:
        if time.monotonic() > end:
            repair = "end the transaction that hangs: see pg_stat_activity"
            raise Busy(f"somebody has been writing to {place} for too long", repair)
        time.sleep(_POLL_SECONDS)
        left &= list_writers()
    return last
