"""The thread that hears requests and the one that takes turns do not get in each other's way.

Python runs one of them at a time, and lets the other go on behind each system call: behind each statement of
a turn the other would be woken, and the turn wait for it. So whoever begins something waits until the other
has done its piece: the loop what is ready now, the other thread a turn. Nobody waits long: a turn may have to
wait for the disk, or for other processes. Turns that are taken at the same time need no baton.
"""

import asyncio
import selectors
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Final, TypeVar

from msgspec.structs import replace

from handrail.shell.opening import Serving, Work

Result = TypeVar("Result")

PATIENCE: Final = 0.002
"""How many seconds one waits for the other; then both go on as Python lets them."""


class Baton:
    """Held by the loop while it does what is ready, and by another thread while it does a piece of work."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._lock, self.patience = Lock(), patience
        self._pieces, self._long = 0, 0

    def among(self, serving: Serving) -> Serving:
        """The same store, its turns taken with the baton; one whose turns are taken one after the other."""
        return replace(serving, writer=_WithBaton(serving.writer, self))

    def loop(self) -> asyncio.AbstractEventLoop:
        """A loop that goes on with the baton."""
        return asyncio.SelectorEventLoop(_Selector(self))

    def piece(self, work: Callable[[], Result]) -> Result:
        """Do a piece of work, once the loop has done what is ready, or takes long."""
        held = self._lock.acquire(timeout=self.patience)
        self._pieces += 1
        try:
            return work()
        finally:
            if held:
                self._lock.release()

    def taken(self) -> bool:
        """Whether the loop has it now: it waits for the piece under way, and once only if that takes long."""
        if self._long == self._pieces:
            return self._lock.acquire(blocking=False)
        held = self._lock.acquire(timeout=self.patience)
        self._long = self._long if held else self._pieces
        return held

    def given(self) -> None:
        """The loop has done what was ready."""
        self._lock.release()


class _WithBaton:
    """`Work` of which each piece is done with the baton."""

    def __init__(self, work: Work, baton: Baton) -> None:
        self._work, self._baton = work, baton

    def call(self, work: Callable[[], Result]) -> Result:
        """The result of this work, or what it raises; `Busy` if it does not begin in time: it never will."""
        return self._work.call(partial(self._baton.piece, work))

    async def done(self, work: Callable[[], Result]) -> Result:
        """The same, for a task; cancelled before the work begins, it is never done."""
        return await self._work.done(partial(self._baton.piece, work))


class _Selector(selectors.DefaultSelector):
    """Tells a loop what is ready; between two questions the loop has the baton."""

    def __init__(self, baton: Baton) -> None:
        super().__init__()
        self._baton, self._held = baton, False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready, once something is or the time is up."""
        if self._held:
            self._baton.given()
        found = super().select(timeout)
        self._held = self._baton.taken()
        return found
