"""Every query that the source prints runs as printed and gives the right figure, without reading it all."""

import re
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from handrail.engine.model import Event, Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from handrail.stores.sql.rows import format_time
from helpers.printed_queries import PRINTED
from helpers.requirement import requirement
from helpers.turns import ENDLESS, ORIGIN, ManualClock, TurnHarness, load_pinned, open_sqlite
from helpers.workflows import build_output

MOMENT = 1e-8
"""The days, about a millisecond, to which `julianday` tells times apart."""

ARGUMENTS = {
    "current_step": ("run",),
    "current_artifacts": ("run", "draft"),
    "execution": ("run",),
    "steps_of": ("run",),
    "artifacts_of": ("run",),
    "final_of": ("run",),
    "of_type": ("spec",),
}


@dataclass(frozen=True)
class History:
    """Four runs on one store: one ended well, one abandoned, one failed, one still at its first step."""

    store: sqlite3.Connection
    began: datetime
    done: str
    abandoned: str
    failed: str
    open: str

    def ask(self, name: str, *arguments: str) -> list[tuple[Any, ...]]:
        return self.store.execute(PRINTED[name], arguments).fetchall()


@pytest.fixture
def history(tmp_path: Path) -> History:
    now = datetime.now(UTC)
    began = now.replace(microsecond=123000) - timedelta(hours=2)
    runs = open_sqlite(tmp_path)
    harness = TurnHarness(runs, clock=ManualClock(began))
    done, abandoned, failed = _done(harness), _abandoned(harness), _failed(harness)
    return History(runs.database.reader(), began, done, abandoned, failed, _open(harness))


def _output(title: str) -> dict[str, Any]:
    artifact = {"type": "spec", "title": title, "content": "Words."}
    return build_output(artifacts=[artifact])


def _done(harness: TurnHarness) -> str:
    began, answer = harness.clock.at, harness.start()
    harness.clock.move(seconds=10)
    answer = harness.send(answer["run"], Event("continue", _output("First")), answer["token"])
    harness.clock.move(seconds=20)
    answer = harness.continue_run(answer["run"], answer["token"])
    harness.clock.move(seconds=30)
    answer = harness.continue_run(answer["run"], answer["token"])
    assert answer["lifecycle"] == Lifecycle.COMPLETED
    harness.clock.at = began
    return str(answer["run"])


def _abandoned(harness: TurnHarness) -> str:
    began, answer = harness.clock.at, harness.start()
    harness.clock.move(seconds=10)
    answer = harness.send(answer["run"], Event("continue", _output("Second")), answer["token"])
    harness.clock.move(minutes=30)
    answer = harness.send(answer["run"], Event("abandon", note="gone quiet"))
    assert answer["lifecycle"] == Lifecycle.ABANDONED
    harness.clock.at = began
    return str(answer["run"])


def _failed(harness: TurnHarness) -> str:
    began, answer = harness.clock.at, harness.start()
    harness.clock.move(seconds=4)
    answer = harness.continue_run(answer["run"], answer["token"])
    harness.clock.move(seconds=6)
    answer = harness.send(answer["run"], Event("fail", note="cannot be done"))
    assert answer["lifecycle"] == Lifecycle.FAILED
    harness.clock.at = began
    return str(answer["run"])


def _open(harness: TurnHarness) -> str:
    answer = harness.start(load_pinned(ENDLESS), replace(ORIGIN, project="/home/ann/other"))
    run, token = str(answer["run"]), answer["token"]
    assert [harness.send(run, "nope")["code"] for _ in range(2)] == [RefusalCode.NO_ROW, RefusalCode.NO_ROW]
    assert harness.send(run, "go", "no token at all")["code"] == RefusalCode.MALFORMED
    harness.clock.move(minutes=11)
    assert harness.send(run, "go", token)["code"] == RefusalCode.EXPIRED
    return run


