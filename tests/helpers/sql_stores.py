"""Stores in tables, of either kind; apart from `turns`, which many programs import that need no driver."""

from pathlib import Path

from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.pg_runs import PgRuns
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import kept


def postgresql(url: str) -> PgRuns:
    """A store in a new or old database."""
    return PgRuns(kept(PgDatabase(DatabaseUrl(url))))


def tabled(address: str) -> SqliteRuns | PgRuns:
    """A store in the new or old tables at this address: of a file, or of a database."""
    return postgresql(address) if "://" in address else SqliteRuns(kept(SqliteDatabase(Path(address))))
