"""deploy/nginx.conf tried for real: two servers on one store behind nginx, and clients that know of none."""

import asyncio
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from handrail.app.faces import StepsStatus
from helpers.http_clients import WireClient, walk_run
from helpers.http_servers import HttpAnswer, HttpServer, run_http_server
from helpers.metrics import parse_samples, read_metrics
from helpers.nginx import get_port, open_listener, run_nginx
from helpers.servers import BOUND, ERAS, TOOL, Place, ToolAnswer, build_note_output, create_place, wait_until
from helpers.store_contents import read_store_contents
from helpers.store_locks import lock_store


class Team:
    """Two servers, and the proxy before them as if it were one."""

    def __init__(self, at: Place, first: HttpServer, second: HttpServer, port: int) -> None:
        self.at, self.both = at, (first, second)
        self.front = replace(first, port=port)

    def served(self) -> list[float]:
        """How many calls of the tool each has answered."""
        counted = [parse_samples(read_metrics(one).text) for one in self.both]
        return [
            sum(v for name, v in one.items() if name.startswith("handrail_calls_total")) for one in counted
        ]

    def under_way(self) -> list[float]:
        """How many calls each is answering."""
        return [parse_samples(read_metrics(one).text)["handrail_calls_under_way"] for one in self.both]

    def call(self, **arguments: object) -> ToolAnswer:
        called = WireClient(self.front, "steps", "auto").call(1, TOOL, arguments)
        return asyncio.run(asyncio.wait_for(called, BOUND))

    def ask(self, method: str, path: str, **headers: str) -> HttpAnswer:
        named = {"Host": f"127.0.0.1:{self.front.port}", "Content-Length": "0"}
        return self.front.ask(method, path, {**named, **{k.replace("_", "-"): v for k, v in headers.items()}})


@contextmanager
def working(folder: Path) -> Iterator[Team]:
    at = create_place(folder / "place")
    with open_listener() as listener:
        port = get_port(listener)
        words = ("--replicas", "--known-as", f"127.0.0.1:{port}")
        with (
            run_http_server(at, *words) as first,
            run_http_server(at, *words) as second,
            run_nginx(folder / "proxy", [listener], [first.port, second.port]),
        ):
            yield Team(at, first, second, port)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with working(Path(tmp_path_factory.mktemp("team"))) as made:
        yield made


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Team]:
    """A team of which one may be ended."""
    with working(tmp_path) as made:
        yield made


def test_the_calls_of_one_client_go_to_both_servers_and_make_one_run(team: Team) -> None:
    async def walked(era: str) -> list[dict[str, Any]]:
        async with Client(team.front.url("steps"), mode=era) as client:
            return await walk_run(client)

    for era in ERAS:
        before = team.served()
        said = anyio.run(walked, era)

        assert [one["status"] for one in said] == ["ok"] * 6 + ["task_closed"]
        assert read_store_contents(team.at.store).revision(said[0]["execution_id"]) == 7
        served = sorted(now - then for now, then in zip(team.served(), before, strict=True))
        assert (sum(served), served[0] >= 2) == (7, True)


def test_what_happens_is_heard_on_a_stream_while_it_is_open(team: Team) -> None:
    async def heard() -> tuple[bytes, bytes]:
        wire = WireClient(team.front, "steps", "auto")
        run = (await wire.call(1, TOOL, {"template_name": "walk"})).run
        wanted = {"notifications": {"resourceSubscriptions": [f"current-step://{run}"]}}
        reader, writer = await asyncio.open_connection("127.0.0.1", team.front.port)
        try:
            writer.write(wire.request(2, "subscriptions/listen", wanted))
            begun = await reader.readuntil(b"acknowledged")
            await wire.call(3, TOOL, {"execution_id": run, "action": "pause"})
            return begun, await reader.readuntil(b"notifications/resources/updated")
        finally:
            writer.close()
            await writer.wait_closed()

    begun, event = asyncio.run(asyncio.wait_for(heard(), 60))

    assert begun.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"text/event-stream" in begun
    assert b"data: " in event


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 421),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example", "X_Forwarded_Host": "127.0.0.1"}, 421),
    ],
)
def test_the_checks_of_host_and_origin_hold_behind_it(
    team: Team, headers: dict[str, str], status: int
) -> None:
    assert [team.ask("GET", "/readyz", **headers).status for _ in range(2)] == [status] * 2


