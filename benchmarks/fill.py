"""A store filled without a turn: runs of the last year, with five steps and eleven entries each.

They take from a second to an hour, as many take seconds as tens of seconds, minutes, and parts of an hour:
what people and agents do spreads over orders of magnitude. One call of each is refused.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from handrail.stores.sql.schema import list_indexes

_TABLES: Final = {"runs": "k", "steps": "run", "artifacts": "run", "events": "run", "replies": "run"}

_PRAGMAS: Final = (
    "journal_mode = OFF",
    "synchronous = OFF",
    "ignore_check_constraints = ON",
    "cache_size = -800000",
)
_RUNS: Final = """
WITH RECURSIVE
  n (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < :runs),
  told (k, at, state) AS (
    SELECT
      k,
      strftime('%Y-%m-%d %H:%M:%f', 'now', (k * 365.0 / :runs - 365) || ' days'),
      CASE
        WHEN k % 100 < 90 THEN 'completed' WHEN k % 100 < 95 THEN 'abandoned' WHEN k % 100 < 98 THEN 'failed'
        ELSE 'running' END
    FROM n WHERE k % :gap <> 0)
INSERT INTO runs (
  k, execution_id, workflow_name, state, started_at, updated_at, completed_at, duration_ms, metadata,
  revision, record, chain, active_at, waiting, digest, face, authority, goal, principal)
SELECT
  k, printf('%08x-0000-4000-9000-000000000000', k), 'flow_' || (k % 6), state, at, at,
  iif(state = 'running', NULL, at),
  CASE
    WHEN state = 'running' THEN NULL
    WHEN k / 600 % 4 = 0 THEN 1000 + k * 7919 % 9000
    WHEN k / 600 % 4 = 1 THEN 10000 + k * 7919 % 90000
    WHEN k / 600 % 4 = 2 THEN 100000 + k * 7919 % 900000
    ELSE 1000000 + k * 7919 % 2600000 END,
  '{}', 5,
  '{}', x'00', at, 0, 'digest', 'bench', 'sql', 'Go round', ''
FROM told
"""
_STEPS: Final = """
INSERT INTO steps (run, number, step_name, agent_name, status, started_at, completed_at, duration_ms, output)
SELECT
  k, number, 'step_' || number, 'worker', 'completed', started_at, started_at, coalesce(duration_ms, 1000),
  '{"summary":"Done."}'
FROM runs, (SELECT 1 AS number UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5)
WHERE face = 'bench' AND k % :gap <> 0
"""
_EVENTS: Final = """
WITH kinds (place, kind, step, data) AS (VALUES
  (1, 'workflow_created', NULL, '{}'),
  (1, 'workflow_state_transition', NULL, '{"from":"idle","to":"running"}'),
  (1, 'step_started', 'step_1', '{}'),
  (1, 'step_completed', 'step_1', NULL),
  (2, 'step_started', 'step_2', '{}'),
  (2, 'step_completed', 'step_2', NULL),
  (3, 'step_started', 'step_3', '{}'),
  (3, 'step_completed', 'step_3', NULL),
  (4, 'token_generated', 'step_4', '{}'),
  (4, 'error_occurred', 'step_3', NULL),
  (5, 'workflow_state_transition', NULL, NULL))
INSERT INTO events (event_type, run, revision, step_name, agent_name, metadata, created_at)
SELECT
  kind, k, place, step, 'worker',
  coalesce(
    data,
    CASE kind
      WHEN 'error_occurred' THEN '{"error_type":"code_' || (k % 9) || '"}'
      WHEN 'step_completed' THEN '{"duration_ms":' || coalesce(duration_ms, 1000) || '}'
      ELSE
        '{"from":"running","to":"' || state || '","duration_ms":' || coalesce(duration_ms, 1000) || '}' END),
  started_at
FROM runs CROSS JOIN kinds
WHERE face = 'bench' AND k % :gap <> 0
"""


def fill(path: Path, runs: int, gap: int) -> None:
    """So many runs, between those that are there, which are put apart to stand at each `gap`.

    Nobody else may have the store open. No journal is kept meanwhile, and what the tables check is left out:
    a process that is killed in this leaves no store.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute("BEGIN EXCLUSIVE")
        for table, key in _TABLES.items():
            connection.execute(f"UPDATE {table} SET {key} = -{key} * {gap}")  # noqa: S608 - names of ours
            connection.execute(f"UPDATE {table} SET {key} = -{key}")  # noqa: S608 - names of ours
        with _bare(connection):
            for statement in (_RUNS, _STEPS, _EVENTS):
                connection.execute(statement, {"runs": runs, "gap": gap})
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()


@contextmanager
def _bare(connection: sqlite3.Connection) -> Iterator[None]:
    """A block in which the tables have only their keys; their indexes are made again at its end."""
    for name in list_indexes():
        connection.execute(f"DROP INDEX {name}")
    yield
    for statement in list_indexes().values():
        connection.execute(statement)
