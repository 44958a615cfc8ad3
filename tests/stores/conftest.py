"""A place for the data of each kind of store, and a store on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.shell.ports import Runs
from stores.contract import PLACES, Place


@pytest.fixture(params=list(PLACES))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Where the data of a store is, empty; closed at the end."""
    there = PLACES[request.param](tmp_path)
    yield there
    there.close()


@pytest.fixture
def runs(place: Place) -> Runs:
    """A store on the place."""
    return place.open()
