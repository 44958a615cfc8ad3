"""The official TypeScript clients, new and old, get themselves a token by what the server tells them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.foreign_clients import run_script
from helpers.http_servers import Site, site
from helpers.servers import TOOL, place
from helpers.token_issuer import TOKEN, Mint, mint

SCRIPT = Path(__file__).with_name("oauth.mjs")


@pytest.fixture(scope="module")
def issuer() -> Iterator[Mint]:
    with mint() as made:
        yield made


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, issuer: Mint) -> Iterator[Site]:
    with site(place(Path(tmp_path_factory.mktemp("typescript")) / "place"), "--issuer", issuer.url) as made:
        yield made


@pytest.mark.parametrize(("client", "scope"), [("auto", ""), ("legacy", ""), ("sdk", "run:write")])
def test_a_client_of_others_finds_the_issuer_and_starts_a_run(
    served: Site, issuer: Mint, client: str, scope: str
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