@requirement("steps:db.queries")
def test_the_current_step_of_a_run_is_told_and_none_if_it_has_ended(history: History) -> None:
    at = format_time(history.began)
    assert history.ask("current_step", history.open) == [
        (history.open, "running", "Home", "Home", "", "running", at)
    ]
    assert history.ask("current_step", history.done) == [
        (history.done, "completed", None, None, None, None, None)
    ]
    assert history.ask("current_step", "nobody") == []


@requirement("steps:db.queries")
def test_one_run_its_steps_and_its_artifacts_are_found(history: History) -> None:
    began = history.began
    (execution,) = history.ask("execution", history.done)
    times = [format_time(began + timedelta(seconds=seconds)) for seconds in (0, 10, 30, 60)]
    assert execution[:8] == (
        *(history.done, "paper", "completed", None),
        *(times[0], times[3], times[3], 60_000),
    )
    steps = history.ask("steps_of", history.done)
    assert [row[2:8] for row in steps] == [
        ("draft", "writer", "completed", times[0], times[1], 10_000),
        ("review", "reader", "completed", times[1], times[2], 20_000),
        ("publish", "writer", "completed", times[2], times[3], 30_000),
    ]
    assert (
        len({row[0] for run in (history.done, history.failed) for row in history.ask("steps_of", run)}) == 5
    )
    artifact, synthesis = history.ask("artifacts_of", history.done)
    assert synthesis[2:6] == ("publish", "writer", "synthesis", "Done.")
    assert artifact[1:7] == (history.done, "draft", "writer", "spec", "First", "Words.")
    assert history.ask("current_artifacts", history.done, "draft") == [artifact]
    assert history.ask("current_artifacts", history.done, "review") == []


@requirement("steps:db.queries", "steps:life.cleanup")
def test_artifacts_of_a_run_that_ended_well_are_final_and_of_no_other(history: History) -> None:
    assert {row[1] for row in history.ask("final")} == {history.done}
    assert [row[5] for row in history.ask("final_of", history.done)] == ["Done.", "First"]
    assert history.ask("final_of", history.abandoned) == []
    assert sorted(row[5] for row in history.ask("recent")) == ["Done.", "First", "Second"]
    assert sorted(row[5] for row in history.ask("of_type", "spec")) == ["First", "Second"]
    assert history.ask("of_type", "other") == []


@requirement("steps:db.queries", "steps:tel.durations")
def test_runs_are_counted_and_measured(history: History) -> None:
    assert history.ask("by_state") == [("abandoned", 1), ("completed", 1), ("failed", 1), ("running", 1)]
    assert history.ask("average_duration") == [("paper", 60_000.0, 1)]
    assert history.ask("completion_rate") == [("endless", 0.0), ("paper", pytest.approx(100 / 3))]
    assert history.ask("abandonment_rate") == [("endless", 0.0), ("paper", pytest.approx(100 / 3))]
    assert history.ask("most_used") == [("paper", 3), ("endless", 1)]
    assert history.ask("average_days") == [("paper", pytest.approx(60 / 86_400, abs=MOMENT))]
    assert history.ask("abandonment") == [("paper", 1, pytest.approx(30 + 1 / 6, abs=0.001))]


@requirement("steps:db.queries", "steps:tel.durations")
def test_steps_are_counted_and_measured(history: History) -> None:
    assert history.ask("step_duration") == [
        ("publish", "writer", 30_000.0, 1),
        ("review", "reader", 20_000.0, 1),
        ("draft", "writer", 8_000.0, 3),
    ]
    rates = history.ask("step_failure_rate")
    assert rates[0] == ("review", pytest.approx(100 / 3))
    assert dict(rates[1:]) == {"draft": 0.0, "publish": 0.0, "Home": 0.0}
    assert dict(history.ask("step_days")) == {
        "draft": pytest.approx(8 / 86_400, abs=MOMENT),
        "review": pytest.approx(20 / 86_400, abs=MOMENT),
        "publish": pytest.approx(30 / 86_400, abs=MOMENT),
    }


