"""Runs gone quiet are given up once, with their reason; what waits, moves or is looked at is left alone."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from handrail.engine.facts import PENDING
from handrail.engine.model import Actor, Authority, Event, Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.ports.queries import RunRow
from handrail.runtime.sweep import IdleLimits, abandon_idle_runs
from handrail.stores.sql.queries import SqlRunQueries
from handrail.stores.sql.runs import SqliteRuns
from helpers.requirement import requirement
from helpers.turns import NOW, TurnHarness, load_pinned, open_sqlite
from helpers.workflows import GATED

LIMITS = IdleLimits()


@pytest.fixture
def runs(tmp_path: Path) -> SqliteRuns:
    return open_sqlite(tmp_path)


@pytest.fixture
def harness(runs: SqliteRuns) -> TurnHarness:
    return TurnHarness(runs)


def row(runs: SqliteRuns, run: str) -> tuple[object, ...]:
    with runs.database.read() as execute:
        query = (
            "SELECT state, json_extract(metadata, '$.last_transition_reason'),"
            " json_extract(metadata, '$.auto_abandoned'), completed_at"
            " FROM workflow_executions WHERE execution_id = ?"
        )
        return tuple(execute(query, (run,)).fetchone())


@requirement("steps:life.abandon-idle", "steps:life.reason")
def test_a_running_run_without_calls_for_30_minutes_is_abandoned(
    harness: TurnHarness, runs: SqliteRuns
) -> None:
    run = harness.start()["run"]
    harness.clock.move(minutes=30)
    assert abandon_idle_runs(harness.world, runs, LIMITS) == ()
    harness.clock.move(seconds=1)

    assert abandon_idle_runs(harness.world, runs, LIMITS) == (run,)
    reason, ended = "no activity for 30 minutes", "2026-03-01 12:30:01.000"
    assert row(runs, run) == ("abandoned", reason, "true", ended)
    kinds = [str(line.entry.kind) for line in runs.entries(run)]
    assert kinds[-2:] == [EntryKind.WORKFLOW_STATE_TRANSITION, EntryKind.WORKFLOW_ABANDONED]


@requirement("steps:life.abandon-paused")
def test_a_paused_run_is_abandoned_after_24_hours(harness: TurnHarness, runs: SqliteRuns) -> None:
    run = harness.start()["run"]
    harness.send(run, Event("pause", by=Actor.PERSON))
    harness.clock.move(hours=24)
    assert abandon_idle_runs(harness.world, runs, LIMITS) == ()
    harness.clock.move(seconds=1)

    assert abandon_idle_runs(harness.world, runs, LIMITS) == (run,)
    assert row(runs, run)[0] == "abandoned"


@requirement("steps:life.sweep")
def test_a_run_is_abandoned_by_one_sweep_only(harness: TurnHarness, runs: SqliteRuns, tmp_path: Path) -> None:
    run = harness.start()["run"]
    other = open_sqlite(tmp_path)
    harness.clock.move(hours=1)

    swept = [
        abandon_idle_runs(TurnHarness(store, clock=harness.clock).world, store, LIMITS)
        for store in (runs, other, runs)
    ]

    assert swept == [(run,), (), ()]
    answer = [line for line in runs.entries(run) if line.entry.kind == EntryKind.WORKFLOW_ABANDONED]
    assert len(answer) == 1


def test_a_run_that_moved_between_the_look_and_the_call_is_left_alone(
    harness: TurnHarness, runs: SqliteRuns
) -> None:
    started = harness.start()
    harness.clock.move(minutes=31)

    class Late:
        """Says what was true a moment ago: the run is called meanwhile."""

        def list_quiet_runs(self, lifecycle: Lifecycle, since: datetime, most: int = 100) -> tuple[str, ...]:
            found = runs.list_quiet_runs(lifecycle, since, most)
            if found:
                harness.continue_run(started["run"], harness.recover(started["run"])["token"])
            return found

    assert abandon_idle_runs(harness.world, Late(), LIMITS) == ()
    assert row(runs, started["run"])[0] == "running"
    assert [
        line for line in runs.entries(started["run"]) if line.entry.kind == EntryKind.ERROR_OCCURRED
    ] == []


@pytest.mark.parametrize("call", ["a refused call", "a look at the step", "a recovered token"])
def test_every_kind_of_call_counts_as_activity(harness: TurnHarness, runs: SqliteRuns, call: str) -> None:
    started = harness.start()
    harness.clock.move(minutes=29)
    match call:
        case "a refused call":
            assert harness.continue_run(started["run"], "", summary="")["code"] == RefusalCode.CONTRACT
        case "a look at the step":
            runs.touch(started["run"], harness.clock.now())
        case _:
            harness.recover(started["run"])
    harness.clock.move(minutes=29)
    assert abandon_idle_runs(harness.world, runs, LIMITS) == ()
    harness.clock.move(minutes=2)
    assert abandon_idle_runs(harness.world, runs, LIMITS) == (started["run"],)


@requirement("steps:life.wait")
def test_a_run_that_waits_for_a_check_is_not_idle(runs: SqliteRuns) -> None:
    flow = load_pinned(
        """
