"""Servers, an issuer of tokens, and people who may see one project each: for every test module anew."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.http_servers import HttpServer, run_http_server
from helpers.servers import Place, create_place
from helpers.tenants import TenantServer, TenantUser, run_tenant_server
from helpers.token_issuer import TokenIssuer, run_issuer


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return create_place(Path(tmp_path_factory.mktemp("http")) / "place")


@pytest.fixture(scope="module")
def served(at: Place) -> Iterator[HttpServer]:
    """A server that asks nobody for a token."""
    with run_http_server(at) as made:
        yield made


@pytest.fixture(scope="module")
def issuer() -> Iterator[TokenIssuer]:
    with run_issuer() as made:
        yield made


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantServer]:
    with run_tenant_server(Path(tmp_path_factory.mktemp("estate")) / "place") as made:
        yield made


@pytest.fixture(scope="module")
def ann(house: TenantServer) -> TenantUser:
    """Somebody who may see alpha."""
    return house.person("ann", "alpha")


@pytest.fixture(scope="module")
def bob(house: TenantServer) -> TenantUser:
    """Somebody who may see beta."""
    return house.person("bob", "beta")
