"""The two-lock turnstile: whoever waits to write is next in a queue that nobody can jump.

A writer locks `queue`, then `service`, then lets go of `queue`. The kernel wakes those in the queue one at a
time, and only the first of them asks for `service`: so a process that has just written cannot be the next to
write while another waits. Locks end with their process; one that is stopped in the middle keeps them, so the
first in the queue gives up in the end, and lets the next one try.
"""

import fcntl
import mmap
import os
import time
from contextlib import AbstractContextManager
from pathlib import Path
from threading import RLock
from typing import Final

from handrail.shell.faults import Busy

PATIENCE: Final = 30.0
"""How many seconds the first in the queue waits for whoever is inside."""

_PAUSE: Final = 0.0001
_TALLY: Final = 4
"""How many bytes the number has that `service` holds."""


class Turnstile:
    """Passed by one thread of one process at a time, in the order of arrival; may be passed again inside."""

    def __init__(self, database: Path, patience: float = PATIENCE) -> None:
        names = (f"{database}.queue", f"{database}.service")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._queue, self._service = (os.open(name, flags, 0o600) for name in names)
        if os.fstat(self._service).st_size < _TALLY:
            os.pwrite(self._service, bytes(_TALLY), 0)
        self._shared = mmap.mmap(self._service, _TALLY)
        self._tally = memoryview(self._shared).cast("I")
        self._database, self._patience = database, patience
        self._inside = RLock()
        self._depth = 0

    def passed(self) -> AbstractContextManager[None]:
        """Be alone, among all processes, until the block ends. Raises `Busy` if whoever is inside stays."""
        return self

    def __enter__(self) -> None:
        """Wait in the queue, unless this thread is inside already."""
        self._inside.acquire()
        if self._depth == 0:
            try:
                self._enter()
            except BaseException:
                self._inside.release()
                raise
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        """Let the next one in, at the end of the outermost block."""
        self._depth -= 1
        try:
            if self._depth == 0:
                fcntl.flock(self._service, fcntl.LOCK_UN)
        finally:
            self._inside.release()

    def counted(self) -> int:
        """Inside: count one more, and how many all processes have counted; behind the last number comes 0.

        It is kept in memory that they share, and is nobody's promise: a loss of power may put it back.
        """
        self._tally[0] = self._tally[0] + 1 & 0xFFFF_FFFF
        return self._tally[0]

    def reserve(self) -> bool:
        """True, and so it stays until `release`, if no other thread of this process has passed."""
        return self._inside.acquire(blocking=False)

    def release(self) -> None:
        """Let other threads pass again, after `reserve` said that none had."""
        self._inside.release()

    def close(self) -> None:
        """Let go of the lock files."""
        self._tally.release()
        self._shared.close()
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
