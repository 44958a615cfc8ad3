"""The lock of a repository: whoever of us changes its descriptions holds it, in all processes and threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Final

from handrail.shell.faults import Busy
from handrail.shell.workspace import Disk

LOCK: Final = "handrail-lock"
"""The file in a repository that is locked."""


class Lock:
    """Held by one thread of one process at a time, and by what it has start; it may be taken again inside."""

    __slots__ = ("_file", "_inside", "_seconds")

    def __init__(self, seconds: float) -> None:
        self._inside, self._seconds = RLock(), seconds
        self._file: int | None = None

    @contextmanager
    def held(self, folder: Path) -> Iterator[int]:
        """The open file that is locked, in this folder, until the block ends; raises `Busy` in the end.

        A program that inherits it holds the lock as long as it runs.
        """
        if not self._inside.acquire(timeout=self._seconds):
            raise Busy(
                f"another call of this server has changed `{folder}` for more than {self._seconds:g} s",
                "send the same call again",
            )
        try:
            if self._file is None:
                with Disk(folder).lock(LOCK, self._seconds) as file:
                    yield from self._kept(file)
            else:
                yield self._file
        finally:
            self._inside.release()

    def _kept(self, file: int) -> Iterator[int]:
        self._file = file
        try:
            yield file
        finally:
            self._file = None
