"""Calls over HTTP: with headers of another call, that take long, and in a session that is in use."""

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from handrail.app.faces import StepsStatus
from helpers.http_clients import WireClient
from helpers.http_servers import HttpServer, run_http_server
from helpers.metrics import parse_samples, read_metrics
from helpers.servers import ERAS, TOOL, Place, ToolAnswer, wait_until
from helpers.store_locks import lock_store


@pytest.fixture(scope="module", params=["with sessions", "without"])
def served(at: Place, request: pytest.FixtureRequest) -> Iterator[HttpServer]:
    with run_http_server(at, *(["--replicas"] if request.param == "without" else [])) as made:
        yield made


async def raw(wire: WireClient, params: Mapping[str, Any], more: Mapping[str, str]) -> bytes:
    headers, message = wire._asked(1, "tools/call", params)  # noqa: SLF001 - the client of these tests
    body = json.dumps(message).encode()
    return await wire.thrown(wire.head("POST", len(body), {**headers, "connection": "close", **more}) + body)


UNUSUAL = (
    ({"accept": "application/json"}, b"406"),
    ({"content-type": "text/plain"}, b"400"),
    ({"mcp-protocol-version": "2026-07-29"}, b"400"),
)


@pytest.mark.parametrize("era", ERAS)
def test_headers_that_a_client_may_not_send_are_refused(served: HttpServer, era: str) -> None:
    async def asked() -> None:
        wire = WireClient(served, "steps", era)
        await wire.greet()
        await wire.call(2, TOOL, {"template_name": "brief"})
        given = {"name": TOOL, "arguments": {}}
        found = [(await raw(wire, given, more)).split(b" ", 2)[1] for more, _ in UNUSUAL]
        assert found == [status for _, status in UNUSUAL]

    asyncio.run(asked())


def test_a_client_of_2026_whose_headers_are_of_another_call_is_refused_as_ever(served: HttpServer) -> None:
    async def asked() -> list[bytes]:
        wire = WireClient(served, "steps", "auto")
        given = {"name": TOOL, "arguments": {}}
        changed = (
            {"mcp-name": "other"},
            {"mcp-method": "tools/list"},
            {"mcp-protocol-version": "2026-07-29"},
        )
        return [await raw(wire, given, more) for more in changed]

    for answered in asyncio.run(asked()):
        assert answered.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_takes_long_is_done_once_and_answered(at: Place, served: HttpServer, era: str) -> None:
    async def called() -> ToolAnswer:
        wire = WireClient(served, "steps", era)
        await wire.greet()
        before = await wire.call(2, TOOL, {"template_name": "walk"})
        with lock_store(at) as awaited, ThreadPoolExecutor(1) as pool:
            arguments = {"execution_id": before.run, "action": "pause", "reason": "lunch"}
            call = asyncio.create_task(wire.call(3, TOOL, arguments))
            await asyncio.get_running_loop().run_in_executor(pool, wait_until, awaited, "a call that waits")
            done, _ = await asyncio.wait((call,), timeout=0.7)
            assert not done
        return await call

    before = parse_samples(read_metrics(served).text).get(COUNTED, 0)
    assert asyncio.run(called()).code == StepsStatus.OK
    assert parse_samples(read_metrics(served).text)[COUNTED] == before + 2


COUNTED = "handrail_calls_total{face=steps,outcome=ok,tool=workflow_next_step}"


def test_a_session_in_which_calls_are_made_is_not_idle(at: Place) -> None:
    async def called(served: HttpServer) -> None:
        wire = WireClient(served, "steps", "legacy")
        await wire.greet()
        end, number = time.monotonic() + 2.5, 2
        while time.monotonic() < end:
            number += 1
            assert (await wire.call(number, TOOL, {"execution_id": "none"})).failed

    with run_http_server(at, HANDRAIL_SESSION_IDLE="1") as served:
        asyncio.run(called(served))
