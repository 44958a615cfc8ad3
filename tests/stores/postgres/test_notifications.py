"""Whoever listens at the server hears that something was written: at once, and for many turns once."""

from contextlib import closing
from threading import Thread

import pytest

from handrail.runtime.journal import get_run_after
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.connections import Connection, Pool, connect
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.notifications import Notifier, PgChangeListener
from handrail.stores.sql.postgres.pg_runs import PgRuns
from handrail.stores.sql.postgres.schema import load_statements
from helpers.servers import wait_until
from helpers.stores import build_first_turn, build_next_turn

SECONDS = 30


@pytest.fixture
def place(url: str) -> DatabaseUrl:
    return DatabaseUrl(url)


def heard(connection: Connection) -> int:
    """How many notifications have come, once there is one."""
    return len(list(connection.notifies(timeout=SECONDS, stop_after=1)))


def test_the_first_cry_is_heard_and_the_last_before_the_end(place: DatabaseUrl) -> None:
    with closing(Pool(place, 1)) as pool, connect(place) as listening:
        listening.execute(load_statements()["listen"])
        crier = Notifier(pool)
        crier.notify_soon()
        first = heard(listening)
        crier.notify_soon()
        crier.close()

        assert (first, heard(listening)) == (1, 1)


def test_one_that_was_never_called_has_nothing_to_end(place: DatabaseUrl) -> None:
    with closing(Pool(place, 1)) as pool:
        crier = Notifier(pool)
        crier.close()
        crier.notify_soon()

        assert crier._thread is None  # noqa: SLF001 - that no thread was begun shows nowhere else


def listened(database: PgDatabase) -> bool:
    """Whether somebody who writes now would see that somebody listens."""
    return bool(database.peek(load_statements()["check"], ())[0][1])


def test_who_writes_sees_whether_anybody_listens_until_the_last_one_has_ended(place: DatabaseUrl) -> None:
    with closing(PgDatabase(place)) as database:
        ears = [PgChangeListener(place), PgChangeListener(place)]
        seen = [listened(database)]
        for ear in ears:
            ear.wait(SECONDS)
            seen.append(listened(database))
        ears[0].close()
        ears[1].wait(SECONDS)
        seen.append(listened(database))
        ears[1].close()
        seen.append(listened(database))

    assert seen == [False, True, True, True, False]


def test_another_leads_in_the_next_silence_when_the_one_that_led_was_killed(place: DatabaseUrl) -> None:
    with closing(PgDatabase(place)) as database:
        first, second = PgChangeListener(place), PgChangeListener(place)
        first.wait(SECONDS)
        second.wait(SECONDS)
        database.peek(
            "SELECT pg_terminate_backend(pid, $1) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND objid = 1 AND pid <> pg_backend_pid()",
            (SECONDS * 1000,),
        )
        unled = listened(database)
        second.wait(0)
        led = listened(database)
        for ear in (first, second):
            ear.close()

    assert (unled, led) == (False, True)


def test_those_who_write_at_once_do_not_take_each_other_for_one_who_listens(place: DatabaseUrl) -> None:
    with closing(PgDatabase(place)) as database, database.transaction() as execute:
        here = execute(load_statements()["check"], ()).fetchone()
        with connect(place) as another:
            there = another.execute(load_statements()["check"]).fetchone()

    assert (here[1], there and there[1]) == (False, False)


def test_who_begins_to_listen_waits_for_those_who_saw_nobody(place: DatabaseUrl) -> None:
    ear = PgChangeListener(place)
    begins = Thread(target=ear.wait, args=(SECONDS,))
    with closing(PgDatabase(place)) as database:
        with database.transaction() as execute:
            execute(load_statements()["check"], ()).fetchone()
            begins.start()
            wait_until(lambda: listened(database), "it is seen already")
            waits = begins.is_alive()
        begins.join()
        ear.close()

    assert waits


def test_a_turn_cries_only_while_somebody_listens(place: DatabaseUrl) -> None:
    with closing(PgDatabase(place)) as database:
        runs, ear = PgRuns(database), PgChangeListener(place)
        first = build_first_turn()
        assert runs.commit(first)
        second = build_next_turn(get_run_after(first))
        assert runs.commit(second)
        unheard = database._crier._thread  # noqa: SLF001 - that nobody was notified shows nowhere else
        ear.wait(SECONDS)
        assert runs.commit(build_next_turn(get_run_after(second)))
        ear.wait(SECONDS)
        ear.close()

        assert unheard is None
        assert database._crier._thread is not None  # noqa: SLF001 - nor that somebody was
