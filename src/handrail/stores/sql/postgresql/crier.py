"""Tells every process that listens that something was written: after the commit, and once for many.

A notification that is part of a transaction makes all commits of the database wait for each other. So it is
sent behind them; should it get lost, who listens looks by itself a moment later. The first is sent at once;
after each there is a pause, so that what many turns have to tell is told once.
"""

from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Final

import psycopg

from handrail.shell.faults import Fault
from handrail.stores.sql.postgresql.dialect import statements
from handrail.stores.sql.postgresql.pool import Pool

PAUSE: Final = 0.02
"""How many seconds lie between two notifications of a process at least."""

PATIENCE: Final = 1.0
"""How many seconds one waits for a connection: it may get lost, and nobody shall wait for its end."""


class Crier:
    """A thread that notifies; it begins with the first that there is to tell."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lock = Lock()
        self._due = Event()
        self._stop = Event()
        self._thread: Thread | None = None

    def cry(self) -> None:
        """Have everybody notified, soon."""
        self._due.set()
        if self._thread is None:
            with self._lock:
                if self._thread is None and not self._stop.is_set():
                    self._thread = Thread(target=self._run, name="handrail-crier", daemon=True)
                    self._thread.start()

    def close(self) -> None:
        """Notify for the last time, if that is due."""
        with self._lock:
            self._stop.set()
        self._due.set()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._due.wait()
            self._due.clear()
            with suppress(Fault, psycopg.Error), self._pool.lent(PATIENCE) as connection:
                connection.execute(statements()["notify"])
            if self._stop.wait(PAUSE) and not self._due.is_set():
                return
