"""The thread that writes: turns of a process are taken one after the other in it, one hop for each call.

Waiting for the disk and for other processes then holds up nobody who only reads. What can wait until a reply
is given is done when nobody waits for one.
"""

import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeAlias, TypeVar

from handrail.shell.faults import Busy, Fault

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

log = logging.getLogger(__name__)
Result = TypeVar("Result")

PATIENCE: Final = 30.0
"""How many seconds a call waits for its turn to begin."""

TOGETHER: Final = 8
"""How many calls the disk confirms at once, at most."""

Together: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Makes a block at whose end all is confirmed that was written in it."""


class Resting(Protocol):
    """Something that has work to do when nobody waits."""

    def rest(self) -> None:
        """Do what could wait, if there is enough of it."""
        ...


class _Piece(ABC, Generic[Result]):
    """A piece of work and what came of it; whoever claims it first does it, or sees that nobody does."""

    __slots__ = ("_claimed", "_work", "raised", "result")

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work, self._claimed = work, Lock()
        self.result: list[Result] = []
        self.raised: BaseException | None = None

    def claim(self) -> bool:
        """True for the first who asks."""
        return self._claimed.acquire(blocking=False)

    def do(self) -> bool:
        """Do it, unless somebody has claimed it; then False. Whoever waits is to be told."""
        if not self.claim():
            return False
        try:
            self.result.append(self._work())
        except BaseException as raised:  # noqa: BLE001 - whoever waits is told of it
            self.raised = raised
        return True

    def refuse(self) -> None:
        """See that nobody does it, and tell; nothing if somebody has claimed it."""
        if self.claim():
            repair = "start Handrail again, then send the same call again"
            self.raised = Busy("the store is being closed", repair)
            self.tell()

    @abstractmethod
    def tell(self) -> None:
        """Wake whoever waits."""


class _Called(_Piece[Result]):
    """Work that a thread waits for."""

    __slots__ = ("_over",)

    def __init__(self, work: Callable[[], Result]) -> None:
        super().__init__(work)
        self._over = Lock()
        self._over.acquire()

    def tell(self) -> None:
        """Wake the thread."""
        self._over.release()

    def wait(self, seconds: float = -1) -> bool:
        """False if it is not over in time."""
        return self._over.acquire(timeout=seconds)


class _Awaited(_Piece[Result]):
    """Work that a task of an event loop waits for."""

    __slots__ = ("_landing", "over")

    def __init__(self, work: Callable[[], Result], landing: "_Landing") -> None:
        super().__init__(work)
        self._landing = landing
        self.over: Future[None] = landing.loop.create_future()

    def tell(self) -> None:
        """Wake the task."""
        self._landing.arrive(self.over)


class _Landing:
    """Where what is done arrives for those who wait for it in one loop.

    Waking the loop takes a system call: while it is busy, one is enough for all that is done meanwhile.
    """

    def __init__(self, loop: "AbstractEventLoop") -> None:
        self.loop = loop
        self._arrived: deque[Future[None]] = deque()
        self._called = False

    def arrive(self, over: "Future[None]") -> None:
        """In any thread: have it told; in a loop that has ended nobody waits."""
        self._arrived.append(over)
        if not self._called:
            self._called = True
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._bring)

    def _bring(self) -> None:
        """In the loop. What arrives from here on is told now, or calls again."""
        self._called = False
        while self._arrived:
            over = self._arrived.popleft()
            if not over.done():
                over.set_result(None)


class Writer:
    """One thread that does one piece of work after the other; with none left, those in `resting` may rest.

    Those that wait are done `together`, if that is given, and told once the block has ended. More threads do
    more at once; those in `resting` must bear that.
    """

    def __init__(self, *resting: Resting, threads: int = 1, together: Together | None = None) -> None:
        self._resting, self._rests, self._together = resting, Lock(), together
        self._queue: SimpleQueue[_Piece[Any] | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._live, name=f"handrail-writer-{number}", daemon=True)
            for number in range(threads)
        ]
        self._lock, self._begun, self._closed = Lock(), False, False
        self._landing: _Landing | None = None

    @property
    def waiting(self) -> int:
        """How many pieces of work have not begun."""
        return self._queue.qsize()

    def call(self, work: Callable[[], Result], seconds: float = PATIENCE) -> Result:
        """The result of this work, or what it raises.

        Raises `Busy` if it did not begin in time, or the thread is closed; then it never will.
        """
        piece = _Called(work)
        self._put(piece)
        if not piece.wait(seconds):
            if piece.claim():
                raise Busy(f"the store was busy for {seconds:g} seconds", "send the same call again")
            piece.wait()
        return _come_of(piece)

    async def done(self, work: Callable[[], Result]) -> Result:
        """The same, for a task; cancelled before the work begins, it is never done.

        Raises `Busy` if the thread is closed.
        """
        from asyncio import CancelledError, get_running_loop  # noqa: PLC0415 - programs without a loop start sooner

        loop = get_running_loop()
        if self._landing is None or self._landing.loop is not loop:
            self._landing = _Landing(loop)
        piece = _Awaited(work, self._landing)
        self._put(piece)
        try:
            await piece.over
        except CancelledError:
            piece.claim()
            raise
        return _come_of(piece)

    def close(self) -> None:
        """Finish what has begun; what has not never will."""
        with self._lock:
            self._closed = True
        with suppress(Empty):
            while piece := self._queue.get_nowait():
                piece.refuse()
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads if self._begun else ():
            thread.join()

    def _put(self, piece: _Piece[Result]) -> None:
        """Queue it, unless all is closed: then it is refused."""
        with self._lock:
            if not self._closed:
                self._begin()
                self._queue.put(piece)
                return
        piece.refuse()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            for thread in self._threads:
                thread.start()

    def _live(self) -> None:
        """In a thread: do what comes, and rest whenever nothing waits."""
        while piece := self._queue.get():
            self._take(piece)
            del piece
            if self._rests.acquire(blocking=False):
                try:
                    self._rest()
                finally:
                    self._rests.release()

    def _take(self, piece: _Piece[Any]) -> None:
        """Do it, and tell; those that wait already are done with it, and told once all are confirmed."""
        if self._together is None or self._queue.empty():
            if piece.do():
                piece.tell()
            return
        done: list[_Piece[Any]] = []
        try:
            with self._together():
                done.extend(one for one in self._several(piece) if one.do())
        except BaseException as raised:  # noqa: BLE001 - whoever waits is told of it
            for one in done:
                one.raised = one.raised or raised
        for one in done:
            one.tell()

    def _several(self, first: _Piece[Any]) -> Iterator[_Piece[Any]]:
        """This one and those that wait behind it; not too many, since the first is told with the last."""
        yield first
        with suppress(Empty):
            for _ in range(TOGETHER - 1):
                piece = self._queue.get_nowait()
                if piece is None:
                    self._queue.put(None)
                    return
                yield piece

    def _rest(self) -> None:
        for one in self._resting:
            if not self._queue.empty():
                return
            try:
                one.rest()
            except Fault:
                continue
            except Exception:
                log.exception("what could wait went wrong; turns go on")


def _come_of(piece: _Piece[Result]) -> Result:
    """What came of a piece that is over.

    What it raised is kept by nobody but who catches it: it knows every frame on its way, and they the piece.
    """
    raised, piece.raised = piece.raised, None
    try:
        if raised is not None:
            raise raised
        return piece.result[0]
    finally:
        del raised
