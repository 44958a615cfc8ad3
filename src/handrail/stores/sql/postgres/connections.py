"""Connect to PostgreSQL: the pool, settings of a connection, array parameters, and faults for errors.

Connections run in autocommit mode; callers begin and end transactions by hand. Never roll back inside a
pipeline: the driver then forgets which statements it has prepared and gets it wrong.
"""

import logging
import select
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

import psycopg
from psycopg import errors
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Format, TransactionStatus
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from handrail.runtime.errors import Busy, DiskFull, Fault, Missing, NoServer, NotWritable, Unreadable
from handrail.runtime.store_address import DatabaseUrl

# What to do after an error that passes by itself.
SEND_AGAIN_REPAIR: Final = "send the same call again"
SERVER_BACK_REPAIR: Final = "see that the server runs and lets this user in, then " + SEND_AGAIN_REPAIR
# Errors that a second try may not have.
_BUSY_ERRORS: Final = (
    errors.LockNotAvailable,
    errors.QueryCanceled,
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.UniqueViolation,
    errors.TooManyConnections,
)
_UNSOUND_DATABASE: Final = (Unreadable, "{} is no sound database", "restore a backup, or name another store")
_FAULT_BY_ERROR: Final[Mapping[type[psycopg.Error], tuple[type[Fault], str, str]]] = {
    errors.DiskFull: (
        DiskFull,
        "there is no room on the disk of {}",
        "free some space there, then " + SEND_AGAIN_REPAIR,
    ),
    errors.ReadOnlySqlTransaction: (
        NotWritable,
        "{} takes no changes: it is a standby, or read only",
        "name the primary server with --store or HANDRAIL_STORE",
    ),
    errors.InsufficientPrivilege: (
        NotWritable,
        "the user of {} may not do that there",
        "have its owner grant this user what it needs: docs/guides/team-server.md",
    ),
    errors.UndefinedTable: (
        Unreadable,
        "{} has not the tables of a store",
        "restore a backup, or name another store with --store or HANDRAIL_STORE",
    ),
    errors.DataCorrupted: _UNSOUND_DATABASE,
    errors.IndexCorrupted: _UNSOUND_DATABASE,
}
_TEXT_OID: Final = 25
_BIGINT_OID: Final = 20
_PACK_HEAD: Final = struct.Struct("!iiIii").pack
_PACK_NUMBER: Final = struct.Struct("!iq").pack
_PACK_LENGTH: Final = struct.Struct("!i").pack
_NULL_ITEM: Final = _PACK_LENGTH(-1)
_EMPTY_TEXTS, _EMPTY_NUMBERS = (struct.pack("!iiI", 0, 0, element) for element in (_TEXT_OID, _BIGINT_OID))
# No statement, lock or transaction of ours may last longer than this. None of our queries is worth JIT
# compilation or parallel workers, which the planner cannot know.
_SETTINGS: Final[dict[str, str]] = {
    "statement_timeout": "30s",
    "lock_timeout": "20s",
    "idle_in_transaction_session_timeout": "60s",
    "application_name": "handrail",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}
