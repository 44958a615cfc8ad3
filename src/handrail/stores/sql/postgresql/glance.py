"""The runs of a project at a glance, in a database on a server: one connection, and few questions.

Whoever asks has no time: a server that does not answer soon is one that is away.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import psycopg
from psycopg import errors
from psycopg.rows import dict_row

from handrail.shell.glances import MOST, Inspected, Standing
from handrail.shell.opening import Remote
from handrail.stores.sql.postgresql.faults import Faults, unreachable
from handrail.stores.sql.postgresql.pool import options
from handrail.stores.sql.postgresql.schema import known

Asked: TypeAlias = "psycopg.Connection[dict[str, Any]]"
_SECONDS: Final = 2
"""How many a hook waits for the server, and then for its answer."""

_SOON: Final = f"SET statement_timeout = '{_SECONDS}s'"
_RUNS: Final = """
SELECT r.execution_id AS id, r.workflow_name AS workflow, r.state AS lifecycle,
  coalesce(r.current_step, '') AS state, r.face, r.authority, p.root AS project, r.goal,
  CAST(floor(extract(epoch FROM CAST(r.active_at AS TIMESTAMP))) AS DOUBLE PRECISION) AS active,
  r.waiting = 1 AS waiting, r.record, coalesce(convert_from(d.text, 'UTF8'), '') AS definition,
  coalesce((SELECT e.metadata FROM events AS e
    WHERE e.run = r.k AND e.event_type = 'error_occurred' AND e.step_name = r.current_step
    ORDER BY e.id DESC LIMIT 1), '') AS refused
FROM runs AS r JOIN projects AS p ON p.project_id = r.project_id
  LEFT JOIN definitions AS d ON d.digest = r.digest
WHERE r.state IN ('running', 'paused') AND p.root = ANY ($1)
ORDER BY array_position($1, p.root), r.active_at DESC, r.k DESC LIMIT $2
"""
_KEY: Final = "SELECT value FROM settings WHERE name = 'token_key'"
_VERSION: Final = "SELECT version, current_setting('server_version') AS server FROM handrail_schema"


def glanced(place: Remote, roots: Sequence[str]) -> tuple[Standing, ...]:
    """The runs under way in the first of these folders that has any; none if there is no store yet."""
    with _opened(place) as connection:
        found = [Standing(**row) for row in _rows(connection, _RUNS, list(roots), MOST)]
    return tuple(run for run in found if run.project == found[0].project)


def key(place: Remote) -> bytes:
    """The key that this store signs with; empty if there is no store yet."""
    with _opened(place) as connection:
        found = _rows(connection, _KEY)
    return bytes(found[0]["value"]) if found else b""


def inspected(place: Remote) -> Inspected | None:
    """What is to be said of a database without changing it; None if there is no store in it yet."""
    with _opened(place) as connection:
        found = _rows(connection, _VERSION)
    if not found:
        return None
    return Inspected(str(place), found[0]["version"], known(), f"PostgreSQL {found[0]['server']}")


def _rows(connection: Asked, statement: str, *values: object) -> list[dict[str, Any]]:
    """What a question finds; nothing where there are no tables."""
    try:
        return connection.execute(statement, values).fetchall()
    except errors.UndefinedTable:
        return []


@contextmanager
def _opened(place: Remote) -> Iterator[Asked]:
    """A connection that is closed again. Raises the fault that keeps it out."""
    chosen = {**options(place), "connect_timeout": _SECONDS, "prepare_threshold": None}
    try:
        connection = psycopg.connect(place.url, row_factory=dict_row, **chosen)
    except psycopg.OperationalError as error:
        raise unreachable(place, error) from error
    with connection, Faults(place):
        connection.execute(_SOON)
        yield connection
