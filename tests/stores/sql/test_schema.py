"""The tables of the SQL store: the names of the source, and nothing in them that should not be."""

import re
import sqlite3

import pytest

from handrail.engine.model import Authority, Lifecycle
from handrail.runtime.entries import EntryKind
from handrail.runtime.records import StepStatus
from handrail.stores.sql.runs import SqliteRuns
from helpers.requirement import requirement
from helpers.stores import RUN, build_first_turn

COLUMNS = {
    "workflow_executions": "execution_id workflow_name state current_step started_at updated_at completed_at"
    " duration_ms metadata",
    "workflow_steps": "id execution_id step_name agent_name status started_at completed_at duration_ms output"
    " token",
    "workflow_artifacts": "artifact_id execution_id step_name agent_name artifact_type title content"
    " is_final created_at",
    "telemetry_events": "id event_type execution_id step_name agent_name metadata created_at",
    "projects": "project_id name root active_task_id created_at",
}
STATES = ["idle", "running", "paused", "completed", "failed", "abandoned", "diverged"]
STATUSES = ["pending", "running", "completed", "failed"]
EVENTS = [
    "workflow_created",
    "workflow_state_transition",
    "step_started",
    "step_completed",
    "step_failed",
    "token_generated",
    "token_validated",
    "token_expired",
    "artifact_stored",
    "error_occurred",
    "workflow_abandoned",
]
CHECKED = ("UPDATE runs SET state = ?", "UPDATE runs SET authority = ?", "UPDATE steps SET status = ?")
WRONG = ("", "RUNNING", "running ", "started", "0", None, 7)


@pytest.fixture
def writer(runs: SqliteRuns) -> sqlite3.Connection:
    assert runs.commit(build_first_turn())
    return runs.database.writer_connection()


@requirement("steps:db.tables")
@pytest.mark.parametrize("table", COLUMNS)
def test_a_table_of_the_source_has_every_column_of_the_source(writer: sqlite3.Connection, table: str) -> None:
    found = {row[1] for row in writer.execute(f"PRAGMA table_info({table})")}

    assert found >= set(COLUMNS[table].split())


def _allowed(writer: sqlite3.Connection, statement: str, value: object) -> bool:
    writer.execute("BEGIN")
    try:
        writer.execute(statement, (value,))
    except sqlite3.IntegrityError:
        return False
    else:
        return True
    finally:
        writer.execute("ROLLBACK")


@requirement("steps:db.enums")
@pytest.mark.parametrize("statement", CHECKED)
def test_a_word_that_is_none_of_the_words_is_refused(writer: sqlite3.Connection, statement: str) -> None:
    assert [value for value in WRONG if _allowed(writer, statement, value)] == []


@requirement("steps:db.enums")
def test_every_word_of_the_source_is_taken(writer: sqlite3.Connection) -> None:
    live = "UPDATE runs SET state = ?1, completed_at = iif(?1 IN ('idle', 'running', 'paused'), NULL, 'x')"

    assert [word for word in STATES if not _allowed(writer, live, word)] == []
    assert sorted(Lifecycle) == sorted(STATES)
    assert [word for word in STATUSES if not _allowed(writer, CHECKED[2], word)] == []
    assert sorted(StepStatus) == sorted(STATUSES)
    assert [word for word in Authority if not _allowed(writer, CHECKED[1], str(word))] == []


@requirement("steps:db.enums")
def test_the_words_for_events_are_those_of_telemetry_and_hold_those_of_the_source(
    writer: sqlite3.Connection,
) -> None:
    event = "UPDATE events SET event_type = ?"

    assert [kind for kind in EntryKind if not _allowed(writer, event, str(kind))] == []
    assert [value for value in (*WRONG, "state_transition", "error") if _allowed(writer, event, value)] == []
    assert set(EVENTS) <= set(EntryKind)
    table = writer.execute("SELECT sql FROM sqlite_schema WHERE name = 'events'").fetchone()[0]
    assert sorted(re.findall(r"event_type = '(\w+)'", table)) == sorted(EntryKind)


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("UPDATE runs SET metadata = ?", None),
        ("UPDATE runs SET metadata = ?", "{"),
        ("UPDATE events SET metadata = ?", None),
        ("UPDATE runs SET duration_ms = ?", -1),
        ("UPDATE steps SET duration_ms = ?", -1),
        ("UPDATE runs SET revision = ?", 0),
        ("UPDATE events SET revision = ?", -1),
        ("UPDATE runs SET waiting = ?", 2),
        ("UPDATE runs SET completed_at = ?", "2026-01-01 00:00:00.000"),
        ("UPDATE steps SET number = ?", 0),
        ("UPDATE runs SET project_id = ?", "nobody"),
        ("UPDATE steps SET run = ?", 99),
        ("UPDATE events SET run = ?", 99),
        ("UPDATE replies SET run = ?", 99),
    ],
)
def test_a_row_that_no_turn_could_leave_is_refused(
    writer: sqlite3.Connection, statement: str, value: object
) -> None:
    assert not _allowed(writer, statement, value)


def test_a_run_with_steps_cannot_be_taken_away_from_under_them(writer: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        writer.execute("DELETE FROM runs")


def test_metadata_is_an_object_so_that_json_set_works(writer: sqlite3.Connection) -> None:
    reason = "SELECT json_set(metadata, '$.last_transition_reason', 'tea') FROM workflow_executions"

    assert writer.execute(reason).fetchone() == ('{"team":"blue","last_transition_reason":"tea"}',)


@requirement("steps:db.time")
def test_times_are_written_so_that_sql_compares_them(writer: sqlite3.Connection) -> None:
    times = writer.execute(
        "SELECT started_at, updated_at, active_at FROM runs UNION ALL"
        " SELECT started_at, started_at, started_at FROM steps UNION ALL"
        " SELECT created_at, created_at, created_at FROM events UNION ALL"
        " SELECT created_at, created_at, created_at FROM projects"
    ).fetchall()

    assert {time for row in times for time in row} == {"2026-03-01 12:00:00.000"}
    assert writer.execute(
        "SELECT started_at > datetime('2026-03-01 11:59:59'), started_at < datetime('2026-03-01 12:00:01'),"
        " execution_id FROM runs"
    ).fetchone() == (1, 1, RUN)