# Compress long texts with lz4, which takes less work, if the server supports it.
_SET_COMPRESSION: Final = (
    "(SELECT set_config(name, 'lz4', false) FROM pg_settings"
    " WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals))"
)
# How to notice a server that has vanished, unless the address says otherwise.
_KEEPALIVE_DEFAULTS: Final[Mapping[str, Any]] = {
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
# How many seconds to wait for a connection: long enough for a server that restarts.
CONNECTION_WAIT_SECONDS: Final = 30.0
# How many seconds pass before a server that could not be reached is tried again. Without this, the pool would
# double its pauses and notice a returned server up to 15 seconds later.
_RETRY_SECONDS: Final = 0.5
# How many seconds the server has to answer when we ask why there is no connection.
_PROBE_SECONDS: Final = 1
_MAX_IDLE_SECONDS: Final = 300.0


class PgFaults:
    """A block, to be used any number of times, that turns server errors of the environment into faults."""

    def __init__(self, place: DatabaseUrl) -> None:
        self._place = place

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise the fault for the block's error, if there is one for it."""
        fault = pg_fault(self._place, error) if isinstance(error, psycopg.Error) else None
        if fault:
            raise fault from error


def pg_fault(place: DatabaseUrl, error: psycopg.Error) -> Fault | None:
    """Return the fault for an error; None if it is a programming error."""
    if isinstance(error, psycopg.DataError) and error.sqlstate is None:
        return Unreadable(f"{place} cannot keep this: {format_error(error)}", "take it out of the text")
    if isinstance(error, _BUSY_ERRORS):
        return Busy(f"{place} did not come to it in time: {format_error(error)}", SEND_AGAIN_REPAIR)
    for kind, (fault, message, repair) in _FAULT_BY_ERROR.items():
        if isinstance(error, kind):
            return fault(f"{message.format(place)}: {format_error(error)}", repair)
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return NoServer(f"{place} broke off, or could not go on", SERVER_BACK_REPAIR)
    return None


def format_error(error: Exception) -> str:
    """Return the message of the server or the driver on one line."""
    return " ".join(str(error).split())


class TextArray(tuple[str | None, ...]):
    """A column of texts, sent as `text[]`."""

    __slots__ = ()


class NumberArray(tuple[int | None, ...]):
    """A column of whole numbers, sent as `bigint[]`."""

    __slots__ = ()


class _TextArrayDumper(Dumper):
    format = Format.BINARY
    oid = 1009

    def dump(self, obj: TextArray) -> bytes:
        """Encode as `text[]`. Raises `DataError` for NUL, as the driver does for a single text."""
        if not obj:
            return _EMPTY_TEXTS
        parts = [_PACK_HEAD(1, None in obj, _TEXT_OID, len(obj), 1)]
        for text in obj:
            if text is None:
                parts.append(_NULL_ITEM)
                continue
            if "\0" in text:
                raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
            encoded = text.encode()
            parts += (_PACK_LENGTH(len(encoded)), encoded)
        return b"".join(parts)


class _NumberArrayDumper(Dumper):
    format = Format.BINARY
    oid = 1016

    def dump(self, obj: NumberArray) -> bytes:
        """Encode as `bigint[]`."""
        if not obj:
            return _EMPTY_NUMBERS
        items = [_NULL_ITEM if number is None else _PACK_NUMBER(8, number) for number in obj]
        return b"".join((_PACK_HEAD(1, None in obj, _BIGINT_OID, len(obj), 1), *items))


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that keeps a cursor: a new cursor works out again how values are sent and read."""

    @cached_property
    def shared_cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        """Return the shared cursor. The caller must fetch all rows before the next statement."""
        return self.cursor()


def connect(place: DatabaseUrl, soon: int = 0) -> Connection:
    """Open a connection outside the pool. `soon` is how many seconds the server has to answer."""
    chosen = connection_options(place) | ({"connect_timeout": soon} if soon else {})
    try:
        connection = Connection.connect(place.url, **chosen)
    except psycopg.OperationalError as error:
        # The words name hosts, users and sockets: they are for the person who opens the store. A missing
        # database will not appear by waiting.
        words = format_error(error)
        if "does not exist" in words and "database" in words:
            repair = "make it: createdb and its name, on that server"
            raise Missing(f"{place} is not there: {words}", repair) from error
        raise NoServer(f"{place} cannot be reached: {words}", SERVER_BACK_REPAIR) from error
    except psycopg.ProgrammingError as error:
        raise place.unfit(str(error)) from error
    try:
        with PgFaults(place):
            configure_connection(connection)
    except Fault:
        connection.close()
        raise
    return connection


def connection_options(place: DatabaseUrl) -> dict[str, Any]:
    """Return the connection options besides the address."""
    try:
        given = conninfo_to_dict(place.url)
    except psycopg.ProgrammingError as error:
        raise place.unfit(format_error(error)) from error
    ours = {"autocommit": True, "prepare_threshold": 0, "cursor_factory": psycopg.RawCursor}
    return {**{name: value for name, value in _KEEPALIVE_DEFAULTS.items() if name not in given}, **ours}


def configure_connection(connection: Connection) -> None:
    """Set the limits of a new connection, and send all whole numbers in one size.

    With several sizes, a statement would be prepared once for each.
    """
    connection.adapters.register_dumper(int, Int8Dumper)
    connection.adapters.register_dumper(TextArray, _TextArrayDumper)
    connection.adapters.register_dumper(NumberArray, _NumberArrayDumper)
    settings = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in _SETTINGS.items())
    connection.execute(f"SELECT {settings}, {_SET_COMPRESSION}")


# Callers get a fault for what the pool warns about. Without a handler, Python would print the warning too.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())


class ServerUnreachable(NoServer):
    """No connection could be made for a while. Nothing was sent."""


class Pool:
    """The connections of this process to one server. Each begins and ends its transactions by hand."""

    def __init__(self, place: DatabaseUrl, most: int, patience: float = CONNECTION_WAIT_SECONDS) -> None:
        self._place, self._patience = place, patience
        self._pool = ConnectionPool(
            place.url,
            connection_class=Connection,
            kwargs=connection_options(place),
            configure=configure_connection,
            min_size=0,
            max_size=most,
            max_idle=_MAX_IDLE_SECONDS,
            reconnect_timeout=0.0,
            open=True,
        )

    @contextmanager
    def borrow(self, patience: float | None = None) -> Iterator[Connection]:
        """Lend a connection. Raises `Busy` if all stay in use, `ServerUnreachable` if none can be made."""
        connection = self._take_connection(self._patience if patience is None else patience)
        try:
            yield connection
        finally:
            # The pool would roll a transaction back. Then the driver forgets what it has prepared,
            # and gets it wrong in a pipeline.
            if connection.pgconn.transaction_status != TransactionStatus.IDLE:
                connection.close()
            self._pool.putconn(connection)

    def close(self) -> None:
        """Close every connection; those in use when they are returned."""
        self._pool.close()

    def _take_connection(self, patience: float) -> Connection:
        """Return a connection that the server has not ended, waiting so many seconds."""
        end = time.monotonic() + patience
        while True:
            try:
                connection = self._pool.getconn(min(_RETRY_SECONDS, end - time.monotonic()))
            except PoolClosed as error:
                raise ServerUnreachable(f"{self._place} cannot be reached", SERVER_BACK_REPAIR) from error
            except PoolTimeout as error:
                if time.monotonic() < end:
                    continue
                raise self._no_connection_fault(patience) from error
            if not connection.closed:
                poll = select.poll()
                poll.register(connection.fileno(), select.POLLIN)
                if not poll.poll(0):
                    return connection
            # Closed, or the server has sent something unasked: then it has ended the connection.
            connection.close()
            self._pool.putconn(connection)

    def _no_connection_fault(self, patience: float) -> Fault:
        """Return why there is no connection. Anyone may read it, so it names no hosts."""
        try:
            connect(self._place, _PROBE_SECONDS).close()
        except Missing as fault:
            return Missing(f"{self._place} is not there", fault.repair)
        except NoServer as fault:
            return ServerUnreachable(f"{self._place} cannot be reached", fault.repair)
        if self._pool.get_stats()["pool_size"] < self._pool.max_size:  # the server has just come back
            return ServerUnreachable(f"{self._place} cannot be reached", SERVER_BACK_REPAIR)
        message = f"every connection to {self._place} was in use for {patience:g} seconds"
        return Busy(message, SEND_AGAIN_REPAIR)
