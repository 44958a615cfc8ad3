"""Open a PostgreSQL database as a store: `SqlDatabase` on a pool of connections.

Writers of different runs do not wait for each other. A thread inside `hold_run` or `snapshot` keeps using the
connection of that block.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import local
from typing import Any, Final, Literal, TypeAlias

import psycopg
from psycopg import pq

from handrail.runtime.errors import NoServer, Unreadable
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres import schema
from handrail.stores.sql.postgres.connections import (
    CONNECTION_WAIT_SECONDS,
    Connection,
    PgFaults,
    Pool,
    ServerUnreachable,
    connect,
)
from handrail.stores.sql.postgres.notifications import Notifier, PgChangeListener
from handrail.stores.sql.postgres.pg_reader import find_last_settled_entry
from handrail.stores.sql.schema import ChangeListener, Execute, list_tables

MAX_CONNECTIONS: Final = 12
ConnectionUse: TypeAlias = Literal["asks", "writes"]
# A hash of which transactions are over.
_DATA_VERSION_QUERY: Final = "SELECT hashtextextended(CAST(pg_current_snapshot() AS TEXT), 0)"
_SIZE_QUERY: Final = (
    "SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT) FROM pg_class"
    " WHERE relkind = 'r' AND relnamespace = current_schema::regnamespace"
)
# The first half of the advisory locks for tasks that one process does for all.
_TASK_LOCK_CLASS: Final = 0x48524C32
_ELECT_QUERY: Final = "SELECT pg_try_advisory_xact_lock(CAST($1 AS INTEGER), hashtext($2))"
_PROBE_TIMEOUT_SECONDS: Final = 1.0


class FetchedResult:
    """A complete result. Its connection may already serve others."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
        self._result, self.rowcount = cursor.pgresult, cursor.rowcount
        self._rows = iter(() if cursor.rownumber is None else cursor.fetchall())

    @property
    def description(self) -> Sequence[Any] | None:
        """The columns, each by its name."""
        result = self._result
        return [((result.fname(at) or b"").decode(),) for at in range(result.nfields)] if result else None

    def fetchone(self) -> Any:  # noqa: ANN401 - the statement decides what a row holds
        """Return the next row, or None."""
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        """Return the remaining rows."""
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the remaining rows."""
        return self._rows


class PipelinedResult:
    """The result of a statement in a pipeline. It is waited for when it is first read."""

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

    def fetchone(self) -> Any:  # noqa: ANN401 - the statement decides what a row holds
        """Return the next row, or None."""
        return self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        """Return the remaining rows."""
        return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the remaining rows."""
        return iter(self._cursor)


class _ThreadConnections(local):
    """The connections that a thread has in a transaction: for queries, and for writes."""

    asks: Connection | None = None
    writes: Connection | None = None


