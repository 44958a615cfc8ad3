"""Two projects on one server, and who may see which: for every test module anew."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.tenants import Estate, Person, estate


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
