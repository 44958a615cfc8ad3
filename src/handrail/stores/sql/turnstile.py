"""The two-lock turnstile: whoever waits to write is next in a queue that nobody can jump.

A writer locks `queue`, then `service`, then lets go of `queue`. The kernel wakes one waiter at a time, so a
process that has just written cannot be the next to write while another waits. Locks end with their process.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock


class Turnstile:
    """Passed by one thread of one process at a time, in the order of arrival; may be passed again inside."""

    def __init__(self, database: Path) -> None:
        names = (f"{database}.queue", f"{database}.service")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._queue, self._service = (os.open(name, flags, 0o600) for name in names)
        self._inside = RLock()
        self._depth = 0

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Be alone, among all processes, until the block ends."""
        with self._inside:
            if self._depth == 0:
                fcntl.flock(self._queue, fcntl.LOCK_EX)
                fcntl.flock(self._service, fcntl.LOCK_EX)
                fcntl.flock(self._queue, fcntl.LOCK_UN)
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
