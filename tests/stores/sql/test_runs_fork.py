"""A forked run in a database: its rows, what looks after them, and what is counted."""

import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.facts import Value
from handrail.engine.model import Actor, Event, Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.measures import RunCount, StepCount
from handrail.runtime.ports.open_store import Counts
from handrail.runtime.ports.queries import StepRow
from handrail.stores.sql.maintenance import SqlMaintenance
from handrail.stores.sql.projection import SqlRunMirrors
from handrail.stores.sql.queries import SqlRunQueries
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.sql.summaries import SqlMeasures
from helpers.history import lines, quiet
from helpers.requirement import requirement
from helpers.sql_rows import changed, everything
from helpers.task_project import Project
from helpers.turns import NOW, Desk

SPEC: Value = {"type": "spec", "title": "The spec", "content": "Words."}
ARTIFACTS = (
    "SELECT number, step_name, artifact_type, is_final FROM workflow_artifacts WHERE execution_id = ?"
    " ORDER BY number"
)


@pytest.fixture
def desk(runs: SqliteRuns) -> Desk:
    return Desk(runs)


def ended(desk: Desk, steps: int, end: str = "") -> str:
    """A run that hands in an artifact with each of so many steps, and is then ended like this."""
    told = desk.start()
    for _ in range(steps):
        desk.clock.move(seconds=1)
        told = desk.go_on(told["run"], told["token"], artifacts=[SPEC])
    if end:
        desk.send(told["run"], Event(end, note="enough"))
    return str(told["run"])


def ask(desk: Desk, query: str, *given: str) -> list[tuple[Any, ...]]:
    assert isinstance(desk.runs, SqliteRuns)
    return desk.runs.database.reader().execute(query, given).fetchall()


def damages(runs: SqliteRuns) -> list[Any]:
    return list(SqlMaintenance(runs.database).check())


@requirement("steps:life.fork", "steps:life.finalize")
def test_artifacts_are_carried_over_and_final_only_when_the_fork_is_completed(desk: Desk) -> None:
    old = ended(desk, 3)
    told = desk.fork(old, "review")
    carried = [
        (1, "draft", "spec"),
        (2, "review", "spec"),
        (3, "publish", "spec"),
    ]
    assert ask(desk, ARTIFACTS, old) == [(*row, 1) for row in (*carried, (4, "publish", "synthesis"))]
    assert ask(desk, ARTIFACTS, told["run"]) == [(*row, 0) for row in carried]
    same = "SELECT artifact_id, content, created_at FROM workflow_artifacts WHERE execution_id = ?"
    assert ask(desk, same, old)[:3] == ask(desk, same, told["run"])

    told = desk.go_on(told["run"], told["token"], artifacts=[SPEC])
    desk.go_on(told["run"], told["token"])
    new = [*carried, (4, "review", "spec"), (5, "publish", "synthesis")]
    assert ask(desk, ARTIFACTS, told["run"]) == [(*row, 1) for row in new]


@requirement("steps:life.cleanup")
@pytest.mark.parametrize(
    ("end", "lifecycle"),
    [("abandon", Lifecycle.ABANDONED), ("diverge", Lifecycle.DIVERGED), ("fail", Lifecycle.FAILED)],
)
def test_a_run_that_ends_badly_has_no_final_artifact_no_project_waits_for_it_and_it_is_entered(
    desk: Desk, end: str, lifecycle: str
) -> None:
    told = desk.fork(ended(desk, 3), "review")
    told = desk.go_on(told["run"], told["token"], artifacts=[SPEC])
    active = "SELECT active_task_id FROM projects"
    assert ask(desk, active) == [(told["run"],)]
    desk.send(told["run"], Event(end, note="enough"))

    assert ask(desk, active) == [(None,)]
    assert {row[3] for row in ask(desk, ARTIFACTS, told["run"])} == {0}
    events = "SELECT event_type, json_extract(metadata, '$.to') FROM telemetry_events ORDER BY id DESC"
    assert ask(desk, events)[0] == (EntryKind.WORKFLOW_STATE_TRANSITION, lifecycle)


