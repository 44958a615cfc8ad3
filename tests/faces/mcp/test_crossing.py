"""Work for the loop in another thread: all of it comes back to who asked, but for what was given up."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context, ContextVar
from functools import partial
from typing import Any, TypeVar

import pytest
from anyio.lowlevel import checkpoint

from handrail.faces.mcp.crossing import Crossing

Result = TypeVar("Result")
WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


class Later:
    """Does what it is given when it is told to, all at once."""

    def __init__(self) -> None:
        self.given: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, work: Callable[[], Result]) -> "Future[Result]":
        promise: Future[Result] = Future()
        self.given.append((promise, work))
        return promise

    def go(self) -> None:
        given, self.given = self.given, []
        for promise, work in given:
            if promise.set_running_or_notify_cancel():
                try:
                    promise.set_result(work())
                except ValueError as error:
                    promise.set_exception(error)


class Counting(asyncio.SelectorEventLoop):
    """A loop that counts how often other threads wake it."""

    woken = 0

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        self.woken += 1
        return super().call_soon_threadsafe(callback, *args, context=context)


def _fails() -> str:
    raise ValueError("no")


async def rested() -> None:
    """Let everything happen that is about to."""
    for _ in range(5):
        await checkpoint()


def test_each_gets_what_came_of_its_own_work_and_the_loop_is_woken_once() -> None:
    later = Later()
    crossing = Crossing(later)

    async def work() -> tuple[list[Any], int]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Counting)
        asked = [asyncio.create_task(crossing.done(piece)) for piece in (lambda: 1, _fails, lambda: 3)]
        await rested()
        before = loop.woken
        later.go()
        return await asyncio.gather(*asked, return_exceptions=True), loop.woken - before

    with asyncio.Runner(loop_factory=Counting) as runner:
        found, woken = runner.run(work())

    assert (found[0], str(found[1]), found[2]) == (1, "no", 3)
    assert woken == 1


def test_what_cannot_be_told_keeps_nothing_else_back() -> None:
    later = Later()
    crossing = Crossing(later)

    async def work() -> str:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _about: None)
        lost, kept = (asyncio.create_task(crossing.done(lambda: "done")) for _ in range(2))
        await rested()
        later.given.pop(0)[0].set_exception(StopIteration())
        later.go()
        found = await kept
        lost.cancel()
        return found

    assert asyncio.run(work()) == "done"


def test_what_is_cancelled_before_it_begins_is_never_done() -> None:
    later, done = Later(), list[str]()
    crossing = Crossing(later)

    async def work() -> None:
        asked = [asyncio.create_task(crossing.done(partial(done.append, name))) for name in ("a", "b")]
        await rested()
        asked[0].cancel()
        await rested()
        later.go()
        await asyncio.wait(asked)
        assert [one.cancelled() for one in asked] == [True, False]

    asyncio.run(work())

    assert done == ["b"]


def test_what_is_cancelled_while_it_is_done_disturbs_nobody() -> None:
    later = Later()
    crossing = Crossing(later)

    async def work() -> str:
        given_up, kept = (asyncio.create_task(crossing.done(lambda: "done")) for _ in range(2))
        await rested()
        later.go()
        given_up.cancel()
        await asyncio.wait([given_up])
        return await kept

    assert asyncio.run(work()) == "done"


def test_work_that_never_will_be_done_ends_who_waits_for_it() -> None:
    later = Later()

    async def work() -> None:
        asked = asyncio.create_task(Crossing(later).done(lambda: "done"))
        await rested()
        later.given[0][0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    asyncio.run(work())


def test_a_loop_that_has_ended_is_not_called_and_the_next_one_is_served() -> None:
    later = Later()
    crossing = Crossing(later)

    async def left() -> None:
        mine = asyncio.current_task()
        assert mine is not None
        asyncio.get_running_loop().call_soon(mine.cancel)
        await crossing.done(lambda: "late")

    async def work() -> str:
        asked = asyncio.create_task(crossing.done(lambda: "done"))
        await rested()
        later.go()
        return await asked

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(left())
    later.go()

    assert asyncio.run(work()) == "done"


def test_many_pieces_cross_in_the_context_of_who_asks() -> None:
    async def asked(crossing: Crossing, name: str) -> str:
        WHO.set(name)
        return await crossing.done(WHO.get)

    async def work() -> list[str]:
        with ThreadPoolExecutor(2) as threads:
            crossing = Crossing(threads)
            names = (f"agent {number}" for number in range(500))
            return await asyncio.gather(*(asked(crossing, name) for name in names))

    assert asyncio.run(work()) == [f"agent {number}" for number in range(500)]
