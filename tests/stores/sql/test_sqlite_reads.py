"""Glances at the store: by the connection that writes if it is free, and never in anybody's way."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread

import pytest

from handrail.engine.model import Authority, Lifecycle, Run, Step
from handrail.runtime.records import OpenedStep, Origin, RecordedCall, StoredRun, Turn
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.sql.sqlite import SqliteDatabase

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "runs.db")
    yield opened
    opened.close()


def _setting(database: SqliteDatabase) -> list[tuple[bytes]]:
    return database.peek("SELECT value FROM settings WHERE name = 'word'", ())


def test_while_nobody_writes_the_connection_that_writes_is_asked(database: SqliteDatabase) -> None:
    asked: list[str] = []
    database.writer_connection().set_trace_callback(asked.append)
    assert _setting(database) == []
    assert asked == ["SELECT value FROM settings WHERE name = 'word'"]


def test_while_another_thread_writes_what_is_committed_is_seen_at_once(database: SqliteDatabase) -> None:
    inside, seen = Event(), Event()

    def write() -> None:
        with database.transaction() as execute:
            execute("INSERT INTO settings (name, value) VALUES ('word', x'01')", ())
            inside.set()
            assert seen.wait(60)

    database.reader()
    writer = Thread(target=write)
    writer.start()
    assert inside.wait(60)
    assert _setting(database) == []
    seen.set()
    writer.join(60)
    assert _setting(database) == [(b"\x01",)]


def test_steps_that_are_open_side_by_side_are_loaded_whatever_their_order(database: SqliteDatabase) -> None:
    store = SqliteRuns(database)
    run = Run("r", "w", "d", Lifecycle.RUNNING, (Step(3, "c", 1), Step(2, "b", 1)), 3)
    begun = Turn(
        StoredRun(Run("r", "w", "d"), Origin("test", Authority.SQL)),
        run,
        AT,
        RecordedCall("", "", b"{}"),
        tokens={2: "two", 3: "three"},
        opened=(OpenedStep(1, "a", ""), OpenedStep(2, "b", ""), OpenedStep(3, "c", "")),
    )
    assert store.commit(begun)
    found = store.load("r")
    assert found is not None
    assert found.run == run
    assert found.tokens == {2: "two", 3: "three"}
    assert found.opened == {2: AT, 3: AT}


def test_a_run_without_open_steps_has_no_tokens(database: SqliteDatabase) -> None:
    store = SqliteRuns(database)
    ended = Run("r", "w", "d", Lifecycle.ABANDONED, (), 1)
    before = StoredRun(Run("r", "w", "d"), Origin("test", Authority.SQL))
    assert store.commit(
        Turn(before, ended, AT, RecordedCall("", "", b"{}"), opened=(OpenedStep(1, "a", ""),))
    )
    found = store.load("r")
    assert found is not None
    assert (found.tokens, found.opened) == ({}, {})
