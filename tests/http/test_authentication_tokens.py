"""Where tokens are asked for: nobody comes in without one, and each does what it was given for, no more."""

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from handrail.engine.refusals import RefusalCode
from helpers.http_clients import bearer, sdk_client
from helpers.http_servers import Site, given, site
from helpers.program import handrail
from helpers.servers import ERAS, Place


@pytest.fixture(scope="module")
def at(at: Place) -> Place:
    given(at, "keeper", "admin")
    return at


@pytest.fixture(scope="module")
def served(at: Place) -> Iterator[Site]:
    with site(at, "--auth", "token") as made:
        yield made


def asked(served: Site, authorization: str) -> int:
    return served.send("/nothing", Authorization=authorization).status


def test_the_refusal_says_how_to_come_in(served: Site) -> None:
    answered = served.send("/mcp/steps")

    assert answered.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer" in answered.text
    assert "handrail token create" in answered.text


def test_a_token_opens_at_once_and_opens_nothing_once_it_is_revoked(at: Place, served: Site) -> None:
    token = given(at, "ada", "run:read")
    assert asked(served, f"Bearer {token['secret']}") == 404
    assert asked(served, f"bearer  {token['secret']} ") == 404

    revoked = handrail("token", "revoke", token["id"], "--store", at.store, HOME=at.env["HOME"])

    assert revoked.status == 0
    assert asked(served, f"Bearer {token['secret']}") == 401


async def _as(served: Site, era: str, secret: str) -> tuple[dict[str, Any], str]:
    """What a start is answered with, and what reading the workflows is."""
    async with sdk_client(served.url("steps"), era, headers=bearer(secret)) as client:
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

    assert told["code"] == RefusalCode.FORBIDDEN
    assert told["why"]["needed"] == ["a token with the scope run:write: ask whoever runs the server"]
    assert read == "persona://default"
    assert handrail("runs", "list", "--store", at.store, HOME=at.env["HOME"]).out == before
