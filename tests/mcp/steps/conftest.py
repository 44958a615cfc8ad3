"""An agent at the face `steps`, without a process."""

from collections.abc import Iterator

import pytest

from helpers.servers import Inside, Place, inside


@pytest.fixture
def desk(at: Place) -> Iterator[Inside]:
    with inside(at) as opened:
        yield opened
