"""The official TypeScript clients, new and old, get themselves a token by what the server tells them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.foreign_clients import run_script
from helpers.http_servers import HttpServer, run_http_server
from helpers.servers import TOOL, create_place
from helpers.token_issuer import TOKEN, TokenIssuer, run_issuer

SCRIPT = Path(__file__).with_name("oauth.mjs")


@pytest.fixture(scope="module")
def issuer() -> Iterator[TokenIssuer]:
    with run_issuer() as made:
        yield made


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, issuer: TokenIssuer) -> Iterator[HttpServer]:
    with run_http_server(
        create_place(Path(tmp_path_factory.mktemp("typescript")) / "place"), "--issuer", issuer.url
    ) as made:
        yield made


@pytest.mark.parametrize(("client", "scope"), [("auto", ""), ("legacy", ""), ("sdk", "run:write")])
def test_a_client_of_others_finds_the_issuer_and_starts_a_run(
    served: HttpServer, issuer: TokenIssuer, client: str, scope: str
) -> None:
    before = issuer.asked[TOKEN]
    job = {
        "client": client,
        "url": served.url("steps"),
        "issuer": issuer.url,
        "tool": TOOL,
        "given": {"template_name": "brief"},
        "scope": scope,
    }

    assert run_script(SCRIPT, job)["status"] == "ok"
    assert issuer.asked[TOKEN] == before + 1
