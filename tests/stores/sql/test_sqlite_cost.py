"""What a turn costs the store, in counts that are the same on every machine."""

import sqlite3
from pathlib import Path

import pytest

from handrail.engine.model import Event
from handrail.runtime.turn import Call, take_turn
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import close_later
from stage import Stage, render, stage
from wal import counted, empty

RUNS, TURNS = 300, 100


@pytest.fixture
def play(tmp_path: Path) -> Stage:
    database = close_later(SqliteDatabase(tmp_path / "runs.db"))
    database.writer_connection().execute("PRAGMA synchronous = OFF")
    made = stage(database)
    made.start(RUNS)
    return made


def _statements(connection: sqlite3.Connection, play: Stage) -> list[str]:
    """What a turn executes, by the first two words of each statement."""
    found: list[str] = []
    connection.set_trace_callback(found.append)
    play.turn(next(iter(play.tokens)))
    connection.set_trace_callback(None)
    return [" ".join(text.split()[:2]) for text in found]


def test_a_turn_is_one_commit_and_writes_at_most_36_kib(play: Stage) -> None:
    pick = play.picked(1)
    for _ in range(2 * RUNS):
        play.turn(pick())
    empty(play.database)
    for _ in range(TURNS):
        play.turn(pick())
    wal = counted(play.database.path)
    assert wal.commits == TURNS
    assert wal.bytes <= 36 * 1024 * TURNS, f"{wal.bytes / 1024 / TURNS} KiB"


def test_a_turn_reads_its_run_once_and_writes_each_row_once(play: Stage) -> None:
    assert _statements(play.database.writer_connection(), play) == [
        "SELECT r.record,",
        "BEGIN IMMEDIATE",
        "PRAGMA user_version",
        "SELECT k,",
        "UPDATE runs",
        "UPDATE steps",
        "INSERT INTO",
        "INSERT INTO",
        *["INSERT INTO"] * 5,
        "INSERT INTO",
        "COMMIT",
    ]


def test_a_refusal_is_one_commit_that_touches_only_the_journal(play: Stage) -> None:
    empty(play.database)
    run = next(iter(play.tokens))
    call = Call(run, Event("continue", {"summary": ""}), token=play.tokens[run])
    statements: list[str] = []
    play.database.writer_connection().set_trace_callback(statements.append)
    take_turn(play.world, call, render)
    play.database.writer_connection().set_trace_callback(None)
    assert [text.split("(")[0] for text in statements if text.startswith(("INSERT", "UPDATE", "DELETE"))] == [
        "INSERT INTO events "
    ]
    assert counted(play.database.path).commits == 1
