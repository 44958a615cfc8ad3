"""A PostgreSQL store filled without a turn, as `fill` fills one of SQLite; with an artifact for each run.

The runs whose turns are taken are started afterwards: those under way are the newest, as in life.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import sql

from handrail.shell.records import project_id

ROOTS: Final = tuple(f"/srv/p{number}" for number in range(10))
"""The projects that the runs are of, one like the other."""

_TABLES: Final = ("runs", "steps", "artifacts", "events")
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


def fill(admin: str, runs: int) -> None:
    """So many runs of the last year, five steps and ten entries each; told to the planner.

    `admin` is the address of an empty store for somebody who may put off its constraints.
    """
    with psycopg.connect(admin, autocommit=True, cursor_factory=psycopg.RawCursor) as connection:
        for setting in (
            "session_replication_role = replica",
            "synchronous_commit = off",
            "work_mem = '256MB'",
        ):
            connection.execute(f"SET {setting}")
        with _bare(connection):
            connection.execute(_PROJECTS, ([project_id(root) for root in ROOTS],))
            connection.execute(_RUNS, (runs,))
            for statement in (_STEPS, _ARTIFACTS, _EVENTS):
                connection.execute(statement)
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")


@contextmanager
def _bare(connection: psycopg.Connection[tuple[object, ...]]) -> Iterator[None]:
    """A block in which the large tables have only their keys; their indexes are made again at its end."""
    found = connection.execute(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index"
        " WHERE indrelid::regclass::text = ANY($1) AND NOT indisunique",
        (list(_TABLES),),
    ).fetchall()
    for name, _ in found:
        connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(str(name))))
    yield
    for _, definition in found:
        connection.execute(str(definition))
