"""Runs gone quiet are given up once, with their reason; what waits, moves or is looked at is left alone."""

from pathlib import Path

import pytest

from build import GATED, output
from handrail.engine.facts import PENDING
from handrail.engine.model import Event, Lifecycle
from handrail.shell.definitions import pin, pinned_by
from handrail.shell.sweep import Limits, sweep
from handrail.shell.turn import Call, take_turn
from handrail.shell.world import World
from handrail.stores.sql.runs import SqlRuns
from handrail.workflows.load import Source
from requirement import requirement
from tables import Table, plain, sqlite

LIMITS = Limits()


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(sqlite(tmp_path / "store"))


def swept(table: Table) -> tuple[str, ...]:
    assert isinstance(table.runs, SqlRuns)
    return sweep(table.world, table.runs, LIMITS)


def row(table: Table, run: str) -> tuple[object, ...]:
    assert isinstance(table.runs, SqlRuns)
    with table.runs.database.read() as execute:
        query = (
            "SELECT state, json_extract(metadata, '$.last_transition_reason'),"
            " json_extract(metadata, '$.auto_abandoned'), completed_at"
            " FROM workflow_executions WHERE execution_id = ?"
        )
        return tuple(execute(query, (run,)).fetchone())


@requirement("steps:life.abandon-idle")
@requirement("steps:life.reason")
def test_a_running_run_that_nobody_called_for_30_minutes_is_abandoned(table: Table) -> None:
    run, _ = table.start()
    table.clock.forward(minutes=30)
    assert swept(table) == ()
    table.clock.forward(seconds=1)

    assert swept(table) == (run,)
    assert row(table, run) == (
        "abandoned",
        "no activity for 30 minutes",
        "true",
        "2026-11-15 12:30:01.000",
    )
    kinds = [str(line.entry.kind) for line in table.runs.entries(run)]
    assert kinds[-2:] == ["workflow_state_transition", "workflow_abandoned"]


@requirement("steps:life.abandon-paused")
def test_a_paused_run_is_abandoned_after_24_hours(table: Table) -> None:
    run, _ = table.start()
    table.control(run, "pause")
    table.clock.forward(hours=24)
    assert swept(table) == ()
    table.clock.forward(seconds=1)

    assert swept(table) == (run,)
    assert row(table, run)[0] == "abandoned"


@requirement("steps:life.sweep")
def test_what_one_sweep_has_told_no_other_tells_again(table: Table, tmp_path: Path) -> None:
    run, _ = table.start()
    other = Table(sqlite(tmp_path / "store"), clock=table.clock)
    table.clock.forward(hours=1)

    assert (swept(table), swept(other), swept(table)) == ((run,), (), ())
    told = [line for line in table.runs.entries(run) if line.entry.kind == "workflow_abandoned"]
    assert len(told) == 1


def test_a_run_that_moved_between_the_look_and_the_call_is_left_alone(table: Table) -> None:
    run, token = table.start()
    table.clock.forward(minutes=31)

    class Late:
        def quiet(self, lifecycle: Lifecycle, since: object, most: int = 100) -> tuple[str, ...]:
            assert since
            assert most
            if lifecycle is Lifecycle.RUNNING:
                table.go_on(run, token=token)
                table.recover(run)
                table.go_on(run)
            return (run,)

    before = len(table.runs.entries(run))
    assert sweep(table.world, Late(), LIMITS) == ()
    after = table.runs.entries(run)[before:]
    assert [line for line in after if line.entry.kind == "error_occurred"] == [
        line for line in after if line.entry.data.get("error_type") == "expired"
    ]


@pytest.mark.parametrize("call", ["a refused call", "a look at the step", "a recovered token"])
def test_whatever_shows_that_somebody_is_there_counts_as_activity(table: Table, call: str) -> None:
    run, _ = table.start()
    table.clock.forward(minutes=29)
    match call:
        case "a refused call":
            assert table.go_on(run, summary="")["code"] == "contract"
        case "a look at the step":
            table.runs.touch(run, table.clock.now())
        case _:
            table.recover(run)
    table.clock.forward(minutes=29)
    assert swept(table) == ()
    table.clock.forward(minutes=2)
    assert swept(table) == (run,)


@requirement("steps:life.wait")
def test_a_run_that_waits_for_a_check_is_not_idle(tmp_path: Path) -> None:
    runs = sqlite(tmp_path / "store")
    text = """
workflow: gated
version: 1
authority: sql
steps:
  - name: work
    agent: implementer
    task: Work.
    done_when: [it is done]
    next: [{when: [tests.pass]}]
"""
    table = Table(runs)
    table.pinned = pin(Source("gated.yaml", text), lambda _: None, GATED)
    table.world = World(
        runs,
        table.clock,
        table.world.ids,
        table.feed,
        table.world.key,
        pinned_by(runs, GATED),
        readers={"engine": lambda _asked, _of: PENDING},
    )
    run, token = table.start()
    reply = take_turn(table.world, Call(run, Event("continue", output()), token=token), plain)
    assert (reply["code"], reply["needed"], reply["states"]) == ("", [], ["work"])
    table.clock.forward(hours=48)

    assert sweep(table.world, runs, LIMITS) == ()


def test_a_clock_that_jumps_back_abandons_nobody(table: Table) -> None:
    table.start()
    table.clock.forward(days=-365)

    assert swept(table) == ()
