"""A connection to a server: how it is made, and what is set on it."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper

from handrail.shell.faults import Fault
from handrail.shell.store_address import Remote
from handrail.stores.sql.postgresql import arrays
from handrail.stores.sql.postgresql.faults import Faults, unreachable

_SETTINGS: Final[dict[str, str]] = {
    "statement_timeout": "30s",
    "lock_timeout": "20s",
    "idle_in_transaction_session_timeout": "60s",
    "application_name": "handrail",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}
"""No statement, no lock and no transaction of ours may last longer.

None of our questions is worth compiling it, or starting processes for it; the planner cannot know that.
"""

_COMPRESSED: Final = (
    "(SELECT set_config(name, 'lz4', false) FROM pg_settings"
    " WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals))"
)
"""Long texts are compressed with less work, where the server can."""

_UNLESS_SAID: Final[Mapping[str, Any]] = {
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""How a server that has vanished is noticed, unless the address says otherwise."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that keeps a cursor: each new one finds out again how values are sent and read."""

    @cached_property
    def kept(self) -> psycopg.Cursor[tuple[Any, ...]]:
        """A cursor for whoever fetches all rows before anything else is asked."""
        return self.cursor()


def connected(place: Remote, soon: int = 0) -> Connection:
    """A connection outside of any pool; `soon`, if a server must answer within so many seconds.

    Raises the fault that keeps it out.
    """
    chosen = {**options(place), "connect_timeout": soon} if soon else options(place)
    try:
        connection = Connection.connect(place.url, **chosen)
    except psycopg.OperationalError as error:
        raise unreachable(place, error) from error
    except psycopg.ProgrammingError as error:
        raise place.unfit(str(error)) from error
    try:
        with Faults(place):
            configure(connection)
    except Fault:
        connection.close()
        raise
    return connection


def options(place: Remote) -> dict[str, Any]:
    """What a connection is made with, besides its address."""
    try:
        given = conninfo_to_dict(place.url)
    except psycopg.ProgrammingError as error:
        raise place.unfit(" ".join(str(error).split())) from error
    kept = {name: value for name, value in _UNLESS_SAID.items() if name not in given}
    return {**kept, "autocommit": True, "prepare_threshold": 0, "cursor_factory": psycopg.RawCursor}


def configure(connection: Connection) -> None:
    """Limits of the server, and whole numbers of one size: else a statement is prepared for each."""
    connection.adapters.register_dumper(int, Int8Dumper)
    arrays.known(connection)
    chosen = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in _SETTINGS.items())
    connection.execute(f"SELECT {chosen}, {_COMPRESSED}")
