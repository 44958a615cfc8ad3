"""Run writes in threads of their own, so that waiting for the disk or other processes never blocks readers.

`Writer` runs one call after the other in each thread. Calls that wait can share one sync. When the queue is
empty, it does idle work.
"""

import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread, local
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeAlias, TypeVar

from handrail.runtime.errors import Busy, Fault

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future


log = logging.getLogger(__name__)
Result = TypeVar("Result")

START_TIMEOUT_SECONDS: Final = 30.0
"""How many seconds a call waits to begin."""

MAX_BATCH_CALLS: Final = 8
"""How many calls share one sync at most."""

BatchOpener: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Opens a block at whose end everything written in it is durable."""


class IdleWorker(Protocol):
    """Something that has work for idle times."""

    def do_idle_work(self) -> None:
        """Do the work that can wait, if there is enough of it."""


class _WorkItem(ABC, Generic[Result]):
    """A call and its result. Whoever claims it first runs it or prevents it."""

    __slots__ = ("_claimed", "_work", "raised", "result")

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work, self._claimed = work, Lock()
        self.result: list[Result] = []
        self.raised: BaseException | None = None

    def claim(self) -> bool:
        """True for the first caller only."""
        return self._claimed.acquire(blocking=False)

    def do(self) -> bool:
        """Run the call; False if it is already claimed. The caller must wake the waiter with `tell`."""
        if not self.claim():
            return False
        try:
            self.result.append(self._work())
        except BaseException as raised:  # noqa: BLE001 - the waiter gets it
            self.raised = raised
        return True

    def refuse(self) -> None:
        """Prevent the call and wake the waiter, unless it is already claimed."""
        if self.claim():
            repair = "start Handrail again, then send the same call again"
            self.raised = Busy("the store is being closed", repair)
            self.tell()

    @abstractmethod
    def tell(self) -> None:
        """Wake the waiter."""


class _BlockingWork(_WorkItem[Result]):
    """A call that a thread waits for."""

    __slots__ = ("_done",)

    def __init__(self, work: Callable[[], Result]) -> None:
        super().__init__(work)
        self._done = Lock()
        self._done.acquire()

    def tell(self) -> None:
        """Wake the thread."""
        self._done.release()

    def wait(self, seconds: float = -1) -> bool:
        """Wait until the call is done. False if that takes longer than this."""
        return self._done.acquire(timeout=seconds)


class _AsyncWork(_WorkItem[Result]):
    """A call that a task of an event loop waits for."""

    __slots__ = ("_waker", "over")

    def __init__(self, work: Callable[[], Result], waker: "_LoopWaker") -> None:
        super().__init__(work)
        self._waker = waker
        self.over: Future[None] = waker.loop.create_future()

    def tell(self) -> None:
        """Wake the task."""
        self._waker.arrive(self.over)


class _LoopWaker:
    """Wakes the tasks of one event loop.

    Waking the loop takes a system call. While the loop is busy, one such call is enough for everything done
    meanwhile.
    """

    def __init__(self, loop: "AbstractEventLoop") -> None:
        self.loop = loop
        self._arrived: deque[Future[None]] = deque()
        self._called = False

    def arrive(self, over: "Future[None]") -> None:
        """Wake the waiter of this future, from any thread. Does nothing if the loop has ended."""
        self._arrived.append(over)
        if not self._called:
            self._called = True
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._set_results)

    def _set_results(self) -> None:
        """Run in the loop: set all results.

        What arrives later is handled here too, or wakes the loop again.
        """
        self._called = False
        while self._arrived:
            over = self._arrived.popleft()
            if not over.done():
                over.set_result(None)


_thread: Final = local()
"""What the call of this thread left for the time after its answer; unset where no call runs."""


def run_after_call(work: Callable[..., None], *arguments: object) -> None:
    """Run work that no answer waits for: after the call of this thread was answered, or now without one."""
    if getattr(_thread, "later", None) is None:
        work(*arguments)
    else:
        _thread.later.append(partial(work, *arguments))


class Writer:
    """Runs calls one after the other in each of `threads`. When none waits, `resting` do their idle work.

    With `together`, waiting calls run in one such block, and their callers get the results when it has ended.
    With several threads, `resting` must be safe to use from them.
    """

    def __init__(self, *resting: IdleWorker, threads: int = 1, together: BatchOpener | None = None) -> None:
        self._idle_workers, self._idle_lock, self._together = resting, Lock(), together
        self._queue: SimpleQueue[_WorkItem[Any] | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._run_thread, name=f"handrail-writer-{number}", daemon=True)
            for number in range(threads)
        ]
        self._lock, self._started, self._closed = Lock(), False, False
        self._waker: _LoopWaker | None = None

    @property
    def waiting(self) -> int:
        """Return how many calls have not begun."""
        return self._queue.qsize()

    def call(self, work: Callable[[], Result], seconds: float = START_TIMEOUT_SECONDS) -> Result:
        """Run the call and return its result, or raise what it raises.

        Raises `Busy` if it did not begin in time or the writer is closed; then it never runs.
        """
        piece = _BlockingWork(work)
        self._enqueue(piece)
        if not piece.wait(seconds):
            if piece.claim():
                raise Busy(f"the store was busy for {seconds:g} seconds", "send the same call again")
            piece.wait()
        return _take_result(piece)

    async def call_async(self, work: Callable[[], Result]) -> Result:
        """The same for a task. If the task is cancelled before the call begins, it never runs.

        Raises `Busy` if the writer is closed.
        """
        from asyncio import CancelledError, get_running_loop  # noqa: PLC0415 - programs without a loop start sooner

        loop = get_running_loop()
        if self._waker is None or self._waker.loop is not loop:
            self._waker = _LoopWaker(loop)
        piece = _AsyncWork(work, self._waker)
        self._enqueue(piece)
        try:
            await piece.over
        except CancelledError:
            piece.claim()
            raise
        return _take_result(piece)

    def close(self) -> None:
        """Finish the calls that have begun and refuse the others."""
        with self._lock:
            self._closed = True
        with suppress(Empty):
            while piece := self._queue.get_nowait():
                piece.refuse()
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads if self._started else ():
            thread.join()

    def _enqueue(self, piece: _WorkItem[Result]) -> None:
        """Queue the call, or refuse it if the writer is closed."""
        with self._lock:
            if not self._closed:
                self._start_threads()
                self._queue.put(piece)
                return
        piece.refuse()

    def _start_threads(self) -> None:
        if not self._started:
            self._started = True
            for thread in self._threads:
                thread.start()

    def _run_thread(self) -> None:
        """Run in a thread: take calls, and do idle work whenever none waits."""
        while piece := self._queue.get():
            self._run_calls(piece)
            del piece
            if self._idle_lock.acquire(blocking=False):
                try:
                    self._do_idle_work()
                finally:
                    self._idle_lock.release()

    def _run_calls(self, piece: _WorkItem[Any]) -> None:
        """Run the call and wake its waiter, then do what it left for later.

        Calls that already wait run with it and share one sync.
        """
        _thread.later = []
        try:
            self._answer_calls(piece)
        finally:
            later, _thread.later = _thread.later, None
            for work in later:
                _run_unwatched(work)

    def _answer_calls(self, piece: _WorkItem[Any]) -> None:
        if self._together is None or self._queue.empty():
            if piece.do():
                piece.tell()
            return
        done: list[_WorkItem[Any]] = []
        try:
            with self._together():
                done.extend(item for item in self._next_calls(piece) if item.do())
        except BaseException as raised:  # noqa: BLE001 - the waiter gets it
            for item in done:
                item.raised = item.raised or raised
        for item in done:
            item.tell()

    def _next_calls(self, first: _WorkItem[Any]) -> Iterator[_WorkItem[Any]]:
        """Yield this call and those waiting; only a few, since the first one returns with the last."""
        yield first
        with suppress(Empty):
            for _ in range(MAX_BATCH_CALLS - 1):
                piece = self._queue.get_nowait()
                if piece is None:
                    self._queue.put(None)
                    return
                yield piece

    def _do_idle_work(self) -> None:
        """Do idle work until a call comes in."""
        for worker in self._idle_workers:
            if not self._queue.empty():
                return
            _run_unwatched(worker.do_idle_work)


def _run_unwatched(work: Callable[[], None]) -> None:
    """Run work whose result nobody waits for. A disk that fails is reported by the next call that writes."""
    try:
        work()
    except Fault:
        return
    except Exception:
        log.exception("what could wait went wrong; turns go on")


def _take_result(piece: _WorkItem[Result]) -> Result:
    """Return the result of a finished call, or raise its error.

    The error is removed from the call: its traceback refers to frames that refer to the call, which would be
    a cycle.
    """
    raised, piece.raised = piece.raised, None
    try:
        if raised is not None:
            raise raised
        return piece.result[0]
    finally:
        del raised
