"""Connections to a server: a few, shared by the threads of this process, replaced when they break."""

import select
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool

from handrail.shell.opening import Remote
from handrail.stores.sql.postgresql import arrays
from handrail.stores.sql.postgresql.faults import Faults, unreachable

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

PATIENCE: Final = 30.0
"""How many seconds somebody waits for a connection: long enough for a server that starts again."""

_SETTINGS: Final[Mapping[str, str]] = {
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

_UNLESS_SAID: Final[Mapping[str, Any]] = {
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""How a server that has vanished is noticed, unless the address says otherwise."""


class Pool:
    """The connections of this process to one server; each begins and ends its transactions by hand."""

    def __init__(self, place: Remote, most: int) -> None:
        self._place, self._faults = place, Faults(place)
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            place.url,
            connection_class=psycopg.Connection,
            kwargs=options(place),
            min_size=1,
            max_size=most,
            timeout=PATIENCE,
            max_idle=300,
            reconnect_timeout=PATIENCE,
            configure=_configured,
            check=_alive,
            open=True,
            name="handrail",
        )

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """A connection for the block. Raises `Busy` or `NoServer` if none can be had in time."""
        with self._faults:
            connection = self._pool.getconn()
        try:
            yield connection
        finally:
            if connection.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.close()
            self._pool.putconn(connection)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


def connected(place: Remote) -> Connection:
    """A connection outside of any pool. Raises the fault that keeps it out."""
    try:
        connection: Connection = psycopg.connect(place.url, **options(place))
    except psycopg.OperationalError as error:
        raise unreachable(place, error) from error
    except psycopg.ProgrammingError as error:
        raise place.unfit(str(error)) from error
    _configured(connection)
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
    connection.execute(f"SELECT {chosen}")


def _alive(connection: Connection) -> None:
    """Raises if the server has something to say though nobody asked: it has ended the connection."""
    waiting, _, _ = select.select([connection.fileno()], [], [], 0)
    if waiting:
        raise psycopg.OperationalError("the server has closed the connection")