@requirement("steps:life.fork")
@pytest.mark.parametrize("table", ["runs", "steps", "artifacts", "events", "replies"])
def test_a_fork_that_cannot_be_saved_whole_is_not_saved_at_all(
    desk: Desk, runs: SqliteRuns, table: str
) -> None:
    old = ended(desk, 1, "abandon")
    writer, before = runs.database.writer_connection(), everything(runs)
    writer.execute(
        f"CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.{table} BEGIN SELECT raise(ABORT, 'no'); END"
    )
    with pytest.raises(sqlite3.IntegrityError, match="no"):
        desk.fork(old)
    assert changed(before, everything(runs)) == []

    writer.execute("DROP TRIGGER refuse")
    assert desk.fork(old)["status"] == "ok"


def test_a_fork_is_one_commit(desk: Desk, runs: SqliteRuns) -> None:
    old, said = ended(desk, 1, "abandon"), list[str]()
    runs.database.writer_connection().set_trace_callback(said.append)
    desk.fork(old)

    assert (said.count("BEGIN IMMEDIATE"), said.count("COMMIT")) == (1, 1)


class Pruned(SqliteRuns):
    """Has what is old pruned as soon as somebody has read the steps of a run."""

    archive: Path

    def steps(self, run: str) -> tuple[StepRow, ...]:
        found = super().steps(run)
        SqlMaintenance(self.database).prune(NOW + timedelta(days=1), self.archive, quiet)
        return found


def test_a_fork_of_a_run_that_is_pruned_meanwhile_is_not_begun(
    desk: Desk, runs: SqliteRuns, tmp_path: Path
) -> None:
    old = ended(desk, 1, "abandon")
    desk.start()
    pruning = Pruned(runs.database)
    pruning.archive = tmp_path / "a.jsonl.gz"
    told = Desk(pruning, clock=desk.clock).fork(old)

    assert told["code"] == RefusalCode.UNKNOWN_RUN
    assert ask(desk, "SELECT count(*) FROM runs WHERE parent_execution_id IS NOT NULL") == [(0,)]


@requirement("steps:life.fork")
def test_forks_of_every_kind_are_sound(desk: Desk, runs: SqliteRuns) -> None:
    for end in ("abandon", "diverge", "fail"):
        told = desk.fork(ended(desk, 2, end), "draft")
        told = desk.go_on(told["run"], told["token"], artifacts=[SPEC])
        desk.send(told["run"], Event(end, note="enough"))
        desk.fork(told["run"])
    completed = desk.fork(ended(desk, 3))
    assert desk.go_on(completed["run"], completed["token"])["lifecycle"] == Lifecycle.COMPLETED
    desk.fork(ended(desk, 0, "abandon"), "publish", by=Actor.PERSON)
    desk.fork(ended(desk, 1, "abandon"), "nowhere")

    assert damages(runs) == []


def test_damage_to_a_fork_is_found(desk: Desk, runs: SqliteRuns) -> None:
    told = desk.fork(ended(desk, 2, "abandon"))
    with runs.database.transaction() as execute:
        execute("DELETE FROM artifacts WHERE run = (SELECT max(k) FROM runs) AND number = 1", ())

    assert [(one.code, one.run) for one in damages(runs)] == [("artifacts", told["run"])]


def test_a_fork_is_exported_with_all_it_inherited_and_its_own_journal(desk: Desk, runs: SqliteRuns) -> None:
    old = ended(desk, 2, "abandon")
    told = desk.fork(old)
    exported: Any = SqlMaintenance(runs.database).export(told["run"])

    assert exported["run"]["parent"] == old
    assert [(s["number"], s["state"], s["status"]) for s in exported["steps"]] == [
        (1, "draft", "completed"),
        (2, "review", "completed"),
        (4, "publish", "running"),
    ]
    assert [(a["number"], a["content"], a["final"]) for a in exported["artifacts"]] == [
        (1, "Words.", False),
        (2, "Words.", False),
    ]
    kinds = [event["kind"] for event in exported["events"]]
    assert kinds == [
        EntryKind.WORKFLOW_CREATED,
        EntryKind.STEP_STARTED,
        EntryKind.TOKEN_GENERATED,
        EntryKind.WORKFLOW_STATE_TRANSITION,
    ]
    assert exported["definition"]["workflow"] == "paper"


