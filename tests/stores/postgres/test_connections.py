"""Connections to PostgreSQL: how many there are, whom the lack of one makes wait, and how broken ones go."""

import os
import resource
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Thread
from threading import enumerate as enumerate_threads

import psycopg
import pytest
from psycopg import errors

from handrail.runtime.errors import Busy, Missing, NoServer
from handrail.runtime.records import RecordedCall
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres import connections
from handrail.stores.sql.postgres import connections as pools
from handrail.stores.sql.postgres.connections import Connection, Pool, pg_fault
from helpers.postgres import PostgresServer, run_private_server
from helpers.servers import BOUND, wait_until
from helpers.sql_stores import open_postgresql
from helpers.stores import build_first_turn


@pytest.fixture
def pool(url: str) -> Iterator[Pool]:
    made = Pool(DatabaseUrl(url), 2, 0.2)
    yield made
    made.close()


def _backend(connection: Connection) -> int:
    return connection.info.backend_pid


def _end(server: PostgresServer, backend: int) -> None:
    with psycopg.connect(server.url("postgres", "postgres"), autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(%s, 10000)", (backend,))


def test_a_connection_is_used_again_and_one_in_a_transaction_is_not(pool: Pool) -> None:
    with pool.borrow() as connection:
        first = _backend(connection)
    with pool.borrow() as connection:
        assert _backend(connection) == first
        connection.execute("BEGIN")
    with pool.borrow() as connection:
        assert _backend(connection) != first


def test_more_connections_than_there_may_be_are_waited_for_in_vain(pool: Pool) -> None:
    with (
        pool.borrow() as one,
        pool.borrow() as two,
        pytest.raises(Busy, match="was in use") as caught,
        pool.borrow(),
    ):
        pass
    assert _backend(one) != _backend(two)
    assert caught.value.repair == "send the same call again"
    with pool.borrow(), pool.borrow():
        pass


def test_who_waits_gets_the_connection_that_comes_back(url: str) -> None:
    shared, found = Pool(DatabaseUrl(url), 1), list[int]()

    def lend() -> None:
        with shared.borrow() as connection:
            found.append(_backend(connection))

    waiting = Thread(target=lend)
    with shared.borrow() as connection:
        first = _backend(connection)
        waiting.start()
    waiting.join()
    shared.close()

    assert found == [first]


def test_a_connection_that_the_server_has_ended_is_given_to_nobody(
    pool: Pool, postgres: PostgresServer
) -> None:
    with pool.borrow(BOUND) as one, pool.borrow(BOUND) as two:
        ended = {_backend(one), _backend(two)}
    for backend in ended:
        _end(postgres, backend)

    with pool.borrow(BOUND) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert _backend(connection) not in ended


def test_connections_that_nobody_needs_any_more_are_closed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_MAX_IDLE_SECONDS", 0.05)
    pool = Pool(DatabaseUrl(url), 2)
    with pool.borrow() as older, pool.borrow() as newer:
        pass

    wait_until(lambda: older.closed and newer.closed, "both are closed")
    with pool.borrow() as another:
        assert another.execute("SELECT 1").fetchone() == (1,)
    pool.close()


def test_a_pool_that_is_closed_lends_nothing_and_leaves_no_thread(url: str) -> None:
    before = set(enumerate_threads())
    pool = Pool(DatabaseUrl(url), 2)
    with pool.borrow():
        assert set(enumerate_threads()) > before
    pool.close()

    assert set(enumerate_threads()) == before
    with pytest.raises(NoServer, match="cannot be reached"), pool.borrow():
        pass


def test_a_database_that_was_dropped_is_told_as_missing(postgres: PostgresServer) -> None:
    url = postgres.create_database()
    pool = Pool(DatabaseUrl(url), 1, 0.2)
    with pool.borrow():
        pass
    postgres.drop(url)

    with pytest.raises(Missing, match=r"is not there$"), pool.borrow():
        pass
    pool.close()


def test_what_the_pool_warns_of_is_not_printed() -> None:
    program = """
from handrail.runtime.errors import NoServer
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.connections import Pool
pool = Pool(DatabaseUrl("postgresql:///x?host=/nowhere"), 1, 0.1)
try:
    with pool.borrow():
        pass
except NoServer as fault:
    print(fault.message)
pool.close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.endswith("cannot be reached\n")
    assert done.stderr == ""


def test_what_comes_back_to_a_closed_pool_is_closed(pool: Pool) -> None:
    with pool.borrow() as unused:
        pass
    with pool.borrow() as connection:
        pool.close()
        assert not connection.closed
    assert (unused.closed, connection.closed) == (True, True)


def test_a_process_with_many_open_files_has_connections_too(pool: Pool) -> None:
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (usual[1], usual[1]))
    with ExitStack() as opened:
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, usual)
        while (file := os.dup(0)) < 1100:
            opened.callback(os.close, file)
        opened.callback(os.close, file)
        for _ in range(2):
            with pool.borrow() as connection:
                assert connection.fileno() > 1024


def test_a_server_that_is_away_is_waited_for_and_then_named() -> None:
    with run_private_server() as server:
        url = server.create_database()
        impatient, patient = Pool(DatabaseUrl(url), 1, 0.2), Pool(DatabaseUrl(url), 1)
        with impatient.borrow(), patient.borrow():
            pass
        server.stop()
        with pytest.raises(NoServer, match="cannot be reached") as caught, impatient.borrow():
            pass
        starting = Thread(target=server.start)
        starting.start()
        with patient.borrow() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        with impatient.borrow():
            pass
        starting.join()
        for pool in (patient, impatient):
            pool.close()

    assert caught.value.repair.endswith("then send the same call again")


def test_who_starts_a_run_does_not_wait_for_others_who_start_one_in_the_same_project(url: str) -> None:
    runs = open_postgresql(url)
    assert runs.commit(build_first_turn("00000000-0000-0000-0000-000000000001"))
    with psycopg.connect(url) as other:
        other.execute("UPDATE projects SET active_task_id = 'theirs'")
        assert runs.commit(build_first_turn("00000000-0000-0000-0000-000000000002"))
        other.commit()
        assert other.execute("SELECT active_task_id FROM projects").fetchone() == ("theirs",)
    assert runs.commit(build_first_turn("00000000-0000-0000-0000-000000000003"))
    found = runs.database.peek("SELECT active_task_id FROM projects", ())
    assert found == [("00000000-0000-0000-0000-000000000003",)]


@pytest.mark.parametrize(
    "error",
    [
        psycopg.OperationalError("the connection is lost"),
        psycopg.InterfaceError("the connection is closed"),
        errors.AdminShutdown("terminating connection due to administrator command"),
        errors.ConnectionFailure("server closed the connection"),
        errors.ProtocolViolation("server conn crashed?"),
        errors.IoError("could not read block 7"),
        errors.OutOfMemory("out of memory"),
    ],
)
def test_a_connection_that_broke_is_a_server_that_is_gone_whoever_says_so(error: psycopg.Error) -> None:
    fault = pg_fault(DatabaseUrl("postgresql://somewhere/x"), error)

    assert isinstance(fault, NoServer)
    assert fault.message == "postgresql://somewhere/x broke off, or could not go on"


@pytest.mark.parametrize(
    ("setting", "statement"),
    [("statement_timeout", "SELECT pg_sleep(60)"), ("lock_timeout", "SELECT k FROM runs FOR UPDATE")],
)
def test_no_statement_and_no_lock_lasts_longer_than_it_may(
    url: str, setting: str, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections._SETTINGS, setting, "50ms")  # noqa: SLF001 - as soon as a test can wait for
    runs = open_postgresql(url)
    assert runs.commit(build_first_turn())
    with psycopg.connect(url) as other:
        other.execute("SELECT k FROM runs FOR UPDATE")
        with pytest.raises(Busy, match="did not come to it in time"):
            runs.database.peek(statement, ())
    assert runs.load(build_first_turn().run.id) is not None


def test_who_leaves_a_transaction_open_is_ended_by_the_server(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections._SETTINGS, "idle_in_transaction_session_timeout", "50ms")  # noqa: SLF001 - the same
    pool = Pool(DatabaseUrl(url), 1)
    with pool.borrow() as connection:
        connection.execute("BEGIN")
        heard = select.poll()
        heard.register(connection.fileno(), select.POLLIN)
        assert heard.poll(30_000)
        with pytest.raises(errors.IdleInTransactionSessionTimeout):
            connection.execute("SELECT 1")
    pool.close()


@pytest.mark.parametrize(
    "twice",
    [
        "INSERT INTO steps SELECT * FROM steps",
        "INSERT INTO replies SELECT * FROM replies",
        "INSERT INTO runs SELECT * FROM runs",
        """INSERT INTO runs (execution_id, workflow_name, state, started_at, updated_at, metadata, revision,
        record, chain, active_at, waiting, digest, face, authority, goal, principal)
        SELECT execution_id, workflow_name, state, started_at, updated_at, metadata, revision, record, chain,
        active_at, waiting, digest, face, authority, goal, principal FROM runs""",
    ],
)
def test_no_step_reply_or_run_is_there_twice_whoever_writes_it(url: str, twice: str) -> None:
    assert open_postgresql(url).commit(build_first_turn())

    with psycopg.connect(url) as other, pytest.raises(errors.UniqueViolation):
        other.execute(twice.encode())


def test_long_texts_are_compressed_with_lz4_where_the_server_can(url: str) -> None:
    runs = open_postgresql(url)
    assert runs.commit(build_first_turn(spent=RecordedCall("", "", b"said at some length, " * 200)))
    method = "SELECT pg_column_compression(reply) FROM replies"
    assert runs.database.peek(method, ()) == [("lz4",)]
