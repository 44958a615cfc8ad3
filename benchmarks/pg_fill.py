"""A PostgreSQL store filled without a turn, as `fill` fills one of SQLite; with an artifact for each run.

The runs whose turns are taken are started afterwards: those under way are the newest, as in life.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeAlias

import psycopg
from psycopg import sql

from handrail.runtime.records import project_id

_Connection: TypeAlias = "psycopg.Connection[tuple[object, ...]]"

ROOTS: Final = tuple(f"/srv/p{number}" for number in range(10))
"""The projects that the runs are of, one like the other."""

_SETTINGS: Final = (
    "session_replication_role = replica",
    "synchronous_commit = off",
    "work_mem = '256MB'",
    "maintenance_work_mem = '512MB'",
)
_PROJECTS: Final = """
INSERT INTO projects (project_id, name, root, created_at)
SELECT id, 'p' || place - 1, '/srv/p' || place - 1, '2026-01-01 00:00:00.000'
FROM unnest(CAST($1 AS TEXT[])) WITH ORDINALITY AS p (id, place)
"""
_RUNS: Final = """
INSERT INTO runs (
  execution_id, workflow_name, state, started_at, updated_at, completed_at, duration_ms, metadata, revision,
  record, chain, active_at, waiting, digest, face, authority, project_id, goal, principal)
SELECT
  lpad(to_hex(k), 8, '0') || '-0000-4000-8000-000000000000', 'flow_' || (k % 6), state, at, at,
  CASE WHEN state = 'running' THEN NULL ELSE at END, CASE WHEN state = 'running' THEN NULL ELSE 600000 END,
  '{}', 5, '{}', '\\x00', at, 0, 'digest', 'bench', 'sql', p.project_id, 'Go round', ''
FROM (
  SELECT
    k,
    to_char(
      now() AT TIME ZONE 'UTC' + (k * 365.0 / $1 - 365) * interval '1 day', 'YYYY-MM-DD HH24:MI:SS.MS') AS at,
    CASE
      WHEN k % 100 < 90 THEN 'completed' WHEN k % 100 < 95 THEN 'abandoned' WHEN k % 100 < 98 THEN 'failed'
      ELSE 'running' END AS state
  FROM generate_series(1, CAST($1 AS INTEGER)) AS k) AS told
JOIN projects AS p ON p.name = 'p' || (k % 10)
ORDER BY k
"""
_STEPS: Final = """
INSERT INTO steps (run, number, step_name, agent_name, status, started_at, completed_at, duration_ms, output)
SELECT
  k, number, 'step_' || number, 'worker', 'completed', started_at, started_at, 60000, '{"summary":"Done."}'
FROM runs CROSS JOIN generate_series(1, 5) AS number
ORDER BY k, number
"""
_ARTIFACTS: Final = """
INSERT INTO artifacts (
  run, number, artifact_id, step_name, agent_name, artifact_type, title, is_final, created_at, content)
SELECT
  k, 1, 'artifact ' || k, 'step_5', 'worker', 'notes', 'Notes',
  CASE WHEN state = 'completed' THEN 1 ELSE 0 END, started_at, repeat('A line of the notes. ', 10)
FROM runs
ORDER BY k
"""
_EVENTS: Final = """
INSERT INTO events (event_type, run, revision, step_name, agent_name, metadata, created_at)
SELECT
  kind, k, place, step, 'worker',
  coalesce(data, '{"from":"running","to":"' || state || '","duration_ms":600000}'), started_at
FROM runs CROSS JOIN (VALUES
  (1, 1, 'workflow_created', NULL, '{}'),
  (2, 1, 'workflow_state_transition', NULL, '{"from":"idle","to":"running"}'),
  (3, 1, 'step_started', 'step_1', '{}'),
  (4, 1, 'step_completed', 'step_1', '{"duration_ms":60000}'),
  (5, 2, 'step_started', 'step_2', '{}'),
  (6, 2, 'step_completed', 'step_2', '{"duration_ms":60000}'),
  (7, 3, 'step_started', 'step_3', '{}'),
  (8, 3, 'step_completed', 'step_3', '{"duration_ms":60000}'),
  (9, 4, 'token_generated', 'step_4', '{}'),
  (10, 5, 'workflow_state_transition', NULL, NULL)) AS kinds (line, place, kind, step, data)
ORDER BY k, line
"""

_OF_RUNS: Final = {"events": _EVENTS, "steps": _STEPS, "artifacts": _ARTIFACTS}
"""What is made from the runs, the most first."""


def fill(admin: str, runs: int) -> None:
    """So many runs of the last year, five steps and ten entries each; told to the planner.

    `admin` is the address of an empty store for somebody who may put off its constraints.
    """
    with _connected(admin) as connection:
        connection.execute(_PROJECTS, ([project_id(root) for root in ROOTS],))
        with _bare(connection, "runs"):
            connection.execute(_RUNS, (runs,))
        connection.execute("VACUUM (ANALYZE) projects, runs")
        with ThreadPoolExecutor(2) as both:
            list(both.map(partial(_fill, admin), _OF_RUNS))
        connection.execute("CHECKPOINT")


def _fill(admin: str, table: str) -> None:
    """One table, made from the runs by a process of the server's own."""
    with _connected(admin) as connection:
        with _bare(connection, table):
            connection.execute(_OF_RUNS[table])
        connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(table)))


@contextmanager
def _connected(admin: str) -> Iterator[_Connection]:
    with psycopg.connect(admin, autocommit=True, cursor_factory=psycopg.RawCursor) as connection:
        for setting in _SETTINGS:
            connection.execute(f"SET {setting}")
        yield connection


@contextmanager
def _bare(connection: _Connection, table: str) -> Iterator[None]:
    """A block in which a table has only its keys; its indexes are made again at the end."""
    found = connection.execute(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index"
        " WHERE indrelid = $1::regclass AND NOT indisunique",
        (table,),
    ).fetchall()
    for name, _ in found:
        connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(str(name))))
    yield
    for _, definition in found:
        connection.execute(str(definition))
