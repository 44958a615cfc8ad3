"""A PostgreSQL database as this process has it open: `Tables`, behind a pool of connections."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import local
from typing import Any, Final, Literal, TypeAlias

import psycopg
from psycopg import pq

from handrail.shell.faults import NoServer, Unreadable
from handrail.shell.store_address import Remote
from handrail.stores.sql.postgresql import schema
from handrail.stores.sql.postgresql.connection import Connection, connected
from handrail.stores.sql.postgresql.crier import Crier
from handrail.stores.sql.postgresql.dialect import statements
from handrail.stores.sql.postgresql.ear import Listener
from handrail.stores.sql.postgresql.faults import Faults
from handrail.stores.sql.postgresql.pool import PATIENCE, Away, Pool
from handrail.stores.sql.postgresql.reader import settled_entry
from handrail.stores.sql.shape import tables
from handrail.stores.sql.tables import Ear, Execute

CONNECTIONS: Final = 12
"""How many connections a process has at most, besides the one that listens."""

Way: TypeAlias = Literal["asks", "writes"]
_PULSE: Final = "SELECT hashtextextended(CAST(pg_current_snapshot() AS TEXT), 0)"
_SIZE: Final = (
    "SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT) FROM pg_class"
    " WHERE relkind = 'r' AND relnamespace = current_schema::regnamespace"
)
_TASKS: Final = 0x48524C32
"""The first half of the advisory locks of tasks that one process does for all."""

_ELECTED: Final = "SELECT pg_try_advisory_xact_lock(CAST($1 AS INTEGER), hashtext($2))"
_SOON: Final = 1.0
"""How many seconds somebody waits who only wants to know whether the server is there."""


class Told:
    """What a statement has found; its connection may serve others already."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
        self._result, self.rowcount = cursor.pgresult, cursor.rowcount
        self._rows = iter(() if cursor.rownumber is None else cursor.fetchall())

    @property
    def description(self) -> Sequence[Any] | None:
        """The columns, each by its name."""
        result = self._result
        return [((result.fname(at) or b"").decode(),) for at in range(result.nfields)] if result else None

    def fetchone(self) -> Any:  # noqa: ANN401 - what a row holds, the statement says
        """The next row, or None."""
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        """The rows that are left."""
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        """The rows that are left."""
        return self._rows


