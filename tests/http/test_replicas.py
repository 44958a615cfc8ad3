"""Several servers on one store, any of which may answer: the calls of one run go to each in turn."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from helpers.http_clients import WireClient, open_sdk_client, walk_run
from helpers.http_servers import HttpServer, run_http_server
from helpers.servers import ERAS, Place
from helpers.store_contents import read_store_contents


class InTurn(httpx2.AsyncHTTPTransport):
    """Sends each request to the next server."""

    def __init__(self, servers: Sequence[HttpServer]) -> None:
        super().__init__()
        self._next = itertools.cycle(servers)
        self.asked: list[int] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        served = next(self._next)
        self.asked.append(served.port)
        request.url = request.url.copy_with(port=served.port)
        request.headers["host"] = f"{served.host}:{served.port}"
        return await super().handle_async_request(request)


@pytest.fixture(scope="module")
def both(at: Place) -> Iterator[tuple[HttpServer, HttpServer]]:
    with run_http_server(at, "--replicas") as one, run_http_server(at, "--replicas") as other:
        yield one, other


async def _as(
    servers: Sequence[HttpServer], era: str, work: Callable[[Client], Any]
) -> tuple[Any, list[int]]:
    transport = InTurn(servers)
    async with open_sdk_client(servers[0].url("steps"), era, transport=transport) as client:
        return await work(client), transport.asked


@pytest.mark.parametrize("era", ERAS)
def test_the_calls_of_one_run_are_answered_by_any_server(
    at: Place, both: tuple[HttpServer, HttpServer], era: str
) -> None:
    said, asked = anyio.run(_as, both, era, walk_run)

    assert [one["status"] for one in said] == ["ok"] * 6 + ["task_closed"]
    assert len({one["execution_id"] for one in said}) == 1
    assert read_store_contents(at.store).revision(said[0]["execution_id"]) == 7
    assert {asked.count(served.port) >= 4 for served in both} == {True}


async def _told(client: Client) -> tuple[str, Any, Any]:
    answer = client.server_capabilities
    return client.instructions or "", answer.resources, answer.prompts


def test_a_client_of_2025_is_told_what_it_does_not_have(both: tuple[HttpServer, HttpServer]) -> None:
    (instructions, resources, prompts), _ = anyio.run(_as, both, "legacy", _told)

    assert "no resource can be subscribed to" in instructions
    assert "Handrail leads you through a workflow" in instructions
    assert (resources.subscribe, resources.list_changed, prompts.list_changed) == (False, False, False)


def test_a_client_of_2026_has_all_it_had(both: tuple[HttpServer, HttpServer]) -> None:
    (_, resources, prompts), _ = anyio.run(_as, both, "auto", _told)

    assert (resources.subscribe, resources.list_changed, prompts.list_changed) == (True, True, True)


def test_a_client_of_2025_gets_no_session_and_can_subscribe_to_nothing(
    both: tuple[HttpServer, HttpServer],
) -> None:
    async def asked() -> tuple[dict[str, str], dict[str, Any]]:
        wire = WireClient(both[0], "steps", "legacy")
        await wire.greet()
        return wire.session, await wire.ask(2, "resources/subscribe", {"uri": "persona://default"})

    session, refused = anyio.run(asked)

    assert (session, refused["error"]["code"]) == ({}, -32601)
    for method in ("GET", "DELETE"):
        answered = both[1].send("/mcp/steps", method=method)
        assert (answered.status, answered.headers["allow"]) == (405, "POST")
