"""Opening a PostgreSQL store: its tables are made once, and an old program never writes into newer ones."""

from threading import Thread
from typing import Any

import psycopg
import pytest

from handrail.runtime.errors import NewerFormat
from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.maintenance import SqlMaintenance
from handrail.stores.sql.postgres import schema
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.schema import load_migrations
from helpers.cleanup import close_later
from helpers.postgres import PostgresServer
from helpers.requirement import requirement
from helpers.servers import wait_until
from helpers.sql_stores import open_postgresql
from helpers.store_programs import run_postgres_program
from helpers.stores import RUN, build_next_turn, save_turns
from helpers.turns import ENDLESS, NOW, TurnHarness, load_pinned

KNOWN = len(load_migrations("postgres/migrations"))


def _asked(url: str, statement: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement).fetchall()


@pytest.mark.unmeasured
@requirement("steps:db.migrate")
def test_eight_processes_that_open_an_empty_database_at_once_open_the_same_store(
    postgres: PostgresServer,
) -> None:
    for _ in range(3):
        with postgres.lend_database() as url:
            answer = run_postgres_program("open", url, 8)
            assert [one for one in answer if "error" in one] == []
            assert [one["revision"] for one in answer] == [2] * 8
            assert len({one["key"] for one in answer}) == 1
            assert _asked(url, "SELECT version FROM handrail_schema") == [(KNOWN,)]
            assert list(SqlMaintenance(close_later(PgDatabase(DatabaseUrl(url)))).check()) == []


@requirement("steps:db.migrate")
def test_a_database_of_a_newer_program_is_refused_and_left_alone(url: str) -> None:
    close_later(PgDatabase(DatabaseUrl(url)))
    with psycopg.connect(url) as raw:
        raw.execute("UPDATE handrail_schema SET version = version + 1")

    with pytest.raises(NewerFormat, match=f"schema {KNOWN + 1}, this program knows {KNOWN}") as caught:
        PgDatabase(DatabaseUrl(url))
    assert "update Handrail" in caught.value.repair
    assert _asked(url, "SELECT version FROM handrail_schema") == [(KNOWN + 1,)]


@requirement("steps:db.migrate")
def test_a_newer_program_that_comes_while_an_old_one_is_open_stops_its_writing_and_not_its_reading(
    url: str,
) -> None:
    runs = open_postgresql(url)
    stored = save_turns(runs, 1)
    harness = TurnHarness(runs)
    answer = harness.start(load_pinned(ENDLESS))
    assert run_postgres_program("newer", url)["revision"] == 2
    before = _counted(url)

    for write in (
        lambda: runs.commit(build_next_turn(stored)),
        lambda: runs.note(RUN, NOW, ()),
        lambda: runs.touch(RUN, NOW),
        lambda: runs.renew_tokens(stored, {1: "x"}, NOW, ()),
        lambda: harness.send(answer["run"], "go", answer["token"]),
        lambda: harness.start(load_pinned(ENDLESS)),
        runs.database.check_reachable,
    ):
        with pytest.raises(NewerFormat, match="a newer Handrail") as caught:
            write()
        assert caught.value.repair == "update Handrail here too, and start it again"
    assert runs.load(RUN) == stored
    assert _counted(url) == before
    assert _asked(url, "SELECT a FROM added") == [(7,)]
    with pytest.raises(NewerFormat):
        PgDatabase(DatabaseUrl(url))


def _counted(url: str) -> list[Any]:
    tables = ("runs", "steps", "artifacts", "events", "replies", "definitions")
    return [_asked(url, f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]  # noqa: S608 - ours


def test_a_newer_program_waits_for_a_turn_that_is_being_saved_and_the_next_turn_is_refused(
    url: str,
) -> None:
    runs = open_postgresql(url)
    stored = save_turns(runs, 1)
    answer = list[Any]()
    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'handrail_schema'::regclass"
    with runs.database.transaction() as execute:
        execute("UPDATE runs SET goal = $1", ("moved meanwhile",)).rowcount  # noqa: B018 - it is sent now
        newer = Thread(target=lambda: answer.append(run_postgres_program("newer", url)))
        newer.start()
        wait_until(lambda: bool(_asked(url, waiting)), "the newer program waits")
    newer.join()

    assert answer[0]["revision"] == 2
    assert _asked(url, "SELECT goal, revision FROM runs ORDER BY k LIMIT 1") == [("moved meanwhile", 1)]
    assert _asked(url, "SELECT version FROM handrail_schema") == [(KNOWN + 1,)]
    with pytest.raises(NewerFormat):
        runs.commit(build_next_turn(stored))


def test_a_migration_that_fails_leaves_the_old_tables(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = open_postgresql(url)
    stored = save_turns(runs, 2)
    broken = "CREATE TABLE half (a BIGINT);\nDROP VIEW workflow_steps;\nINSERT INTO nowhere VALUES (1);"
    monkeypatch.setattr(
        schema, "_migration_scripts", lambda: (*load_migrations("postgres/migrations"), broken)
    )

    with pytest.raises(Exception, match="nowhere"):
        PgDatabase(DatabaseUrl(url))
    monkeypatch.undo()
    assert runs.load(RUN) == stored
    assert runs.commit(build_next_turn(stored))
    assert _asked(url, "SELECT to_regclass('half')") == [(None,)]