class Late:
    """What a statement of a pipeline will have found: it is waited for once somebody looks."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]], pipeline: psycopg.Pipeline) -> None:
        self._cursor, self._pipeline = cursor, pipeline

    @property
    def description(self) -> Sequence[Any] | None:
        """The columns."""
        self._pipeline.sync()
        return self._cursor.description

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        self._pipeline.sync()
        return self._cursor.rowcount

    def fetchone(self) -> Any:  # noqa: ANN401 - what a row holds, the statement says
        """The next row, or None."""
        return self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        """The rows that are left."""
        return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Any]:
        """The rows that are left."""
        return iter(self._cursor)


class _Mine(local):
    """The connections that a thread has in a transaction: to ask by, and to write by."""

    asks: Connection | None = None
    writes: Connection | None = None


class PgDatabase:
    """The connections to a database. Writers of different runs do not wait for each other."""

    def __init__(self, place: Remote, connections: int = CONNECTIONS, patience: float = PATIENCE) -> None:
        schema.prepare(place)
        self.place = place
        self._faults = Faults(place)
        self._pool = Pool(place, connections, patience)
        self._crier = Crier(self._pool)
        self._sql = statements()
        self._mine = _Mine()
        self._closed = False

    def sql(self, file: str = "queries.sql") -> Mapping[str, str]:
        """The statements of a file, by name."""
        return statements(file)

    @contextmanager
    def written(self) -> Iterator[Execute]:
        """A transaction, committed when the block ends well, gone without a trace when it does not."""
        with self._lent("writes") as connection, self._faults, _undone(connection):
            begun = connection.pgconn.transaction_status == pq.TransactionStatus.INTRANS
            with connection.pipeline() as pipeline:
                if not begun:
                    connection.execute("BEGIN")
                check = connection.execute(self._sql["check"])

                def execute(statement: str, values: Sequence[Any]) -> Late:
                    return Late(connection.execute(statement, values), pipeline)

                yield execute
                listened = self._check(check.fetchone())[1]
                connection.execute("COMMIT")
        if listened:
            self._crier.cry()

    def at_once(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """The rows of one statement that is a transaction by itself, committed when they are there.

        Their last column tells whether anybody listens, and there are none if it changed nothing. Raises
        `Newer` if that is because a newer program has changed the schema.
        """
        with self._lent("writes") as connection, self._faults:
            found = connection.kept.execute(statement, values).fetchall()
            if not found:
                self._check(connection.execute(self._sql["version"]).fetchone())
            if connection.pgconn.transaction_status == pq.TransactionStatus.INTRANS:
                connection.execute("COMMIT")
        if found and found[0][-1]:
            self._crier.cry()
        return found

    @contextmanager
    def read(self) -> Iterator[Execute]:
        """A block that only asks; each statement sees what is committed."""
        yield self._asked

    @contextmanager
    def seen(self) -> Iterator[Execute]:
        """Like `read`, but every statement of the block, in this thread, sees the same moment.

        What this thread writes in the block goes another way, and is not seen in it.
        """
        with self._pool.lent() as connection, self._faults:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            with self._using("asks", connection):
                yield self._asked

    def peek(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """The rows of a statement that takes no time; it sees what is committed."""
        return self._asked(statement, values).fetchall()

    @contextmanager
    def held(self, run: str) -> Iterator[None]:
        """A transaction that has locked the run; what this thread writes first is written in it.

        Inside another such block it is that block's.
        """
        if self._mine.writes:
            yield
            return
        with self._pool.lent() as connection, self._faults:
            connection.execute("BEGIN")
            connection.execute(self._sql["hold"], (run,))
            with self._using("writes", connection), self._using("asks", connection):
                yield

    @contextmanager
    def elected(self, task: str) -> Iterator[bool]:
        """A block that is told whether it holds the lock of a task; the lock ends with its connection."""
        with self._pool.lent() as connection:
            with self._faults:
                connection.execute("BEGIN")
                found = connection.execute(_ELECTED, (_TASKS, task)).fetchone()
            try:
                yield bool(found and found[0])
            finally:
                if not connection.closed:
                    with self._faults:
                        connection.execute("ROLLBACK")

    def pulse(self) -> int:
        """Which transactions are over, as a number."""
        return int(self.peek(_PULSE, ())[0][0])

    def settled(self) -> int:
        """The last entry, once everybody has ended who was entering any when it was seen."""
        return settled_entry(self.place, self.peek)

    def ear(self) -> Ear:
        """What hears that any process has written."""
        return Listener(self.place)

    def size(self) -> int:
        """How many bytes the tables and their indexes take."""
        return int(self.peek(_SIZE, ())[0][0])

    def vacuum(self) -> None:
        """Have unused space used again, however long it takes; others go on working."""
        with connected(self.place) as connection, self._faults:
            connection.execute("SET statement_timeout = 0")
            for table in tables():
                connection.execute(f"VACUUM (ANALYZE) {table.name}")

    def flaws(self) -> Iterator[tuple[str, str]]:
        """Rows that belong to none, and pages that the server could not read on the way to them."""
        for table in ("steps", "artifacts", "events", "replies"):
            statement = f"SELECT count(*) FROM {table} AS t WHERE run IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs WHERE k = t.run)"  # noqa: S608, E501 - the names are ours
            try:
                lost = int(self.peek(statement, ())[0][0])
            except Unreadable as fault:
                yield "file", fault.message
                continue
            yield from [("reference", f"a row of {table} belongs to none of runs")] * lost

    def there(self) -> None:
        """Raises a fault if the database cannot be reached at once, or has another schema now."""
        with self._pool.lent(_SOON) as connection, self._faults:
            self._check(connection.execute(self._sql["version"]).fetchone())

    def rest(self) -> None:
        """The server rests by itself."""

    def close(self) -> None:
        """Close every connection; once is enough."""
        if not self._closed:
            self._closed = True
            self._crier.close()
            self._pool.close()

    def _lent(self, by: Way) -> AbstractContextManager[Connection]:
        """The connection that this thread has for it in a transaction, or one of the pool."""
        found: Connection | None = getattr(self._mine, by)
        return nullcontext(found) if found else self._pool.lent()

    @contextmanager
    def _using(self, by: Way, connection: Connection) -> Iterator[None]:
        """Let this thread ask, or write, by a connection in a transaction, and end that.

        It is never rolled back by a word: then the driver forgets what it has prepared, and gets it wrong in
        a pipeline. Nothing is left in it to be undone, or the connection is given up.
        """
        before = getattr(self._mine, by)
        setattr(self._mine, by, connection)
        try:
            yield
        finally:
            setattr(self._mine, by, before)
            if connection.pgconn.transaction_status == pq.TransactionStatus.INTRANS:
                connection.execute("COMMIT")

    def _asked(self, statement: str, values: Sequence[Any]) -> Told:
        """What a statement finds; asked once more if the server was gone, and no moment is lost by that."""
        try:
            return self._asked_once(statement, values)
        except Away:
            raise
        except NoServer:
            if self._mine.asks:
                raise
            return self._asked_once(statement, values)

    def _asked_once(self, statement: str, values: Sequence[Any]) -> Told:
        with self._lent("asks") as connection, self._faults:
            return Told(connection.kept.execute(statement, values))

    def _check(self, found: Sequence[Any] | None) -> Sequence[Any]:
        """The row, if the schema is still ours: a newer program may have changed it since we opened it."""
        if found is None or found[0] != schema.known():
            raise schema.newer(self.place, found[0] if found else 0)
        return found


@contextmanager
def _undone(connection: Connection) -> Iterator[None]:
    """A block whose transaction is rolled back if it does not end well.

    That is for behind a pipeline: in one, the driver would believe in statements that are not prepared.
    """
    try:
        yield
    except BaseException:
        if not connection.closed:
            connection.execute("ROLLBACK")
        raise
