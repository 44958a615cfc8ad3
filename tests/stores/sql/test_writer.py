"""The thread that writes: one piece of work after the other, and nothing that nobody waits for any more."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import Context
from functools import partial
from threading import Event, Thread, current_thread, get_ident
from threading import enumerate as enumerate_threads

import pytest
from anyio.lowlevel import checkpoint

from handrail.runtime.errors import Busy, DiskFull
from handrail.stores.sql.writer import Writer, run_after_call


class Rested:
    """Something that rests: it notes in which thread, and can have a fault."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.threads: list[int] = []
        self.done = Event()
        self.fault = fault

    def do_idle_work(self) -> None:
        self.threads.append(get_ident())
        self.done.set()
        if self.fault:
            raise self.fault


@pytest.fixture
def rested() -> Rested:
    return Rested()


@pytest.fixture
def writer(rested: Rested) -> Iterator[Writer]:
    made = Writer(rested)
    yield made
    made.close()


def _hold(writer: Writer) -> Event:
    """Keep the thread busy until the event that is returned is set."""
    began, free = Event(), Event()

    def wait() -> None:
        began.set()
        assert free.wait(60)

    Thread(target=writer.call, args=(wait,)).start()
    assert began.wait(60)
    return free


def test_work_is_done_in_one_thread_that_is_not_the_callers(writer: Writer) -> None:
    threads = {writer.call(get_ident) for _ in range(5)}
    assert len(threads) == 1
    assert get_ident() not in threads
    assert writer.call(lambda: current_thread().name).startswith("handrail-writer")


@pytest.mark.parametrize("raised", [ValueError("no"), TimeoutError("late"), KeyError("k")])
def test_what_the_work_raises_passes_through(writer: Writer, raised: Exception) -> None:
    def fail() -> None:
        raise raised

    with pytest.raises(type(raised)) as caught:
        writer.call(fail)
    assert caught.value is raised
    assert writer.call(lambda: 1) == 1


def test_work_that_does_not_begin_in_time_is_never_done(writer: Writer) -> None:
    free, done = _hold(writer), []
    with pytest.raises(Busy) as caught:
        writer.call(lambda: done.append(1), seconds=0.01)
    assert caught.value.repair == "send the same call again"
    free.set()
    assert writer.call(lambda: len(done)) == 0


def test_work_that_has_begun_is_waited_for_however_long_it_takes(writer: Writer) -> None:
    began, free = Event(), Event()

    def slow() -> str:
        began.set()
        assert free.wait(60)
        return "done"

    def let_go() -> None:
        assert began.wait(60)
        with pytest.raises(Busy):
            writer.call(lambda: 1, seconds=0.01)
        free.set()

    Thread(target=let_go).start()
    assert writer.call(slow) == "done"


