"""Let writers of a SQLite file in one at a time, in the order they arrive.

A writer locks `queue`, then `service`, then unlocks `queue`. The kernel wakes those in the queue one at a
time, and only the first of them asks for `service`. So a process that has just written cannot write again
while another waits. SQLite's own waiting is a race that a process can lose for seconds. Locks end with their
process. A process that is stopped while it holds `service` keeps it, so the first in the queue gives up after
a while and lets the next one try.
"""

import fcntl
import mmap
import os
import time
from contextlib import AbstractContextManager
from pathlib import Path
from threading import RLock
from typing import Final

from handrail.runtime.errors import Busy

SERVICE_TIMEOUT_SECONDS: Final = 30.0
"""How many seconds the first in the queue waits for the current writer."""


_POLL_SECONDS: Final = 0.0001
"""How many seconds the first in the queue sleeps between two tries."""


_COUNTER_BYTES: Final = 4
"""The size of the counter in the file `service`."""


class Turnstile:
    """A fair, reentrant lock for one thread of one process at a time."""

    def __init__(self, database: Path, patience: float = SERVICE_TIMEOUT_SECONDS) -> None:
        names = (f"{database}.queue", f"{database}.service")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._queue, self._service = (os.open(name, flags, 0o600) for name in names)
        if os.fstat(self._service).st_size < _COUNTER_BYTES:
            os.pwrite(self._service, bytes(_COUNTER_BYTES), 0)
        self._shared = mmap.mmap(self._service, _COUNTER_BYTES)
        self._counter = memoryview(self._shared).cast("I")
        self._database, self._patience = database, patience
        self._inside = RLock()
        self._depth = 0

    def pass_through(self) -> AbstractContextManager[None]:
        """Hold the turnstile for the block. Raises `Busy` if the current writer takes too long."""
        return self

    def __enter__(self) -> None:
        """Wait in the queue, unless this thread already holds the turnstile."""
        self._inside.acquire()
        if self._depth == 0:
            try:
                self._enter()
            except BaseException:
                self._inside.release()
                raise
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        """Let the next writer in, at the end of the outermost block."""
        self._depth -= 1
        try:
            if self._depth == 0:
                fcntl.flock(self._service, fcntl.LOCK_UN)
        finally:
            self._inside.release()

    def increment_counter(self) -> int:
        """Add one to the counter that all processes share, and return it. Wraps to 0 after 2**32 - 1.

        The caller holds the turnstile. The counter is in shared memory and not durable: a power loss may set
        it back.
        """
        self._counter[0] = self._counter[0] + 1 & 0xFFFF_FFFF
        return self._counter[0]

    def reserve(self) -> bool:
        """Keep other threads of this process out until `release`. False if one of them is inside."""
        return self._inside.acquire(blocking=False)

    def release(self) -> None:
        """Let other threads in again after `reserve` returned True."""
        self._inside.release()

    def close(self) -> None:
        """Close the lock files."""
        self._counter.release()
        self._shared.close()
        os.close(self._queue)
        os.close(self._service)

    def _enter(self) -> None:
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        try:
            end = time.monotonic() + self._patience
            while not self._try_service():
                if time.monotonic() > end:
                    message = f"another process has been writing to {self._database} for too long"
                    raise Busy(message, "end the Handrail process that hangs, then send the same call again")
                time.sleep(_POLL_SECONDS)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def _try_service(self) -> bool:
        try:
            fcntl.flock(self._service, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
