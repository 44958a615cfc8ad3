"""The tables in a PostgreSQL database: made and brought up to date under a lock, if they are ours."""

from typing import Final

from handrail.shell.faults import Newer, Unreadable
from handrail.shell.opening import Remote
from handrail.stores.sql.postgresql.faults import Faults
from handrail.stores.sql.postgresql.pool import Connection, connected
from handrail.stores.sql.text import migrations

_LOCK: Final = 0x48524C31
"""Who holds this advisory lock changes the schema."""

_VERSION: Final = "CREATE TABLE IF NOT EXISTS handrail_schema (version BIGINT NOT NULL)"
_THERE: Final = "SELECT to_regclass('handrail_schema') IS NOT NULL"
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
    """True if the database has a store in it."""
    with connected(place) as connection, Faults(place):
        return _has_schema(connection)


def version(place: Remote, connection: Connection) -> int:
    """The schema version of the database; 0 if it is empty. Raises `Newer` or `Unreadable`."""
    if not _has_schema(connection):
        if not _one(connection, _OTHERS):
            return 0
        if not _has_schema(connection):
            message = f"{place} has tables of another program"
            raise Unreadable(message, "name an empty database with --store or HANDRAIL_STORE")
    found = int(_one(connection, "SELECT version FROM handrail_schema"))
    if found > known():
        raise newer(place, found)
    return found


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


def _has_schema(connection: Connection) -> bool:
    return bool(_one(connection, _THERE))


def _one(connection: Connection, statement: str) -> int:
    row = connection.execute(statement).fetchone()
    return int(row[0]) if row else 0


def _scripts() -> tuple[str, ...]:
    return migrations("postgresql/migrations")
