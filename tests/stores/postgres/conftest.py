"""An empty database of the test's own."""

from collections.abc import Iterator

import pytest

from helpers.postgres import Server


@pytest.fixture
def url(postgres: Server) -> Iterator[str]:
    with postgres.lent() as found:
        yield found