@requirement("steps:db.queries", "steps:tel.errors")
def test_events_are_counted(history: History) -> None:
    assert dict(history.ask("events_by_type")) == {
        EntryKind.WORKFLOW_CREATED: 4,
        EntryKind.WORKFLOW_STATE_TRANSITION: 7,
        EntryKind.STEP_STARTED: 8,
        EntryKind.STEP_COMPLETED: 5,
        EntryKind.STEP_FAILED: 1,
        EntryKind.TOKEN_GENERATED: 9,
        EntryKind.TOKEN_VALIDATED: 5,
        EntryKind.TOKEN_EXPIRED: 1,
        EntryKind.ARTIFACT_STORED: 3,
        EntryKind.ERROR_OCCURRED: 4,
    }
    assert history.ask("token_expiry_rate") == [(pytest.approx(100 / 15),)]
    errors = history.ask("errors_by_type")
    assert errors[0] == (RefusalCode.NO_ROW, 2)
    assert dict(errors[1:]) == {"malformed": 1, "expired": 1}


EVENT = "INSERT INTO events (event_type, revision, metadata, created_at) VALUES ('state_adopted', 0, '{}', ?)"
OLD = """
INSERT INTO runs (
  execution_id, workflow_name, state, started_at, updated_at, metadata, revision, record, chain, active_at,
  waiting, digest, face, authority, goal, principal)
VALUES (?1, 'old', 'running', ?2, ?2, '{}', 1, '{}', '', ?2, 0, '', 'steps', 'sql', '', '')
"""


@requirement("steps:db.time", "steps:db.queries")
def test_an_hour_inside_a_window_counts_and_an_hour_outside_does_not(tmp_path: Path) -> None:
    runs, now = open_sqlite(tmp_path), datetime.now(UTC)
    writer = runs.database.writer_connection()
    for hours in (-23, -25):
        writer.execute(EVENT, (format_time(now + timedelta(hours=hours)),))
    inside, outside = (now - timedelta(days=7) + timedelta(hours=hours) for hours in (1, -1))
    writer.execute(OLD, ("in", format_time(inside)))
    writer.execute(OLD, ("out", format_time(outside)))

    assert writer.execute(PRINTED["events_by_type"]).fetchall() == [(EntryKind.STATE_ADOPTED, 1)]
    assert writer.execute(PRINTED["active_workflows"]).fetchall() == [(inside.date().isoformat(), 1)]


@requirement("steps:db.queries")
def test_runs_of_this_week_are_counted_by_day(history: History) -> None:
    assert history.ask("active_workflows") == [(history.began.date().isoformat(), 4)]


def _scans(store: sqlite3.Connection, query: str) -> list[str]:
    """Where a query reads every row of the steps or of the journal, and not only an index."""
    plan = store.execute(f"EXPLAIN QUERY PLAN {query}", ("x",) * query.count("?"))
    whole = re.compile(r"SCAN (s|e|steps|events)\b(?! USING (COVERING INDEX|INDEX events_errors))")
    return [row[3] for row in plan if whole.match(row[3])]


def test_every_printed_query_is_here() -> None:
    assert len(PRINTED) == 23
    assert {name for name, text in PRINTED.items() if "?" in text} == set(ARGUMENTS)
    assert all(PRINTED[name].count("?") == len(given) for name, given in ARGUMENTS.items())


@requirement("steps:db.indexes", "steps:db.queries")
@pytest.mark.parametrize("analysed", [False, True])
def test_no_printed_query_reads_all_steps_or_all_events(tmp_path: Path, *, analysed: bool) -> None:
    runs = open_sqlite(tmp_path)
    harness = TurnHarness(runs)
    for _ in range(30):
        _done(harness)
        _failed(harness)
    writer = runs.database.writer_connection()
    if analysed:
        writer.execute("VACUUM")
        writer.execute("ANALYZE")

    assert {name: found for name, text in PRINTED.items() if (found := _scans(writer, text))} == {}


def test_a_query_that_reads_all_events_is_found(history: History, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "store" / "handrail.db") as store:
        store.execute("DROP INDEX events_by_time")
        assert _scans(store, PRINTED["token_expiry_rate"]) == ["SCAN e"]
    store.close()
    assert history.ask("by_state")
