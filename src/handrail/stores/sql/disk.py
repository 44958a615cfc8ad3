"""What the disk has confirmed of a database: each commit by itself, or those of many calls at once.

SQLite confirms a commit when it is made, unless it is told not to; then the log is confirmed here. Another
process may see such a commit a moment before it is confirmed, but what that one commits stands behind it in
the log, and is confirmed with it or lost with it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import local

from handrail.shell import errnos
from handrail.shell.faults import SyncFailed
from handrail.stores.sql.connection import Faults


class _Mine(local):
    """What a thread has confirmed later, and whether there is anything."""

    later = False
    committed = False


class Disk(Faults):
    """A block that writes; none begins once the disk has not confirmed a write: what it holds is unknown."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._unsure = False
        self._mine = _Mine()
        self._log = -1

    def __enter__(self) -> None:
        """Raises `SyncFailed` if a block before this one did."""
        if self._unsure:
            message = f"nothing is written to {self.path} since the disk did not confirm a write"
            raise SyncFailed(message, "check the disk, then start again: the store recovers by itself")

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Like `Faults`; a `SyncFailed` is the last."""
        try:
            super().__exit__(kind, error, trace)
        except SyncFailed:
            self._unsure = True
            raise

    @contextmanager
    def together(self) -> Iterator[None]:
        """A block whose commits, if this thread makes them, are confirmed at its end, all at once.

        Raises `SyncFailed` then if they are not.
        """
        self._mine.later, self._mine.committed = True, False
        try:
            yield
        finally:
            self._mine.later = False
            if self._mine.committed:
                self._confirm()

    def later(self) -> bool:
        """Whether this thread has its commits confirmed later."""
        return self._mine.later

    def committed(self) -> None:
        """This thread has committed something."""
        self._mine.committed = True

    def close(self) -> None:
        """Let go of the log."""
        if self._log >= 0:
            os.close(self._log)
            self._log = -1

    def _confirm(self) -> None:
        try:
            if self._log < 0:
                self._log = os.open(f"{self.path}-wal", os.O_RDONLY | os.O_CLOEXEC)
            os.fdatasync(self._log)
        except OSError as error:
            self._unsure = True
            raise errnos.unconfirmed(f"{self.path}-wal", error) from error
