"""A store of every kind whose tokens have a lifetime, and a caller at it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.faulty_stores import STORES, opened
from helpers.stores import Place
from helpers.turns import Desk


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with opened(request.param, tmp_path) as there:
        yield there


@pytest.fixture
def desk(place: Place) -> Desk:
    return Desk(place.open())
