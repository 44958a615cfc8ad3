"""Hears what is written to a database, by LISTEN; tries again, later and later, when the server is gone."""

import os
import select
from contextlib import suppress
from typing import Final

import psycopg

from handrail.shell.faults import Fault
from handrail.shell.opening import Remote
from handrail.stores.sql.postgresql.crier import CHANNEL, HEARING
from handrail.stores.sql.postgresql.pool import Connection, connected

_LONGEST: Final = 5.0


class Listener:
    """`Ear` of a database: a connection of its own, made when somebody first waits."""

    def __init__(self, place: Remote) -> None:
        self._place = place
        self._connection: Connection | None = None
        self._failed = 0
        self._woken, self._wakes = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def wait(self, seconds: float) -> None:
        """Until somebody has written, or the time is up; after a break, at once when the server is back."""
        if self._connection is None and self._connect():
            return
        heard = select.poll()
        for file in (self._woken, *([self._connection.fileno()] if self._connection else ())):
            heard.register(file, select.POLLIN)
        ready = {file for file, _ in heard.poll(1000 * min(_LONGEST, seconds * 2**self._failed))}
        if self._woken in ready:
            os.read(self._woken, 4096)
        if ready - {self._woken}:
            self._hear()

    def wake(self) -> None:
        """End the waiting."""
        with suppress(BlockingIOError):
            os.write(self._wakes, b"x")

    def close(self) -> None:
        """Let go of the connection; who waits again makes another."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _connect(self) -> bool:
        try:
            self._connection = connected(self._place)
            self._connection.execute(f"LISTEN {CHANNEL}")
            self._connection.execute(HEARING)
        except (Fault, psycopg.Error):
            self.close()
            self._failed += 1
            return False
        self._failed = 0
        return True

    def _hear(self) -> None:
        """Take in what has come; one look is enough for all of it."""
        try:
            for _ in self._connection.notifies(timeout=0) if self._connection else ():
                pass
        except psycopg.Error:
            self.close()
