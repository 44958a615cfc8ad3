"""The sums behind the insights: those of the rows themselves, whatever was folded, and when."""

import sqlite3
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from handrail.engine.model import Event, Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.measures import (
    DurationHistogram,
    ErrorCount,
    RunTimes,
    StateCounts,
    StepTimes,
    find_bucket,
)
from handrail.stores.sql.maintenance import SqlMaintenance
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.stores.sql.summaries import SqlMeasures
from helpers.history import create_history, ignore_text
from helpers.prune_crash import LATER
from helpers.turns import ENDLESS, PAPER, ManualClock, TurnHarness, load_pinned, open_sqlite
from stores.sql.test_summaries import BEGAN, DEEDS, do, play

STATES = """
WITH began AS (
  SELECT e.id, e.run, e.step_name FROM events AS e WHERE e.event_type = 'step_started'),
last AS (
  SELECT
    r.k, r.workflow_name, (SELECT step_name FROM began WHERE run = r.k ORDER BY id DESC LIMIT 1) AS step_name
  FROM runs AS r WHERE r.state = 'abandoned'),
named AS (
  SELECT DISTINCT r.workflow_name, coalesce(e.step_name, '') AS step_name
  FROM events AS e JOIN runs AS r ON r.k = e.run
  WHERE e.event_type LIKE 'step%' OR e.event_type = 'error_occurred'),
told AS (
  SELECT r.workflow_name, coalesce(e.step_name, '') AS step_name, e.event_type, e.run
  FROM events AS e JOIN runs AS r ON r.k = e.run)
SELECT
  n.workflow_name, n.step_name,
  (SELECT count(*) FROM told AS t
   WHERE t.workflow_name = n.workflow_name AND t.step_name = n.step_name AND t.event_type = 'step_started'),
  (SELECT count(DISTINCT run) FROM told AS t
   WHERE t.workflow_name = n.workflow_name AND t.step_name = n.step_name AND t.event_type = 'step_started'),
  (SELECT count(*) FROM told AS t
   WHERE t.workflow_name = n.workflow_name AND t.step_name = n.step_name
   AND t.event_type IN ('step_completed', 'step_failed', 'step_stayed', 'step_waiting')),
  (SELECT count(*) FROM told AS t
   WHERE t.workflow_name = n.workflow_name AND t.step_name = n.step_name AND t.event_type = 'error_occurred'),
  (SELECT count(*) FROM last AS l WHERE l.workflow_name = n.workflow_name AND l.step_name = n.step_name)
FROM named AS n
ORDER BY 1, 2
"""
RUN_TIMES = "SELECT workflow_name, state, duration_ms FROM runs WHERE duration_ms IS NOT NULL"
STEP_TIMES = "SELECT step_name, agent_name, duration_ms FROM steps WHERE status = 'completed'"


def summed(found: SqlMeasures) -> tuple[object, ...]:
    """Every sum behind the insights, and the errors of all time."""
    return found.states(), found.run_times(), found.step_times(), found.errors(), found.kinds()


def plain(reader: sqlite3.Connection) -> tuple[object, ...]:
    times = {query: Counter[tuple[str, str, int]]() for query in (RUN_TIMES, STEP_TIMES)}
    for query, counted in times.items():
        for first, second, took in reader.execute(query):
            counted[first, second, find_bucket(took)] += 1
    return (
        {StateCounts(*row) for row in reader.execute(STATES)},
        {(workflow, state, bucket, count) for (workflow, state, bucket), count in times[RUN_TIMES].items()},
        {(step, agent, bucket, count) for (step, agent, bucket), count in times[STEP_TIMES].items()},
    )


def told(found: SqlMeasures) -> tuple[object, ...]:
    return (
        set(found.states()),
        {(o.workflow, str(o.lifecycle), *pair) for o in found.run_times() for pair in o.times.counts},
        {(o.step, o.agent, *pair) for o in found.step_times() for pair in o.times.counts},
    )


@hypothesis_settings(max_examples=60)
@given(DEEDS)
def test_the_sums_are_those_of_the_rows_whatever_was_folded_when(deeds: list[tuple[object, ...]]) -> None:
    with play() as stage:
        for deed in deeds:
            do(stage, deed)
        reader = stage.database.reader()
        assert told(stage.summaries) == plain(reader)
        stage.summaries.fold()
        assert told(stage.summaries) == plain(reader)


@hypothesis_settings(max_examples=20)
@given(DEEDS, st.integers(0, 5))
def test_what_was_pruned_still_counts(before: list[tuple[object, ...]], number: int) -> None:
    with play() as stage:
        stage.start("little")
        for deed in before:
            do(stage, deed)
        counted = summed(stage.summaries)
        stage.prune(number)
        assert summed(stage.summaries) == counted


def test_pruning_for_good_changes_no_sum(tmp_path: Path) -> None:
    database = SqliteDatabase(create_history(tmp_path / "store" / "handrail.db").path)
    found = SqlMeasures(database)
    counted = summed(found)

    assert SqlMaintenance(database).prune(LATER, tmp_path / "old.jsonl.gz", ignore_text).archived.runs == 4

    assert summed(found) == counted
    database.close()


def _round(harness: TurnHarness) -> None:
    """A run that goes there and back, is refused twice, stays once, and is abandoned away from home."""
    run = harness.start(load_pinned(ENDLESS))["run"]
    for trigger in ("go", "go", "wait", "nonsense", "go", "end"):
        harness.clock.move(seconds=90)
        harness.send(run, trigger)
    harness.clock.move(minutes=20)
    assert harness.send(run, Event("abandon", note="gone"))["lifecycle"] == Lifecycle.ABANDONED


def _paper(harness: TurnHarness, *seconds: float) -> None:
    answer = harness.start(load_pinned(PAPER))
    for each in seconds:
        harness.clock.move(seconds=each)
        answer = harness.continue_run(answer["run"], answer["token"])


@pytest.mark.parametrize("folded", [True, False])
def test_three_runs_are_summed_by_hand(tmp_path: Path, *, folded: bool) -> None:
    runs = open_sqlite(tmp_path)
    harness = TurnHarness(runs, clock=ManualClock(BEGAN))
    _round(harness)
    _paper(harness, 1, 12.345, 100)
    _paper(harness, 1, 12.999)
    found = SqlMeasures(runs.database)
    if folded:
        found.fold()

    assert found.states() == (
        StateCounts("endless", "Away", 2, 1, 1, 1, 1),
        StateCounts("endless", "Home", 2, 1, 3, 1, 0),
        StateCounts("paper", "draft", 2, 2, 2, 0, 0),
        StateCounts("paper", "publish", 2, 2, 1, 0, 0),
        StateCounts("paper", "review", 2, 2, 2, 0, 0),
    )
    assert found.run_times() == (
        RunTimes("endless", Lifecycle.ABANDONED, DurationHistogram(((517, 1),))),
        RunTimes("paper", Lifecycle.COMPLETED, DurationHistogram(((411, 1),))),
    )
    assert found.step_times() == (
        StepTimes("Away", "", DurationHistogram(((390, 1),))),
        StepTimes("Home", "", DurationHistogram(((390, 1), (427, 1)))),
        StepTimes("draft", "writer", DurationHistogram(((210, 2),))),
        StepTimes("publish", "writer", DurationHistogram(((410, 1),))),
        StepTimes("review", "reader", DurationHistogram(((312, 2),))),
    )
    assert found.errors() == (ErrorCount(RefusalCode.NO_ROW, 2),)
    assert found.errors(BEGAN + timedelta(minutes=7)) == (ErrorCount(RefusalCode.NO_ROW, 1),)