workflow: gated
version: 1
authority: sql
steps:
  - {name: work, agent: writer, task: Work., next: [{when: [tests.pass]}]}
""",
        registry=GATED,
    )
    turns = TurnHarness(runs, GATED, more={"readers": lambda: {"engine": lambda _asked, _of: PENDING}})
    started = turns.start(flow)
    assert turns.continue_run(started["run"], started["token"])["status"] == "waiting"
    turns.clock.move(hours=48)

    assert abandon_idle_runs(turns.world, runs, LIMITS) == ()


def test_a_clock_that_jumps_back_abandons_no_run(harness: TurnHarness, runs: SqliteRuns) -> None:
    harness.start()
    harness.clock.move(days=-365)

    assert abandon_idle_runs(harness.world, runs, LIMITS) == ()


def test_a_refused_call_is_shown_as_the_last_one(harness: TurnHarness, runs: SqliteRuns) -> None:
    started = harness.start()
    harness.clock.move(minutes=29)
    assert harness.continue_run(started["run"], "", summary="")["code"] == RefusalCode.CONTRACT

    found = SqlRunQueries(runs.database).run(started["run"])

    assert found is not None
    assert (found.active, found.updated) == (NOW + timedelta(minutes=29), NOW)


def shown(runs: SqliteRuns, run: str) -> RunRow:
    found = SqlRunQueries(runs.database).run(run)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("lifecycle", "half", "whole"),
    [
        (Lifecycle.RUNNING, timedelta(minutes=15), timedelta(minutes=30)),
        (Lifecycle.PAUSED, timedelta(hours=12), timedelta(hours=24)),
    ],
)
def test_a_run_is_quiet_from_half_of_its_limit_on(
    harness: TurnHarness, runs: SqliteRuns, lifecycle: str, half: timedelta, whole: timedelta
) -> None:
    run = harness.start()["run"]
    if lifecycle == Lifecycle.PAUSED:
        harness.send(run, Event("pause", by=Actor.PERSON))
    row = shown(runs, run)

    assert not LIMITS.is_quiet(row, NOW + half - timedelta(milliseconds=1))
    assert LIMITS.is_quiet(row, NOW + half)
    assert LIMITS.is_quiet(row, NOW + 10 * whole)
    assert LIMITS.gives_up(row) == NOW + whole


def test_a_call_ends_the_quiet(harness: TurnHarness, runs: SqliteRuns) -> None:
    run = harness.start()["run"]
    harness.clock.move(minutes=20)
    assert LIMITS.is_quiet(shown(runs, run), harness.clock.now())
    harness.recover(run)

    assert not LIMITS.is_quiet(shown(runs, run), harness.clock.now())


@requirement("steps:life.wait")
@pytest.mark.parametrize(
    "change",
    [
        {"waiting": True},
        {"authority": Authority.FILES},
        {"lifecycle": Lifecycle.COMPLETED},
        {"lifecycle": Lifecycle.IDLE},
    ],
    ids=str,
)
def test_what_waits_for_no_agent_or_is_never_swept_is_not_quiet(
    harness: TurnHarness, runs: SqliteRuns, change: dict[str, Any]
) -> None:
    row = replace(shown(runs, harness.start()["run"]), **change)

    assert not LIMITS.is_quiet(row, NOW + timedelta(days=365))
    assert LIMITS.gives_up(row) is None


def test_the_reason_names_a_limit_with_seconds(harness: TurnHarness, runs: SqliteRuns) -> None:
    run = harness.start()["run"]
    harness.clock.move(seconds=91)

    assert abandon_idle_runs(harness.world, runs, IdleLimits(running=timedelta(seconds=90))) == (run,)
    assert row(runs, run)[1] == "no activity for 1 minutes 30 seconds"
