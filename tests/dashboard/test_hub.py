"""What is kept for a page that does not listen has a bound, and nobody waits for it."""

import asyncio
from pathlib import Path

import pytest
from anyio.to_thread import run_sync

from handrail.app.app import open_app
from handrail.dashboard.hub import MAX_NAMED_RUNS, Hub, PageSubscription, Patch
from handrail.runtime.errors import Unreadable
from helpers.history import GATE, open_sample_store


def test_what_waits_is_kept_by_run_and_has_a_bound() -> None:
    async def heard() -> list[Patch | None]:
        ear, found = PageSubscription(), []
        for number in range(1000):
            ear.push(Patch(number, (f"run {number % 10}",), {}))
        found.append(await ear.next_patch())
        for number in range(1000, 1000 + MAX_NAMED_RUNS + 1):
            ear.push(Patch(number, (f"run {number}",), {}))
        ear.push(Patch(7, (), {}))
        found.append(await ear.next_patch())
        ear.push(Patch(2000, (), {}))
        ear.close()
        found += [await ear.next_patch(), await ear.next_patch()]
        return found

    assert asyncio.run(heard()) == [
        Patch(999, tuple(f"run {number}" for number in range(10)), {}),
        Patch(1000 + MAX_NAMED_RUNS, None, {}),
        None,
        None,
    ]


def test_a_page_that_knows_little_is_told_that_any_run_may_have_changed(tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        play.database.writer_connection().execute("PRAGMA synchronous = OFF")
        runs = [play.start("", GATE) for _ in range(MAX_NAMED_RUNS + 60)]

    async def answer(since: int | None) -> Patch | None:
        with open_app(tmp_path / "handrail.db") as app:
            hub = Hub(app)
            async with hub.subscribe(since) as ear:
                assert hub.page_count == 1
                found = await ear.next_patch()
            assert hub.page_count == 0
            return found

    whole, last = asyncio.run(answer(0)), asyncio.run(answer(None))
    assert whole is not None
    assert last is not None
    assert (whole.runs, last.runs, whole.number) == (None, (), last.number)
    some = asyncio.run(answer(last.number - 8))
    assert some is not None
    assert some.runs == tuple(runs[-2:])


class Failing(Hub):
    """A hub over a store that cannot be read once: the real one fails only when nobody wants it to."""

    failures = 1

    def _news(self, since: int) -> Patch:
        if self.failures:
            self.failures -= 1
            raise Unreadable("not now", "later")
        return super()._news(since)


def test_a_fake_store_that_cannot_be_read_once_is_read_again(tmp_path: Path) -> None:
    async def answer() -> Patch | None:
        with open_app(tmp_path / "handrail.db") as app:
            async with Failing(app).subscribe(None) as ear:
                await ear.next_patch()
                await run_sync(_play, tmp_path)
                return await ear.next_patch()

    found = asyncio.run(answer())
    assert found is not None
    assert found.runs == ("00000001-0000-4000-8000-000000000000",)


def test_what_listens_when_the_server_ends_ends(tmp_path: Path) -> None:
    async def answer() -> list[Patch | None]:
        with open_app(tmp_path / "handrail.db") as app:
            hub = Hub(app)
            async with hub.subscribe(None) as ear:
                first = await ear.next_patch()
                hub.close()
                later = await ear.next_patch()
            async with hub.subscribe(None) as ear:
                return [first, later, await ear.next_patch()]

    first, *others = asyncio.run(answer())
    assert first is not None
    assert others == [None, None]


@pytest.mark.parametrize("pages", [1, 50])
def test_all_pages_hear_through_one_listener(tmp_path: Path, pages: int) -> None:
    async def answer() -> set[tuple[str, ...] | None]:
        with open_app(tmp_path / "handrail.db") as app:
            hub = Hub(app)

            async def one(ready: asyncio.Barrier) -> tuple[str, ...] | None:
                async with hub.subscribe(None) as ear:
                    await ear.next_patch()
                    await ready.wait()
                    found = await ear.next_patch()
                    return found.runs if found else None

            ready = asyncio.Barrier(pages + 1)
            async with asyncio.TaskGroup() as tasks:
                heard = [tasks.create_task(one(ready)) for _ in range(pages)]
                await ready.wait()
                await run_sync(_play, tmp_path)
            return {one.result() for one in heard}

    assert asyncio.run(answer()) == {("00000001-0000-4000-8000-000000000000",)}


def _play(folder: Path) -> None:
    with open_sample_store(folder / "handrail.db") as play:
        play.start("", GATE)