@requirement("steps:life.fork")
def test_a_fork_goes_on_when_the_run_it_came_from_was_pruned(
    desk: Desk, runs: SqliteRuns, tmp_path: Path
) -> None:
    old = ended(desk, 2, "abandon")
    told = desk.fork(old)
    steps, keeper = runs.steps(told["run"]), SqlMaintenance(runs.database)
    pruned = keeper.prune(desk.clock.at + timedelta(days=1), tmp_path / "a.jsonl.gz", quiet)

    assert (pruned.archived, pruned.kept) == (Counts(1, 3, 2, 15), 0)
    assert [line["run"]["id"] for line in lines(pruned.archive) if "run" in line] == [old]
    assert (runs.load(old), runs.steps(told["run"]), damages(runs)) == (None, steps, [])
    later = Desk(runs, clock=desk.clock)
    later.ids.runs = later.ids.nonces = 1000
    told = later.go_on(told["run"], told["token"])
    assert told["lifecycle"] == Lifecycle.COMPLETED
    made: Any = later.outcomes[-1].synthesis
    assert made["model_output"]["steps_completed"] == 3
    assert later.fork(told["run"])["state"] == "publish"
    assert damages(runs) == []


def test_a_fork_that_has_ended_is_archived_with_what_it_inherited(
    desk: Desk, runs: SqliteRuns, tmp_path: Path
) -> None:
    told = desk.fork(ended(desk, 2, "abandon"))
    desk.send(told["run"], Event("abandon", note="enough"))
    desk.start()
    keeper = SqlMaintenance(runs.database)
    pruned = keeper.prune(desk.clock.at + timedelta(days=1), tmp_path / "a.jsonl.gz", quiet)

    assert pruned.archived == Counts(2, 6, 4, 20)
    inherited = [line for line in lines(pruned.archive) if "run" in line][1]
    assert [step["state"] for step in inherited["steps"]] == ["draft", "review", "publish"]
    assert [artifact["content"] for artifact in inherited["artifacts"]] == ["Words.", "Words."]
    assert damages(runs) == []


@requirement("steps:life.fork", "steps:tel.durations")
def test_what_was_finished_once_is_summed_once_however_many_forks_have_it(
    desk: Desk, runs: SqliteRuns
) -> None:
    old = ended(desk, 2, "abandon")
    told = desk.fork(old)
    desk.clock.move(seconds=5)
    desk.go_on(told["run"], told["token"])
    summaries = SqlMeasures(runs.database)

    for _ in range(2):
        assert summaries.runs() == (
            RunCount("paper", Lifecycle.ABANDONED, 1, 2000),
            RunCount("paper", Lifecycle.COMPLETED, 1, 5000),
        )
        assert summaries.steps() == (
            StepCount("draft", "writer", "completed", 1, 1000),
            StepCount("publish", "writer", "completed", 1, 5000),
            StepCount("publish", "writer", "running", 1, 0),
            StepCount("review", "reader", "completed", 1, 1000),
        )
        summaries.fold()


def test_a_fork_is_shown_with_where_it_comes_from(desk: Desk, runs: SqliteRuns) -> None:
    old = ended(desk, 1, "abandon")
    told = desk.fork(old)
    records = SqlRunQueries(runs.database)

    row = records.run(told["run"])
    assert row is not None
    assert (row.parent, row.state, row.revision, row.principal) == (old, "review", 1, "eve")
    assert [step.number for step in records.steps(told["run"])] == [1, 3]
    assert len(records.artifacts(told["run"])) == 1


def test_a_mirror_that_is_made_anew_touches_no_fork(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.say("go")
    runs = SqliteRuns(project.database)
    desk = Desk(runs)
    told = desk.fork(ended(desk, 2, "abandon"))
    keeper = SqlMaintenance(project.database)
    before = keeper.export(told["run"])
    with project.database.transaction() as execute:
        execute("DELETE FROM events WHERE run = 1 AND event_type = 'step_stayed'", ())
    assert [one.run for one in keeper.check()] == [project.run]
    SqlRunMirrors(project.database).rebuild(project.runs, project.run)

    assert list(keeper.check()) == []
    assert keeper.export(told["run"]) == before
    assert desk.go_on(told["run"], told["token"])["lifecycle"] == Lifecycle.COMPLETED
