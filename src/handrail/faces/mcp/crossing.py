"""Work that the loop has done in another thread: what came of it is brought back, much of it at once.

The loop has to be woken for what another thread brings it, by a system call. While it is busy one call is
enough for all that is done meanwhile.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from handrail.shell.opening import Work

Result = TypeVar("Result")


class Crossing:
    """The way of a loop to what does its work, and back."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._landing: _Landing | None = None

    async def done(self, piece: Callable[[], Result]) -> Result:
        """What comes of this piece of work, which is done in the context of who asks, or what it raises.

        Cancelled before it begins, it is never done.
        """
        loop = asyncio.get_running_loop()
        if self._landing is None or self._landing.loop is not loop:
            self._landing = _Landing(loop)
        awaited: asyncio.Future[Result] = loop.create_future()
        promise = self._work.submit(partial(copy_context().run, piece))
        promise.add_done_callback(partial(self._landing.arrived, awaited))
        try:
            return await awaited
        except asyncio.CancelledError:
            promise.cancel()
            raise


class _Landing:
    """Where what is done arrives, for those who wait for it in one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._arrived: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._called = False

    def arrived(self, awaited: "asyncio.Future[Any]", promise: "Future[Any]") -> None:
        """In any thread: have it brought to who waits for it, unless the loop has ended meanwhile."""
        self._arrived.append((awaited, promise))
        if not (self._called or self.loop.is_closed()):
            self._called = True
            self.loop.call_soon_threadsafe(self._bring)

    def _bring(self) -> None:
        """In the loop. What arrives from here on is brought now, or calls again."""
        self._called = False
        try:
            while self._arrived:
                _settle(*self._arrived.popleft())
        finally:
            if self._arrived:
                self.loop.call_soon(self._bring)


def _settle(awaited: "asyncio.Future[Any]", promise: "Future[Any]") -> None:
    """Tell who waits what came of it, if they still do."""
    if awaited.done():
        return
    if promise.cancelled():
        awaited.cancel()
    elif (error := promise.exception()) is not None:
        awaited.set_exception(error)
    else:
        awaited.set_result(promise.result())
