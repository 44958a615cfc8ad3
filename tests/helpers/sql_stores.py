"""Stores in tables, of either kind; apart from `turns`, which many programs import that need no driver."""

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import psycopg

from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.pg_runs import PgRuns
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import close_later
from helpers.postgres import ADMIN, PostgresServer

_TEMPLATE: Final = "handrail_store"
_IS_THERE: Final = "SELECT count(*) FROM pg_database WHERE datname = %s"


def open_postgresql(url: str) -> PgRuns:
    """A store in a new or old database."""
    return PgRuns(close_later(PgDatabase(DatabaseUrl(url))))


def create_store(server: PostgresServer) -> str:
    """The URL of a new database with the tables of a store and nothing in them.

    It is a copy of one that each server has: to make the tables takes four times as long.
    """
    with psycopg.connect(server.url("postgres", ADMIN), autocommit=True) as admin:
        admin.execute("SELECT pg_advisory_lock(1)")
        if admin.execute(_IS_THERE, (_TEMPLATE,)).fetchone() == (0,):
            made = server.create_database()
            PgDatabase(DatabaseUrl(made)).close()
            name = urlsplit(made).path.removeprefix("/")
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            admin.execute(f"ALTER DATABASE {name} RENAME TO {_TEMPLATE}")
    return server.create_database(_TEMPLATE)


def open_sql_runs(address: str) -> SqliteRuns | PgRuns:
    """A store in the new or old tables at this address: of a file, or of a database."""
    return (
        open_postgresql(address)
        if "://" in address
        else SqliteRuns(close_later(SqliteDatabase(Path(address))))
    )
