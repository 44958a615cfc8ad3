"""Servers, an issuer of tokens, and people who may see one project each: for every test module anew."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.http_servers import Site, site
from helpers.servers import Place, place
from helpers.tenants import Estate, Person, estate
from helpers.token_issuer import Mint, mint


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return place(Path(tmp_path_factory.mktemp("http")) / "place")


@pytest.fixture(scope="module")
def served(at: Place) -> Iterator[Site]:
    """A server that asks nobody for a token."""
    with site(at) as made:
        yield made


@pytest.fixture(scope="module")
def issuer() -> Iterator[Mint]:
    with mint() as made:
        yield made


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estate]:
    with estate(Path(tmp_path_factory.mktemp("estate")) / "place") as made:
        yield made


@pytest.fixture(scope="module")
def ann(house: Estate) -> Person:
    """Somebody who may see alpha."""
    return house.person("ann", "alpha")


@pytest.fixture(scope="module")
def bob(house: Estate) -> Person:
    """Somebody who may see beta."""
    return house.person("bob", "beta")
