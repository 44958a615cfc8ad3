"""The rows of a SQL store: all of them before and after, whether they fit together, and damages to plant."""

from typing import Any

from handrail.stores.sql.runs import SqliteRuns

TABLES = ("settings", "definitions", "projects", "runs", "steps", "artifacts", "events", "replies")


def read_all_rows(runs: SqliteRuns) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    ask = runs.database.reader().execute
    named = [name for (name,) in ask("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    assert set(named) >= set(TABLES)
    return {name: ask(f"SELECT * FROM {name}").fetchall() for name in named}  # noqa: S608 - names of our tables


def list_changed_tables(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> list[str]:
    """The tables that are not as they were."""
    return [name for name in before if before[name] != after[name]]


def find_unsound_rows(runs: SqliteRuns, run: str) -> list[str]:
    """What does not fit together among the rows of a run that moves with every turn."""
    ask = runs.database.reader().execute
    stored = runs.load(run)
    if stored is None:
        return [f"{run} is not there"]
    steps = ask(
        "SELECT number, status FROM workflow_steps WHERE execution_id = ? ORDER BY number", (run,)
    ).fetchall()
    events = ask(
        "SELECT DISTINCT revision FROM telemetry_events WHERE execution_id = ? AND revision > 0 ORDER BY 1",
        (run,),
    ).fetchall()
    last = stored.run.steps
    found = []
    if [row[0] for row in events] != list(range(1, stored.revision + 1)):
        found.append(f"{run}: the journal has a gap")
    if steps != [(number, "completed") for number in range(1, last)] + [(last, "running")]:
        found.append(f"{run}: the steps are not in a row")
    if last != stored.revision:
        found.append(f"{run}: {last} steps at revision {stored.revision}")
    return found


PLANTED = [
    ("reference", "INSERT INTO steps VALUES (99, 1, 'a', 'b', 'completed', NULL, NULL, NULL, NULL, NULL)"),
    ("revision", "UPDATE runs SET revision = revision + 1 WHERE goal = 'To be running'"),
    ("chain", "UPDATE events SET metadata = '{}' WHERE run = 1 AND event_type = 'workflow_created'"),
    ("chain", "UPDATE events SET created_at = '2026-01-31 09:00:00.000' WHERE run = 1 AND id = 2"),
    ("chain", "DELETE FROM events WHERE id = 2"),
    ("record", "UPDATE runs SET record = '{\"id\": 1}' WHERE goal = 'To be running'"),
    ("record", "UPDATE runs SET record = '' WHERE goal = 'To be running'"),
    ("columns", "UPDATE runs SET state = 'paused' WHERE goal = 'To be running'"),
    ("columns", "UPDATE runs SET current_step = 'prove' WHERE goal = 'To be running'"),
    ("columns", "UPDATE runs SET waiting = 1 WHERE goal = 'To be running'"),
    ("columns", "UPDATE runs SET workflow_name = 'gate' WHERE goal = 'To be running'"),
    ("columns", "UPDATE runs SET execution_id = 'x' WHERE goal = 'To be running'"),
    (
        "columns",
        "UPDATE runs SET digest = (SELECT digest FROM runs WHERE goal = 'To be waiting') WHERE k = 1",
    ),
    ("definition", "DELETE FROM definitions WHERE workflow_name = 'gate'"),
    ("steps", "UPDATE steps SET status = 'completed' WHERE run = 1 AND number = 3"),
    ("steps", "UPDATE steps SET status = 'running' WHERE run = 1 AND number = 1"),
    ("steps", "DELETE FROM steps WHERE run = 1 AND number = 3"),
    ("artifacts", "DELETE FROM artifacts WHERE run = 1 AND number = 1"),
]