def test_calls_of_many_threads_are_done_one_at_a_time(writer: Writer) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        inside.append(1)
        most.append(len(inside))
        inside.pop()

    threads = [Thread(target=lambda: [writer.call(work) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most == [1] * 80


def test_it_rests_in_its_own_thread_when_nobody_waits(writer: Writer, rested: Rested) -> None:
    thread = writer.call(get_ident)
    assert rested.done.wait(60)
    assert rested.threads == [thread]


def test_it_does_not_rest_while_somebody_waits(writer: Writer, rested: Rested) -> None:
    async def answer() -> list[list[int]]:
        free = _hold(writer)
        others = [asyncio.create_task(writer.call_async(lambda: list(rested.threads))) for _ in range(3)]
        await checkpoint()
        assert writer.waiting == len(others)
        free.set()
        return await asyncio.gather(*others)

    assert asyncio.run(answer()) == [[], [], []]
    assert rested.done.wait(60)


@pytest.mark.parametrize(
    ("fault", "logged"),
    [(DiskFull("there is no room", "free some space"), False), (ValueError("a bug"), True)],
)
def test_a_fault_while_resting_harms_no_call_and_no_other_rest_and_a_bug_is_logged(
    fault: Exception, caplog: pytest.LogCaptureFixture, *, logged: bool
) -> None:
    first, second = Rested(fault), Rested()
    writer = Writer(first, second)
    assert writer.call(lambda: 1) == 1
    assert second.done.wait(60)
    assert writer.call(lambda: 2) == 2
    writer.close()
    assert ("a bug" in caplog.text) is logged


def test_what_was_raised_is_gone_with_who_caught_it(writer: Writer) -> None:
    class Odd(Exception):  # noqa: N818 - of no other test, so that it can be counted
        pass

    def fail() -> None:
        raise Odd

    def caught() -> None:
        with suppress(Odd):
            writer.call(fail)

    async def awaited() -> None:
        with suppress(Odd):
            await writer.call_async(fail)

    gc.collect()
    gc.disable()
    try:
        caught()
        asyncio.run(awaited())
        assert [one for one in gc.get_objects() if isinstance(one, Odd)] == []
    finally:
        gc.enable()


def test_work_that_was_cancelled_is_never_done_and_keeps_nobody_from_resting(
    writer: Writer, rested: Rested
) -> None:
    async def cancelled() -> list[int]:
        free, done = _hold(writer), list[int]()
        task = asyncio.create_task(writer.call_async(lambda: done.append(1)))
        await checkpoint()
        assert writer.waiting == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        free.set()
        return await writer.call_async(lambda: done)

    assert asyncio.run(cancelled()) == []
    assert rested.done.wait(60)


def test_a_task_that_waits_gets_the_result_or_what_the_work_raises(writer: Writer) -> None:
    def fail() -> None:
        raise KeyError("k")

    async def both() -> int:
        with pytest.raises(KeyError):
            await writer.call_async(fail)
        return await writer.call_async(lambda: 6 * 7)

    assert asyncio.run(both()) == 42


def test_work_whose_loop_has_ended_meanwhile_is_done_and_harms_nobody(writer: Writer) -> None:
    done, free, loop = Event(), _hold(writer), asyncio.new_event_loop()
    task = loop.create_task(writer.call_async(done.set))
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    free.set()
    assert done.wait(60)
    assert writer.call(lambda: 1) == 1
    assert not task.done()
    task.get_coro().close()


def test_closing_finishes_what_has_begun_and_cancels_what_has_not(writer: Writer) -> None:
    free = _hold(writer)
    caught: list[Busy] = []

    def call() -> None:
        try:
            writer.call(lambda: 1)
        except Busy as busy:
            caught.append(busy)

    caller = Thread(target=call)
    caller.start()
    closer = Thread(target=writer.close)
    closer.start()
    caller.join(60)
    free.set()
    closer.join(60)
    assert [busy.message for busy in caught] == ["the store is being closed"]
    with pytest.raises(Busy):
        writer.call(lambda: 1)


def test_a_task_that_waits_is_told_of_the_closing(writer: Writer) -> None:
    async def answer() -> str:
        free = _hold(writer)
        task = asyncio.create_task(writer.call_async(lambda: 1))
        await checkpoint()
        assert writer.waiting == 1
        closer = Thread(target=writer.close)
        closer.start()
        with pytest.raises(Busy) as caught:
            await task
        free.set()
        closer.join(60)
        return caught.value.message

    assert asyncio.run(answer()) == "the store is being closed"


def test_all_of_its_threads_end_when_it_is_closed() -> None:
    before = set(enumerate_threads())
    for _ in range(50):
        writer = Writer(threads=6)
        assert writer.call(lambda: 1) == 1
        writer.close()
        writer.close()
    assert set(enumerate_threads()) <= before


class Counting(asyncio.SelectorEventLoop):
    """A loop that counts how often other threads wake it."""

    woken = 0

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        self.woken += 1
        return super().call_soon_threadsafe(callback, *args, context=context)


def test_a_busy_loop_is_woken_once_for_all_that_is_done_meanwhile(writer: Writer) -> None:
    async def answer() -> tuple[list[int], int]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Counting)
        free = _hold(writer)
        tasks = [asyncio.create_task(writer.call_async(partial(int, number))) for number in range(5)]
        await checkpoint()
        before = loop.woken
        free.set()
        writer.call(lambda: None)
        return await asyncio.gather(*tasks), loop.woken - before

    with asyncio.Runner(loop_factory=Counting) as runner:
        found, woken = runner.run(answer())
    assert found == [0, 1, 2, 3, 4]
    assert woken == 1


def test_of_many_tasks_each_gets_what_came_of_its_own_work() -> None:
    async def answer(writer: Writer) -> list[int]:
        return await asyncio.gather(*(writer.call_async(partial(int, number)) for number in range(2000)))

    writer = Writer(threads=4)
    for _ in range(2):
        assert asyncio.run(answer(writer)) == list(range(2000))
    writer.close()


def test_work_for_later_runs_after_the_answer_and_before_the_next_call(writer: Writer) -> None:
    free, done = Event(), list[str]()

    def copy(name: str) -> None:
        assert free.wait(60)
        done.append(name)

    writer.call(lambda: run_after_call(copy, "first"))
    answered_before = list(done)
    free.set()
    seen_by_next = writer.call(lambda: list(done))

    assert (answered_before, seen_by_next) == ([], ["first"])


def test_work_for_later_is_finished_when_the_writer_closes_and_runs_at_once_without_a_call() -> None:
    free, done, writer = Event(), list[str](), Writer()

    def copy(name: str) -> None:
        assert free.wait(60)
        done.append(name)

    writer.call(lambda: run_after_call(copy, "in a call"))
    Thread(target=free.set).start()
    writer.close()
    run_after_call(copy, "without one")

    assert done == ["in a call", "without one"]


def test_a_fault_of_work_for_later_stops_no_other_work(writer: Writer) -> None:
    done = list[str]()

    def fail() -> None:
        raise DiskFull("full", "make room")

    def leave_two() -> None:
        run_after_call(fail)
        run_after_call(done.append, "second")

    writer.call(leave_two)

    assert writer.call(lambda: list(done)) == ["second"]
