"""The tables in a PostgreSQL database: made and brought up to date under a lock, if they are ours."""

import re
import time
from collections.abc import Mapping
from functools import cache
from typing import Final

from handrail.shell.faults import Busy, Newer, Unreadable
from handrail.shell.store_address import Remote
from handrail.stores.sql.postgresql.connection import Connection, connected
from handrail.stores.sql.postgresql.faults import Faults
from handrail.stores.sql.shape import MARK, occupied, resumes, tables, unfinished
from handrail.stores.sql.text import migrations

_LOCK: Final = 0x48524C31
"""Who holds this advisory lock changes the schema."""

_MOMENT: Final = 2.0
"""How many seconds the server may take to let go of what a copy held that was ended just before."""

_PAUSE: Final = 0.02
_MARKED: Final = "SELECT to_regclass('handrail_copy') IS NOT NULL"
_VERSION: Final = "CREATE TABLE IF NOT EXISTS handrail_schema (version BIGINT NOT NULL)"
_THERE: Final = "SELECT to_regclass('handrail_schema') IS NOT NULL"
_INDEX: Final = re.compile(r"^CREATE INDEX (\w+) (.+);$", re.MULTILINE)
_NUMBERED: Final = (("runs", "k"), ("events", "id"))
_OTHERS: Final = (
    "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'p', 'v')"
    " AND relnamespace = current_schema::regnamespace"
)


def known() -> int:
    """The schema version of this program."""
    return len(_scripts())


def prepare(place: Remote) -> None:
    """Make the tables, or bring them up to date; whoever writes meanwhile is waited for, and waits.

    Raises `Newer` if this program is too old, `Unreadable` if the database is another program's.
    """
    with connected(place) as connection, Faults(place):
        if version(place, connection) == known():
            return
        connection.execute("SELECT pg_advisory_lock($1)", (_LOCK,))
        _migrate(place, connection)


def there(place: Remote) -> bool:
    """True if the database has a store in it. Raises `Unreadable` if that is not a whole copy yet."""
    with connected(place) as connection, Faults(place):
        if copied := half(connection):
            raise unfinished(place, copied[0])
        return _has_schema(connection)


def version(place: Remote, connection: Connection) -> int:
    """The schema version of the database; 0 if it is empty. Raises `Newer` or `Unreadable`."""
    if not _has_schema(connection):
        if copied := half(connection):
            raise unfinished(place, copied[0])
        if not _one(connection, _OTHERS):
            return 0
        if not _has_schema(connection):
            message = f"{place} has tables of another program"
            raise Unreadable(message, "name an empty database with --store or HANDRAIL_STORE")
    found = int(_one(connection, "SELECT version FROM handrail_schema"))
    if found > known():
        raise newer(place, found)
    return found


def half(connection: Connection) -> tuple[str, int] | None:
    """What the database is an unfinished copy of, and by which schema; None if it is none."""
    if not _one(connection, _MARKED):
        return None
    row = connection.execute("SELECT source, version FROM handrail_copy").fetchone()
    return (row[0], row[1]) if row else None


def begin(place: Remote, connection: Connection, source: str) -> bool:
    """Make the tables of an unfinished copy of this source; True if they were there already.

    Until the connection ends, nobody else changes the schema. Raises `Busy` if somebody does, `NotWritable`
    if there is a store, `Newer` or `Unreadable` if there is anything else.
    """
    last = time.monotonic() + _MOMENT
    while not _one(connection, f"SELECT pg_try_advisory_lock({_LOCK})"):
        if time.monotonic() > last:
            raise Busy(f"somebody else is filling {place}", "wait for it, or end it; then say the same again")
        time.sleep(_PAUSE)
    found = half(connection)
    if found:
        resumes(place, source, found, known())
        return True
    if version(place, connection):
        raise occupied(place)
    with connection.transaction():
        for script in _scripts():
            connection.execute(script, prepare=False)
        connection.execute(f"DROP INDEX {', '.join(_indexes())}")
        clear(connection)
        connection.execute(MARK)
        connection.execute("INSERT INTO handrail_copy VALUES ($1, $2)", (source, known()))
    return False


def clear(connection: Connection) -> None:
    """Take every row out of every table."""
    connection.execute(f"TRUNCATE {_named()}")


def finish(connection: Connection) -> None:
    """Make a store of an unfinished copy, at one point; new rows get numbers behind those it has.

    Its indexes are made now, which is faster than row by row; a copy that an older Handrail began has them.
    """
    connection.execute(f"ANALYZE {_named()}")
    with connection.transaction():
        for name, of in _indexes().items():
            connection.execute(f"CREATE INDEX IF NOT EXISTS {name} {of}")
        for table, column in _NUMBERED:
            connection.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), max({column})) FROM {table}"  # noqa: S608 - names of ours
            )
        connection.execute("DROP TABLE handrail_copy")
        connection.execute(_VERSION)
        connection.execute("INSERT INTO handrail_schema (version) VALUES ($1)", (known(),))


def newer(place: Remote, found: int) -> Newer:
    """That the database is ahead of this program."""
    message = f"a newer Handrail has brought {place} to schema {found}, this program knows {known()}"
    return Newer(message, "update Handrail here too, and start it again")


def _migrate(place: Remote, connection: Connection) -> None:
    """Each script in a transaction of its own; whoever asks for the version waits until it is another."""
    for number in range(version(place, connection) + 1, known() + 1):
        with connection.transaction():
            connection.execute(_VERSION)
            connection.execute("LOCK TABLE handrail_schema IN ACCESS EXCLUSIVE MODE")
            connection.execute(_scripts()[number - 1], prepare=False)
            connection.execute("DELETE FROM handrail_schema")
            connection.execute("INSERT INTO handrail_schema (version) VALUES ($1)", (number,))


def _named() -> str:
    """Every table, as a statement lists them."""
    return ", ".join(table.name for table in tables())


@cache
def _indexes() -> Mapping[str, str]:
    """What each index that is not the key of a table is of, by its name."""
    return dict(_INDEX.findall("\n".join(_scripts())))


def _has_schema(connection: Connection) -> bool:
    return bool(_one(connection, _THERE))


def _one(connection: Connection, statement: str) -> int:
    row = connection.execute(statement).fetchone()
    return int(row[0]) if row else 0


def _scripts() -> tuple[str, ...]:
    return migrations("postgresql/migrations")