def test_pages_of_the_proxy_are_pages_of_ours(team: Team) -> None:
    assert team.ask("GET", "/readyz", Origin=f"http://127.0.0.1:{team.front.port}").status == 200


def test_a_message_that_is_too_large_is_refused_by_the_server(team: Team) -> None:
    body = b" " * (1024 * 1024 + 1)
    headers = {"Host": f"127.0.0.1:{team.front.port}", "Content-Length": str(len(body))}

    answered = team.front.ask("POST", "/mcp/steps", headers, body)

    assert (answered.status, answered.text) == (413, "the limit is 1048576 bytes: send less at a time\n")


def test_a_server_that_is_killed_between_calls_is_not_noticed(mortal: Team) -> None:
    answer = mortal.call(template_name="walk")
    mortal.both[0].end(signal.SIGKILL)

    for _ in range(6):
        answer = mortal.call(step_token=answer.token, model_output_so_far=build_note_output())

    assert answer.code == StepsStatus.TASK_CLOSED
    assert read_store_contents(mortal.at.store).revision(answer.run) == 7


def _once(team: Team, token: str) -> ToolAnswer | str:
    """What a call is answered with, or why there was no answer."""
    try:
        return team.call(step_token=token, model_output_so_far=build_note_output())
    except AssertionError as error:
        return str(error)


def test_a_server_that_is_killed_in_a_call_is_made_good_by_the_same_call_again(mortal: Team) -> None:
    """While nobody can write, two calls are under way, one at each server."""
    begun = [mortal.call(template_name="walk") for _ in range(2)]
    assert mortal.under_way() == [0, 0]
    with ThreadPoolExecutor(2) as clients:
        with lock_store(mortal.at) as awaited:
            calls = [clients.submit(_once, mortal, one.token) for one in begun]
            wait_until(awaited, "a call is under way")
            wait_until(lambda: mortal.under_way() == [1, 1], "there is one at each server")
            mortal.both[0].end(signal.SIGKILL)
            wait_until(lambda: any(call.done() for call in calls), "the client is told")
        answers = [call.result() for call in calls]
    failed = [number for number, one in enumerate(answers) if isinstance(one, str)]

    assert len(failed) == 1
    assert "502 Bad Gateway" in str(answers[failed[0]])
    again = mortal.call(step_token=begun[failed[0]].token, model_output_so_far=build_note_output())
    assert again.code == StepsStatus.OK
    assert [read_store_contents(mortal.at.store).revision(one.run) for one in begun] == [2, 2]


def test_a_server_that_is_ending_is_not_noticed(mortal: Team) -> None:
    """While nobody can write, one server is ending, as a call is under way there; it takes no other."""
    begun = [mortal.call(template_name="walk") for _ in range(2)]
    assert mortal.under_way() == [0, 0]
    ending = mortal.both[0]
    with ThreadPoolExecutor(2) as clients:
        with lock_store(mortal.at) as awaited:
            calls = [clients.submit(_once, mortal, one.token) for one in begun]
            wait_until(awaited, "a call is under way")
            wait_until(lambda: mortal.under_way() == [1, 1], "there is one at each server")
            ending.process.send_signal(signal.SIGTERM)
            named = {"Host": f"127.0.0.1:{ending.port}", "Content-Length": "0"}
            wait_until(lambda: ending.ask("GET", "/readyz", named).status == 503, "it is ending")
            assert ending.ask("POST", "/mcp/steps", named).status == 503
            listed = [asyncio.run(_tools(mortal.front)) for _ in range(6)]
        answers = [call.result() for call in calls]

    assert listed == [[TOOL]] * 6
    assert [one.code for one in answers if isinstance(one, ToolAnswer)] == [StepsStatus.OK, StepsStatus.OK]
    assert ending.process.wait(60) == 0


async def _tools(front: HttpServer) -> list[str]:
    found = await WireClient(front, "steps", "auto").ask(1, "tools/list", {})
    return [str(one["name"]) for one in found["result"]["tools"]]
