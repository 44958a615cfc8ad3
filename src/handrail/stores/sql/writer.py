"""The thread that writes: turns of a process are taken one after the other in it, one hop for each call.

Waiting for the disk and for other processes then holds up nobody who only reads. What can wait until a reply
is given is done when nobody waits for one.
"""

from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Final, Protocol, TypeVar

from handrail.shell.faults import Busy, Fault

Result = TypeVar("Result")

PATIENCE: Final = 30.0
"""How many seconds a call waits for its turn to begin."""


class Resting(Protocol):
    """Something that has work to do when nobody waits."""

    def rest(self) -> None:
        """Do what could wait, if there is enough of it."""
        ...


class Writer:
    """One thread that does one piece of work after the other; with none left, those in `resting` may rest.

    More threads do more at once; those in `resting` must bear that.
    """

    def __init__(self, *resting: Resting, threads: int = 1) -> None:
        self._resting = resting
        self._thread = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="handrail-writer")
        self._lock = Lock()
        self._waiting = 0
        self._due = False

    @property
    def waiting(self) -> int:
        """How many pieces of work have not begun."""
        return self._count(0)

    def call(self, work: Callable[[], Result], seconds: float = PATIENCE) -> Result:
        """The result of this work, or what it raises.

        Raises `Busy` if it did not begin in time, or the thread is closed; then it never will.
        """
        promise = self.submit(work)
        try:
            with suppress(TimeoutError):
                return promise.result(seconds)
            if promise.cancel():
                raise Busy(f"the store was busy for {seconds:g} seconds", "send the same call again")
            return promise.result()
        except CancelledError as closed:
            raise _closed() from closed

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """What will be the result of this work; cancelled before it begins, it is never done.

        Raises `Busy` if the thread is closed.
        """

        def begun() -> Result:
            self._count(-1)
            return work()

        self._count(1)
        try:
            promise = self._thread.submit(begun)
        except RuntimeError as closed:
            raise _closed() from closed
        promise.add_done_callback(self._forget)
        if not self._due:
            self._due = True
            self._rest_later()
        return promise

    def close(self) -> None:
        """Finish what has begun; what has not never will."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _rest_later(self) -> None:
        """Behind all work that waits: so whoever waits for that has its result."""
        with suppress(RuntimeError):
            self._thread.submit(self._rest)

    def _rest(self) -> None:
        """In the thread: rest until somebody waits, and then again behind what they wait for."""
        self._due = False
        for one in self._resting:
            if self._count(0):
                self._due = True
                self._rest_later()
                return
            with suppress(Fault):
                one.rest()

    def _forget(self, promise: Future[Result]) -> None:
        if promise.cancelled():
            self._count(-1)

    def _count(self, change: int) -> int:
        """How many pieces of work wait to begin, after this change."""
        with self._lock:
            self._waiting += change
            return self._waiting


def _closed() -> Busy:
    return Busy("the store is being closed", "start Handrail again, then send the same call again")
