"""An agent at the face `steps`, without a process."""

from collections.abc import Iterator

import pytest

from helpers.servers import InProcessClient, Place, open_in_process


@pytest.fixture
def client(at: Place) -> Iterator[InProcessClient]:
    with open_in_process(at) as opened:
        yield opened
