"""Whoever listens hears every change, whichever process made it, in order, and only while they listen."""

import os
import subprocess
import sys
from queue import Queue
from threading import Event as Moment
from threading import enumerate as threads
from typing import TypeAlias

import pytest

from handrail.engine.model import Event
from handrail.engine.refusals import RefusalCode
from handrail.runtime.records import RunChange
from handrail.stores.sql.postgres.pg_runs import PgRuns
from handrail.stores.sql.runs import SqlFeed, SqliteRuns
from helpers.sql_stores import open_sql_runs
from helpers.turns import TurnHarness

Either: TypeAlias = SqliteRuns | PgRuns
SECONDS = 30
"""How long a change may take to be heard: for liveness only."""

ANOTHER_PROCESS = """
import sys
from helpers.sql_stores import open_sql_runs
from helpers.turns import TurnHarness
harness = TurnHarness(open_sql_runs(sys.argv[1]))
started = harness.start()
harness.continue_run(started["run"], started["token"])
harness.runs.database.close()
print(started["run"])
"""


@pytest.fixture
def runs(address: str) -> Either:
    return open_sql_runs(address)


def test_a_change_of_this_process_is_heard_without_waiting_for_the_next_look(runs: Either) -> None:
    feed = SqlFeed(runs.database, every=SECONDS)
    harness = TurnHarness(runs, feed=feed)
    heard: Queue[RunChange] = Queue()
    stop = feed.listen(heard.put)
    started = harness.start()
    assert heard.get(timeout=SECONDS) == RunChange(started["run"], 1)

    harness.continue_run(started["run"], started["token"])

    assert heard.get(timeout=SECONDS) == RunChange(started["run"], 2)
    stop()


class Broken:
    """An ear that was cut off whenever it has waited."""

    def wait(self, seconds: float) -> bool:
        return Moment().wait(min(seconds, 0.01)) or True

    def wake(self) -> None: ...

    def close(self) -> None: ...


def test_after_a_break_a_change_is_heard_although_a_fake_pulse_is_the_same_as_before(
    runs: Either, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs.database, "data_version", lambda: 7)
    monkeypatch.setattr(runs.database, "open_listener", Broken)
    heard: Queue[RunChange] = Queue()
    stop = SqlFeed(runs.database).listen(heard.put)
    harness = TurnHarness(runs)
    started = harness.start()
    assert heard.get(timeout=SECONDS) == RunChange(started["run"], 1)

    harness.continue_run(started["run"], started["token"])

    assert heard.get(timeout=SECONDS) == RunChange(started["run"], 2)
    stop()


def test_a_change_of_another_process_is_heard(runs: Either, address: str) -> None:
    heard: Queue[RunChange] = Queue()
    stop = SqlFeed(runs.database).listen(heard.put)
    command = [sys.executable, "-c", ANOTHER_PROCESS, address]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)

    last = heard.get(timeout=SECONDS)
    while last.revision < 2:
        last = heard.get(timeout=SECONDS)
    assert last == RunChange(done.stdout.strip(), 2)
    stop()


def test_a_refusal_is_heard_too_and_moves_no_revision(runs: Either) -> None:
    harness = TurnHarness(runs)
    started = harness.start()
    heard: Queue[RunChange] = Queue()
    stop = SqlFeed(runs.database).listen(heard.put)

    assert harness.continue_run(started["run"], started["token"], summary="")["code"] == RefusalCode.CONTRACT

    assert heard.get(timeout=SECONDS) == RunChange(started["run"], 1)
    stop()


def test_what_happened_before_is_not_told_and_nobody_looks_when_nobody_listens(
    runs: Either,
) -> None:
    harness = TurnHarness(runs)
    harness.start()
    feed = SqlFeed(runs.database)
    first: Queue[RunChange] = Queue()
    second: Queue[RunChange] = Queue()
    stops = [feed.listen(first.put), feed.listen(second.put)]
    run = harness.start()["run"]

    assert first.get(timeout=SECONDS) == second.get(timeout=SECONDS) == RunChange(run, 1)
    stops[0]()
    harness.send(run, Event("pause"))
    assert second.get(timeout=SECONDS) == RunChange(run, 2)
    stops[1]()

    assert first.empty()
    assert "handrail-feed" not in [thread.name for thread in threads()]
    third: Queue[RunChange] = Queue()
    stop = feed.listen(third.put)
    harness.send(run, Event("resume"))
    assert third.get(timeout=SECONDS) == RunChange(run, 3)
    stop()
