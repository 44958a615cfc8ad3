"""What is not copied, and why; and a copy that is not whole, which nobody can take for a store."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from shlex import quote

import psycopg
import pytest

from handrail.app.stores import open_store, store_exists
from handrail.runtime.errors import Busy, Fault, NewerFormat, NotWritable, Unreadable
from handrail.runtime.store_address import DatabaseUrl, StoreLocation
from handrail.stores.sql.copy import PAGE_ROWS
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.store_copies import FullStore, Place, continue_run, find_damage, read_rows, run_copy, stop_copy

NEW = ["sqlite", "postgresql"]


def said(where: StoreLocation, *statements: str) -> None:
    """Do this to a database, past everything of ours."""
    if isinstance(where, DatabaseUrl):
        with psycopg.connect(where.url) as done:
            for statement in statements:
                done.execute(statement.encode())
    else:
        with closing(sqlite3.connect(where)) as file, file:
            for statement in statements:
                file.execute(statement)


@pytest.mark.parametrize("target", NEW)
def test_nothing_is_copied_into_a_store(target: str, filled: FullStore, new: Place) -> None:
    run_copy(filled.path, to := new(target))
    before = read_rows(to)

    with pytest.raises(NotWritable) as refused:
        run_copy(filled.path, to)

    assert refused.value.message == f"{to} is a store already"
    assert refused.value.repair == "name a file that is not there, or an empty database"
    assert read_rows(to) == before


def test_a_store_is_not_copied_into_itself(filled: FullStore) -> None:
    with pytest.raises(NotWritable):
        run_copy(filled.path, filled.path)


@pytest.mark.parametrize("target", NEW)
def test_nothing_is_copied_into_a_newer_store(target: str, filled: FullStore, new: Place) -> None:
    run_copy(filled.path, to := new(target))
    said(
        to,
        "UPDATE handrail_schema SET version = 99"
        if isinstance(to, DatabaseUrl)
        else "PRAGMA user_version = 99",
    )

    with pytest.raises(NewerFormat, match="99"):
        run_copy(filled.path, to)


@pytest.mark.parametrize("target", NEW)
def test_nothing_is_copied_into_what_is_of_another_program(
    target: str, filled: FullStore, new: Place
) -> None:
    said(to := new(target), "CREATE TABLE diary (day TEXT)")

    with pytest.raises(Unreadable, match="another program"):
        run_copy(filled.path, to)


@pytest.mark.parametrize("target", NEW)
def test_an_unfinished_copy_of_another_store_is_left_as_it_is(
    target: str, filled: FullStore, new: Place
) -> None:
    run_copy(filled.path, other := new("sqlite"))
    stop_copy(filled.path, to := new(target))
    before = read_rows(to)

    with pytest.raises(Unreadable) as refused:
        run_copy(other, to)

    assert refused.value.message == f"{to} is an unfinished copy of {filled.path}"
    assert refused.value.repair == f"finish it: handrail store copy {filled.path} {quote(str(to))}"
    assert read_rows(to) == before


@pytest.mark.parametrize("target", NEW)
def test_a_copy_that_another_version_began_is_not_gone_on_with(
    target: str, filled: FullStore, new: Place
) -> None:
    stop_copy(filled.path, to := new(target))
    said(to, "UPDATE handrail_copy SET version = 99")

    with pytest.raises(Unreadable) as refused:
        run_copy(filled.path, to)

    assert "left unfinished by another Handrail: its schema is 99" in refused.value.message
    assert refused.value.repair == f"remove {to} and copy again"


def test_only_one_fills_a_database_at_a_time(filled: FullStore, new: Place) -> None:
    to = new("postgresql")
    refused: list[Fault] = []

    def meanwhile(*_: object) -> None:
        if not refused:
            with pytest.raises(Busy, match="somebody else is filling") as busy:
                run_copy(filled.path, to)
            refused.append(busy.value)

    run_copy(filled.path, to, meanwhile)

    assert refused
    assert read_rows(to) == read_rows(filled.path)


@pytest.mark.parametrize("target", NEW)
def test_an_unfinished_copy_is_not_opened(target: str, filled: FullStore, new: Place) -> None:
    stop_copy(filled.path, to := new(target))
    before = read_rows(to)

    with pytest.raises(Unreadable) as refused, open_store(to):
        pass

    assert refused.value.repair == f"finish it: handrail store copy {filled.path} {quote(str(to))}"
    assert read_rows(to) == before


@pytest.mark.parametrize("target", NEW)
def test_an_unfinished_copy_is_not_copied(target: str, filled: FullStore, new: Place) -> None:
    stop_copy(filled.path, to := new(target))

    with pytest.raises(Unreadable, match="unfinished copy"):
        run_copy(to, new("sqlite"))


def test_whether_an_unfinished_copy_is_there_cannot_be_said(filled: FullStore, new: Place) -> None:
    stop_copy(filled.path, to := new("postgresql"))

    with pytest.raises(Unreadable, match="unfinished copy"):
        store_exists(to)


@pytest.mark.parametrize("target", NEW)
def test_a_copy_that_is_read_back_otherwise_is_no_store(target: str, filled: FullStore, new: Place) -> None:
    to = new(target)

    def meanwhile(what: str, done: int, of: int) -> None:
        if (what, done) == ("copying", of):
            said(to, "UPDATE steps SET agent_name = 'mallory' WHERE run = 1 AND number = 1")

    with pytest.raises(Unreadable, match="the copy of steps is not what was copied"):
        run_copy(filled.path, to, meanwhile)

    with pytest.raises(Unreadable, match="unfinished copy"), open_store(to):
        pass
    assert not run_copy(filled.path, to).continued
    assert read_rows(to) == read_rows(filled.path)


def _turn(filled: FullStore, where: StoreLocation) -> None:
    assert continue_run(where, filled)["decision"] == "Accepted"


def _token(_: FullStore, where: StoreLocation) -> None:
    said(where, "UPDATE access_tokens SET revoked_at = '2026-01-31 13:00:00.000'")


def _pruned(_: FullStore, where: StoreLocation) -> None:
    said(where, "DELETE FROM events WHERE id = 1")


@pytest.mark.parametrize("change", [_turn, _token, _pruned])
@pytest.mark.parametrize("source", NEW)
def test_a_store_that_is_written_to_meanwhile_is_not_copied_until_nobody_does(
    source: str, change: Callable[[FullStore, StoreLocation], None], filled: FullStore, new: Place
) -> None:
    there: StoreLocation = filled.path
    if source == "postgresql":
        run_copy(filled.path, there := new(source))
    to = new("sqlite")
    done: list[str] = []

    def meanwhile(what: str, *_: object) -> None:
        if what == "reading back" and not done:
            done.append(what)
            change(filled, there)

    with pytest.raises(Busy) as refused:
        run_copy(there, to, meanwhile)

    assert refused.value.message.startswith("the store was written to while it was copied: ")
    assert refused.value.repair == "stop what serves it, then say the same again"
    with pytest.raises(Unreadable, match="unfinished copy"), open_store(to):
        pass
    run_copy(there, to)
    assert read_rows(to) == read_rows(there)


@pytest.mark.parametrize("source", NEW)
def test_what_is_copied_is_of_one_moment(source: str, filled: FullStore, new: Place) -> None:
    there: StoreLocation = filled.path
    if source == "postgresql":
        run_copy(filled.path, there := new(source))
    before, to = read_rows(there), new("sqlite")
    done: list[bool] = []

    def meanwhile(*_: object) -> None:
        if not done:
            done.append(True)
            _turn(filled, there)

    with pytest.raises(Busy):
        run_copy(there, to, meanwhile)

    left = read_rows(to)
    left.pop("handrail_copy")
    assert left == before


@pytest.mark.parametrize(
    ("table", "damage"),
    [
        ("steps", "INSERT INTO steps VALUES (99, 1, 'a', 'b', 'completed', NULL, NULL, NULL, NULL, NULL)"),
        ("runs", "UPDATE runs SET duration_ms = -1 WHERE k = 1"),
    ],
)
@pytest.mark.parametrize("target", NEW)
def test_a_row_that_no_store_has_is_not_copied(
    target: str, table: str, damage: str, filled: FullStore, new: Place
) -> None:
    said(filled.path, "PRAGMA ignore_check_constraints = ON", damage)

    with pytest.raises(Unreadable) as refused:
        run_copy(filled.path, new(target))

    assert refused.value.message.startswith(f"a row of {table} cannot be copied: ")
    assert refused.value.repair.startswith("run `handrail store check` on the store that is copied")
    assert find_damage(filled.path)


def test_a_text_that_postgresql_cannot_keep_is_not_copied_there(filled: FullStore, new: Place) -> None:
    said(filled.path, "UPDATE artifacts SET content = 'a' || char(0) WHERE run = 1 AND number = 1")

    with pytest.raises(Unreadable, match=r"a row of artifacts cannot be copied: .*NUL"):
        run_copy(filled.path, new("postgresql"))


def test_a_text_that_is_none_is_not_copied(filled: FullStore, new: Place) -> None:
    said(filled.path, "UPDATE events SET metadata = CAST(x'ff' AS TEXT) WHERE id = 1")

    with pytest.raises(Unreadable, match="is no sound database"):
        run_copy(filled.path, new("sqlite"))


def test_a_table_of_many_pages_is_copied_and_a_copy_of_it_is_gone_on_with(
    filled: FullStore, new: Place
) -> None:
    lines = (
        "WITH RECURSIVE n (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < ?)"
        " INSERT INTO settings SELECT printf('%08d', k), x'00' FROM n"
    )
    with closing(SqliteDatabase(filled.path)) as database, database.transaction() as execute:
        execute(lines, (PAGE_ROWS * 2,))
    to = new("sqlite")
    stop_copy(filled.path, to, 2)
    assert len(read_rows(to)["settings"]) == PAGE_ROWS * 2

    assert run_copy(filled.path, to).continued

    assert read_rows(to) == read_rows(filled.path)
