"""The feed of a SQLite store: whatever any process enters is heard here, in the order it was committed.

There is one way to hear of a change: the journal. `announce` only says that it is worth looking now; between
times SQLite's `data_version` tells, for the price of one small read, whether anybody else has written.
"""

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Final

from handrail.shell.faults import Fault
from handrail.shell.records import Change
from handrail.shell.system import LocalFeed
from handrail.stores.sql.tables import Ear, Tables

EVERY: Final = 0.1
"""How many seconds pass between two looks while nothing is announced here."""


class SqlFeed:
    """Tells listeners of this process what any process has changed; looks only while somebody listens."""

    def __init__(self, database: Tables, every: float = EVERY) -> None:
        self._database, self._every = database, every
        self._listeners = LocalFeed()
        self._count = 0
        self._lock = Lock()
        self._ear: Ear = database.ear()
        self._sql = database.sql()
        self._stop: Event | None = None
        self._thread: Thread | None = None
        self._told = 0

    def announce(self, change: Change) -> None:  # noqa: ARG002 - what changed stands in the journal
        """Look now."""
        self._ear.wake()

    def listen(self, heard: Callable[[Change], None]) -> Callable[[], None]:
        """Call `heard`, in a thread of the feed, for every change from now on."""
        end = self._listeners.listen(heard)
        with self._lock:
            self._count += 1
            if self._thread is None:
                self._begin()

        def stop() -> None:
            end()
            with self._lock:
                self._count -= 1
                thread = self._end() if self._count == 0 else None
            if thread:
                thread.join()

        return stop

    def behind(self) -> int:
        """How many entries whoever listens was not told of yet; without listeners, none."""
        if self._thread is None:
            return 0
        with self._database.read() as execute:
            return int(execute(self._sql["behind"], (self._told,)).fetchone()[0])

    def _begin(self) -> None:
        """Start to look; what is committed from here on is heard."""
        with self._database.read() as execute:
            last = self._told = int(execute(self._sql["last_event"], ()).fetchone()[0])
        self._stop = Event()
        self._thread = Thread(target=self._watch, args=(self._stop, last), name="handrail-feed", daemon=True)
        self._thread.start()

    def _end(self) -> Thread | None:
        if self._stop:
            self._stop.set()
        self._ear.wake()
        thread, self._thread, self._stop = self._thread, None, None
        return thread

    def _watch(self, stop: Event, last: int) -> None:
        seen = -1
        while not stop.is_set():
            try:
                seen, last = self._tell(seen, last)
            except Fault:
                seen = -1
            if self._ear.wait(self._every):
                seen = -1
        self._ear.close()

    def _tell(self, seen: int, last: int) -> tuple[int, int]:
        """Tell what was entered behind entry `last`, if anything was written since `seen`."""
        version = self._database.pulse()
        if version == seen:
            return seen, last
        until = self._database.settled()
        with self._database.read() as execute:
            found = execute(self._sql["changes"], (last, until)).fetchall()
        for run, revision, number in found:
            self._listeners.announce(Change(run, revision))
            last = self._told = max(last, number)
        return version, last
