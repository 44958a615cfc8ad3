"""Connections to a server: a few, shared by the threads of this process, replaced when they break."""

import logging
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from handrail.shell.faults import Busy, Fault, Missing, NoServer
from handrail.shell.store_address import Remote
from handrail.stores.sql.postgresql.connection import Connection, configure, connected, options
from handrail.stores.sql.postgresql.faults import AGAIN, BACK

PATIENCE: Final = 30.0
"""How many seconds somebody waits for a connection: long enough for a server that starts again."""

_TRY: Final = 0.5
"""How many seconds pass before a server that could not be reached is tried again.

Without this, the pool would double its pauses, and notice a server that is back up to 15 seconds later.
"""

_SOON: Final = 1
"""How many seconds the server has to answer when we ask why there is no connection."""

_IDLE: Final = 300.0
"""How many seconds a connection is kept that nobody needs."""

# The caller that a warning of the pool concerns gets a fault. Without a handler, Python would print it too.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())


class Away(NoServer):
    """No connection could be had for a while: nothing was sent."""


class Pool:
    """The connections of this process to one server; each begins and ends its transactions by hand."""

    def __init__(self, place: Remote, most: int, patience: float = PATIENCE) -> None:
        self._place, self._patience = place, patience
        self._pool = ConnectionPool(
            place.url,
            connection_class=Connection,
            kwargs=options(place),
            configure=configure,
            min_size=0,
            max_size=most,
            max_idle=_IDLE,
            reconnect_timeout=0.0,
            open=True,
        )

    @contextmanager
    def lent(self, patience: float | None = None) -> Iterator[Connection]:
        """A connection for a block. It raises `Busy` if all are in use too long, `Away` if none is made."""
        connection = self._take(self._patience if patience is None else patience)
        try:
            yield connection
        finally:
            self._give(connection)

    def close(self) -> None:
        """Close every connection, those in use when they come back."""
        self._pool.close()

    def _take(self, patience: float) -> Connection:
        """A connection that the server has not ended; waited for so many seconds."""
        end = time.monotonic() + patience
        while True:
            try:
                connection = self._pool.getconn(min(_TRY, end - time.monotonic()))
            except PoolClosed as error:
                raise Away(f"{self._place} cannot be reached", BACK) from error
            except PoolTimeout as error:
                if time.monotonic() < end:
                    continue
                raise self._lack(patience) from error
            if _alive(connection):
                return connection
            connection.close()
            self._pool.putconn(connection)

    def _give(self, connection: Connection) -> None:
        """Give a connection back; one in a transaction is closed.

        The pool would roll it back. Then the driver forgets what it has prepared, and gets it wrong in a
        pipeline.
        """
        if connection.pgconn.transaction_status != TransactionStatus.IDLE:
            connection.close()
        self._pool.putconn(connection)

    def _lack(self, patience: float) -> Fault:
        """Why there is no connection: the pool does not say. Anybody may read this, so it has few words."""
        try:
            connected(self._place, _SOON).close()
        except Missing as fault:
            return Missing(f"{self._place} is not there", fault.repair)
        except NoServer as fault:
            return Away(f"{self._place} cannot be reached", fault.repair)
        if self._pool.get_stats()["pool_size"] < self._pool.max_size:  # the server is back this very moment
            return Away(f"{self._place} cannot be reached", BACK)
        return Busy(f"every connection to {self._place} was in use for {patience:g} seconds", AGAIN)


def _alive(connection: Connection) -> bool:
    """False if the server has something to say though nobody asked: it has ended the connection."""
    if connection.closed:
        return False
    heard = select.poll()
    heard.register(connection.fileno(), select.POLLIN)
    return not heard.poll(0)
