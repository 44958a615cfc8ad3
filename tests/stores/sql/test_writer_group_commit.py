"""Calls that wait while others are answered are confirmed by the disk together, and told after that."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
from anyio.lowlevel import checkpoint

from handrail.app.stores import open_store
from handrail.runtime.errors import Busy, SyncFailed
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.stores.sql.writer import Writer


class Disk:
    """A disk that confirms once it is let, or raises; how much was done in each block."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.blocks: list[int] = []
        self.asked, self.free, self.fault = Event(), Event(), fault
        self.done = 0

    @contextmanager
    def together(self) -> Iterator[None]:
        before = self.done
        yield
        self.blocks.append(self.done - before)
        self.asked.set()
        assert self.free.wait(60)
        if self.fault:
            raise self.fault

    def work(self) -> int:
        self.done += 1
        return self.done


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def writer(disk: Disk) -> Iterator[Writer]:
    made = Writer(together=disk.together)
    yield made
    made.close()


async def called(writer: Writer, works: Sequence[Callable[[], int]]) -> list[asyncio.Task[int]]:
    """Tasks that wait for these works at the same time, and have come so far behind one that is done now."""
    busy, go_on = Event(), Event()

    def hold() -> None:
        busy.set()
        assert go_on.wait(60)

    first = asyncio.create_task(writer.call_async(hold))
    await checkpoint()
    assert busy.wait(60)
    tasks = [asyncio.create_task(writer.call_async(work)) for work in works]
    await checkpoint()
    assert writer.waiting == len(works)
    go_on.set()
    await first
    return tasks


def came(writer: Writer, works: Sequence[Callable[[], int]]) -> list[int | BaseException]:
    """What came of these works, called at the same time."""

    async def all_of_them() -> list[int | BaseException]:
        return await asyncio.gather(*await called(writer, works), return_exceptions=True)

    return asyncio.run(all_of_them())


def test_calls_that_wait_are_told_once_the_disk_has_confirmed_all_of_them(writer: Writer, disk: Disk) -> None:
    async def answer() -> list[int]:
        tasks = await called(writer, [disk.work] * 5)
        assert await asyncio.to_thread(disk.asked.wait, 60)
        assert not any(task.done() for task in tasks)
        disk.free.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(answer()) == [1, 2, 3, 4, 5]
    assert disk.blocks == [5]


def test_no_more_than_eight_are_confirmed_at_once(writer: Writer, disk: Disk) -> None:
    disk.free.set()
    assert came(writer, [disk.work] * 19) == list(range(1, 20))
    assert disk.blocks == [8, 8, 3]


def test_a_call_that_nobody_waits_behind_is_confirmed_by_itself(writer: Writer, disk: Disk) -> None:
    assert [writer.call(disk.work) for _ in range(3)] == [1, 2, 3]
    assert disk.blocks == []


def test_what_one_of_them_raises_is_told_to_its_caller_alone(writer: Writer, disk: Disk) -> None:
    raised = ValueError("no")

    def fail() -> int:
        raise raised

    disk.free.set()
    assert came(writer, [disk.work, fail, disk.work]) == [1, raised, 2]


def test_if_the_disk_does_not_confirm_nobody_is_told_that_it_did() -> None:
    disk = Disk(SyncFailed("the disk did not confirm", "look after it"))
    disk.free.set()
    writer = Writer(together=disk.together)
    assert came(writer, [disk.work] * 3) == [disk.fault] * 3
    assert writer.call(disk.work) == 4, "the thread lives"
    writer.close()


def test_closing_lets_several_be_confirmed(disk: Disk) -> None:
    writer = Writer(together=disk.together)

    async def answer() -> list[int]:
        tasks = await called(writer, [disk.work] * 3)
        assert await asyncio.to_thread(disk.asked.wait, 60)
        closer = Thread(target=writer.close)
        closer.start()
        disk.free.set()
        await asyncio.to_thread(closer.join, 60)
        assert not closer.is_alive()
        return await asyncio.gather(*tasks)

    assert asyncio.run(answer()) == [1, 2, 3]


def test_closing_while_one_is_done_refuses_those_behind_it_and_ends_the_thread(disk: Disk) -> None:
    writer, began, go_on = Writer(together=disk.together), Event(), Event()
    disk.free.set()

    def slow() -> int:
        began.set()
        assert go_on.wait(60)
        return disk.work()

    async def answer() -> list[int | BaseException]:
        tasks = await called(writer, [slow, disk.work])
        assert await asyncio.to_thread(began.wait, 60)
        closer = Thread(target=writer.close)
        closer.start()
        refused = await asyncio.gather(tasks[1], return_exceptions=True)
        while not writer.waiting:
            await checkpoint()
        go_on.set()
        await asyncio.to_thread(closer.join, 60)
        assert not closer.is_alive()
        return [await tasks[0], *refused]

    first, second = asyncio.run(answer())
    assert (first, type(second)) == (1, Busy)


def test_a_server_takes_turns_that_wait_together_but_not_those_that_it_takes_aside(tmp_path: Path) -> None:
    with open_store(tmp_path / "store" / "handrail.db") as served:
        runs = served.load_world().runs
        assert isinstance(runs, SqliteRuns)

        def confirms() -> int:
            with runs.database.transaction() as execute:
                found: int = execute("PRAGMA synchronous", ()).fetchone()[0]
            return found

        async def all_of_them(writer: Writer) -> list[int]:
            return await asyncio.gather(*await called(writer, [confirms] * 3))

        found = {}
        for name, writer in (("writer", served.writer), ("aside", served.side_writer)):
            assert isinstance(writer, Writer)
            found[name] = asyncio.run(all_of_them(writer))

    assert found == {"writer": [1, 1, 1], "aside": [2, 2, 2]}


def test_what_another_thread_commits_meanwhile_waits_for_the_disk_by_itself(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "store" / "handrail.db")

    def confirms() -> int:
        with database.transaction() as execute:
            found: int = execute("PRAGMA synchronous", ()).fetchone()[0]
        return found

    others: list[int] = []
    assert confirms() == 2
    with database.batch_commits():
        assert confirms() == 1
        thread = Thread(target=lambda: others.append(confirms()))
        thread.start()
        thread.join(60)
        assert confirms() == 1
    assert others == [2]
    assert confirms() == 2
    database.close()
