"""An empty database of the test's own."""

from collections.abc import Iterator

import pytest

from helpers.postgres import PostgresServer


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    with postgres.lend_database() as found:
        yield found
