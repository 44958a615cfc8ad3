"""The runs of a project at a glance, in a database on a server: one connection, and one question.

Whoever asks has no time: a server that does not answer soon is one that is away.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from psycopg import errors

from handrail.shell.glances import MOST, Inspected, Standing
from handrail.shell.opening import Remote
from handrail.stores.sql.postgresql.connection import Connection, connected
from handrail.stores.sql.postgresql.dialect import statements
from handrail.stores.sql.postgresql.faults import Faults
from handrail.stores.sql.postgresql.schema import known
from handrail.stores.sql.runs import KEY

_SECONDS: Final = 2
"""How many a hook waits for the server, and then for its answer."""


def glanced(place: Remote, roots: Sequence[str]) -> tuple[Standing, ...]:
    """The runs under way in the first of these folders that has any; none if there is no store yet."""
    with _opened(place) as connection:
        found = [Standing(*row) for row in _rows(connection, "standing", list(roots), MOST)]
    return tuple(run for run in found if run.project == found[0].project)


def key(place: Remote) -> bytes:
    """The key that this store signs with; empty if there is no store yet."""
    with _opened(place) as connection:
        found = _rows(connection, "setting", KEY)
    return bytes(found[0][0]) if found else b""


def inspected(place: Remote) -> Inspected | None:
    """What is to be said of a database without changing it; None if there is no store in it yet."""
    with _opened(place) as connection:
        found = _rows(connection, "version")
        server = connection.info.parameter_status("server_version")
    return Inspected(str(place), found[0][0], known(), f"PostgreSQL {server}") if found else None


def _rows(connection: Connection, name: str, *values: object) -> list[tuple[Any, ...]]:
    """What a statement finds; nothing where there are no tables."""
    try:
        return connection.execute(statements()[name], values).fetchall()
    except errors.UndefinedTable:
        return []


@contextmanager
def _opened(place: Remote) -> Iterator[Connection]:
    """A connection that is closed again. Raises the fault that keeps it out."""
    with connected(place, _SECONDS) as connection, Faults(place):
        connection.execute(f"SET statement_timeout = '{_SECONDS}s'")
        yield connection
