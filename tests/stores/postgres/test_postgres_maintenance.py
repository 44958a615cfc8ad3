"""Whether a store in PostgreSQL is sound: the damages that are found in a file are found there too."""

import json
from collections.abc import Iterator

import psycopg
import pytest

from handrail.app.stores import Stores
from handrail.runtime.ports.open_store import DAMAGE_CODES, Damage
from handrail.runtime.store_address import DatabaseUrl
from helpers.history import History
from helpers.postgres import Server, private
from helpers.sql_rows import PLANTED
from helpers.store_copies import copied, damages

LOOSE = """
ALTER TABLE steps DROP CONSTRAINT steps_run_fkey;
ALTER TABLE events DROP CONSTRAINT events_run_fkey;
"""


@pytest.fixture
def there(past: History, postgres: Server) -> Iterator[DatabaseUrl]:
    """The runs of `past` in PostgreSQL."""
    with postgres.lent() as url:
        copied(past.path, DatabaseUrl(url))
        yield DatabaseUrl(url)


def planted(there: DatabaseUrl, statement: str, rows: int = 1) -> list[Damage]:
    """What is found once this was done to so many rows."""
    with psycopg.connect(there.url) as connection:
        connection.execute(LOOSE)
        assert connection.execute(statement.encode()).rowcount == rows
    return damages(there)


def test_a_sound_store_has_no_damage(there: DatabaseUrl) -> None:
    assert damages(there) == []


def test_an_empty_store_has_no_damage(postgres: Server) -> None:
    with postgres.lent() as url:
        assert damages(DatabaseUrl(url)) == []


OWN = [
    ("chain", "UPDATE events SET metadata = 'no JSON' WHERE run = 1 AND id = 1"),
    ("chain", "UPDATE runs SET chain = '\\x00' WHERE goal = 'To be running'"),
]


@pytest.mark.parametrize(("code", "statement"), [*PLANTED, *OWN])
def test_damage_planted_alone_is_found_alone(code: str, statement: str, there: DatabaseUrl) -> None:
    assert [damage.code for damage in planted(there, statement)] == [code]


def test_a_turn_that_is_missing_in_the_middle_is_a_gap_and_breaks_the_chain(
    there: DatabaseUrl, past: History
) -> None:
    found = planted(there, "DELETE FROM events WHERE run = 1 AND revision = 2", 5)

    assert [(damage.code, damage.run) for damage in found] == [
        ("gap", past.runs["running"]),
        ("chain", past.runs["running"]),
    ]


def test_more_replies_than_are_remembered_are_found(there: DatabaseUrl) -> None:
    more = "INSERT INTO replies SELECT 1, revision, '', '', '' FROM generate_series(100, 161) AS revision"

    (damage,) = planted(there, more, 62)

    assert (damage.code, damage.message) == ("replies", "65 replies are kept, 64 at most should be")


def test_a_page_that_was_overwritten_is_found_and_the_rest_is_told_as_far_as_it_goes(past: History) -> None:
    with private() as server:
        there = DatabaseUrl(server.fresh())
        copied(past.path, there)
        with psycopg.connect(there.url) as asked:
            (file,) = asked.execute("SELECT pg_relation_filepath('steps')").fetchone() or ("",)
        server.stop()
        with (server.folder / "data" / file).open("r+b") as pages:
            pages.write(b"\xff" * 8192)
        server.start()

        codes = [damage.code for damage in damages(there)]

    assert codes == ["file", "unreadable"]


def test_every_kind_of_damage_is_planted_somewhere_here() -> None:
    others = {"gap", "replies", "unreadable", "file"}

    assert {code for code, _ in (*PLANTED, *OWN)} | others == DAMAGE_CODES.keys()


def test_a_store_that_is_damaged_can_still_be_asked(there: DatabaseUrl, past: History) -> None:
    planted(there, "UPDATE runs SET record = '{broken' WHERE goal = 'To be running'")

    with Stores().open_store(there) as store:
        told = store.keeper.export(past.runs["running"])

    assert told is not None
    assert json.loads(json.dumps(told))["run"]["record"] == "{broken"
