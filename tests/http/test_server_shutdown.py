"""A server that is told to end: what is under way is finished, nothing new is begun, nothing is lost."""

import asyncio
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from handrail.app.faces import StepsStatus
from helpers.crash import Record
from helpers.http_clients import WireClient
from helpers.http_servers import HttpServer, run_http_server
from helpers.metrics import parse_samples, read_metrics
from helpers.server_crowd import ROUND
from helpers.servers import TOOL, Place, ToolAnswer, build_note_output, create_place, wait_until
from helpers.store_contents import read_store_contents
from helpers.store_locks import lock_store


@pytest.fixture
def at(tmp_path: Path) -> Place:
    return create_place(tmp_path, round=ROUND)


def told(served: HttpServer, path: str) -> tuple[int, str]:
    answered = served.send(path)
    return answered.status, answered.text


def _start(served: HttpServer, era: str) -> ToolAnswer:
    async def started() -> ToolAnswer:
        wire = WireClient(served, "steps", era)
        await wire.greet()
        return await wire.call(2, TOOL, {"template_name": "brief"})

    return asyncio.run(started())


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_a_call_that_is_under_way_is_finished_and_whoever_comes_later_is_told_to_come_again(
    at: Place, era: str
) -> None:
    with run_http_server(at) as served, ThreadPoolExecutor(1) as other:
        assert _start(served, era).code == StepsStatus.OK
        assert [told(served, path) for path in ("/healthz", "/readyz")] == [(200, "ok\n")] * 2
        with lock_store(at) as awaited:
            answer = other.submit(_start, served, era)
            wait_until(awaited, "the call is under way")
            served.process.send_signal(signal.SIGTERM)
            wait_until(lambda: told(served, "/readyz") == (503, "ending\n"), "it is ending")
            late = served.send("/mcp/steps")
            assert told(served, "/healthz") == (200, "ok\n")

        assert (late.status, late.headers["retry-after"]) == (503, "1")
        assert late.text == "the server is ending: send the same request again\n"
        assert answer.result().code == StepsStatus.OK
        assert served.process.wait() == 0
    assert len(read_store_contents(at.store).runs()) == 2


def test_streams_are_ended_with_their_last_word(at: Place) -> None:
    async def streams(served: HttpServer) -> dict[str, object]:
        new, old = WireClient(served, "steps", "auto"), WireClient(served, "steps", "legacy")
        await old.greet()
        wanted = {"notifications": {"resourceSubscriptions": ["persona://default"]}}
        async with asyncio.TaskGroup() as tasks:
            heard = tasks.create_task(new.ask(9, "subscriptions/listen", wanted))
            tasks.create_task(old.listen(begun := asyncio.Event()))
            await begun.wait()
            await asyncio.to_thread(wait_until, lambda: _open(served) == 1, "both listen")
            served.process.send_signal(signal.SIGTERM)
        return heard.result()

    with run_http_server(at) as served:
        assert "result" in asyncio.run(streams(served))
        assert served.process.wait() == 0


def _open(served: HttpServer) -> float:
    return parse_samples(read_metrics(served).text)["handrail_subscriptions{face=steps}"]


CLIENTS = 8


def test_under_load_every_step_that_was_acknowledged_is_there_and_no_other(
    at: Place, record_property: Record
) -> None:
    """A step that is there and was not acknowledged would be a call that was not finished."""
    acknowledged: dict[str, int] = {}

    async def walk(served: HttpServer, era: str) -> None:
        wire = WireClient(served, "steps", era)
        await wire.greet()
        arguments: dict[str, object] = {"template_name": "round"}
        while True:
            try:
                answer = await wire.call(2, TOOL, arguments)
            except (AssertionError, OSError):
                return
            acknowledged[answer.run] = acknowledged.get(answer.run, 0) + 1
            output = build_note_output(artifacts=[], done=False)
            arguments = {"step_token": answer.token, "model_output_so_far": output}
            if sum(acknowledged.values()) == CLIENTS * 4:
                served.process.send_signal(signal.SIGTERM)

    async def crowd(served: HttpServer) -> None:
        await asyncio.gather(*(walk(served, ("legacy", "auto")[n % 2]) for n in range(CLIENTS)))

    with run_http_server(at) as served:
        asyncio.run(crowd(served))
        assert served.process.wait() == 0
    stored = read_store_contents(at.store)
    assert {run: stored.revision(run) for run in stored.runs()} == acknowledged
    record_property("points", sum(acknowledged.values()))


def test_a_server_whose_store_cannot_be_read_is_not_ready_and_is_again_when_it_can(at: Place) -> None:
    away = at.store.with_name("away.db")
    with run_http_server(at) as served:
        assert told(served, "/readyz") == (200, "ok\n")
        at.store.rename(away)
        assert told(served, "/readyz") == (503, "unreadable\n")
        assert told(served, "/healthz") == (200, "ok\n")
        assert parse_samples(read_metrics(served).text)["process_open_fds"] > 0
        at.store.write_bytes(b"another file")
        assert told(served, "/readyz") == (503, "unreadable\n")
        away.replace(at.store)
        assert told(served, "/readyz") == (200, "ok\n")
        assert _start(served, "auto").code == StepsStatus.OK
