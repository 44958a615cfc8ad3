"""Glances at the store: by the connection that writes if it is free, and never in anybody's way."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread

import pytest

from handrail.engine.model import Authority, Lifecycle, Run, Step
from handrail.shell.records import Opened, Origin, Spent, Stored, Turn
from handrail.stores.sql.database import Database
from handrail.stores.sql.runs import SqlRuns

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "runs.db")
    yield opened
    opened.close()


def _setting(database: Database) -> list[tuple[bytes]]:
    return database.peek("SELECT value FROM settings WHERE name = 'word'", ())


def test_while_nobody_writes_the_connection_that_writes_is_asked(database: Database) -> None:
    asked: list[str] = []
    database.alone().set_trace_callback(asked.append)
    assert _setting(database) == []
    assert asked == ["SELECT value FROM settings WHERE name = 'word'"]


def test_while_another_thread_writes_what_is_committed_is_seen_at_once(database: Database) -> None:
    inside, seen = Event(), Event()

    def write() -> None:
        with database.written() as execute:
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


def test_steps_that_are_open_side_by_side_are_loaded_whatever_their_order(database: Database) -> None:
    store = SqlRuns(database)
    run = Run("r", "w", "d", Lifecycle.RUNNING, (Step(3, "c", 1), Step(2, "b", 1)), 3)
    begun = Turn(
        Stored(Run("r", "w", "d"), Origin("test", Authority.SQL)),
        run,
        AT,
        Spent("", "", b"{}"),
        tokens={2: "two", 3: "three"},
        opened=(Opened(1, "a", ""), Opened(2, "b", ""), Opened(3, "c", "")),
    )
    assert store.commit(begun)
    found = store.load("r")
    assert found is not None
    assert found.run == run
    assert found.tokens == {2: "two", 3: "three"}
    assert found.opened == {2: AT, 3: AT}


def test_a_run_without_open_steps_has_no_tokens(database: Database) -> None:
    store = SqlRuns(database)
    ended = Run("r", "w", "d", Lifecycle.ABANDONED, (), 1)
    before = Stored(Run("r", "w", "d"), Origin("test", Authority.SQL))
    assert store.commit(Turn(before, ended, AT, Spent("", "", b"{}"), opened=(Opened(1, "a", ""),)))
    found = store.load("r")
    assert found is not None
    assert (found.tokens, found.opened) == ({}, {})
