"""Tokens of an issuer: the whole way of a client that has one, or gets one by what the server tells it."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import anyio
import pytest
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from mcp.shared.exceptions import MCPError

from helpers.http_clients import build_bearer_header, open_sdk_client, walk_run
from helpers.http_servers import FACES, HttpServer, run_http_server
from helpers.program import run_command
from helpers.servers import ERAS, TOOL, Place
from helpers.token_issuer import KEYS, TOKEN, TokenIssuer, create_key, run_issuer

WELL_KNOWN = "/.well-known/oauth-protected-resource"


@pytest.fixture(scope="module")
def served(at: Place, issuer: TokenIssuer) -> Iterator[HttpServer]:
    with run_http_server(at, "--auth", "oauth", "--auth", "token", "--issuer", issuer.url) as made:
        yield made


@pytest.mark.parametrize("era", ERAS)
def test_who_has_a_token_of_the_issuer_walks_a_run_that_is_theirs(
    at: Place, issuer: TokenIssuer, served: HttpServer, era: str
) -> None:
    async def walked() -> list[dict[str, Any]]:
        headers = build_bearer_header(issuer.token(f"http://{served.address}", sub="auth0|ada"))
        async with open_sdk_client(served.url("steps"), era, headers=headers) as client:
            return await walk_run(client, "brief")

    begun, ended = anyio.run(walked)

    assert (begun["status"], ended["status"]) == ("ok", "task_closed")
    shown = run_command("runs", "show", begun["execution_id"], "--store", at.store, "--json", cwd=at.project)
    assert shown.data["run"]["principal"] == "sub:auth0|ada"


class Kept:
    """What a client of the SDK keeps."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.mark.parametrize("era", ERAS)
def test_the_client_of_the_sdk_finds_the_issuer_by_itself_and_asks_for_more_when_it_needs_more(
    issuer: TokenIssuer, served: HttpServer, era: str
) -> None:
    """The issuer gives less than it is asked for at first, so that the call needs what is missing."""
    asked: list[str] = []

    def scopes(wanted: str) -> str:
        asked.append(wanted)
        return "run:read" if len(asked) == 1 else wanted

    issuer.scopes, before = scopes, issuer.asked[TOKEN]
    stored = Kept()

    async def walked() -> list[dict[str, Any]]:
        auth = ClientCredentialsOAuthProvider(
            served.url("steps"), stored, "robot", "secret", issuer=issuer.url
        )
        async with open_sdk_client(served.url("steps"), era, auth=auth) as client:
            return await walk_run(client, "brief")

    begun, ended = anyio.run(walked)

    assert (begun["status"], ended["status"]) == ("ok", "task_closed")
    assert asked == ["run:read run:write", "run:read run:write"]
    assert issuer.asked[TOKEN] - before == 2
    assert stored.tokens is not None
    assert stored.tokens.scope == "run:read run:write"


