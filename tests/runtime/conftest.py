"""A store of every kind whose tokens have a lifetime, and a caller at it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.faulty_stores import STORES, open_place
from helpers.stores import StorePlace
from helpers.turns import TurnHarness


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePlace]:
    with open_place(request.param, tmp_path) as there:
        yield there


@pytest.fixture
def harness(place: StorePlace) -> TurnHarness:
    return TurnHarness(place.open())
