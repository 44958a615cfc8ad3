"""The loop and the thread that takes turns wait for each other, and never long."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from anyio.lowlevel import checkpoint

from handrail.faces.web.baton import Baton
from handrail.stores.sql.opening import serving

LONG = 60.0
"""Longer than any test takes: whoever waits so long waits for the other."""


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as one:
        yield one


def test_the_loop_waits_for_the_piece_that_is_under_way(thread: ThreadPoolExecutor) -> None:
    baton, begun, go_on = Baton(LONG), threading.Event(), threading.Event()
    done: list[str] = []

    def piece() -> None:
        begun.set()
        assert go_on.wait(LONG)
        done.append("piece")

    promise = thread.submit(baton.piece, piece)
    assert begun.wait(LONG)
    go_on.set()
    assert baton.taken()
    done.append("loop")
    promise.result(LONG)

    assert done == ["piece", "loop"]


def test_a_piece_waits_until_the_loop_has_done_what_is_ready(thread: ThreadPoolExecutor) -> None:
    baton, done = Baton(LONG), list[str]()
    assert baton.taken()
    promise = thread.submit(baton.piece, lambda: done.append("piece"))
    done.append("loop")
    baton.given()
    promise.result(LONG)

    assert done == ["loop", "piece"]


def test_for_a_piece_that_takes_long_the_loop_waits_once(thread: ThreadPoolExecutor) -> None:
    baton, begun, go_on = Baton(0.01), threading.Event(), threading.Event()

    def piece() -> bool:
        begun.set()
        return go_on.wait(LONG)

    promise = thread.submit(baton.piece, piece)
    assert begun.wait(LONG)
    assert not baton.taken()
    baton.patience = LONG
    assert not baton.taken()
    go_on.set()
    assert promise.result(LONG)
    assert baton.taken()


def test_a_piece_is_done_though_the_loop_takes_long(thread: ThreadPoolExecutor) -> None:
    baton = Baton(0.01)
    assert baton.taken()

    assert thread.submit(baton.piece, lambda: "done").result(LONG) == "done"

    baton.given()
    assert baton.taken()


def test_a_loop_has_the_baton_while_it_does_what_is_ready(thread: ThreadPoolExecutor) -> None:
    baton = Baton(LONG)

    async def work() -> tuple[bool, str]:
        await checkpoint()
        baton.patience = 0.0
        taken_twice = baton.taken()
        baton.patience = LONG
        loop = asyncio.get_running_loop()
        return taken_twice, await loop.run_in_executor(thread, baton.piece, lambda: "done")

    with asyncio.Runner(loop_factory=baton.loop) as runner:
        assert runner.run(work()) == (False, "done")


def test_a_store_takes_its_turns_with_the_baton(tmp_path: Path) -> None:
    baton = Baton(0.01)
    with serving(tmp_path / "handrail.db") as opened:
        found = baton.among(opened).writer.submit(baton.taken).result(LONG)

    assert not found
