"""Notify every listening process of writes with NOTIFY, once for many commits.

A NOTIFY inside a transaction makes all commits of the database wait for each other, so it is sent afterwards.
If one gets lost, listeners poll a moment later.
"""

import os
import select
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Final

import psycopg

from handrail.runtime.errors import Fault
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.connections import Connection, Pool, connect
from handrail.stores.sql.postgres.schema import load_statements

# The pause after a notification, so that one covers many turns. The first is sent at once.
NOTIFY_INTERVAL_SECONDS: Final = 0.02
# How many seconds to wait for a connection. A notification may get lost; closing must not wait.
CONNECTION_TIMEOUT_SECONDS: Final = 1.0
_MAX_RETRY_SECONDS: Final = 5.0


class Notifier:
    """A thread that sends notifications. It starts with the first one."""

    def __init__(self, pool: Pool) -> None:
        self._pool, self._lock = pool, Lock()
        self._due, self._stop = Event(), Event()
        self._thread: Thread | None = None

    def notify_soon(self) -> None:
        """Send a notification soon."""
        self._due.set()
        if self._thread is None:
            with self._lock:
                if self._thread is None and not self._stop.is_set():
                    self._thread = Thread(target=self._run, name="handrail-crier", daemon=True)
                    self._thread.start()

    def close(self) -> None:
        """Send a last notification if one is due, and end the thread."""
        with self._lock:
            self._stop.set()
        self._due.set()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._due.wait()
            self._due.clear()
            with suppress(Fault, psycopg.Error), self._pool.borrow(CONNECTION_TIMEOUT_SECONDS) as connection:
                connection.execute(load_statements()["notify"])
            if self._stop.wait(NOTIFY_INTERVAL_SECONDS) and not self._due.is_set():
                return


class PgChangeListener:
    """`ChangeListener` of a database: a connection of its own, made at the first wait.

    One listener of all processes leads: writers notify only while there is one.
    """

    def __init__(self, place: DatabaseUrl) -> None:
        self._place, self._sql = place, load_statements()
        self._connection: Connection | None = None
        self._leads, self._failed = False, 0
        self._wake_reader, self._wake_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def wait(self, seconds: float) -> bool:
        """Wait until something was written or the time is up; after a break, until the server is back.

        Every later commit is heard, unless the leading listener was killed: then it may take the whole time.
        True after a break: a killed server reuses transaction numbers that were not durable.
        """
        if self._connection is None and self._connect():
            return True
        poll = select.poll()
        for file in (self._wake_reader, *([self._connection.fileno()] if self._connection else ())):
            poll.register(file, select.POLLIN)
        ready = {file for file, _ in poll.poll(1000 * min(_MAX_RETRY_SECONDS, seconds * 2**self._failed))}
        if self._wake_reader in ready:
            os.read(self._wake_reader, 4096)
        if self._connection and ready != {self._wake_reader}:
            self._hear(self._connection)
        return False

    def wake(self) -> None:
        """End the wait."""
        with suppress(BlockingIOError):
            os.write(self._wake_writer, b"x")

    def close(self) -> None:
        """Close the connection. The next wait makes another."""
        if self._connection:
            with suppress(psycopg.Error):
                if self._leads:
                    self._connection.execute(self._sql["leave"])
            self._connection.close()
            self._connection, self._leads = None, False

    def _connect(self) -> bool:
        try:
            self._connection = connect(self._place)
            self._connection.execute(self._sql["listen"])
            self._lead(self._connection)
        except (Fault, psycopg.Error):
            self.close()
            self._failed += 1
            return False
        self._failed = 0
        return True

    def _hear(self, connection: Connection) -> None:
        """Read all notifications. Try to lead if it may be that nobody does."""
        try:
            payloads = [notification.payload for notification in connection.notifies(timeout=0)]
            if not payloads or any(payloads):
                self._lead(connection)
        except psycopg.Error:
            self.close()

    def _lead(self, connection: Connection) -> None:
        if not self._leads:
            self._leads = connection.execute(self._sql["lead"]).fetchone() == (True,)