class PgDatabase:
    """The connections to a database. Writers of different runs do not wait for each other."""

    def __init__(
        self,
        place: DatabaseUrl,
        connections: int = MAX_CONNECTIONS,
        patience: float = CONNECTION_WAIT_SECONDS,
    ) -> None:
        schema.prepare_schema(place)
        self.place, self._faults, self._closed = place, PgFaults(place), False
        self._pool = Pool(place, connections, patience)
        self._crier = Notifier(self._pool)
        self._sql, self._thread = schema.load_statements(), _ThreadConnections()

    def sql(self, file: str = "queries.sql") -> Mapping[str, str]:
        """Return the statements of a file by name."""
        return schema.load_statements(file)

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        """Open a transaction: committed when the block succeeds, rolled back when it raises."""
        with self._borrow("writes") as connection, self._faults:
            begun = connection.pgconn.transaction_status == pq.TransactionStatus.INTRANS
            try:
                with connection.pipeline() as pipeline:
                    if not begun:
                        connection.execute("BEGIN")
                    check = connection.execute(self._sql["check"])

                    def execute(statement: str, values: Sequence[Any]) -> PipelinedResult:
                        return PipelinedResult(connection.execute(statement, values), pipeline)

                    yield execute
                    listened = self._check_schema(check.fetchone())[1]
                    connection.execute("COMMIT")
            except BaseException:
                # Outside the pipeline: inside, the driver would rely on statements that are not prepared.
                if not connection.closed:
                    connection.execute("ROLLBACK")
                raise
        if listened:
            self._crier.notify_soon()

    def execute_transaction(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """Run one statement as a transaction of its own and return its rows, once committed.

        The last column says whether anyone listens. No rows mean that nothing was changed.
        """
        with self._borrow("writes") as connection, self._faults:
            found = connection.shared_cursor.execute(statement, values).fetchall()
            if not found:
                self._check_schema(connection.execute(self._sql["version"]).fetchone())
            if connection.pgconn.transaction_status == pq.TransactionStatus.INTRANS:
                connection.execute("COMMIT")
        if found and found[0][-1]:
            self._crier.notify_soon()
        return found

    @contextmanager
    def read(self) -> Iterator[Execute]:
        """Open a block for queries. Each statement sees what is committed."""
        yield self._ask

    @contextmanager
    def snapshot(self) -> Iterator[Execute]:
        """Like `read`, but every statement of this thread in the block sees the same moment.

        What this thread writes in the block uses another connection and is not visible in it.
        """
        with self._pool.borrow() as connection, self._faults:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            with self._use_connection("asks", connection):
                yield self._ask

    def peek(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows of a fast statement. It sees what is committed."""
        return self._ask(statement, values).fetchall()

    @contextmanager
    def hold_run(self, run: str) -> Iterator[None]:
        """Lock the run in a transaction, unless this thread has one; its first write happens in it."""
        if self._thread.writes:
            yield
            return
        with self._pool.borrow() as connection, self._faults:
            connection.execute("BEGIN")
            connection.execute(self._sql["hold"], (run,))
            with self._use_connection("writes", connection), self._use_connection("asks", connection):
                yield

    @contextmanager
    def elect(self, task: str) -> Iterator[bool]:
        """Yield True if this process has the lock of a task. The lock ends with its connection."""
        with self._pool.borrow() as connection:
            with self._faults:
                connection.execute("BEGIN")
                found = connection.execute(_ELECT_QUERY, (_TASK_LOCK_CLASS, task)).fetchone()
            try:
                yield bool(found and found[0])
            finally:
                if not connection.closed:
                    with self._faults:
                        connection.execute("ROLLBACK")

    def data_version(self) -> int:
        """Return a number for which transactions are over."""
        return int(self.peek(_DATA_VERSION_QUERY, ())[0][0])

    def last_settled_entry(self) -> int:
        """Return the last entry, after waiting for all writers that were active when it was read."""
        return find_last_settled_entry(self.place, self.peek)

    def open_listener(self) -> ChangeListener:
        """Return a listener for the writes of any process."""
        return PgChangeListener(self.place)

    def size(self) -> int:
        """Return how many bytes the tables and their indexes take."""
        return int(self.peek(_SIZE_QUERY, ())[0][0])

    def vacuum(self) -> None:
        """Make unused space reusable, however long it takes. Others continue to work."""
        with connect(self.place) as connection, self._faults:
            connection.execute("SET statement_timeout = 0")
            for table in list_tables():
                connection.execute(f"VACUUM (ANALYZE) {table.name}")

    def find_damage(self) -> Iterator[tuple[str, str]]:
        """Yield rows whose run is missing, and pages that the server could not read."""
        for table in ("steps", "artifacts", "events", "replies"):
            statement = f"SELECT count(*) FROM {table} AS t WHERE run IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs WHERE k = t.run)"  # noqa: S608, E501 - names of our tables
            try:
                lost = int(self.peek(statement, ())[0][0])
            except Unreadable as fault:
                yield "file", fault.message
                continue
            yield from [("reference", f"a row of {table} belongs to none of runs")] * lost

    def check_reachable(self) -> None:
        """Raise a fault if the database does not answer at once, or has another schema now."""
        with self._pool.borrow(_PROBE_TIMEOUT_SECONDS) as connection, self._faults:
            self._check_schema(connection.execute(self._sql["version"]).fetchone())

    def do_idle_work(self) -> None:
        """Do nothing: the server maintains itself."""

    def close(self) -> None:
        """Close every connection. Safe to call again."""
        if not self._closed:
            self._closed = True
            self._crier.close()
            self._pool.close()

    def _borrow(self, by: ConnectionUse) -> AbstractContextManager[Connection]:
        """Return this thread's connection in a transaction for this use, or one from the pool."""
        found: Connection | None = getattr(self._thread, by)
        return nullcontext(found) if found else self._pool.borrow()

    @contextmanager
    def _use_connection(self, by: ConnectionUse, connection: Connection) -> Iterator[None]:
        """Let this thread use a connection in a transaction for queries or writes, and end the transaction.

        It is never rolled back by a statement: then the driver forgets which statements it has prepared, and
        gets it wrong in a pipeline. There is nothing left to undo, or the connection is closed.
        """
        before = getattr(self._thread, by)
        setattr(self._thread, by, connection)
        try:
            yield
        finally:
            setattr(self._thread, by, before)
            if connection.pgconn.transaction_status == pq.TransactionStatus.INTRANS:
                connection.execute("COMMIT")

    def _ask(self, statement: str, values: Sequence[Any]) -> FetchedResult:
        """Run a query. If the server was gone, run it again, unless that would lose a snapshot."""
        try:
            return self._ask_once(statement, values)
        except ServerUnreachable:
            raise
        except NoServer:
            if self._thread.asks:
                raise
            return self._ask_once(statement, values)

    def _ask_once(self, statement: str, values: Sequence[Any]) -> FetchedResult:
        with self._borrow("asks") as connection, self._faults:
            return FetchedResult(connection.shared_cursor.execute(statement, values))

    def _check_schema(self, found: Sequence[Any] | None) -> Sequence[Any]:
        """Return the row, or raise `NewerFormat` if a newer program has changed the schema since."""
        if found is None or found[0] != schema.program_schema_version():
            raise schema.newer_schema_fault(self.place, found[0] if found else 0)
        return found
