"""Whoever listens at the server hears that something was written: at once, and for many turns once."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from faces.mcp.desk import until
from handrail.shell.opening import Remote
from handrail.stores.sql.postgresql.crier import CHANNEL, LISTENED, Crier
from handrail.stores.sql.postgresql.database import PgDatabase
from handrail.stores.sql.postgresql.ear import Listener
from handrail.stores.sql.postgresql.pool import Connection, Pool, connected
from handrail.stores.sql.postgresql.runs import PgRuns
from postgres import Server
from stores.contract import begun, followed

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


def test_who_writes_sees_whether_anybody_listens_until_the_last_one_has_ended(place: Remote) -> None:
    asked = f"SELECT {LISTENED}"
    with closing(PgDatabase(place)) as database:
        ears = [Listener(place), Listener(place)]
        seen = [database.peek(asked, ())]
        for ear in ears:
            ear.wait(SECONDS)
            seen.append(database.peek(asked, ()))
        for ear in ears:
            ear.close()
            seen.append(database.peek(asked, ()))
        until(lambda: database.peek(asked, ()) == [(False,)], "nobody listens any more")

    assert seen[:4] == [[(False,)], [(True,)], [(True,)], [(True,)]]


def test_a_turn_cries_only_while_somebody_listens(place: Remote) -> None:
    with closing(PgDatabase(place)) as database:
        runs, ear = PgRuns(database), Listener(place)
        first = begun()
        assert runs.commit(first)
        second = followed(first.after)
        assert runs.commit(second)
        unheard = database._crier._thread  # noqa: SLF001 - that nobody was notified shows nowhere else
        ear.wait(SECONDS)
        assert runs.commit(followed(second.after))
        ear.wait(SECONDS)
        ear.close()

        assert unheard is None
        assert database._crier._thread is not None  # noqa: SLF001 - nor that somebody was
