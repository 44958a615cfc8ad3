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
from helpers.history import ignore_text, read_archive
from helpers.requirement import requirement
from helpers.sql_rows import list_changed_tables, read_all_rows
from helpers.task_project import TaskProject
from helpers.turns import NOW, TurnHarness

SPEC: Value = {"type": "spec", "title": "The spec", "content": "Words."}
ARTIFACTS = (
    "SELECT number, step_name, artifact_type, is_final FROM workflow_artifacts WHERE execution_id = ?"
    " ORDER BY number"
)


@pytest.fixture
def harness(runs: SqliteRuns) -> TurnHarness:
    return TurnHarness(runs)


def ended(turns: TurnHarness, steps: int, end: str = "") -> str:
    """A run that hands in an artifact with each of so many steps, and is then ended like this."""
    answer = turns.start()
    for _ in range(steps):
        turns.clock.move(seconds=1)
        answer = turns.continue_run(answer["run"], answer["token"], artifacts=[SPEC])
    if end:
        turns.send(answer["run"], Event(end, note="enough"))
    return str(answer["run"])


def ask(turns: TurnHarness, query: str, *given: str) -> list[tuple[Any, ...]]:
    assert isinstance(turns.runs, SqliteRuns)
    return turns.runs.database.reader().execute(query, given).fetchall()


def damages(runs: SqliteRuns) -> list[Any]:
    return list(SqlMaintenance(runs.database).check())


@requirement("steps:life.fork", "steps:life.finalize")
def test_artifacts_are_carried_over_and_final_only_when_the_fork_is_completed(harness: TurnHarness) -> None:
    old = ended(harness, 3)
    answer = harness.fork(old, "review")
    carried = [
        (1, "draft", "spec"),
        (2, "review", "spec"),
        (3, "publish", "spec"),
    ]
    assert ask(harness, ARTIFACTS, old) == [(*row, 1) for row in (*carried, (4, "publish", "synthesis"))]
    assert ask(harness, ARTIFACTS, answer["run"]) == [(*row, 0) for row in carried]
    same = "SELECT artifact_id, content, created_at FROM workflow_artifacts WHERE execution_id = ?"
    assert ask(harness, same, old)[:3] == ask(harness, same, answer["run"])

    answer = harness.continue_run(answer["run"], answer["token"], artifacts=[SPEC])
    harness.continue_run(answer["run"], answer["token"])
    new = [*carried, (4, "review", "spec"), (5, "publish", "synthesis")]
    assert ask(harness, ARTIFACTS, answer["run"]) == [(*row, 1) for row in new]


@requirement("steps:life.cleanup")
@pytest.mark.parametrize(
    ("end", "lifecycle"),
    [("abandon", Lifecycle.ABANDONED), ("diverge", Lifecycle.DIVERGED), ("fail", Lifecycle.FAILED)],
)
def test_a_run_that_ends_badly_has_no_final_artifact_no_project_waits_for_it_and_it_is_entered(
    harness: TurnHarness, end: str, lifecycle: str
) -> None:
    answer = harness.fork(ended(harness, 3), "review")
    answer = harness.continue_run(answer["run"], answer["token"], artifacts=[SPEC])
    active = "SELECT active_task_id FROM projects"
    assert ask(harness, active) == [(answer["run"],)]
    harness.send(answer["run"], Event(end, note="enough"))

    assert ask(harness, active) == [(None,)]
    assert {row[3] for row in ask(harness, ARTIFACTS, answer["run"])} == {0}
    events = "SELECT event_type, json_extract(metadata, '$.to') FROM telemetry_events ORDER BY id DESC"
    assert ask(harness, events)[0] == (EntryKind.WORKFLOW_STATE_TRANSITION, lifecycle)


@requirement("steps:life.fork")
@pytest.mark.parametrize("table", ["runs", "steps", "artifacts", "events", "replies"])
def test_a_fork_that_cannot_be_saved_whole_is_not_saved_at_all(
    harness: TurnHarness, runs: SqliteRuns, table: str
) -> None:
    old = ended(harness, 1, "abandon")
    writer, before = runs.database.writer_connection(), read_all_rows(runs)
    writer.execute(
        f"CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.{table} BEGIN SELECT raise(ABORT, 'no'); END"
    )
    with pytest.raises(sqlite3.IntegrityError, match="no"):
        harness.fork(old)
    assert list_changed_tables(before, read_all_rows(runs)) == []

    writer.execute("DROP TRIGGER refuse")
    assert harness.fork(old)["status"] == "ok"


def test_a_fork_is_one_commit(harness: TurnHarness, runs: SqliteRuns) -> None:
    old, said = ended(harness, 1, "abandon"), list[str]()
    runs.database.writer_connection().set_trace_callback(said.append)
    harness.fork(old)

    assert (said.count("BEGIN IMMEDIATE"), said.count("COMMIT")) == (1, 1)


class Pruned(SqliteRuns):
    """Has what is old pruned as soon as somebody has read the steps of a run."""

    archive: Path

    def steps(self, run: str) -> tuple[StepRow, ...]:
        found = super().steps(run)
        SqlMaintenance(self.database).prune(NOW + timedelta(days=1), self.archive, ignore_text)
        return found


def test_a_fork_of_a_run_that_is_pruned_meanwhile_is_not_begun(
    harness: TurnHarness, runs: SqliteRuns, tmp_path: Path
) -> None:
    old = ended(harness, 1, "abandon")
    harness.start()
    pruning = Pruned(runs.database)
    pruning.archive = tmp_path / "a.jsonl.gz"
    answer = TurnHarness(pruning, clock=harness.clock).fork(old)

    assert answer["code"] == RefusalCode.UNKNOWN_RUN
    assert ask(harness, "SELECT count(*) FROM runs WHERE parent_execution_id IS NOT NULL") == [(0,)]


