"""Whoever listens at the server hears that something was written: at once, and for many turns once."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from handrail.shell.opening import Remote
from handrail.stores.sql.postgresql.crier import CHANNEL, Crier
from handrail.stores.sql.postgresql.pool import Connection, Pool, connected
from postgres import Server

SECONDS = 30


@pytest.fixture
def place(postgres: Server) -> Iterator[Remote]:
    with postgres.lent() as url:
        yield Remote(url)


def heard(connection: Connection) -> int:
    """How many notifications have come, once there is one."""
    return len(list(connection.notifies(timeout=SECONDS, stop_after=1)))


def test_the_first_cry_is_heard_and_the_last_before_the_end(place: Remote) -> None:
    with closing(Pool(place, 1)) as pool, connected(place) as listening:
        listening.execute(f"LISTEN {CHANNEL}")
        crier = Crier(pool)
        crier.cry()
        first = heard(listening)
        crier.cry()
        crier.close()

        assert (first, heard(listening)) == (1, 1)


def test_one_that_was_never_called_has_nothing_to_end(place: Remote) -> None:
    with closing(Pool(place, 1)) as pool:
        crier = Crier(pool)
        crier.close()
        crier.cry()

        assert crier._thread is None  # noqa: SLF001 - that no thread was begun shows nowhere else
