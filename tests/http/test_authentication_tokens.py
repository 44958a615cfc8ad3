"""Where tokens are asked for: nobody comes in without one, and each does what it was given for, no more."""

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from handrail.engine.refusals import RefusalCode
from helpers.http_clients import build_bearer_header, open_sdk_client
from helpers.http_servers import HttpServer, create_token, run_http_server
from helpers.program import run_handrail
from helpers.servers import ERAS, Place


@pytest.fixture(scope="module")
def at(at: Place) -> Place:
    create_token(at, "keeper", "admin")
    return at


@pytest.fixture(scope="module")
def served(at: Place) -> Iterator[HttpServer]:
    with run_http_server(at, "--auth", "token") as made:
        yield made


def asked(served: HttpServer, authorization: str) -> int:
    return served.send("/nothing", Authorization=authorization).status


def test_the_refusal_says_how_to_come_in(served: HttpServer) -> None:
    answered = served.send("/mcp/steps")

    assert answered.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer" in answered.text
    assert "handrail token create" in answered.text


def test_a_token_opens_at_once_and_opens_nothing_once_it_is_revoked(at: Place, served: HttpServer) -> None:
    token = create_token(at, "ada", "run:read")
    assert asked(served, f"Bearer {token['secret']}") == 404
    assert asked(served, f"bearer  {token['secret']} ") == 404

    revoked = run_handrail("token", "revoke", token["id"], "--store", at.store, HOME=at.env["HOME"])

    assert revoked.status == 0
    assert asked(served, f"Bearer {token['secret']}") == 401


async def _as(served: HttpServer, era: str, secret: str) -> tuple[dict[str, Any], str]:
    """What a start is answered with, and what reading the workflows is."""
    async with open_sdk_client(served.url("steps"), era, headers=build_bearer_header(secret)) as client:
        result = await client.call_tool("workflow_next_step", {"template_name": "brief", "goal": "g"})
        assert result.structured_content is not None
        try:
            read = str((await client.list_resources()).resources[0].uri)
        except MCPError as refused:
            read = str(refused)
        return result.structured_content, read


@pytest.mark.parametrize("era", ERAS)
def test_who_may_write_starts_a_run_that_is_theirs(at: Place, served: HttpServer, era: str) -> None:
    secret = create_token(at, "ada", "run:write")["secret"]

    answer, read = anyio.run(_as, served, era, secret)

    assert answer["status"] == "ok"
    assert read.startswith("this needs a token with the scope run:read")
    run = answer["execution_id"]
    stored = run_handrail("runs", "show", run, "--store", at.store, "--json", HOME=at.env["HOME"]).data["run"]
    assert stored["principal"] == "ada"
    events = run_handrail("runs", "events", run, "--store", at.store, "--json", HOME=at.env["HOME"]).data
    assert [event["data"]["principal"] for event in events["events"][:1]] == ["ada"]


@pytest.mark.parametrize("era", ERAS)
def test_who_may_only_read_starts_nothing_and_is_told_what_is_missing(
    at: Place, served: HttpServer, era: str
) -> None:
    secret = create_token(at, "eve", "run:read")["secret"]
    before = run_handrail("runs", "list", "--store", at.store, HOME=at.env["HOME"]).out

    answer, read = anyio.run(_as, served, era, secret)

    assert answer["code"] == RefusalCode.FORBIDDEN
    assert answer["why"]["needed"] == ["a token with the scope run:write: ask whoever runs the server"]
    assert read == "persona://default"
    assert run_handrail("runs", "list", "--store", at.store, HOME=at.env["HOME"]).out == before
