"""All faces over HTTP: the same answers as over stdio, for clients of both eras, and a good end."""

import signal
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from helpers.http_clients import walk_run
from helpers.http_servers import FACES, HttpServer, run_http_server
from helpers.program import run_handrail
from helpers.servers import ERAS, Place, create_place

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize("era", ERAS)
def test_every_face_is_served_to_clients_of_both_eras(served: HttpServer, era: str) -> None:
    async def seen() -> tuple[list[str], str]:
        async with Client(served.url("steps"), mode=era) as client:
            said = [one["status"] for one in await walk_run(client, "brief")]
        async with Client(served.url("spells"), mode=era) as client:
            shown = await client.call_tool("lumos", {})
        return said, (shown.structured_content or {})["state"]

    assert sorted(served.paths.items()) == [(face, f"/mcp/{face}") for face in FACES]
    assert anyio.run(seen) == (["ok", "task_closed"], "GATHER_NEEDS_PLAN")


@pytest.mark.parametrize("face", FACES)
def test_a_client_of_2025_learns_over_http_too_that_lists_and_resources_can_change(
    served: HttpServer, face: str
) -> None:
    async def capabilities() -> dict[str, Any]:
        async with Client(served.url(face), mode="legacy") as client:
            return client.server_capabilities.model_dump(exclude_none=True)

    answer = anyio.run(capabilities)

    assert answer["resources"] == {"subscribe": True, "list_changed": True}
    assert answer["prompts"] == {"list_changed": True}


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_end_ends_well(at: Place, by: signal.Signals) -> None:
    with run_http_server(at) as served:
        assert served.end(by) == 0


def test_a_server_on_the_loopback_of_ipv6_says_that_it_is_well(at: Place) -> None:
    with run_http_server(at, address="[::1]:0") as served:
        answered = [served.send(path) for path in ("/healthz", "/readyz")]

    assert served.host == "[::1]"
    assert [(one.status, one.text) for one in answered] == [(200, "ok\n")] * 2


@pytest.mark.parametrize(
    ("given", "said", "repair"),
    [
        ("0.0.0.0:0 --auth none", "0.0.0.0 is reached from other machines", "listen at 127.0.0.1 or [::1]"),
        ("192.0.2.1:0 --auth none", "192.0.2.1 is reached from other machines", "leave --auth out"),
        ("0.0.0.0:0", "at 0.0.0.0 nobody knows what the server is called", "--known-as HOST:PORT"),
        ("[::]:0", "at :: nobody knows what the server is called", "--known-as HOST:PORT"),
        ("127.0.0.1", "`127.0.0.1` is no address", "such as 127.0.0.1:8765"),
        ("127.0.0.1:http", "`127.0.0.1:http` is no address", "such as 127.0.0.1:8765"),
        ("127.0.0.1:65536", "`127.0.0.1:65536` is no address", "such as 127.0.0.1:8765"),
        (":8000", "`:8000` is no address", "such as 127.0.0.1:8765"),
    ],
)
def test_where_nobody_may_listen_nothing_is_begun_and_the_repair_is_named(
    tmp_path: Path, given: str, said: str, repair: str
) -> None:
    at = create_place(tmp_path)
    answer = run_handrail(
        "serve", "--http", *given.split(), "--store", at.store, HOME=at.env["HOME"], cwd=at.project
    )

    assert answer.status != 0
    assert said in answer.err
    assert repair in answer.err
    assert not at.store.exists()


@pytest.mark.parametrize(
    "given", [("127.0.0.1:0", "--auth", "token"), ("0.0.0.0:0", "--known-as", "a.example:80")]
)
def test_where_tokens_are_asked_for_and_none_is_good_nobody_is_served(
    at: Place, given: tuple[str, ...]
) -> None:
    answer = run_handrail("serve", "--http", *given, "--store", at.store, HOME=at.env["HOME"], cwd=at.project)

    assert answer.status != 0
    assert "no token is good, so nobody could come in" in answer.err
    assert "handrail token create NAME --scope run:read --scope run:write" in answer.err


def test_a_port_that_is_taken_is_named(at: Place, served: HttpServer) -> None:
    words = ("serve", "--http", served.address, "--store", at.store)
    answer = run_handrail(*words, HOME=at.env["HOME"], cwd=at.project)

    assert answer.status != 0
    assert f"{served.address} cannot be listened at: Address already in use" in answer.err
    assert "choose another port, or 0 for any that is free" in answer.err
