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
from handrail.shell.records import Change
from handrail.stores.sql.feed import SqlFeed
from handrail.stores.sql.postgresql.runs import PgRuns
from handrail.stores.sql.runs import SqlRuns
from tabled import tabled
from turns import Desk

Either: TypeAlias = SqlRuns | PgRuns
SECONDS = 30
"""How long a change may take to be heard: for liveness only."""

ANOTHER_PROCESS = """
import sys
from tabled import tabled
from turns import Desk
desk = Desk(tabled(sys.argv[1]))
started = desk.start()
desk.go_on(started["run"], started["token"])
desk.runs.database.close()
print(started["run"])
"""


@pytest.fixture
def runs(address: str) -> Either:
    return tabled(address)


def test_a_change_of_this_process_is_heard_without_waiting_for_the_next_look(runs: Either) -> None:
    feed = SqlFeed(runs.database, every=SECONDS)
    desk = Desk(runs, feed=feed)
    heard: Queue[Change] = Queue()
    stop = feed.listen(heard.put)
    started = desk.start()
    assert heard.get(timeout=SECONDS) == Change(started["run"], 1)

    desk.go_on(started["run"], started["token"])

    assert heard.get(timeout=SECONDS) == Change(started["run"], 2)
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
    monkeypatch.setattr(runs.database, "pulse", lambda: 7)
    monkeypatch.setattr(runs.database, "ear", Broken)
    heard: Queue[Change] = Queue()
    stop = SqlFeed(runs.database).listen(heard.put)
    desk = Desk(runs)
    started = desk.start()
    assert heard.get(timeout=SECONDS) == Change(started["run"], 1)

    desk.go_on(started["run"], started["token"])

    assert heard.get(timeout=SECONDS) == Change(started["run"], 2)
    stop()


def test_a_change_of_another_process_is_heard(runs: Either, address: str) -> None:
    heard: Queue[Change] = Queue()
    stop = SqlFeed(runs.database).listen(heard.put)
    command = [sys.executable, "-c", ANOTHER_PROCESS, address]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)

    last = heard.get(timeout=SECONDS)
    while last.revision < 2:
        last = heard.get(timeout=SECONDS)
    assert last == Change(done.stdout.strip(), 2)
    stop()


def test_a_refusal_is_heard_too_and_moves_no_revision(runs: Either) -> None:
    desk = Desk(runs)
    started = desk.start()
    heard: Queue[Change] = Queue()
    stop = SqlFeed(runs.database).listen(heard.put)

    assert desk.go_on(started["run"], started["token"], summary="")["code"] == "contract"

    assert heard.get(timeout=SECONDS) == Change(started["run"], 1)
    stop()


def test_what_happened_before_is_not_told_and_nobody_looks_when_nobody_listens(
    runs: Either,
) -> None:
    desk = Desk(runs)
    desk.start()
    feed = SqlFeed(runs.database)
    first: Queue[Change] = Queue()
    second: Queue[Change] = Queue()
    stops = [feed.listen(first.put), feed.listen(second.put)]
    run = desk.start()["run"]

    assert first.get(timeout=SECONDS) == second.get(timeout=SECONDS) == Change(run, 1)
    stops[0]()
    desk.send(run, Event("pause"))
    assert second.get(timeout=SECONDS) == Change(run, 2)
    stops[1]()

    assert first.empty()
    assert "handrail-feed" not in [thread.name for thread in threads()]
    third: Queue[Change] = Queue()
    stop = feed.listen(third.put)
    desk.send(run, Event("resume"))
    assert third.get(timeout=SECONDS) == Change(run, 3)
    stop()
