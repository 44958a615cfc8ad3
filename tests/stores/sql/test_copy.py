"""A store in another place: everything that it has, and runs that go on there as if nothing had happened."""

import sqlite3
from contextlib import closing

import psycopg
import pytest

from handrail.app.stores import open_store
from handrail.runtime.store_address import DatabaseUrl, StoreLocation
from handrail.stores.sql.schema import list_tables
from helpers.store_copies import (
    FullStore,
    Place,
    continue_run,
    find_damage,
    read_indexes,
    read_rows,
    run_copy,
    stop_copy,
)

NEW = ["sqlite", "postgresql"]


@pytest.mark.parametrize("target", NEW)
@pytest.mark.parametrize("source", NEW)
def test_a_copy_has_every_row_of_every_table(source: str, target: str, filled: FullStore, new: Place) -> None:
    there: StoreLocation = filled.path
    if source == "postgresql":
        there = new(source)
        run_copy(filled.path, there)
    wanted = read_rows(filled.path)
    assert all(wanted.values()), "there is something in every table"

    made = run_copy(there, to := new(target))

    assert read_rows(to) == wanted
    assert made.tables == {table: len(lines) for table, lines in wanted.items()}
    assert find_damage(to) == []


@pytest.mark.parametrize("target", NEW)
def test_a_copy_has_the_indexes_of_a_store_that_was_never_copied(
    target: str, filled: FullStore, new: Place
) -> None:
    run_copy(filled.path, to := new(target))
    with open_store(fresh := new(target)):
        wanted = read_indexes(fresh)

    assert "events_refused" in wanted
    assert read_indexes(to) == wanted


def test_a_copy_that_an_older_handrail_began_has_its_indexes_already(filled: FullStore, new: Place) -> None:
    to = new("postgresql")
    assert isinstance(to, DatabaseUrl)
    stop_copy(filled.path, to, 6)
    with psycopg.connect(to.url) as older:
        older.execute("CREATE INDEX runs_by_project ON runs (project_id, k)")

    assert run_copy(filled.path, to).continued
    assert read_rows(to) == read_rows(filled.path)


def test_both_kinds_of_store_have_the_same_tables_and_columns(filled: FullStore, new: Place) -> None:
    run_copy(filled.path, to := new("postgresql"))
    assert isinstance(to, DatabaseUrl)
    with psycopg.connect(to.url) as asked:
        found = asked.execute(
            "SELECT table_name, array_agg(CAST(column_name AS TEXT) ORDER BY column_name)"
            " FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)"
            " WHERE table_schema = 'public' AND table_type = 'BASE TABLE' GROUP BY table_name"
        ).fetchall()

    assert dict(found) == {table.name: sorted(table.columns) for table in list_tables()} | {
        "handrail_schema": ["version"]
    }


@pytest.mark.parametrize("target", NEW)
def test_a_run_that_was_open_goes_on_in_the_copy_with_the_token_that_its_agent_holds(
    target: str, filled: FullStore, new: Place
) -> None:
    run_copy(filled.path, to := new(target))

    first = continue_run(to, filled)
    again = continue_run(to, filled)

    assert (first["decision"], first["state"], first["revision"]) == ("Accepted", "mend", 3)
    assert again == first, "the call is remembered"
    assert find_damage(to) == []


def test_new_rows_in_postgresql_have_numbers_behind_those_that_were_copied(
    filled: FullStore, new: Place
) -> None:
    run_copy(filled.path, to := new("postgresql"))
    assert isinstance(to, DatabaseUrl)
    with closing(sqlite3.connect(filled.path)) as asked:
        (last,) = asked.execute("SELECT max(id) FROM events").fetchone()
        (run,) = asked.execute("SELECT max(k) FROM runs").fetchone()

    continue_run(to, filled)

    with psycopg.connect(to.url) as asked:
        assert asked.execute("SELECT min(id) FROM events WHERE id > %s", (last,)).fetchone() == (last + 1,)
        assert asked.execute("SELECT nextval(pg_get_serial_sequence('runs', 'k'))").fetchone() == (run + 1,)


@pytest.mark.parametrize("target", NEW)
def test_a_store_without_a_row_is_copied_and_numbers_begin_with_one(
    target: str, filled: FullStore, new: Place
) -> None:
    with closing(sqlite3.connect(filled.path)) as emptied, emptied:
        for table in reversed(list_tables()):
            emptied.execute(f"DELETE FROM {table.name}")  # noqa: S608 - our names

    made = run_copy(filled.path, to := new(target))

    assert set(made.tables.values()) == {0}
    assert read_rows(to) == read_rows(filled.path)
    if isinstance(to, DatabaseUrl):
        with psycopg.connect(to.url) as asked:
            assert asked.execute("SELECT nextval(pg_get_serial_sequence('events', 'id'))").fetchone() == (1,)


@pytest.mark.parametrize("target", NEW)
def test_a_copy_that_was_stopped_goes_on_where_it_was(target: str, filled: FullStore, new: Place) -> None:
    to = new(target)
    stop_copy(filled.path, to, 6)
    left = read_rows(to)
    assert left["steps"]
    assert not left["events"]

    made = run_copy(filled.path, to)

    assert made.continued
    assert read_rows(to) == read_rows(filled.path)


@pytest.mark.parametrize("target", NEW)
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE projects SET name = 'another'",
        "DELETE FROM definitions WHERE workflow_name = 'gate'",
        "DELETE FROM settings",
        "INSERT INTO settings VALUES ('aa', x'00')",
        "UPDATE runs SET active_at = '2026-02-01 00:00:00.000'",
    ],
)
def test_a_copy_begins_anew_if_what_it_has_is_not_in_the_store_any_more(
    change: str, target: str, filled: FullStore, new: Place
) -> None:
    to = new(target)
    stop_copy(filled.path, to, 6)
    with closing(sqlite3.connect(filled.path)) as changed, changed:
        assert changed.execute(change).rowcount > 0

    made = run_copy(filled.path, to)

    assert not made.continued
    assert read_rows(to) == read_rows(filled.path)


def test_a_copy_that_was_stopped_goes_on_with_what_came_behind_it(filled: FullStore, new: Place) -> None:
    to = new("postgresql")
    stop_copy(filled.path, to, 7)
    with closing(sqlite3.connect(filled.path)) as changed, changed:
        changed.execute("INSERT INTO registered VALUES ('zoo', '/srv/zoo', '2026-01-31 12:00:00.000')")

    made = run_copy(filled.path, to)

    assert made.continued
    assert read_rows(to) == read_rows(filled.path)
