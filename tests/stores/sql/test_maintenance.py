"""Whether a store of either kind is sound, and making room in it: every damage is found, nothing is lost."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Thread

import psycopg
import pytest

from handrail.app.stores import open_store
from handrail.engine.model import Lifecycle
from handrail.runtime.entries import EntryKind
from handrail.runtime.ports.open_store import DAMAGE_CODES, Damage
from handrail.runtime.store_address import DatabaseUrl, StoreLocation
from handrail.stores.sql.maintenance import SqlMaintenance
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import close_later
from helpers.history import GATE, PLAIN, History, list_run_ids, open_sample_store
from helpers.postgres import run_private_server
from helpers.sql_rows import PLANTED
from helpers.store_copies import Place, find_damage, run_copy

KINDS = ("sqlite", "postgresql")
OWN = {
    "sqlite": [
        ("chain", "UPDATE events SET metadata = CAST(x'ff' AS TEXT) WHERE run = 1 AND id = 1"),
        ("chain", "UPDATE runs SET chain = x'00' WHERE goal = 'To be running'"),
        ("file", "UPDATE runs SET duration_ms = -1 WHERE goal = 'To be completed'"),
    ],
    "postgresql": [
        ("chain", "UPDATE events SET metadata = 'no JSON' WHERE run = 1 AND id = 1"),
        ("chain", "UPDATE runs SET chain = '\\x00' WHERE goal = 'To be running'"),
    ],
}
LOOSE = """
ALTER TABLE steps DROP CONSTRAINT steps_run_fkey;
ALTER TABLE events DROP CONSTRAINT events_run_fkey;
"""
REPLIES = """
INSERT INTO replies
WITH RECURSIVE n (k) AS (SELECT 100 UNION ALL SELECT k + 1 FROM n WHERE k < 161)
SELECT 1, k, '', '', '' FROM n
"""


@pytest.fixture(params=KINDS)
def there(request: pytest.FixtureRequest, past: History, new: Place) -> StoreLocation:
    """The runs of `past` in a store of each kind."""
    if request.param == "sqlite":
        return past.path
    run_copy(past.path, to := new("postgresql"))
    return to


def planted(there: StoreLocation, statement: str, rows: int = 1) -> list[Damage]:
    """What is found once this was done to so many rows, whatever the tables forbid."""
    if isinstance(there, DatabaseUrl):
        with psycopg.connect(there.url) as server:
            server.execute(LOOSE)
            done = server.execute(statement.encode()).rowcount
    else:
        with closing(sqlite3.connect(there)) as file, file:
            file.execute("PRAGMA ignore_check_constraints = ON")
            done = file.execute(statement).rowcount
    assert done == rows
    return find_damage(there)


def test_a_sound_store_and_an_empty_one_have_no_damage(there: StoreLocation, new: Place) -> None:
    empty = new("sqlite" if isinstance(there, Path) else "postgresql")
    with open_store(empty):
        pass

    assert (find_damage(there), find_damage(empty)) == ([], [])


@pytest.mark.parametrize(
    ("there", "code", "statement"),
    [(kind, *damage) for kind in KINDS for damage in (*PLANTED, *OWN[kind])],
    indirect=["there"],
)
def test_damage_planted_alone_is_found_alone(there: StoreLocation, code: str, statement: str) -> None:
    assert [damage.code for damage in planted(there, statement)] == [code]


def test_a_turn_that_is_missing_in_the_middle_is_a_gap_and_breaks_the_chain(
    there: StoreLocation, past: History
) -> None:
    found = planted(there, "DELETE FROM events WHERE run = 1 AND revision = 2", 5)

    assert [(damage.code, damage.run) for damage in found] == [
        ("gap", past.runs["running"]),
        ("chain", past.runs["running"]),
    ]


def test_a_turn_that_is_missing_at_the_end_is_another_revision_and_breaks_the_chain(past: History) -> None:
    found = planted(past.path, "DELETE FROM events WHERE run = 1 AND revision = 3", 5)

    assert [damage.code for damage in found] == ["revision", "chain"]


def test_more_replies_than_are_remembered_are_found(there: StoreLocation) -> None:
    (damage,) = planted(there, REPLIES, 62)

    assert (damage.code, damage.message) == ("replies", "65 replies are kept, 64 at most should be")


def test_a_page_that_was_overwritten_is_found_and_the_rest_is_told_as_far_as_it_goes(past: History) -> None:
    with closing(sqlite3.connect(past.path)) as planted:
        size = planted.execute("PRAGMA page_size").fetchone()[0]
        root = planted.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'runs'").fetchone()[0]
    with past.path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)

    codes = [damage.code for damage in find_damage(past.path)]

    assert set(codes) == {"file", "unreadable"}
    assert codes[-1] == "unreadable"


def test_a_page_of_postgresql_that_was_overwritten_is_found_too(past: History) -> None:
    with run_private_server() as server:
        there = DatabaseUrl(server.create_database())
        run_copy(past.path, there)
        with psycopg.connect(there.url) as asked:
            (file,) = asked.execute("SELECT pg_relation_filepath('steps')").fetchone() or ("",)
        server.stop()
        with (server.folder / "data" / file).open("r+b") as pages:
            pages.write(b"\xff" * 8192)
        server.start()

        codes = [damage.code for damage in find_damage(there)]

    assert codes == ["file", "unreadable"]


@pytest.mark.parametrize(
    ("kind", "others"),
    [("sqlite", {"gap", "replies", "unreadable"}), ("postgresql", {"gap", "replies", "unreadable", "file"})],
)
def test_every_kind_of_damage_is_planted_somewhere_here(kind: str, others: set[str]) -> None:
    assert {code for code, _ in (*PLANTED, *OWN[kind])} | others == DAMAGE_CODES.keys()


def test_a_step_left_running_by_a_run_that_was_abandoned_is_no_damage(past: History) -> None:
    with closing(sqlite3.connect(past.path)) as asked:
        left = asked.execute(
            "SELECT r.state FROM steps AS s JOIN runs AS r ON r.k = s.run"
            " WHERE s.status = 'running' AND r.completed_at IS NOT NULL ORDER BY r.k"
        ).fetchall()

    assert left == [("abandoned",), ("diverged",)]
    assert find_damage(past.path) == []


def test_check_finds_nothing_while_others_write(tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        runs = [play.start("", GATE) for _ in range(3)]
        play.database.writer_connection().execute("PRAGMA synchronous = OFF")

        def write() -> None:
            for trigger in ("pause", "resume") * 40:
                for run in runs:
                    play.send(run, trigger)

        database = close_later(SqliteDatabase(tmp_path / "handrail.db"))
        writer = Thread(target=write)
        writer.start()
        found, looks = [], 0
        while writer.is_alive():
            found += list(SqlMaintenance(database).check())
            looks += 1
        writer.join()
        database.close()

    assert (found, looks > 1) == ([], True)


def test_the_guide_tells_every_damage() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "looking-at-runs.md").read_text()

    assert [line for line in guide.splitlines() if line.startswith("| `") and "` | " in line][
        : len(DAMAGE_CODES)
    ] == [f"| `{code}` | {about} |" for code, about in DAMAGE_CODES.items()]


def test_vacuum_gives_room_back_and_keeps_every_row(tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "handrail.db") as play:
        run = play.start("", GATE)
        with play.database.transaction() as execute:
            execute("CREATE TABLE filler (bytes)", ())
            execute("INSERT INTO filler VALUES (zeroblob(4000000))", ())
            execute("DROP TABLE filler", ())
        keeper = SqlMaintenance(play.database)
        size = keeper.size()

        before, after = keeper.vacuum()

        assert before == size > 4_000_000
        assert after == keeper.size() == (tmp_path / "handrail.db").stat().st_size < 300_000
        assert list_run_ids(play.database) == [run]
        assert list(keeper.check()) == []
        assert play.send(run, "continue", PLAIN)["decision"] == "Waiting"


def test_an_export_has_everything_but_tokens_and_replies(keeper: SqlMaintenance, past: History) -> None:
    answer = keeper.export(past.runs["waiting"])

    assert answer is not None
    answer = json.loads(json.dumps(answer))
    assert list(answer) == ["run", "steps", "artifacts", "events", "definition"]
    run = answer["run"]
    assert (run["lifecycle"], run["state"], run["waiting"]) == (Lifecycle.RUNNING, "build", True)
    assert (run["started"], run["ended"]) == ("2026-01-31T09:23:00.000Z", None)
    assert run["record"]["open"][0]["held"]["payload"]["summary"] == "Built."
    assert [event["kind"] for event in answer["events"]][-2:] == [
        EntryKind.STEP_WAITING,
        EntryKind.TOKEN_GENERATED,
    ]
    assert "workflow: gate" in answer["definition"]["text"]
    assert "token" not in answer["steps"][0]


def test_a_run_that_is_not_there_has_no_export(keeper: SqlMaintenance) -> None:
    assert keeper.export("no such run") is None


def test_a_damaged_run_is_exported_as_it_is(there: StoreLocation, past: History) -> None:
    planted(there, "UPDATE runs SET record = '{broken' WHERE goal = 'To be running'")
    if isinstance(there, Path):
        planted(there, "DELETE FROM definitions", 2)

    with open_store(there) as store:
        answer = json.loads(json.dumps(store.maintenance.export(past.runs["running"])))

    assert answer["run"]["record"] == "{broken"
    assert (answer["definition"] is None) is isinstance(there, Path)
