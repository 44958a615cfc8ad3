"""`handrail stats`: every number typed by hand, and the same as what the source's own queries give."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.model import Actor, Event, Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.records import format_rfc3339
from handrail.stores.sql.summaries import SqlMeasures
from helpers.printed_queries import PRINTED
from helpers.program import run_handrail
from helpers.requirement import requirement
from helpers.turns import ENDLESS, ManualClock, TurnHarness, load_pinned, open_sqlite

MOMENT = 1e-8
"""The days, about a millisecond, to which `julianday` tells times apart."""


@dataclass(frozen=True)
class Past:
    """A store with six runs, and the days on which they were started."""

    path: Path
    told: dict[str, Any]
    eight_ago: str
    three_ago: str
    today: str

    def ask(self, name: str) -> list[tuple[Any, ...]]:
        """What one of the source's queries gives."""
        with closing(sqlite3.connect(self.path)) as store:
            return store.execute(PRINTED[name]).fetchall()


@pytest.fixture(scope="module", params=["not folded", "folded"])
def past(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Past:
    """Four runs of `paper`, one eight days and two three days old, and two of `endless`."""
    folder = tmp_path_factory.mktemp("past")
    now = datetime.now(UTC)
    runs = open_sqlite(folder)
    eight, three, today = (now - age for age in (timedelta(days=8), timedelta(days=3), timedelta(hours=2)))
    _completed(TurnHarness(runs, clock=ManualClock(eight)), 10, 20, 30)
    second = TurnHarness(runs, clock=ManualClock(three))
    second.ids.runs = 100
    _completed(second, 20, 40, 60)
    second.clock.at = three
    _abandoned(second)
    third = TurnHarness(runs, clock=ManualClock(today))
    third.ids.runs = 200
    _failed(third)
    third.clock.at = today
    _refused(third)
    third.clock.at = today
    _paused(third)
    if request.param == "folded":
        SqlMeasures(runs.database).fold()
    path = runs.database.path
    runs.database.close()
    answer = run_handrail("stats", "--json", "--store", path).data
    return Past(path, answer, *(at.date().isoformat() for at in (eight, three, today)))


def _completed(harness: TurnHarness, *seconds: int) -> None:
    answer = harness.start()
    for each in seconds:
        harness.clock.move(seconds=each)
        answer = harness.continue_run(answer["run"], answer["token"])
    assert answer["lifecycle"] == Lifecycle.COMPLETED


def _abandoned(harness: TurnHarness) -> None:
    answer = harness.start()
    harness.clock.move(seconds=10)
    harness.continue_run(answer["run"], answer["token"])
    harness.clock.move(minutes=30)
    assert (
        harness.send(answer["run"], Event("abandon", note="gone quiet"))["lifecycle"] == Lifecycle.ABANDONED
    )


def _failed(harness: TurnHarness) -> None:
    answer = harness.start()
    harness.clock.move(seconds=4)
    harness.continue_run(answer["run"], answer["token"])
    harness.clock.move(seconds=6)
    assert harness.send(answer["run"], Event("fail", note="cannot be done"))["lifecycle"] == Lifecycle.FAILED


def _refused(harness: TurnHarness) -> None:
    answer = harness.start(load_pinned(ENDLESS))
    run, token = answer["run"], answer["token"]
    assert [harness.send(run, "nope")["code"] for _ in range(2)] == [RefusalCode.NO_ROW, RefusalCode.NO_ROW]
    assert harness.send(run, "go", "no token at all")["code"] == RefusalCode.MALFORMED
    harness.clock.move(minutes=11)
    assert harness.send(run, "go", token)["code"] == RefusalCode.EXPIRED


def _paused(harness: TurnHarness) -> None:
    run = harness.start(load_pinned(ENDLESS))["run"]
    assert harness.send(run, Event("pause", by=Actor.PERSON))["lifecycle"] == Lifecycle.PAUSED


def table(rows: list[dict[str, Any]], *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(row[key] for key in keys) for row in rows]


# --- the four dashboards, as numbers ------------------------------------------------------------------------


@requirement("steps:tel.durations")
def test_workflow_performance(past: Past) -> None:
    assert past.told["lifecycles"] == [
        {"lifecycle": Lifecycle.RUNNING, "runs": 1},
        {"lifecycle": Lifecycle.PAUSED, "runs": 1},
        {"lifecycle": Lifecycle.COMPLETED, "runs": 2},
        {"lifecycle": Lifecycle.FAILED, "runs": 1},
        {"lifecycle": Lifecycle.ABANDONED, "runs": 1},
    ]
    assert past.told["workflows"] == [
        {
            "workflow": "paper",
            "runs": 4,
            "completed": 2,
            "abandoned": 1,
            "mean_completed_ms": 90_000.0,
            "mean_abandoned_ms": 1_810_000.0,
            "completion_rate": 50.0,
            "abandonment_rate": 25.0,
            "p50_completed_ms": 60_000,
            "p95_completed_ms": 120_000,
            "p50_abandoned_ms": 1_800_000,
        },
        {
            "workflow": "endless",
            "runs": 2,
            "completed": 0,
            "abandoned": 0,
            "mean_completed_ms": None,
            "mean_abandoned_ms": None,
            "completion_rate": 0.0,
            "abandonment_rate": 0.0,
            "p50_completed_ms": None,
            "p95_completed_ms": None,
            "p50_abandoned_ms": None,
        },
    ]


@requirement("steps:db.queries")
def test_workflow_performance_is_that_of_the_printed_queries(past: Past) -> None:
    answer = past.told["workflows"]
    done = [row for row in answer if row["completed"]]

    assert sorted(table(past.told["lifecycles"], "lifecycle", "runs")) == past.ask("by_state")
    assert table(done, "workflow", "mean_completed_ms", "completed") == past.ask("average_duration")
    assert sorted(table(answer, "workflow", "completion_rate")) == past.ask("completion_rate")
    assert table(answer, "workflow", "runs") == past.ask("most_used")
    assert sorted(table(answer, "workflow", "abandonment_rate")) == past.ask("abandonment_rate")
    assert past.ask("average_days") == [("paper", pytest.approx(90 / 86_400, abs=MOMENT))]
    assert table(answer[:1], "workflow", "abandoned") == [row[:2] for row in past.ask("abandonment")]
    assert past.ask("abandonment")[0][2] == pytest.approx(answer[0]["mean_abandoned_ms"] / 60_000, abs=0.001)


@requirement("steps:tel.durations")
def test_step_performance(past: Past) -> None:
    assert table(past.told["times"], "step", "agent", "completed", "mean_ms", "p50_ms", "p95_ms") == [
        ("publish", "writer", 2, 45_000.0, 30_000, 60_000),
        ("review", "reader", 2, 30_000.0, 20_000, 40_000),
        ("draft", "writer", 4, 11_000.0, 10_000, 20_000),
    ]
    keys = ("step", "steps", "completed", "failed", "mean_completed_ms", "failure_rate")
    assert table(past.told["steps"], *keys) == [
        ("review", 4, 2, 1, 30_000.0, 25.0),
        ("Home", 2, 0, 0, None, 0.0),
        ("draft", 4, 4, 0, 11_000.0, 0.0),
        ("publish", 2, 2, 0, 45_000.0, 0.0),
    ]


@requirement("steps:db.queries")
def test_step_performance_is_that_of_the_printed_queries(past: Past) -> None:
    times = table(past.told["times"], "step", "agent", "mean_ms", "completed")
    failures = past.ask("step_failure_rate")
    days = {row["step"]: row["mean_completed_ms"] for row in past.told["steps"] if row["completed"]}

    assert times == past.ask("step_duration")
    assert failures[0] == ("review", 25.0)
    assert sorted(table(past.told["steps"], "step", "failure_rate")) == sorted(failures)
    assert dict(past.ask("step_days")) == {
        step: pytest.approx(mean / 86_400_000, abs=MOMENT) for step, mean in days.items()
    }


@requirement("steps:tel.events", "steps:tel.errors")
def test_telemetry_insights(past: Past) -> None:
    assert table(past.told["entries"]["kinds"], "kind", "entries") == [
        (EntryKind.TOKEN_GENERATED, 5),
        (EntryKind.WORKFLOW_STATE_TRANSITION, 5),
        (EntryKind.ERROR_OCCURRED, 4),
        (EntryKind.STEP_STARTED, 4),
        (EntryKind.WORKFLOW_CREATED, 3),
        (EntryKind.STEP_COMPLETED, 1),
        (EntryKind.STEP_FAILED, 1),
        (EntryKind.TOKEN_EXPIRED, 1),
        (EntryKind.TOKEN_VALIDATED, 1),
    ]
    tokens = past.told["tokens"]
    assert {name: tokens[name] for name in ("since", "generated", "validated", "expired")} == {
        "since": None,
        "generated": 13,
        "validated": 8,
        "expired": 1,
    }
    assert tokens["expiry_rate"] == pytest.approx(100 / 22)
    assert past.told["errors"]["codes"] == [
        {"code": RefusalCode.NO_ROW, "entries": 2, "meaning": "this state does not know the trigger"},
        {
            "code": "expired",
            "entries": 1,
            "meaning": "the step token is too old; the fresh one in the answer is good",
        },
        {"code": "malformed", "entries": 1, "meaning": "the step token is no token at all"},
    ]


@requirement("steps:db.queries")
def test_telemetry_insights_are_those_of_the_printed_queries(past: Past) -> None:
    kinds, errors = past.ask("events_by_type"), past.ask("errors_by_type")

    assert sorted(table(past.told["entries"]["kinds"], "kind", "entries")) == sorted(kinds)
    assert [(past.told["tokens"]["expiry_rate"],)] == past.ask("token_expiry_rate")
    assert sorted(table(past.told["errors"]["codes"], "code", "entries")) == sorted(errors)


def test_user_activity(past: Past) -> None:
    assert past.told["started"]["days"] == [
        {"day": past.three_ago, "runs": 2},
        {"day": past.today, "runs": 3},
    ]


@requirement("steps:db.queries")
def test_user_activity_is_that_of_the_printed_queries(past: Past) -> None:
    assert table(past.told["started"]["days"], "day", "runs") == past.ask("active_workflows")


def test_where_runs_are_abandoned_and_after_how_long(past: Past) -> None:
    assert past.told["abandonment"] == [
        {
            "workflow": "paper",
            "abandoned": 1,
            "abandonment_rate": 25.0,
            "mean_ms": 1_810_000.0,
            "p50_ms": 1_800_000,
        }
    ]
    assert table(past.told["funnel"], "workflow", "step", "reached", "abandoned", "leaving_rate") == [
        ("paper", "draft", 4, 0, 0.0),
        ("paper", "review", 4, 1, 25.0),
        ("paper", "publish", 2, 0, 0.0),
    ]
    assert past.told["leaving"] == [{"span": "30-60 min", "from_ms": 1_800_000, "runs": 1}]


@requirement("steps:db.queries")
def test_abandonment_is_that_of_the_printed_query(past: Past) -> None:
    minutes = [
        (row["workflow"], row["abandoned"], pytest.approx(row["mean_ms"] / 60_000, abs=0.001))
        for row in past.told["abandonment"]
    ]

    assert past.ask("abandonment") == minutes


def test_refused_calls_and_steps_begun_again_are_told_by_state(past: Past) -> None:
    keys = ("workflow", "step", "opened", "reached", "again", "accepted", "refused", "refusal_rate")
    assert table(past.told["states"], *keys) == [
        ("endless", "Home", 2, 2, 0, 0, 4, 100.0),
        ("paper", "draft", 4, 4, 0, 4, 0, 0.0),
        ("paper", "publish", 2, 2, 0, 2, 0, 0.0),
        ("paper", "review", 4, 4, 0, 3, 0, 0.0),
    ]


def test_entries_by_hour_add_up_to_those_by_kind_of_the_same_hours(past: Past) -> None:
    hours = run_handrail("stats", "--since", "9d", "--json", "--store", past.path).data["entries"]

    assert [sum(row["entries"] for row in hours[name]) for name in ("hours", "kinds")] == [66, 66]
    assert sum(row["errors"] for row in hours["hours"]) == 4


def test_since_begins_every_window_and_runs_and_steps_are_of_all_time(past: Past) -> None:
    answer = run_handrail("stats", "--since", "9d", "--json", "--store", past.path).data
    late = run_handrail("stats", "--since", "1h", "--json", "--store", past.path).data

    assert [row["day"] for row in answer["started"]["days"]] == [past.eight_ago, past.three_ago, past.today]
    assert {row["kind"]: row["entries"] for row in answer["entries"]["kinds"]}[
        EntryKind.WORKFLOW_CREATED
    ] == 6
    assert answer["tokens"]["generated"] == 13
    times = {answer[name]["since"] for name in ("entries", "tokens", "errors", "started")}
    assert len(times) == 1
    assert (
        format_rfc3339(datetime.now(UTC) - timedelta(days=10))
        < times.pop()
        < format_rfc3339(datetime.now(UTC))
    )
    assert (late["entries"]["kinds"], late["errors"]["codes"], late["started"]["days"]) == ([], [], [])
    assert (late["tokens"]["generated"], late["tokens"]["expiry_rate"]) == (0, None)
    for name in ("lifecycles", "workflows", "steps", "times"):
        assert answer[name] == past.told[name] == late[name]