@pytest.mark.parametrize("path", ["", *(f"/mcp/{face}" for face in FACES)])
def test_anybody_may_read_who_gives_out_tokens_for_the_server_and_for_each_face(
    issuer: TokenIssuer, served: HttpServer, path: str
) -> None:
    answered = served.send(WELL_KNOWN + path)

    assert answered.status == 200
    assert json.loads(answered.text) == {
        "resource": f"http://{served.address}" + path,
        "authorization_servers": [issuer.url],
        "scopes_supported": ["run:read", "run:write"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Handrail",
    }


@pytest.mark.parametrize(
    ("path", "led"),
    [
        ("/mcp/steps", "/mcp/steps"),
        ("/mcp/spells", "/mcp/spells"),
        ("/nothing", ""),
        (WELL_KNOWN + "/mcp", ""),
    ],
)
def test_who_shows_no_token_is_led_to_the_metadata(served: HttpServer, path: str, led: str) -> None:
    answered = served.send(path, method="GET")

    assert answered.status == 401
    assert answered.headers["www-authenticate"] == (
        f'Bearer scope="run:read run:write", resource_metadata="http://{served.address}{WELL_KNOWN}{led}"'
    )


def call(served: HttpServer, token: str, era: str, face: str, tool: str, **arguments: object) -> str:
    """What a call is refused with, by the client's word."""

    async def called() -> str:
        async with open_sdk_client(served.url(face), era, headers=build_bearer_header(token)) as client:
            try:
                answered = await client.call_tool(tool, arguments)
            except MCPError as refused:
                return str(refused)
            assert answered.structured_content is not None
            return str(answered.structured_content.get("code", answered.structured_content.get("status")))

    return anyio.run(called)


@pytest.mark.parametrize("era", ERAS)
def test_a_token_for_one_face_opens_that_face_and_no_other(
    issuer: TokenIssuer, served: HttpServer, era: str
) -> None:
    token = issuer.token(served.url("steps"))

    assert call(served, token, era, "steps", TOOL, template_name="brief") == "ok"
    assert ask(served, token, "/mcp/spells") == 401
    assert ask(served, token, "/nothing") == 401


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("scopes", ["run:read", "", "run:write:all RUN:WRITE", "admin gate:approve"])
def test_a_client_of_either_era_hears_which_scope_is_missing(
    issuer: TokenIssuer, served: HttpServer, era: str, scopes: str
) -> None:
    answer = call(
        served,
        issuer.token(f"http://{served.address}", scope=scopes),
        era,
        "steps",
        TOOL,
        template_name="brief",
    )

    assert answer == "your token does not let you do this: ask your issuer for one with the scope run:write"


def ask(served: HttpServer, token: str, path: str = "/nothing") -> int:
    return served.send(path, token=token).status


@pytest.mark.parametrize(
    ("method", "params", "needed"),
    [
        ("tools/call", {"name": TOOL, "arguments": {}}, "run:write"),
        ("tools/call", {"name": "workflow.next_step"}, "run:write"),
        ("resources/read", {"uri": "persona://default"}, "run:read"),
        ("resources/list", {}, "run:read"),
        ("resources/list", None, "run:read"),
        ("prompts/get", {"name": "start"}, "run:read"),
        ("subscriptions/listen", {}, "run:read"),
    ],
)
def test_a_missing_scope_is_told_as_the_protocol_says(
    issuer: TokenIssuer, served: HttpServer, method: str, params: dict[str, Any] | None, needed: str
) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()
    token = issuer.token(f"http://{served.address}", scope="admin")

    answered = served.send("/mcp/steps", body, token=token)

    assert answered.status == 403
    assert answered.headers["www-authenticate"] == (
        f'Bearer error="insufficient_scope", scope="{needed}", '
        f'resource_metadata="http://{served.address}{WELL_KNOWN}/mcp/steps"'
    )
    assert json.loads(answered.text)["id"] == 7


@pytest.mark.parametrize("params", ['{"name": 7}', '{"name": "unknown"}', '[], "params": {"name": 7}'])
def test_what_needs_no_scope_or_cannot_be_told_is_left_to_those_who_answer_it(
    issuer: TokenIssuer, served: HttpServer, params: str
) -> None:
    body = f'{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {params}}}'.encode()
    token = issuer.token(f"http://{served.address}", scope="admin")

    assert served.send("/mcp/steps", body, token=token).status == 400


def test_tokens_of_our_own_open_the_same_server_and_are_told_of_scopes_by_answers(
    at: Place, served: HttpServer
) -> None:
    words = ("token", "create", "ada", "--scope", "run:read", "--store", at.store, "--json")
    secret = run_command(*words, cwd=at.project).data["token"]["secret"]

    assert ask(served, secret) == 404
    assert call(served, secret, "auto", "steps", TOOL, template_name="brief") == "forbidden"


def test_a_new_key_is_found_once_and_an_issuer_that_is_gone_takes_nobody_with_it(at: Place) -> None:
    """The issuer is not asked for every key that somebody makes up."""
    away = ExitStack()
    going = away.enter_context(run_issuer())
    with away, run_http_server(at, "--issuer", going.url) as served:
        old, begun = going.token(f"http://{served.address}"), going.asked[KEYS]
        assert (ask(served, old), going.asked[KEYS]) == (404, begun)
        going.key = create_key("second", "RS256")
        going.publish(going.key.public())
        new = going.token(f"http://{served.address}")
        assert (ask(served, new), going.asked[KEYS]) == (404, begun + 1)
        for number in range(50):
            assert ask(served, going.token(f"http://{served.address}", {"kid": f"made up {number}"})) == 401
        assert (ask(served, old), going.asked[KEYS]) == (401, begun + 1)
        away.close()
        assert ask(served, new) == 404
        assert ask(served, going.token(f"http://{served.address}", sub="late")) == 404


def test_a_server_behind_a_proxy_is_known_by_what_its_clients_call_it(at: Place, issuer: TokenIssuer) -> None:
    audience, hosts = "https://plans.example", ("plans.example", "plans.example:443", "Plans.Example")
    with run_http_server(at, "--issuer", issuer.url, "--audience", audience) as served:
        answer = [served.send(WELL_KNOWN + "/mcp/steps", Host=host) for host in hosts]
        token = issuer.token(f"{audience}/mcp/steps")
        entered = served.send("/mcp/steps", token=token, Host=hosts[0]).status
        others = [served.send(WELL_KNOWN, Host=host).status for host in OTHERS]

    assert [json.loads(one.text)["resource"] for one in answer] == [f"{audience}/mcp/steps"] * len(hosts)
    assert (entered, others) == (400, [421, 421, 421])


OTHERS = ("other.example", "plans.example:80", "plans.example.other.example")
