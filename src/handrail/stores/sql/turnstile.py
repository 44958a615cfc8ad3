"""The two-lock turnstile: whoever waits to write is next in a queue that nobody can jump.

A writer locks `queue`, then `service`, then lets go of `queue`. The kernel wakes those in the queue one at a
time, and only the first of them asks for `service`: so a process that has just written cannot be the next to
write while another waits. Locks end with their process; one that is stopped in the middle keeps them, so the
first in the queue gives up in the end, and lets the next one try.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Final

from handrail.shell.faults import Busy

PATIENCE: Final = 30.0
"""How many seconds the first in the queue waits for whoever is inside."""

_PAUSE: Final = 0.0001


class Turnstile:
    """Passed by one thread of one process at a time, in the order of arrival; may be passed again inside."""

    def __init__(self, database: Path, patience: float = PATIENCE) -> None:
        names = (f"{database}.queue", f"{database}.service")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._queue, self._service = (os.open(name, flags, 0o600) for name in names)
        self._database, self._patience = database, patience
        self._inside = RLock()
        self._depth = 0

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Be alone, among all processes, until the block ends. Raises `Busy` if whoever is inside stays."""
        with self._inside:
            if self._depth == 0:
                self._enter()
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    fcntl.flock(self._service, fcntl.LOCK_UN)

    @contextmanager
    def unused(self) -> Iterator[bool]:
        """True, and so it stays until the block ends, if no other thread of this process has passed."""
        free = self._inside.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                self._inside.release()

    def close(self) -> None:
        """Let go of the lock files."""
        os.close(self._queue)
        os.close(self._service)

    def _enter(self) -> None:
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        try:
            end = time.monotonic() + self._patience
            while not self._served():
                if time.monotonic() > end:
                    message = f"another process has been writing to {self._database} for too long"
                    raise Busy(message, "end the Handrail process that hangs, then send the same call again")
                time.sleep(_PAUSE)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def _served(self) -> bool:
        try:
            fcntl.flock(self._service, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
