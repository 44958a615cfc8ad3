"""Where tokens are asked for: nobody comes in without one, and each does what it was given for, no more."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from helpers.http_servers import FACES, Site, given, site
from helpers.program import handrail
from helpers.servers import ERAS, Place, place

PATHS = (*(f"/mcp/{face}" for face in FACES), "/nothing", "/healthz/", "//healthz", "/metrics/")


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    made = place(Path(tmp_path_factory.mktemp("who")) / "place")
    given(made, "keeper", "admin")
    return made


@pytest.fixture(scope="module")
def served(at: Place) -> Iterator[Site]:
    with site(at, "--auth", "token") as made:
        yield made


def asked(served: Site, path: str, *authorization: str) -> int:
    headers = {"Host": f"127.0.0.1:{served.port}", "Content-Length": "0"}
    for value in authorization:
        headers["Authorization"] = value
    return served.ask("POST" if path.startswith("/mcp") else "GET", path, headers).status


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "authorization",
    [
        (),
        ("",),
        ("Bearer",),
        ("Bearer ",),
        ("Bearer hr_x",),
        ("Basic YTpi",),
        ("Bearer " + "x" * 5000,),
        ("Bearer hr_\xff",),
    ],
)
def test_who_shows_no_good_token_learns_nothing(
    served: Site, path: str, authorization: tuple[str, ...]
) -> None:
    assert asked(served, path, *authorization) == 401


def test_the_refusal_says_how_to_come_in(served: Site) -> None:
    answered = served.ask("POST", "/mcp/steps", {"Host": f"127.0.0.1:{served.port}"})

    assert answered.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer" in answered.text
    assert "handrail token create" in answered.text


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_whether_a_server_is_well_anybody_may_ask(served: Site, path: str) -> None:
    assert asked(served, path) == 200


def test_a_token_opens_at_once_and_opens_nothing_once_it_is_revoked(at: Place, served: Site) -> None:
    token = given(at, "ada", "run:read")
    assert asked(served, "/nothing", f"Bearer {token['secret']}") == 404
    assert asked(served, "/nothing", f"bearer  {token['secret']} ") == 404

    revoked = handrail("token", "revoke", token["id"], "--store", at.store, HOME=at.env["HOME"])

    assert revoked.status == 0
    assert asked(served, "/nothing", f"Bearer {token['secret']}") == 401


async def _as(served: Site, era: str, secret: str) -> tuple[dict[str, Any], str]:
    """What a start is answered with, and what reading the workflows is."""
    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(served.url("steps"), http_client=http), mode=era) as client,
    ):
        result = await client.call_tool("workflow_next_step", {"template_name": "brief", "goal": "g"})
        assert result.structured_content is not None
        try:
            read = str((await client.list_resources()).resources[0].uri)
        except MCPError as refused:
            read = str(refused)
        return result.structured_content, read


@pytest.mark.parametrize("era", ERAS)
def test_who_may_write_starts_a_run_that_is_theirs(at: Place, served: Site, era: str) -> None:
    secret = given(at, "ada", "run:write")["secret"]

    told, read = anyio.run(_as, served, era, secret)

    assert told["status"] == "ok"
    assert read.startswith("this needs a token with the scope run:read")
    run = told["execution_id"]
    kept = handrail("runs", "show", run, "--store", at.store, "--json", HOME=at.env["HOME"]).data["run"]
    assert kept["principal"] == "ada"
    events = handrail("runs", "events", run, "--store", at.store, "--json", HOME=at.env["HOME"]).data
    assert [event["data"]["principal"] for event in events["events"][:1]] == ["ada"]


@pytest.mark.parametrize("era", ERAS)
def test_who_may_only_read_starts_nothing_and_is_told_what_is_missing(
    at: Place, served: Site, era: str
) -> None:
    secret = given(at, "eve", "run:read")["secret"]
    before = handrail("runs", "list", "--store", at.store, HOME=at.env["HOME"]).out

    told, read = anyio.run(_as, served, era, secret)

    assert told["code"] == "forbidden"
    assert told["why"]["needed"] == ["a token with the scope run:write: ask whoever runs the server"]
    assert read == "persona://default"
    assert handrail("runs", "list", "--store", at.store, HOME=at.env["HOME"]).out == before
