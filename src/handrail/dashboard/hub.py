"""Live updates: tell every open page which runs have changed, whichever process changed them.

A slow page blocks nobody. The updates that wait for it are merged into one, which names at most
MAX_NAMED_RUNS runs. With more, it says that any run may have changed.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio
import msgspec
from anyio.to_thread import run_sync

from handrail.app.app import App
from handrail.engine.model import Lifecycle
from handrail.runtime.errors import Fault
from handrail.runtime.records import RunChange

# How many changed runs an update names; with more, any run may have changed.
MAX_NAMED_RUNS: Final = 100
# How many journal entries are read for an update; with more, any run may have changed.
_MAX_ENTRIES: Final = 500
# How many seconds pass until a store that could not be read is read again.
_RETRY_SECONDS: Final = 0.5
# How many seconds pass at least between two reads of what has changed.
_MIN_INTERVAL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Patch:
    """An update for a page: the last entry it covers, the changed runs (None: any), and the counts."""

    number: int
    runs: tuple[str, ...] | None
    counts: Mapping[Lifecycle, int]

    def text(self) -> str:
        """Return the update as JSON, as it is sent to the page."""
        data = {"id": self.number, "runs": self.runs, "counts": self.counts}
        return msgspec.json.encode(data).decode()


class PageSubscription:
    """One open page, and the update that waits for it."""

    def __init__(self) -> None:
        self._waiting: Patch | None = None
        self._woken = asyncio.Event()
        self._closed = False

    def push(self, patch: Patch) -> None:
        """Merge an update into the one that waits; never blocks."""
        before = self._waiting
        if before is not None:
            known = before.runs is not None and patch.runs is not None
            runs = _limit_runs((*(before.runs or ()), *(patch.runs or ()))) if known else None
            patch = Patch(max(before.number, patch.number), runs, patch.counts)
        self._waiting = patch
        self._woken.set()

    def close(self) -> None:
        """End the subscription: `next_patch` returns None from now on."""
        self._closed = True
        self._woken.set()

    async def next_patch(self) -> Patch | None:
        """Wait for the next update; None once the subscription is closed."""
        await self._woken.wait()
        self._woken.clear()
        patch, self._waiting = self._waiting, None
        if self._closed:
            self._woken.set()
            return None
        return patch


class Hub:
    """The open pages of all viewers who see the same runs. It reads the store only while a page is open."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._pages: set[PageSubscription] = set()
        self._woken = asyncio.Event()
        self._lock = anyio.Lock()
        self._known = 0
        self._stop = _do_nothing
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def page_count(self) -> int:
        """How many pages are open."""
        return len(self._pages)

    def close(self) -> None:
        """End the live updates of every page."""
        self._closed = True
        for page in self._pages:
            page.close()

    @asynccontextmanager
    async def subscribe(self, since: int | None) -> AsyncIterator[PageSubscription]:
        """Subscribe a page that knows all entries up to `since`. Its first update has what it missed.

        With None, it missed nothing. If there is no such entry, any run may have changed.
        """
        page = PageSubscription()
        self._pages.add(page)
        try:
            await self._start()
            page.push(await run_sync(self._first_patch, since))
            if self._closed:
                page.close()
            yield page
        finally:
            self._pages.discard(page)
            with anyio.CancelScope(shield=True):
                async with self._lock:
                    if self._task and not self._pages:
                        self._task.cancel()
                        self._task = None
                        await run_sync(self._stop)

    async def _start(self) -> None:
        """Start to read changes, unless another page did already."""
        async with self._lock:
            if self._task is None:
                loop = asyncio.get_running_loop()

                def wake(_: RunChange) -> None:
                    loop.call_soon_threadsafe(self._woken.set)

                self._stop = await run_sync(self._app.world.feed.listen, wake)
                self._known = await run_sync(self._app.runs.last_entry_number)
                self._task = asyncio.create_task(self._push_changes())

    async def _push_changes(self) -> None:
        """Push an update to every page whenever the store has changed. Retry while it cannot be read."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            try:
                patch = await run_sync(self._news, self._known)
            except Fault:
                self._woken.set()
                await anyio.sleep(_RETRY_SECONDS)
                continue
            if patch.runs != ():
                for page in self._pages:
                    page.push(patch)
            self._known = max(self._known, patch.number)
            await anyio.sleep(_MIN_INTERVAL_SECONDS)

    def _first_patch(self, since: int | None) -> Patch:
        """Return the first update of a page. Raises a `Fault` if the store cannot be read."""
        last = self._app.runs.last_entry_number()
        if since is None or not 0 <= since <= last:
            return Patch(last, () if since is None else None, self._app.runs.count_active())
        return self._news(since)

    def _news(self, since: int) -> Patch:
        """Return the update for all entries after `since`. Raises a `Fault` if the store cannot be read."""
        records = self._app.runs
        entries, counts = records.journal(since, _MAX_ENTRIES), records.count_active()
        if len(entries) == _MAX_ENTRIES:
            return Patch(records.last_entry_number(), None, counts)
        number = entries[-1].number if entries else since
        return Patch(number, _limit_runs(entry.run for entry in entries if entry.run), counts)


def _do_nothing() -> None:
    """Stop nothing: no feed is open yet."""


def _limit_runs(runs: Iterable[str]) -> tuple[str, ...] | None:
    distinct = tuple(dict.fromkeys(runs))
    return distinct if len(distinct) <= MAX_NAMED_RUNS else None
