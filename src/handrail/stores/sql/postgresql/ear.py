"""Hears what is written to a database, by LISTEN; tries again, later and later, when the server is gone.

Of all who listen one leads: by the lock that it holds, whoever writes sees that there is somebody to notify.
When it ends, it tells the others; when it is killed, they find out in the next silence.
"""

import os
import select
from contextlib import suppress
from typing import Final

import psycopg

from handrail.shell.faults import Fault
from handrail.shell.store_address import Remote
from handrail.stores.sql.postgresql.connection import Connection, connected
from handrail.stores.sql.postgresql.dialect import statements

_LONGEST: Final = 5.0


class Listener:
    """`Ear` of a database: a connection of its own, made when somebody first waits."""

    def __init__(self, place: Remote) -> None:
        self._place = place
        self._sql = statements()
        self._connection: Connection | None = None
        self._leads = False
        self._failed = 0
        self._woken, self._wakes = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def wait(self, seconds: float) -> bool:
        """Until somebody has written, or the time is up; after a break, at once when the server is back.

        Nothing that is committed later goes unheard, unless whoever led was killed: then for so long at most.
        True after a break: a server that was killed gives numbers of transactions again that nobody kept.
        """
        if self._connection is None and self._connect():
            return True
        heard = select.poll()
        for file in (self._woken, *([self._connection.fileno()] if self._connection else ())):
            heard.register(file, select.POLLIN)
        ready = {file for file, _ in heard.poll(1000 * min(_LONGEST, seconds * 2**self._failed))}
        if self._woken in ready:
            os.read(self._woken, 4096)
        if self._connection and ready != {self._woken}:
            self._hear(self._connection)
        return False

    def wake(self) -> None:
        """End the waiting."""
        with suppress(BlockingIOError):
            os.write(self._wakes, b"x")

    def close(self) -> None:
        """Let go of the connection; who waits again makes another."""
        if self._connection:
            with suppress(psycopg.Error):
                if self._leads:
                    self._connection.execute(self._sql["leave"])
            self._connection.close()
            self._connection, self._leads = None, False

    def _connect(self) -> bool:
        try:
            self._connection = connected(self._place)
            self._connection.execute(self._sql["listen"])
            self._lead(self._connection)
        except (Fault, psycopg.Error):
            self.close()
            self._failed += 1
            return False
        self._failed = 0
        return True

    def _hear(self, connection: Connection) -> None:
        """Take in what has come, one look is enough for all of it; lead, if it may be that nobody does."""
        try:
            told = [one.payload for one in connection.notifies(timeout=0)]
            if not told or any(told):
                self._lead(connection)
        except psycopg.Error:
            self.close()

    def _lead(self, connection: Connection) -> None:
        """Lead, unless another one does."""
        if not self._leads:
            self._leads = connection.execute(self._sql["lead"]).fetchone() == (True,)
