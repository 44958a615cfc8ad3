"""Tells every process that something was written: after the commit, and once for many.

A notification that is part of a transaction makes all commits of the database wait for each other. So it is
sent behind them; should it get lost, who listens looks by itself a moment later.
"""

from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Final

import psycopg

from handrail.shell.faults import Fault
from handrail.stores.sql.postgresql.pool import Pool

CHANNEL: Final = "handrail"


class Crier:
    """A thread that notifies; it begins with the first that there is to tell."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lock = Lock()
        self._due = Event()
        self._stop = False
        self._thread: Thread | None = None

    def cry(self) -> None:
        """Have everybody notified, soon."""
        self._due.set()
        if self._thread is None:
            with self._lock:
                if self._thread is None and not self._stop:
                    self._thread = Thread(target=self._run, name="handrail-crier", daemon=True)
                    self._thread.start()

    def close(self) -> None:
        """Notify for the last time, if that is due."""
        with self._lock:
            self._stop = True
        self._due.set()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._due.wait()
            self._due.clear()
            with suppress(Fault, psycopg.Error), self._pool.lent() as connection:
                connection.execute(f"NOTIFY {CHANNEL}")
            if self._stop:
                return
