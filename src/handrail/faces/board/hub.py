"""Live pages: which runs have changed, told to every page that is open, whichever process changed them.

Nobody waits for a page. What one was not told yet is kept by run and has a bound; beyond that it is told that
any run may have changed.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio
import msgspec
from anyio.to_thread import run_sync

from handrail.engine.model import Lifecycle
from handrail.shell.faults import Fault
from handrail.shell.opening import Serving
from handrail.shell.records import Change

MOST: Final = 100
"""How many runs a page is told of by name at once."""

_READ: Final = 500
_AGAIN: Final = 0.5
"""How many seconds pass until a store that could not be read is asked again."""

_MOMENT: Final = 0.05
"""How many seconds pass at least between two looks at what has changed."""


@dataclass(frozen=True, slots=True)
class Patch:
    """What a page is told: the last entry it then knows of, the runs that changed (None: any), and counts."""

    number: int
    runs: tuple[str, ...] | None
    counts: Mapping[Lifecycle, int]

    def text(self) -> str:
        """As it goes over the wire."""
        told = {"id": self.number, "runs": self.runs, "counts": self.counts}
        return msgspec.json.encode(told).decode()


class Ear:
    """One open page: what it was not told yet."""

    def __init__(self) -> None:
        self._waiting: Patch | None = None
        self._woken = asyncio.Event()
        self._closed = False

    def tell(self, patch: Patch) -> None:
        """Add this to what waits; never blocks."""
        before = self._waiting
        if before is None:
            self._waiting = patch
        else:
            self._waiting = Patch(max(before.number, patch.number), _both(before, patch), patch.counts)
        self._woken.set()

    def close(self) -> None:
        """There will be nothing more."""
        self._closed = True
        self._woken.set()

    async def next(self) -> Patch | None:
        """What is to be told next; None once there will be nothing more."""
        await self._woken.wait()
        self._woken.clear()
        patch, self._waiting = self._waiting, None
        if self._closed:
            self._woken.set()
            return None
        return patch


class Hub:
    """The open pages of everybody who sees the same runs; looks only while there are any."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._ears: set[Ear] = set()
        self._woken = asyncio.Event()
        self._lock = anyio.Lock()
        self._known = 0
        self._stop = _nothing
        self._looking: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def pages(self) -> int:
        """How many are open."""
        return len(self._ears)

    def close(self) -> None:
        """End what every page hears."""
        self._closed = True
        for ear in self._ears:
            ear.close()

    @asynccontextmanager
    async def listening(self, since: int | None) -> AsyncIterator[Ear]:
        """A page that knows what was entered up to here; it is told what came since then, and what comes."""
        ear = Ear()
        self._ears.add(ear)
        try:
            await self._begin()
            ear.tell(await run_sync(self._missed, since))
            if self._closed:
                ear.close()
            yield ear
        finally:
            self._ears.discard(ear)
            with anyio.CancelScope(shield=True):
                await self._end()

    async def _begin(self) -> None:
        async with self._lock:
            if self._looking is None:
                loop = asyncio.get_running_loop()

                def heard(_: Change) -> None:
                    loop.call_soon_threadsafe(self._woken.set)

                self._stop = await run_sync(self._serving.world.feed.listen, heard)
                self._known = await run_sync(self._serving.records.last)
                self._looking = asyncio.create_task(self._look())

    async def _end(self) -> None:
        async with self._lock:
            if self._looking and not self._ears:
                self._looking.cancel()
                self._looking = None
                await run_sync(self._stop)

    async def _look(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            try:
                patch = await run_sync(self._news, self._known)
            except Fault:
                self._woken.set()
                await anyio.sleep(_AGAIN)
                continue
            if patch.runs != ():
                for ear in self._ears:
                    ear.tell(patch)
            self._known = max(self._known, patch.number)
            await anyio.sleep(_MOMENT)

    def _missed(self, since: int | None) -> Patch:
        """What a page is told first. Raises a fault if the store cannot be read."""
        last = self._serving.records.last()
        if since is None or not 0 <= since <= last:
            return Patch(last, () if since is None else None, self._serving.records.under_way())
        return self._news(since)

    def _news(self, since: int) -> Patch:
        """What was entered behind this entry. Raises a fault if the store cannot be read."""
        records = self._serving.records
        found, counts = records.journal(since, _READ), records.under_way()
        if len(found) == _READ:
            return Patch(records.last(), None, counts)
        number = found[-1].number if found else since
        return Patch(number, _bounded(written.run for written in found if written.run), counts)


def _nothing() -> None:
    """Nobody listens yet."""


def _both(one: Patch, other: Patch) -> tuple[str, ...] | None:
    return None if one.runs is None or other.runs is None else _bounded((*one.runs, *other.runs))


def _bounded(runs: Iterable[str]) -> tuple[str, ...] | None:
    found = tuple(dict.fromkeys(runs))
    return found if len(found) <= MOST else None
