"""Connections to a server: a few, shared by the threads of this process, replaced when they break."""

import select
import time
from collections.abc import Mapping
from functools import cached_property
from itertools import chain, repeat
from queue import Empty, SimpleQueue
from threading import Event, Lock
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper

from handrail.shell.faults import Busy, Fault, Missing, NoServer
from handrail.shell.store_address import Remote
from handrail.stores.sql.postgresql import arrays
from handrail.stores.sql.postgresql.faults import AGAIN, Faults, unreachable

PATIENCE: Final = 30.0
"""How many seconds somebody waits for a connection: long enough for a server that starts again."""

_PAUSES: Final = (0.05, 0.1, 0.2, 0.4, 0.8)
"""How many seconds pass before a server that could not be reached is tried again; then the last, again."""

_IDLE: Final = 300.0
"""How many seconds a connection is kept that nobody needs."""

_SETTINGS: Final[dict[str, str]] = {
    "statement_timeout": "30s",
    "lock_timeout": "20s",
    "idle_in_transaction_session_timeout": "60s",
    "application_name": "handrail",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}
"""No statement, no lock and no transaction of ours may last longer.

None of our questions is worth compiling it, or starting processes for it; the planner cannot know that.
"""

_COMPRESSED: Final = (
    "(SELECT set_config(name, 'lz4', false) FROM pg_settings"
    " WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals))"
)
"""Long texts are compressed with less work, where the server can."""

_UNLESS_SAID: Final[Mapping[str, Any]] = {
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""How a server that has vanished is noticed, unless the address says otherwise."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that keeps a cursor: each new one finds out again how values are sent and read."""

    @cached_property
    def kept(self) -> psycopg.Cursor[tuple[Any, ...]]:
        """A cursor for whoever fetches all rows before anything else is asked."""
        return self.cursor()


class Away(NoServer):
    """No connection could be had for a while: nothing was sent."""


class Pool:
    """The connections of this process to one server; each begins and ends its transactions by hand.

    Whoever needs one makes it, if none is left over, and tries again while the server is away.
    """

    def __init__(self, place: Remote, most: int, patience: float = PATIENCE) -> None:
        self._place, self._patience = place, patience
        self._free: SimpleQueue[None] = SimpleQueue()
        for _ in range(most):
            self._free.put(None)
        self._lock = Lock()
        self._left: list[tuple[float, Connection]] = []
        self._closed = Event()

    def lent(self, patience: float | None = None) -> "Lent":
        """A connection for a block. It raises `Busy` if all are in use too long, `Away` if none is made."""
        return Lent(self, self._patience if patience is None else patience)

    def take(self, most: float) -> Connection:
        """A connection, to be given back; waited for so many seconds."""
        end = time.monotonic() + most
        try:
            self._free.get(timeout=most)
        except Empty:
            message = f"every connection to {self._place} was in use for {most:g} seconds"
            raise Busy(message, AGAIN) from None
        try:
            return self._left_over() or self._made(end)
        except BaseException:
            self._free.put(None)
            raise

    def give(self, connection: Connection) -> None:
        """Take a connection back."""
        try:
            self._take_back(connection)
        finally:
            self._free.put(None)

    def close(self) -> None:
        """Close every connection, those in use when they come back."""
        self._closed.set()
        while connection := self._left_over():
            connection.close()

    def _left_over(self) -> Connection | None:
        """The connection that was used last, of those that the server has not ended."""
        while True:
            with self._lock:
                _, connection = self._left.pop() if self._left else (0.0, None)
            if connection is None or _alive(connection):
                return connection
            connection.close()

    def _made(self, end: float) -> Connection:
        """A new connection; tried until this time. What keeps it out is told to anybody, so in few words."""
        pauses = chain(_PAUSES, repeat(_PAUSES[-1]))
        while True:
            try:
                return connected(self._place)
            except Missing as fault:
                raise Missing(f"{self._place} is not there", fault.repair) from fault
            except NoServer as fault:
                left = end - time.monotonic()
                if left <= 0 or self._closed.wait(min(next(pauses), left)):
                    raise Away(f"{self._place} cannot be reached", fault.repair) from fault

    def _take_back(self, connection: Connection) -> None:
        """Keep a connection for the next; not one in a transaction, nor one that nobody has needed long."""
        if connection.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE or self._closed.is_set():
            connection.close()
            return
        now = time.monotonic()
        with self._lock:
            self._left.append((now, connection))
            unused = self._left.pop(0)[1] if now - self._left[0][0] > _IDLE else None
        if unused:
            unused.close()


class Lent:
    """A connection of a pool, for a block."""

    __slots__ = ("_connection", "_most", "_pool")

    def __init__(self, pool: Pool, most: float) -> None:
        self._pool, self._most = pool, most

    def __enter__(self) -> Connection:
        """Take it."""
        self._connection = self._pool.take(self._most)
        return self._connection

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        self._pool.give(self._connection)


def connected(place: Remote, soon: int = 0) -> Connection:
    """A connection outside of any pool; `soon`, if a server must answer within so many seconds.

    Raises the fault that keeps it out.
    """
    chosen = {**options(place), "connect_timeout": soon} if soon else options(place)
    try:
        connection = Connection.connect(place.url, **chosen)
    except psycopg.OperationalError as error:
        raise unreachable(place, error) from error
    except psycopg.ProgrammingError as error:
        raise place.unfit(str(error)) from error
    try:
        with Faults(place):
            _configured(connection)
    except Fault:
        connection.close()
        raise
    return connection


def options(place: Remote) -> dict[str, Any]:
    """What a connection is made with, besides its address."""
    try:
        given = conninfo_to_dict(place.url)
    except psycopg.ProgrammingError as error:
        raise place.unfit(" ".join(str(error).split())) from error
    kept = {name: value for name, value in _UNLESS_SAID.items() if name not in given}
    return {**kept, "autocommit": True, "prepare_threshold": 0, "cursor_factory": psycopg.RawCursor}


def _configured(connection: Connection) -> None:
    """Limits of the server, and whole numbers of one size: else a statement is prepared for each."""
    connection.adapters.register_dumper(int, Int8Dumper)
    arrays.known(connection)
    chosen = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in _SETTINGS.items())
    connection.execute(f"SELECT {chosen}, {_COMPRESSED}")


def _alive(connection: Connection) -> bool:
    """False if the server has something to say though nobody asked: it has ended the connection."""
    if connection.closed:
        return False
    heard = select.poll()
    heard.register(connection.fileno(), select.POLLIN)
    return not heard.poll(0)