@requirement("steps:life.fork")
def test_forks_of_every_kind_are_sound(harness: TurnHarness, runs: SqliteRuns) -> None:
    for end in ("abandon", "diverge", "fail"):
        answer = harness.fork(ended(harness, 2, end), "draft")
        answer = harness.continue_run(answer["run"], answer["token"], artifacts=[SPEC])
        harness.send(answer["run"], Event(end, note="enough"))
        harness.fork(answer["run"])
    completed = harness.fork(ended(harness, 3))
    assert harness.continue_run(completed["run"], completed["token"])["lifecycle"] == Lifecycle.COMPLETED
    harness.fork(ended(harness, 0, "abandon"), "publish", by=Actor.PERSON)
    harness.fork(ended(harness, 1, "abandon"), "nowhere")

    assert damages(runs) == []


def test_damage_to_a_fork_is_found(harness: TurnHarness, runs: SqliteRuns) -> None:
    answer = harness.fork(ended(harness, 2, "abandon"))
    with runs.database.transaction() as execute:
        execute("DELETE FROM artifacts WHERE run = (SELECT max(k) FROM runs) AND number = 1", ())

    assert [(one.code, one.run) for one in damages(runs)] == [("artifacts", answer["run"])]


def test_a_fork_is_exported_with_all_it_inherited_and_its_own_journal(
    harness: TurnHarness, runs: SqliteRuns
) -> None:
    old = ended(harness, 2, "abandon")
    answer = harness.fork(old)
    exported: Any = SqlMaintenance(runs.database).export(answer["run"])

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
    harness: TurnHarness, runs: SqliteRuns, tmp_path: Path
) -> None:
    old = ended(harness, 2, "abandon")
    answer = harness.fork(old)
    steps, keeper = runs.steps(answer["run"]), SqlMaintenance(runs.database)
    pruned = keeper.prune(harness.clock.at + timedelta(days=1), tmp_path / "a.jsonl.gz", ignore_text)

    assert (pruned.archived, pruned.kept) == (Counts(1, 3, 2, 15), 0)
    assert [line["run"]["id"] for line in read_archive(pruned.archive) if "run" in line] == [old]
    assert (runs.load(old), runs.steps(answer["run"]), damages(runs)) == (None, steps, [])
    later = TurnHarness(runs, clock=harness.clock)
    later.ids.runs = later.ids.nonces = 1000
    answer = later.continue_run(answer["run"], answer["token"])
    assert answer["lifecycle"] == Lifecycle.COMPLETED
    made: Any = later.outcomes[-1].synthesis
    assert made["model_output"]["steps_completed"] == 3
    assert later.fork(answer["run"])["state"] == "publish"
    assert damages(runs) == []


def test_a_fork_that_has_ended_is_archived_with_what_it_inherited(
    harness: TurnHarness, runs: SqliteRuns, tmp_path: Path
) -> None:
    answer = harness.fork(ended(harness, 2, "abandon"))
    harness.send(answer["run"], Event("abandon", note="enough"))
    harness.start()
    keeper = SqlMaintenance(runs.database)
    pruned = keeper.prune(harness.clock.at + timedelta(days=1), tmp_path / "a.jsonl.gz", ignore_text)

    assert pruned.archived == Counts(2, 6, 4, 20)
    inherited = [line for line in read_archive(pruned.archive) if "run" in line][1]
    assert [step["state"] for step in inherited["steps"]] == ["draft", "review", "publish"]
    assert [artifact["content"] for artifact in inherited["artifacts"]] == ["Words.", "Words."]
    assert damages(runs) == []


@requirement("steps:life.fork", "steps:tel.durations")
def test_what_was_finished_once_is_summed_once_however_many_forks_have_it(
    harness: TurnHarness, runs: SqliteRuns
) -> None:
    old = ended(harness, 2, "abandon")
    answer = harness.fork(old)
    harness.clock.move(seconds=5)
    harness.continue_run(answer["run"], answer["token"])
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


def test_a_fork_is_shown_with_where_it_comes_from(harness: TurnHarness, runs: SqliteRuns) -> None:
    old = ended(harness, 1, "abandon")
    answer = harness.fork(old)
    records = SqlRunQueries(runs.database)

    row = records.run(answer["run"])
    assert row is not None
    assert (row.parent, row.state, row.revision, row.principal) == (old, "review", 1, "eve")
    assert [step.number for step in records.steps(answer["run"])] == [1, 3]
    assert len(records.artifacts(answer["run"])) == 1


def test_a_mirror_that_is_made_anew_touches_no_fork(tmp_path: Path) -> None:
    project = TaskProject(tmp_path)
    project.say("go")
    runs = SqliteRuns(project.database)
    turns = TurnHarness(runs)
    answer = turns.fork(ended(turns, 2, "abandon"))
    keeper = SqlMaintenance(project.database)
    before = keeper.export(answer["run"])
    with project.database.transaction() as execute:
        execute("DELETE FROM events WHERE run = 1 AND event_type = 'step_stayed'", ())
    assert [one.run for one in keeper.check()] == [project.run]
    SqlRunMirrors(project.database).rebuild(project.runs, project.run)

    assert list(keeper.check()) == []
    assert keeper.export(answer["run"]) == before
    assert turns.continue_run(answer["run"], answer["token"])["lifecycle"] == Lifecycle.COMPLETED
