"""A PostgreSQL store opened to read only: for hooks, `brief` and `doctor`, by one connection.

A hook has no time: a server that does not answer within two seconds counts as away.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from handrail.shell.faults import Busy
from handrail.shell.store_address import Remote
from handrail.shell.view import ReadOnlyStore, StoreReport
from handrail.stores.sql.postgresql.connection import Connection, connected
from handrail.stores.sql.postgresql.dialect import statements
from handrail.stores.sql.postgresql.faults import Faults
from handrail.stores.sql.postgresql.schema import known
from handrail.stores.sql.questions import SqlRecords
from handrail.stores.sql.reader import KEY
from handrail.stores.sql.tables import Execute

_SECONDS: Final = 2
"""How long a hook waits for the server, and then for its answer."""

_READY: Final = (
    f"SELECT set_config('statement_timeout', '{_SECONDS}s', false),"
    " to_regclass('handrail_schema') IS NOT NULL"
)
"""Also asks whether there is a store, so that it costs no round trip of its own."""

_WRITING: Final = (
    "SELECT virtualtransaction FROM pg_locks WHERE relation = 'events'::regclass"
    " AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid()"
)
_SETTLE: Final = 10.0
_PAUSE: Final = 0.002


class PgReader:
    """The tables of a database, behind one connection; raises the faults of the server."""

    def __init__(self, place: Remote, connection: Connection) -> None:
        self._place, self._connection, self._faults = place, connection, Faults(place)

    def sql(self, file: str = "queries.sql") -> Mapping[str, str]:
        """The statements of a file, by name."""
        return statements(file)

    @contextmanager
    def read(self) -> Iterator[Execute]:
        """A block that only asks; each statement sees what is committed."""
        with self._faults:
            yield self._connection.execute

    @contextmanager
    def seen(self) -> Iterator[Execute]:
        """Like `read`, but every statement of the block sees the same moment."""
        with self.read() as execute:
            execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ())
            try:
                yield execute
            finally:
                execute("ROLLBACK", ())

    def settled(self) -> int:
        """The last entry that none can come before any more."""
        return settled_entry(self._place, self._peek)

    def key(self) -> bytes:
        """The key that this store signs with; empty if it has none yet."""
        found = self._peek(statements()["setting"], (KEY,))
        return bytes(found[0][0]) if found else b""

    def report(self) -> StoreReport:
        """What the doctor says about the database."""
        version = self._peek(statements()["version"], ())[0][0]
        server = self._connection.info.parameter_status("server_version")
        return StoreReport(str(self._place), version, known(), f"PostgreSQL {server}")

    def _peek(self, statement: str, values: Sequence[Any]) -> list[Any]:
        with self.read() as execute:
            return execute(statement, values).fetchall()


@contextmanager
def open_read_only(place: Remote) -> Iterator[ReadOnlyStore | None]:
    """The store in a database, until the block ends; None if there are no tables of ours in it."""
    with connected(place, _SECONDS) as connection:
        with Faults(place):
            found = connection.execute(_READY).fetchone()
        reader = PgReader(place, connection)
        there = bool(found and found[1])
        yield ReadOnlyStore(SqlRecords(reader), reader.key, reader.report) if there else None


def settled_entry(place: Remote, peek: Callable[[str, Sequence[Any]], list[Any]]) -> int:
    """The number of the last entry, once everybody has ended who was entering any when it was seen.

    Numbers are given before a commit, so a smaller one may be committed later. Raises `Busy` if somebody
    does not come to an end.
    """

    def writing() -> set[str]:
        return {row[0] for row in peek(_WRITING, ())}

    last = int(peek(statements()["last_event"], ())[0][0])
    left, end = writing(), time.monotonic() + _SETTLE
    while left:
        if time.monotonic() > end:
            repair = "end the transaction that hangs: see pg_stat_activity"
            raise Busy(f"somebody has been writing to {place} for too long", repair)
        time.sleep(_PAUSE)
        left &= writing()
    return last
